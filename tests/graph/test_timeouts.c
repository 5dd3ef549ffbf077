/* SPDX-License-Identifier: MIT */
/* Waits that time ended: their own time-outs, for what nobody answered, and those of which only the call says so. Task 1 waits, and says
 * why; the sentences are written by hand from what the calls do (man 2). */
#include "graph/reasons.h"

/* poll() of one descriptor, from 500 us on: its 700 ms are over before something comes. It has not returned. */
static void poll_in_vain(struct lull_model *model)
{
    feed_call(model, 500000, POLL, 0x1000, 1, 700);
    feed_switch(model, 0, 0, 510000, 1, 0, 1);
    feed_timer(model, 700500000);
    feed_switch(model, 0, 0, 700510000, 0, 1, 0);
}

/* Something is sent to a socket; poll() waits 700 ms for the answer. */
enum answer { ANSWER, NO_ANSWER, NO_ANSWER_TO_MESSAGES, NOTHING_SENT };

static const char *const no_answers[] = {
    [ANSWER] = "",
    [NO_ANSWER] = ": no answer from a UDP socket to 18 bytes sent 100.0 us before",
    [NO_ANSWER_TO_MESSAGES] = ": no answer from a UDP socket to messages sent 100.0 us before",
    [NOTHING_SENT] = "",
};

static void test_no_answer(struct fixture *f, gconstpointer data)
{
    const enum answer answer = GPOINTER_TO_INT(data);
    const bool is_sent = answer == NO_ANSWER || answer == NO_ANSWER_TO_MESSAGES;
    g_autofree char *detail =
        g_strconcat("poll timed out after 700.0 ms", no_answers[answer], NULL);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000, SOCKET, 2, 2, 0);
    feed_return(model, 2000, SOCKET, 3);
    if (answer == NO_ANSWER_TO_MESSAGES || answer == NOTHING_SENT) {
        /* It returns how many messages went. */
        feed_call(model, 300000, SENDMMSG, 3, 0x1000, 2);
        feed_return(model, 400000, SENDMMSG, answer == NOTHING_SENT ? -11 : 2);
    } else {
        feed_call(model, 300000, SENDTO, 3, 0, 18);
        feed_return(model, 400000, SENDTO, 18);
    }
    if (answer == ANSWER) {
        feed_call(model, 410000, RECVFROM, 3, 0, 100);
        feed_return(model, 420000, RECVFROM, 40);
    }
    poll_in_vain(model);
    feed_return(model, 700520000, POLL, 0);
    struct lull_segment step = wait_of(f, strings, 510000, 700500000);
    g_assert_cmpint(step.reason.timed_out, ==, true);
    g_assert_cmpstr(step.detail, ==, detail);
    g_assert_cmpstr(step.subject, ==,
                    is_sent ? "timed out in poll: no answer from a UDP socket"
                            : "timed out in poll");
}

static void feed_address(struct lull_model *model, int64_t t, int64_t port)
{
    FEED(call_address, 0, 0, t, .have = ALL, .tid = 1, .family = 2, .port = port,
         .high = (int64_t)(UINT64_C(0x0a090002) << 32));
}

/* Task 1 makes the sockets 3 and 4, of these types. */
static void make_sockets(struct lull_model *model, uint64_t first, uint64_t second)
{
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000, SOCKET, 2, first, 0);
    feed_return(model, 2000, SOCKET, 3);
    feed_call(model, 3000, SOCKET, 2, second, 0);
    feed_return(model, 4000, SOCKET, 4);
}

/* connect() returns at once; the task waits with poll() until somebody answers, which nobody does. */
enum after { NOTHING_AFTER, IS_ASKED, IS_CLOSED, IS_SENT, OTHER_IS_ASKED };

static const char *const still_asked[] = {
    [NOTHING_AFTER] = ": no answer from 10.9.0.2:80 to the request to connect 100.0 us before",
    [IS_ASKED] = "",
    [IS_CLOSED] = "",
    [IS_SENT] = ": no answer from 10.9.0.2:80 to 18 bytes sent 20.00 us before",
    [OTHER_IS_ASKED] = ": no answer from 10.9.0.2:80 to the request to connect 100.0 us before",
};

static void test_connecting(struct fixture *f, gconstpointer data)
{
    const enum after after = GPOINTER_TO_INT(data);
    g_autofree char *detail =
        g_strconcat("poll timed out after 700.0 ms", still_asked[after], NULL);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    make_sockets(model, 1, 1);
    feed_call(model, 300000, CONNECT, 3, 0x1000, 16);
    feed_address(model, 399999, 80);
    feed_return(model, 400000, CONNECT, -115); /* EINPROGRESS */
    if (after == IS_ASKED || after == OTHER_IS_ASKED) {
        feed_call(model, 410000, GETSOCKOPT, after == IS_ASKED ? 3 : 4, 1, 4);
        feed_return(model, 420000, GETSOCKOPT, 0);
    } else if (after == IS_CLOSED) {
        feed_call(model, 410000, CLOSE, 3, 0, 0);
        feed_return(model, 420000, CLOSE, 0);
    } else if (after == IS_SENT) {
        feed_call(model, 470000, SENDTO, 3, 0, 18);
        feed_return(model, 480000, SENDTO, 18);
    }
    poll_in_vain(model);
    feed_return(model, 700520000, POLL, 0);
    g_assert_cmpstr(wait_of(f, strings, 510000, 700500000).detail, ==, detail);
}

/* Who polls one descriptor alone waits for that: for the answer to what it sent there, and not for that to what it sent elsewhere. */
static void test_polled(struct fixture *f, gconstpointer data)
{
    const int64_t polled = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    for (int64_t fd = 3; fd < 5; fd++) {
        const int64_t t = fd * 10000;
        feed_call(model, t, SOCKET, 2, 1, 0);
        feed_return(model, t + 1000, SOCKET, fd);
        feed_call(model, t + 2000, CONNECT, (uint64_t)fd, 0x1000, 16);
        feed_address(model, t + 2999, 80 + fd);
        feed_return(model, t + 3000, CONNECT, 0);
    }
    feed_call(model, 300000, SENDTO, 3, 0, 18);
    feed_return(model, 400000, SENDTO, 18);
    poll_in_vain(model);
    FEED(call_poll, 0, 0, 700519999, .have = ALL, .tid = 1, .fd = polled);
    feed_return(model, 700520000, POLL, 0);
    const struct lull_segment step = wait_of(f, strings, 510000, 700500000);
    g_assert_cmpstr(step.reason.object, ==, polled == 3 ? "10.9.0.2:83" : "10.9.0.2:84");
    g_assert_cmpstr(
        step.detail, ==,
        polled == 3
            ? "poll timed out after 700.0 ms: no answer from 10.9.0.2:83 to 18 bytes sent 100.0 us before"
            : "poll of 10.9.0.2:84 timed out after 700.0 ms");
    g_assert_cmpstr(step.subject, ==,
                    polled == 3 ? "timed out in poll: no answer from 10.9.0.2:83"
                                : "timed out in poll of 10.9.0.2:84");
}

/* What a server sent to a client was the answer: a time-out while it waits for any of its clients does not miss one. If it waits for that
 * one alone, the client may have to say something. */
static void test_served(struct fixture *f, gconstpointer data)
{
    const bool is_alone = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 10000, SOCKET, 2, 1, 0);
    feed_return(model, 11000, SOCKET, 3);
    feed_call(model, 20000, ACCEPT, 3, 0, 0);
    feed_return(model, 21000, ACCEPT, 4);
    feed_call(model, 300000, SENDTO, 4, 0, 18);
    feed_return(model, 400000, SENDTO, 18);
    poll_in_vain(model);
    if (is_alone) {
        FEED(call_poll, 0, 0, 700519999, .have = ALL, .tid = 1, .fd = 4);
    }
    feed_return(model, 700520000, POLL, 0);
    g_assert_cmpstr(
        wait_of(f, strings, 510000, 700500000).detail, ==,
        is_alone
            ? "poll timed out after 700.0 ms: no answer from a socket to 18 bytes sent 100.0 us before"
            : "poll timed out after 700.0 ms");
}

/* connect() waits, and a timer ends that: TCP has given up, nobody has the address, SO_SNDTIMEO; or it is refused. */
static const struct connect_way {
    const char *name;
    int error;
    bool has_timed_out;
} connect_ways[] = {
    {"given-up", 110, true},
    {"no-such-host", 113, true},
    {"own-time-out", 115, true},
    {"refused", 111, false},
};

static void test_connect(struct fixture *f, gconstpointer data)
{
    const struct connect_way *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    make_sockets(model, 1, 2);
    feed_call(model, 5000, SENDTO, 4, 0, 18); /* which is another matter */
    feed_return(model, 6000, SENDTO, 18);
    feed_call(model, 500000, CONNECT, 3, 0x1000, 16);
    feed_switch(model, 0, 0, 510000, 1, 0, 1);
    feed_timer(model, 700500000);
    feed_switch(model, 0, 0, 700510000, 0, 1, 0);
    feed_address(model, 700519999, 80);
    feed_return(model, 700520000, CONNECT, -way->error);
    const struct lull_segment step = wait_of(f, strings, 510000, 700500000);
    g_assert_cmpint(step.reason.timed_out, ==, way->has_timed_out);
    g_assert_cmpstr(step.reason.object, ==, "10.9.0.2:80");
    g_assert_cmpstr(step.detail, ==,
                    way->has_timed_out
                        ? "connect timed out after 700.0 ms: no answer from 10.9.0.2:80"
                        : "hrtimer; in connect to 10.9.0.2:80");
    g_assert_cmpstr(step.subject, ==,
                    way->has_timed_out ? "timed out in connect: no answer from 10.9.0.2:80"
                                       : "hrtimer, in connect");
}

/* poll() and select() of no descriptors are a sleep, whatever was sent before. Of one they are not. */
static void test_sleep(struct fixture *f, gconstpointer data)
{
    const bool is_poll = GPOINTER_TO_INT(data) == POLL;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000, SOCKET, 2, 2, 0);
    feed_return(model, 2000, SOCKET, 3);
    feed_call(model, 300000, SENDTO, 3, 0, 18);
    feed_return(model, 400000, SENDTO, 18);
    for (int n = 0; n < 2; n++) {
        const int64_t t = n * INT64_C(1000000000);
        feed_call(model, t + 500000, is_poll ? POLL : SELECT, is_poll ? 0x1000 : (uint64_t)n,
                  is_poll ? (uint64_t)n : 0x1000, 700);
        feed_switch(model, 0, 0, t + 510000, 1, 0, 1);
        feed_timer(model, t + 700500000);
        feed_switch(model, 0, 0, t + 700510000, 0, 1, 0);
        feed_return(model, t + 700520000, is_poll ? POLL : SELECT, 0);
    }
    struct lull_segment step = wait_of(f, strings, 510000, 700500000);
    g_assert_false(step.reason.timed_out);
    g_assert_cmpstr(step.reason.kind, ==, "sleep");
    g_assert_cmpstr(step.detail, ==, is_poll ? "hrtimer; in poll" : "hrtimer; in select");
    step = wait_of(f, strings, 1000510000, 1700500000);
    g_assert_true(step.reason.timed_out);
    g_assert_cmpstr(step.reason.kind, ==, "ready");
}

/* A timer that something else was waiting for is no time-out: poll() returns 1 (a timerfd). */
static void test_no_time_out(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 20, POLL, 0x1000, 1, 700);
    feed_switch(model, 0, 0, 30, 1, 0, 1);
    feed_timer(model, 100);
    feed_switch(model, 0, 0, 110, 0, 1, 0);
    feed_return(model, 120, POLL, 1);
    struct lull_segment step = wait_of(f, strings, 30, 100);
    g_assert_false(step.reason.timed_out);
    g_assert_cmpstr(step.detail, ==, "hrtimer; in poll");
}

/* Of a wait of which no tracer saw the end, the call may say what it was: nothing but time ends a read of a timerfd, or poll() of
 * nothing; an eventfd is another matter. */
static const struct time_way {
    const char *name;
    int make, number;
    uint64_t a, b;
    enum lull_cause cause;
} time_ways[] = {
    {"timerfd", TIMERFD_CREATE, READ, 3, 0x1000, LULL_CAUSE_TIMER},
    {"eventfd", EVENTFD2, READ, 3, 0x1000, LULL_CAUSE_UNKNOWN},
    {"poll-nothing", EVENTFD2, POLL, 0x1000, 0, LULL_CAUSE_TIMER},
    {"poll", EVENTFD2, POLL, 0x1000, 1, LULL_CAUSE_UNKNOWN},
};

static void test_time(struct fixture *f, gconstpointer data)
{
    const struct time_way *way = data;
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000, way->make, 1, 0, 0);
    feed_return(model, 2000, way->make, 3);
    feed_call(model, 3000, way->number, way->a, way->b, 8);
    feed_switch(model, 0, 0, 5000, 1, 0, 1);
    feed_switch(model, 0, 0, 9000, 0, 1, 0);
    feed_return(model, 9100, way->number, 8);
    g_autoptr(GArray) hops = lull_critpath_find(f->eg->graph, lull_model_find_tid(model, 0, 1),
                                                5000, 9000, LULL_PATH_BOUNDED);
    g_assert_cmpuint(hops->len, ==, 1);
    g_assert_cmpint(g_array_index(hops, struct lull_hop, 0).cause, ==, way->cause);
}

/* futex(2) returns ETIMEDOUT, 110. */
static void test_futex_time_out(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 1000000, FUTEX, 0x7f0010, 0, 0);
    feed_switch(model, 0, 0, 1100000, 1, 0, 1);
    feed_timer(model, 3000000);
    feed_switch(model, 0, 0, 3100000, 0, 1, 0);
    feed_return(model, 3200000, FUTEX, -110);
    g_assert_cmpstr(wait_of(f, strings, 1100000, 3000000).detail, ==,
                    "futex timed out after 2.000 ms");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/timeouts/sleep-by-poll", struct fixture, GINT_TO_POINTER(POLL), set_up, test_sleep,
               tear_down);
    g_test_add("/timeouts/sleep-by-select", struct fixture, GINT_TO_POINTER(SELECT), set_up,
               test_sleep, tear_down);
    g_test_add("/timeouts/answered", struct fixture, GINT_TO_POINTER(ANSWER), set_up,
               test_no_answer, tear_down);
    g_test_add("/timeouts/no-answer", struct fixture, GINT_TO_POINTER(NO_ANSWER), set_up,
               test_no_answer, tear_down);
    g_test_add("/timeouts/no-answer-to-messages", struct fixture,
               GINT_TO_POINTER(NO_ANSWER_TO_MESSAGES), set_up, test_no_answer, tear_down);
    g_test_add("/timeouts/nothing-sent", struct fixture, GINT_TO_POINTER(NOTHING_SENT), set_up,
               test_no_answer, tear_down);
    g_test_add("/timeouts/no-time-out", struct fixture, NULL, set_up, test_no_time_out, tear_down);
    g_test_add("/timeouts/futex-time-out", struct fixture, NULL, set_up, test_futex_time_out,
               tear_down);
    for (size_t i = 0; i < G_N_ELEMENTS(time_ways); i++) {
        g_autofree char *name = g_strdup_printf("/timeouts/time/%s", time_ways[i].name);
        g_test_add(name, struct fixture, &time_ways[i], set_up, test_time, tear_down);
    }
    for (int after = NOTHING_AFTER; after <= OTHER_IS_ASKED; after++) {
        g_autofree char *name = g_strdup_printf("/timeouts/connecting-%d", after);
        g_test_add(name, struct fixture, GINT_TO_POINTER(after), set_up, test_connecting,
                   tear_down);
    }
    for (int fd = 3; fd < 5; fd++) {
        g_autofree char *name = g_strdup_printf("/timeouts/polled-%d", fd);
        g_test_add(name, struct fixture, GINT_TO_POINTER(fd), set_up, test_polled, tear_down);
    }
    g_test_add("/timeouts/served-one", struct fixture, GINT_TO_POINTER(true), set_up, test_served,
               tear_down);
    g_test_add("/timeouts/served-many", struct fixture, NULL, set_up, test_served, tear_down);
    for (size_t i = 0; i < G_N_ELEMENTS(connect_ways); i++) {
        g_autofree char *name = g_strdup_printf("/timeouts/connect/%s", connect_ways[i].name);
        g_test_add(name, struct fixture, &connect_ways[i], set_up, test_connect, tear_down);
    }
    return g_test_run();
}
