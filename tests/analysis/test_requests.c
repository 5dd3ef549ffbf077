/* SPDX-License-Identifier: MIT */
/* Requests from packets: scripts of a client (host 0, task 1 on CPU 0), expectations by arithmetic.
 */
#include "analysis/requests.h"
#include "lib/feed.h"

struct fixture {
    struct lull_model *model;
    struct lull_requests *requests;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    f->model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    f->requests = lull_requests_new(f->model);
    feed_switch(f->model, 0, 0, 5, 0, 1, 0);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_requests_free(f->requests);
    lull_model_free(f->model);
}

enum { PORT = 40000, HTTP = 80, SYN = 2, ACK = 16 };

static void from_client(struct fixture *f, int64_t t, uint32_t seq, uint32_t payload)
{
    feed_tcp(f->model, 0, 0, t, true,
             &(struct feed_segment){1, 2, PORT, HTTP, seq, 0, 0, payload, NULL});
}

static void to_client(struct fixture *f, int64_t t, uint32_t seq, uint32_t payload)
{
    feed_softirq(f->model, 0, 0, t - 1, 3, true);
    feed_tcp(f->model, 0, 0, t, false,
             &(struct feed_segment){2, 1, HTTP, PORT, seq, 0, 0, payload, NULL});
}

static void block(struct fixture *f, int64_t t)
{
    feed_switch(f->model, 0, 0, t, 1, 0, 1);
}

static void run_again(struct fixture *f, int64_t t)
{
    feed_wake(f->model, LULL_EVENT_sched_waking, 0, 0, t - 2, 1, 0);
    feed_softirq(f->model, 0, 0, t - 1, 3, false);
    feed_switch(f->model, 0, 0, t, 0, 1, 0);
}

static const struct lull_request *finish(struct fixture *f, uint32_t expected)
{
    uint32_t count;
    lull_model_finish(f->model);
    lull_requests_finish(f->requests);
    const struct lull_request *list = lull_requests_list(f->requests, &count);
    g_assert_cmpuint(count, ==, expected);
    return list;
}

/* Sent at 10; blocked 12..38; the answer comes in two parts; the client runs again at 40. */
static void test_one(struct fixture *f, gconstpointer data)
{
    from_client(f, 10, 100, 50);
    block(f, 12);
    to_client(f, 30, 500, 1000);
    to_client(f, 35, 1500, 24);
    run_again(f, 40);
    const struct lull_request *list = finish(f, 1);
    g_assert_cmpuint(list[0].id, ==, 1);
    g_assert_cmpint(list[0].start_ns, ==, 10);
    g_assert_cmpint(list[0].end_ns, ==, 40);
    g_assert_cmpint(list[0].blocked_ns, ==, 26); /* 12 to 38, when it was woken */
    g_assert_cmpuint(list[0].bytes_sent, ==, 50);
    g_assert_cmpuint(list[0].bytes_received, ==, 1024);
    g_assert_cmpint(lull_model_task(f->model, list[0].task)->tid, ==, 1);
}

/* Sending again after an answer begins another request; sending twice before does not. */
static void test_two(struct fixture *f, gconstpointer data)
{
    from_client(f, 10, 100, 50);
    from_client(f, 11, 150, 25);
    block(f, 12);
    to_client(f, 30, 500, 10);
    run_again(f, 40);
    from_client(f, 50, 175, 5);
    to_client(f, 60, 510, 7); /* the client runs meanwhile: it has the answer when it arrives */
    const struct lull_request *list = finish(f, 2);
    g_assert_cmpuint(list[0].bytes_sent, ==, 75);
    g_assert_cmpint(list[1].start_ns, ==, 50);
    g_assert_cmpint(list[1].end_ns, ==, 60);
    g_assert_cmpint(list[1].blocked_ns, ==, 0);
    g_assert_cmpuint(list[1].bytes_received, ==, 7);
}

/* What is sent again is not sent twice, and opens nothing. */
static void test_retransmission(struct fixture *f, gconstpointer data)
{
    from_client(f, 10, 100, 50);
    from_client(f, 20, 100, 50);
    to_client(f, 30, 500, 10);
    to_client(f, 31, 500, 10);
    to_client(f, 32, 505, 10); /* overlaps by five */
    from_client(f, 40, 100, 50);
    const struct lull_request *list = finish(f, 1);
    g_assert_cmpuint(list[0].bytes_sent, ==, 50);
    g_assert_cmpuint(list[0].bytes_received, ==, 15);
    g_assert_cmpint(list[0].end_ns, ==, 32);
}

/* No answer, no request; an answer to nothing is none either. */
static void test_unanswered(struct fixture *f, gconstpointer data)
{
    to_client(f, 8, 490, 10);
    from_client(f, 10, 100, 50);
    finish(f, 0);
}

/* How a request stands when the trace ends at 100, in which call its client sleeps since 12, and what came from the server. */
enum { NO_CALL = -1, POLL = 7, NANOSLEEP = 35, RECVFROM = 45, FUTEX = 202, FIN = 1, RST = 4 };
static const struct still {
    const char *name;
    int call;
    uint16_t flags;
    bool is_asked_again, is_running; /* after an answer; the client at the end */
    bool is_several;                 /* another host has the same addresses */
    uint32_t n;                      /* that still wait */
} still[] = {
    {"waits", RECVFROM, 0, false, false, false, 1},
    {"polls", POLL, 0, false, false, false, 1},
    {"no-call", NO_CALL, 0, false, false, false, 1},
    {"sleeps", NANOSLEEP, 0, false, false, false, 0},
    {"locks", FUTEX, 0, false, false, false, 0},
    {"closed", RECVFROM, FIN, false, false, false, 0},
    {"reset", RECVFROM, RST, false, false, false, 0},
    {"again", RECVFROM, 0, true, false, false, 1},
    {"runs", NO_CALL, 0, false, true, false, 0},
    {"several", RECVFROM, 0, false, false, true, 0},
};

static void test_still(struct fixture *f, gconstpointer data)
{
    const struct still *way = data;
    struct lull_model *model = f->model;
    if (way->is_asked_again) {
        from_client(f, 6, 100, 50);
        to_client(f, 8, 500, 24);
        feed_softirq(model, 0, 0, 9, 3, false);
    }
    from_client(f, 10, 150, 30);
    if (way->call != NO_CALL) {
        FEED(raw_entry, 0, 0, 11, .have = UINT64_C(1) << LULL_FIELD_raw_entry_number,
             .number = way->call);
    }
    if (!way->is_running) {
        block(f, 12);
    }
    if (way->flags) {
        feed_softirq(model, 0, 0, 29, 3, true);
        feed_tcp(model, 0, 0, 30, false,
                 &(struct feed_segment){2, 1, HTTP, PORT, 524, 0, way->flags | ACK, 0, NULL});
        feed_softirq(model, 0, 0, 31, 3, false);
    }
    if (way->is_several) {
        feed_tcp(model, 1, 0, 50, true,
                 &(struct feed_segment){1, 2, PORT, HTTP, 150, 0, 0, 30, NULL});
    }
    feed_switch(model, 0, 1, 100, 0, 2, 0);
    finish(f, way->is_asked_again);
    uint32_t n;
    const struct lull_request *list = lull_requests_unanswered(f->requests, &n);
    g_assert_cmpuint(n, ==, way->n);
    if (n) {
        g_assert_cmpint(list[0].start_ns, ==, 10);
        g_assert_cmpint(list[0].end_ns, ==, 100);
        g_assert_cmpuint(list[0].bytes_sent, ==, 30);
        g_assert_cmpint(list[0].tid, ==, 1);
        g_assert_cmpstr(list[0].peer, ==, "10.0.0.2");
        g_assert_cmpuint(list[0].port, ==, HTTP);
    }
}

/* A server alone, both ends on ports of clients: the SYN tells that the client is elsewhere. */
static void test_foreign_client(struct fixture *f, gconstpointer data)
{
    struct feed_segment syn = {2, 1, 50000, 50001, 1, 0, SYN, 0, NULL};
    struct feed_segment ask = {2, 1, 50000, 50001, 2, 0, ACK, 20, NULL};
    struct feed_segment answer = {1, 2, 50001, 50000, 900, 0, ACK, 30, NULL};
    struct feed_segment again = {2, 1, 50000, 50001, 22, 0, ACK, 20, NULL};
    feed_tcp(f->model, 0, 0, 10, false, &syn);
    feed_tcp(f->model, 0, 0, 11, false, &ask);
    feed_tcp(f->model, 0, 0, 12, true, &answer);
    feed_tcp(f->model, 0, 0, 13, false, &again);
    finish(f, 0);
}

/* Where clocks are not joined, the server may seem to receive before the client sends. */
static void test_server_clock_ahead(struct fixture *f, gconstpointer data)
{
    struct feed_segment syn = {1, 2, PORT, HTTP, 99, 0, SYN, 0, NULL};
    struct feed_segment ask = {1, 2, PORT, HTTP, 100, 0, ACK, 20, NULL};
    struct feed_segment answer = {2, 1, HTTP, PORT, 900, 0, ACK, 30, NULL};
    feed_tcp(f->model, 1, 0, 1, false, &syn);
    feed_tcp(f->model, 1, 0, 2, false, &ask);
    feed_tcp(f->model, 1, 0, 3, true, &answer);
    feed_tcp(f->model, 0, 0, 10, true, &syn);
    feed_tcp(f->model, 0, 0, 11, true, &ask);
    feed_tcp(f->model, 0, 0, 20, false, &answer);
    const struct lull_request *list = finish(f, 1);
    g_assert_cmpuint(list[0].host, ==, 0);
    g_assert_cmpint(list[0].start_ns, ==, 11);
    g_assert_cmpint(list[0].end_ns, ==, 20);
}

/* A client that sleeps, or waits for another task, when the answer comes has not waited for it: it has
 * the answer when it comes. */
static void test_other_waits(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    from_client(f, 10, 100, 50);
    block(f, 12);
    to_client(f, 20, 500, 10);
    feed_softirq(model, 0, 0, 21, 3, false);
    FEED(local_timer_entry, 0, 0, 28, 0);
    FEED(hrtimer_entry, 0, 0, 29, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 30, 1, 0);
    FEED(hrtimer_exit, 0, 0, 31, 0);
    FEED(local_timer_exit, 0, 0, 32, 0);
    feed_switch(model, 0, 0, 35, 0, 1, 0);
    from_client(f, 40, 150, 50);
    feed_switch(model, 0, 0, 42, 1, 9, 1);
    to_client(f, 50, 510, 10);
    feed_softirq(model, 0, 0, 51, 3, false);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 60, 1, 0);
    feed_switch(model, 0, 0, 65, 9, 1, 1);
    const struct lull_request *list = finish(f, 2);
    g_assert_cmpint(list[0].end_ns, ==, 20);
    g_assert_cmpint(list[1].end_ns, ==, 50);
}

/* A router sends on what it has received: it is no client. */
static void test_router(struct fixture *f, gconstpointer data)
{
    struct feed_segment syn = {1, 2, PORT, HTTP, 99, 0, SYN, 0, NULL};
    struct feed_segment ask = {1, 2, PORT, HTTP, 100, 0, ACK, 20, NULL};
    struct feed_segment answer = {2, 1, HTTP, PORT, 900, 0, ACK, 30, NULL};
    const struct feed_segment *passing[] = {&syn, &ask, &answer};
    for (size_t i = 0; i < G_N_ELEMENTS(passing); i++) {
        feed_tcp(f->model, 0, 0, 10 + 2 * (int64_t)i, false, passing[i]);
        feed_tcp(f->model, 0, 0, 11 + 2 * (int64_t)i, true, passing[i]);
    }
    finish(f, 0);
}

/* Sequence numbers pass through zero. */
static void test_wrap(struct fixture *f, gconstpointer data)
{
    from_client(f, 10, UINT32_MAX - 9, 30);
    to_client(f, 20, UINT32_MAX - 4, 5);
    to_client(f, 21, 0, 100);
    from_client(f, 30, 20, 1);
    to_client(f, 40, 100, 2);
    const struct lull_request *list = finish(f, 2);
    g_assert_cmpuint(list[0].bytes_sent, ==, 30);
    g_assert_cmpuint(list[0].bytes_received, ==, 105);
    g_assert_cmpuint(list[1].bytes_received, ==, 2);
}

/* Both ends on this host, over the loopback device. */
static void test_loopback(struct fixture *f, gconstpointer data)
{
    struct feed_segment ask = {1, 1, PORT, HTTP, 100, 0, 0, 40, "lo"};
    struct feed_segment answer = {1, 1, HTTP, PORT, 700, 0, 0, 60, "lo"};
    feed_tcp(f->model, 0, 0, 10, true, &ask);
    feed_tcp(f->model, 0, 0, 11, false, &ask);
    feed_tcp(f->model, 0, 0, 20, true, &answer);
    feed_tcp(f->model, 0, 0, 21, false, &answer);
    const struct lull_request *list = finish(f, 1);
    g_assert_cmpint(list[0].start_ns, ==, 10);
    g_assert_cmpint(list[0].end_ns, ==, 21);
    g_assert_cmpuint(list[0].bytes_sent, ==, 40);
    g_assert_cmpuint(list[0].bytes_received, ==, 60);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct fixture *f, gconstpointer data);
    } tests[] = {
        {"/requests/one", test_one},
        {"/requests/two", test_two},
        {"/requests/retransmission", test_retransmission},
        {"/requests/unanswered", test_unanswered},
        {"/requests/foreign-client", test_foreign_client},
        {"/requests/server-clock-ahead", test_server_clock_ahead},
        {"/requests/other-waits", test_other_waits},
        {"/requests/router", test_router},
        {"/requests/wrap", test_wrap},
        {"/requests/loopback", test_loopback},
    };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].name, struct fixture, NULL, set_up, tests[i].test, tear_down);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(still); i++) {
        g_autofree char *name = g_strdup_printf("/requests/still/%s", still[i].name);
        g_test_add(name, struct fixture, &still[i], set_up, test_still, tear_down);
    }
    return g_test_run();
}
