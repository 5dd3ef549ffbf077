/* SPDX-License-Identifier: MIT */
/* Waits of which it is known only when the call ends what they were for, in the table of `lull waits`: requests of io_uring, the
 * file that is opened, who held the lease that timers waited for. From events said by hand. */
#include "facts.h"

enum {
    ENTER = 426,
    OPENAT = 257,
    READ_CALL = 0,
    ACCEPT4 = 288,
    EVENTFD2 = 290,
    SOCKET = 41,
    CONNECT = 42,
    RING = 0x1000,
    REQUEST = 0x2000
};
enum { READ = 22, POLL = 6 };

/* Of a descriptor. */
static void call_of(struct lull_model *model, int64_t t, int number, int64_t fd)
{
    const uint64_t args[6] = {(uint64_t)fd};
    FEED(raw_entry, 0, 0, t,
         .have = UINT64_C(1) << LULL_FIELD_raw_entry_number | UINT64_C(1)
                                                                  << LULL_FIELD_raw_entry_args,
         .number = number, .args = {(const char *)args, sizeof args});
}

static void call(struct lull_model *model, int64_t t, int number)
{
    call_of(model, t, number, 5);
}

static void call_ends(struct lull_model *model, int64_t t, int number, int64_t ret)
{
    FEED(raw_exit, 0, 0, t,
         .have = UINT64_C(1) << LULL_FIELD_raw_exit_number | UINT64_C(1) << LULL_FIELD_raw_exit_ret,
         .number = number, .ret = ret);
}

/* Task 1 waits from t to t + 10, until task 2 wakes it, or a timer. */
static void waits(struct lull_model *model, int64_t t, bool is_timer)
{
    feed_switch(model, 0, 0, t, 1, 2, 1);
    if (is_timer) {
        feed_softirq(model, 0, 0, t + 10, 1, true);
    }
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 10, 1, 0);
    if (is_timer) {
        feed_softirq(model, 0, 0, t + 10, 1, false);
    }
    feed_switch(model, 0, 0, t + 10, 2, 1, 0);
}

static void request(struct lull_model *model, int64_t t, unsigned number, unsigned operation)
{
    FEED(io_uring_submit, 0, 0, t, .have = ALL, .ring = RING, .request = REQUEST + number,
         .operation = operation);
    FEED(io_uring_file, 0, 0, t, .have = 3, .request = REQUEST + number, .fd = 5);
}

static void request_ends(struct lull_model *model, int64_t t, unsigned number)
{
    FEED(io_uring_complete, 0, 0, t, .have = ALL, .ring = RING, .request = REQUEST + number,
         .result = 1);
}

/* Two waits in one call, each for another request; one in a call that does not return. */
static void test_requests(void)
{
    struct lull_question_params params = facts_params();
    params.states = "S";
    struct facts facts = facts_start(&lull_analysis_waits, params);
    struct lull_model *model = facts.model;
    facts_open(&facts, 0);
    feed_switch(model, 0, 0, 5, 0, 1, 0);
    call(model, 6, EVENTFD2);
    call_ends(model, 7, EVENTFD2, 5);
    request(model, 8, 1, READ);
    request(model, 9, 2, POLL);
    call(model, 10, ENTER);
    FEED(io_uring_wait, 0, 0, 11, .have = 1, .ring = RING);
    waits(model, 20, false);
    request_ends(model, 31, 2);
    waits(model, 40, false);
    request_ends(model, 51, 1);
    call_ends(model, 55, ENTER, 2);
    request(model, 56, 3, READ);
    call(model, 57, ENTER);
    FEED(io_uring_wait, 0, 0, 58, .have = 1, .ring = RING);
    feed_switch(model, 0, 0, 60, 1, 2, 1);
    feed_switch(model, 0, 0, 90, 2, 0, 1);
    facts_close(&facts, 90);
    facts_expect(
        &facts, "waits",
        "t1/-1/1 S not ended io_uring_enter read of an eventfd - 30 0.600 1 30.000 30 60 -\n"
        "t1/-1/1 S task io_uring_enter read of an eventfd t2/-1/2 10 0.200 1 10.000 10 40 -\n"
        "t1/-1/1 S task io_uring_enter poll of an eventfd t2/-1/2 10 0.200 1 10.000 10 20 -\n");
    facts_end(&facts);
}

/* A timer looks twice whether task 2 has given up its lease, which it then has; and an open that fails. */
static void test_lease(void)
{
    struct lull_question_params params = facts_params();
    params.states = "S";
    struct facts facts = facts_start(&lull_analysis_waits, params);
    struct lull_model *model = facts.model;
    facts_open(&facts, 0);
    feed_switch(model, 0, 0, 5, 0, 2, 0);
    FEED(lease_take, 0, 0, 6, .have = 3, .inode = 77, .dev = 1);
    feed_switch(model, 0, 0, 7, 2, 1, 0);
    call(model, 10, OPENAT);
    FEED(lease_break, 0, 0, 11, .have = 3, .inode = 77, .dev = 1);
    waits(model, 20, true);
    waits(model, 40, true);
    FEED(call_path, 0, 0, 54, .have = ALL, .tid = 1, .path = feed_text("/mnt/x"));
    call_ends(model, 55, OPENAT, 6);
    call(model, 60, OPENAT);
    waits(model, 70, true);
    FEED(call_path, 0, 0, 84, .have = ALL, .tid = 1, .path = feed_text("/mnt/y"));
    call_ends(model, 85, OPENAT, -2);
    facts_close(&facts, 90);
    facts_expect(&facts, "waits",
                 "t1/-1/1 S task openat /mnt/x t2/-1/2 20 0.667 2 10.000 10 20 -\n"
                 "t1/-1/1 S timer openat /mnt/y - 10 0.333 1 10.000 10 70 -\n");
    facts_end(&facts);
}

/* What a server waits for of clients is the same for each of a client's connections, which have ports of their own. A socket that is
 * accepted has none if nobody knows it. */
static void test_clients(void)
{
    struct lull_question_params params = facts_params();
    params.states = "S";
    struct facts facts = facts_start(&lull_analysis_waits, params);
    struct lull_model *model = facts.model;
    facts_open(&facts, 0);
    feed_switch(model, 0, 0, 5, 0, 1, 0);
    call(model, 6, SOCKET);
    call_ends(model, 7, SOCKET, 5);
    for (int64_t number = 0; number < 3; number++) {
        const int64_t t = 20 + 30 * number, fd = 6 + number;
        call(model, t, ACCEPT4);
        if (number < 2) {
            FEED(call_address, 0, 0, t + 1, .have = ALL, .tid = 1, .family = 2,
                 .port = 40000 + number, .high = (int64_t)(UINT64_C(0x0a090002) << 32));
        }
        call_ends(model, t + 2, ACCEPT4, fd);
        call_of(model, t + 4, READ_CALL, fd);
        waits(model, t + 5, false);
        call_ends(model, t + 20, READ_CALL, 1);
    }
    facts_close(&facts, 120);
    facts_expect(&facts, "waits",
                 "t1/-1/1 S task read 10.9.0.2 t2/-1/2 20 0.667 2 10.000 10 25 -\n"
                 "t1/-1/1 S task read a socket t2/-1/2 10 0.333 1 10.000 10 85 -\n");
    facts_end(&facts);
}

/* Whom a socket is to be connected with is read when the call ends, also if it fails (ETIMEDOUT): the call waited for
 * that, not for whom the socket was to have before. */
static void test_connect(void)
{
    struct lull_question_params params = facts_params();
    params.states = "S";
    struct facts facts = facts_start(&lull_analysis_waits, params);
    struct lull_model *model = facts.model;
    facts_open(&facts, 0);
    feed_switch(model, 0, 0, 5, 0, 1, 0);
    call(model, 6, SOCKET);
    call_ends(model, 7, SOCKET, 5);
    for (int64_t port = 80; port < 82; port++) {
        const int64_t t = 20 + 40 * (port - 80);
        call(model, t, CONNECT);
        waits(model, t + 5, false);
        FEED(call_address, 0, 0, t + 19, .have = ALL, .tid = 1, .family = 2, .port = port,
             .high = (int64_t)(UINT64_C(0x0a090002) << 32));
        call_ends(model, t + 20, CONNECT, port == 80 ? -110 : 0);
    }
    facts_close(&facts, 100);
    facts_expect(&facts, "waits",
                 "t1/-1/1 S task connect 10.9.0.2:80 t2/-1/2 10 0.500 1 10.000 10 25 -\n"
                 "t1/-1/1 S task connect 10.9.0.2:81 t2/-1/2 10 0.500 1 10.000 10 65 -\n");
    facts_end(&facts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/waits-late/requests", test_requests);
    g_test_add_func("/waits-late/lease", test_lease);
    g_test_add_func("/waits-late/clients", test_clients);
    g_test_add_func("/waits-late/connect", test_connect);
    return g_test_run();
}
