/* SPDX-License-Identifier: MIT */
/* What a wait was for where only other events tell: requests of io_uring, leases of files. Task 1 waits in a call, as told by
 * the letters of a script, whose order is the kernel's (io_uring/io_uring.c, fs/locks.c of Linux); the sentences are written by
 * hand. */
#include "graph/reasons.h"

enum { IO_URING_ENTER = 426, RING = 0x1000, REQUEST = 0x2000, ETIME_ = 62, ECANCELED_ = 125 };
enum { OP_POLL = 6, OP_TIMEOUT = 11, OP_LINK_TIMEOUT = 15, OP_READ = 22, OP_LAST = 99 };

static void feed_submit(struct lull_model *model, int64_t t, unsigned number, unsigned operation,
                        int fd)
{
    FEED(io_uring_submit, 0, 0, t, .have = ALL, .ring = RING, .request = REQUEST + number,
         .user_data = 0xa0 + number, .operation = operation);
    if (fd >= 0) {
        FEED(io_uring_file, 0, 0, t,
             .have = WITHOUT(io_uring_file, context_tid) & WITHOUT(io_uring_file, context_vtid) &
                     WITHOUT(io_uring_file, context_pid) & WITHOUT(io_uring_file, context_comm),
             .request = REQUEST + number, .fd = fd);
    }
}

static void feed_end(struct lull_model *model, int64_t t, unsigned number, int result,
                     unsigned flags)
{
    FEED(io_uring_complete, 0, 0, t, .have = ALL, .ring = RING, .request = REQUEST + number,
         .user_data = 0xa0 + number, .result = result, .flags = flags);
}

/* s, S: the first and second request are submitted; c: the call starts, w: it waits for the ring; (: task 1 leaves the CPU to
 * task 2; 1 to 4: a request ends with 1, m: the first does, and goes on; t: the first with ETIME, x: the second as cancelled;
 * k: task 2 wakes task 1, T: a timer does; ): it is back on the CPU; *: 40 requests end that nobody knows; r: the call returns 1,
 * e: that it timed out, i: that it was interrupted. */
static const struct uring_way {
    const char *name, *script;
    unsigned first, second; /* operations; 0: none is submitted */
    const char *sentence, *object;
} uring_ways[] = {
    {"by-other", "scw(1k)r", OP_READ, 0,
     "in io_uring_enter for read of an eventfd, woken by t2/2, user_data 0xa1",
     "read of an eventfd"},
    {"by-itself", "scw(k)1r", OP_READ, 0,
     "in io_uring_enter for read of an eventfd, woken by t2/2, user_data 0xa1",
     "read of an eventfd"},
    {"second-first", "sScw(k)2r", OP_READ, OP_POLL,
     "in io_uring_enter for poll of an eventfd, woken by t2/2, user_data 0xa2",
     "poll of an eventfd"},
    {"both", "sScw(12k)r", OP_READ, OP_POLL,
     "in io_uring_enter for poll of an eventfd, woken by t2/2, user_data 0xa2; 1 request ended with it",
     "poll of an eventfd"},
    {"again", "sScw(mk)1r", OP_POLL, OP_READ,
     "in io_uring_enter for poll of an eventfd, woken by t2/2, user_data 0xa1; 1 request ended with it",
     "poll of an eventfd"},
    {"sleep", "scw(T)tr", OP_TIMEOUT, 0, "io_uring_enter timed out after 8 ns", NULL},
    {"timeout", "sScw(T)tr", OP_TIMEOUT, OP_READ,
     "io_uring_enter timed out after 8 ns: read of an eventfd had not ended", "read of an eventfd"},
    {"linked", "Sscw(T)txr", OP_LINK_TIMEOUT, OP_READ,
     "io_uring_enter timed out after 8 ns: read of an eventfd had not ended", "read of an eventfd"},
    {"own-time-out", "Scw(T)e", 0, OP_READ,
     "io_uring_enter timed out after 8 ns: read of an eventfd had not ended", "read of an eventfd"},
    /* It says how many it has submitted instead. */
    {"hidden-time-out", "Scw(T)r", 0, OP_READ,
     "io_uring_enter timed out after 8 ns: read of an eventfd had not ended", "read of an eventfd"},
    {"interrupted", "Scw(T)i", 0, OP_READ,
     "softirq TIMER; in io_uring_enter for read of an eventfd, user_data 0xa2",
     "read of an eventfd"},
    {"lost", "scw(k)*1r", OP_READ, 0, "in io_uring_enter on an eventfd, woken by t2/2", NULL},
    {"no-submit", "cw(k)1r", 0, 0, "in io_uring_enter on an eventfd, woken by t2/2", NULL},
    {"no-wait", "sc(k)1r", OP_READ, 0, "in io_uring_enter on an eventfd, woken by t2/2", NULL},
    {"before", "w1sc(k)r", OP_READ, 0, "in io_uring_enter on an eventfd, woken by t2/2", NULL},
    {"new-operation", "scw(1k)r", OP_LAST, 0,
     "in io_uring_enter on an eventfd, woken by t2/2, user_data 0xa1", NULL},
};

static void feed_timer_softirq(struct lull_model *model, int64_t t)
{
    feed_softirq(model, 0, 0, t, 1, true);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t, 1, 0);
    feed_softirq(model, 0, 0, t, 1, false);
}

static void step(struct lull_model *model, const struct uring_way *way, char letter, int64_t t)
{
    switch (letter) {
    case 's':
    case 'S': {
        const unsigned operation = letter == 's' ? way->first : way->second;
        const bool is_time = operation == OP_TIMEOUT || operation == OP_LINK_TIMEOUT;
        feed_submit(model, t, letter == 's' ? 1 : 2, operation, is_time ? -1 : 5);
        break;
    }
    case 'c':
        feed_call(model, t, IO_URING_ENTER, 5, 0, 1);
        break;
    case 'w':
        FEED(io_uring_wait, 0, 0, t, .have = 1, .ring = RING);
        break;
    case '(':
        feed_switch(model, 0, 0, t, 1, 2, 1);
        break;
    case ')':
        feed_switch(model, 0, 0, t, 2, 1, 0);
        break;
    case 'k':
        feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t, 1, 0);
        break;
    case 'T':
        feed_timer_softirq(model, t);
        break;
    case 'm':
        feed_end(model, t, 1, 1, 2);
        break;
    case 't':
        feed_end(model, t, 1, -ETIME_, 0);
        break;
    case 'x':
        feed_end(model, t, 2, -ECANCELED_, 0);
        break;
    case '*':
        for (unsigned i = 0; i < 40; i++) {
            feed_end(model, t, 50 + i, 1, 0);
        }
        break;
    case 'r':
    case 'e':
    case 'i':
        feed_return(model, t, IO_URING_ENTER, letter == 'r' ? 1 : letter == 'e' ? -ETIME_ : -4);
        break;
    default:
        feed_end(model, t, (unsigned)(letter - '0'), 1, 0);
    }
}

/* What task 1 said of its only wait, in which it waited for task 2 or for a timer. */
static const char *said(struct fixture *f, GStringChunk *strings, int64_t start_ns, int64_t end_ns,
                        struct lull_reason *reason)
{
    g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(struct lull_path_wait));
    g_autoptr(GArray) hops =
        lull_critpath_find_waits(f->eg->graph, lull_model_find_tid(f->model, 0, 1), start_ns,
                                 end_ns, LULL_PATH_BOUNDED, waits);
    if (waits->len == 0) {
        const struct lull_segment segment = wait_of(f, strings, start_ns, end_ns);
        *reason = segment.reason;
        return segment.detail;
    }
    struct lull_wait wait = {.start_ns = start_ns, .end_ns = end_ns};
    lull_evidence_entered(f->eg, g_array_index(waits, struct lull_path_wait, 0).detail, strings,
                          &wait);
    *reason = wait.reason;
    return wait.detail;
}

static void test_uring(struct fixture *f, gconstpointer data)
{
    const struct uring_way *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    int64_t t = 100, start_ns = 0, end_ns = 0;
    feed_switch(model, 0, 0, 10, 0, 1, 0);
    feed_call(model, 11, EVENTFD2, 0, 0, 0);
    feed_return(model, 12, EVENTFD2, 5);
    for (const char *letter = way->script; *letter; letter++, t += 2) {
        step(model, way, *letter, t);
        start_ns = *letter == '(' ? t : start_ns;
        end_ns = *letter == 'k' || *letter == 'T' ? t : end_ns;
    }
    struct lull_reason reason;
    const char *detail = said(f, strings, start_ns, end_ns, &reason);
    /* The time-out lasts from the start of the call. */
    g_autofree char *sentence = g_strdup(way->sentence);
    char *after = strstr(sentence, "8 ns");
    if (after) {
        const char *call = strchr(way->script, 'c'), *timer = strchr(way->script, 'T');
        after[0] = (char)('0' + 2 * (timer - call));
    }
    g_assert_cmpstr(detail, ==, sentence);
    if (way->object) {
        g_assert_cmpstr(reason.kind, ==, "request");
        g_assert_cmpstr(reason.object, ==, way->object);
    }
    g_assert_cmpint(reason.timed_out, ==, strstr(way->sentence, "timed out") != NULL);
}

/* A thread that works for an io_uring is made without a fork being reported: it is one of its maker's process, and has its
 * descriptors. */
static void test_worker(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 10, 0, 1, 0);
    feed_call(model, 11, EVENTFD2, 0, 0, 0);
    feed_return(model, 12, EVENTFD2, 5);
    feed_submit(model, 13, 1, OP_READ, -1);
    FEED(task_newtask, 0, 0, 14, .have = ALL, .tid = 9,
         .flags = 0x10f00); /* CLONE_THREAD, …FILES */
    feed_wake(model, LULL_EVENT_sched_wakeup_new, 0, 0, 15, 9, 0);
    feed_call(model, 16, IO_URING_ENTER, 5, 0, 1);
    FEED(io_uring_wait, 0, 0, 17, .have = 1, .ring = RING);
    feed_switch(model, 0, 0, 18, 1, 9, 1);
    FEED(io_uring_file, 0, 0, 19, .have = 3, .request = REQUEST + 1, .fd = 5);
    feed_end(model, 20, 1, 1, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 21, 1, 0);
    feed_switch(model, 0, 0, 22, 9, 1, 1);
    feed_return(model, 23, IO_URING_ENTER, 0);
    struct lull_reason reason;
    g_assert_cmpstr(said(f, strings, 18, 21, &reason), ==,
                    "in io_uring_enter for read of an eventfd, woken by t9/9, user_data 0xa1");
    const struct lull_task *worker = lull_model_task(model, lull_model_find_tid(model, 0, 9));
    g_assert_cmpuint(worker->parent, ==, lull_model_find_tid(model, 0, 1));
}

/* ---- leases ---- */

static const struct lease_way {
    const char *name;
    bool is_taken, is_given, is_other,
        is_told; /* other: of another file; told: task 1 has to wait */
    const char *sentence;
} lease_ways[] = {
    {"kept", true, false, false, true, "softirq TIMER; in openat of /mnt/x, whose lease t2/2 kept"},
    {"given-before", true, true, false, true,
     "softirq TIMER; in openat of /mnt/x, whose lease another process kept"},
    {"other-file", true, false, true, true,
     "softirq TIMER; in openat of /mnt/x, whose lease another process kept"},
    {"not-seen", false, false, false, true,
     "softirq TIMER; in openat of /mnt/x, whose lease another process kept"},
    {"none", true, false, false, false, "softirq TIMER; in openat of /mnt/x"},
};

#define FEED_LEASE(event, t, number)                                                               \
    FEED(event, 0, 0, t, .have = 3, .inode = number, .dev = 0xfe00000)

static void test_kept_lease(struct fixture *f, gconstpointer data)
{
    const struct lease_way *way = data;
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 5, 0, 2, 0);
    if (way->is_taken) {
        FEED_LEASE(lease_take, 6, way->is_other ? 78 : 77);
    }
    if (way->is_given) {
        FEED_LEASE(lease_give, 7, 77);
    }
    feed_switch(model, 0, 0, 10, 2, 1, 0);
    feed_call(model, 20, OPENAT, 0, 0, 0);
    if (way->is_told) {
        FEED_LEASE(lease_break, 21, 77);
    }
    feed_switch(model, 0, 0, 25, 1, 2, 1);
    feed_timer_softirq(model, 45);
    feed_switch(model, 0, 0, 46, 2, 1, 0);
    FEED(call_path, 0, 0, 47, .have = ALL, .tid = 1, .path = feed_text("/mnt/x"));
    feed_return(model, 48, OPENAT, 5);
    const struct lull_segment segment = wait_of(f, strings, 25, 45);
    g_assert_cmpstr(segment.detail, ==, way->sentence);
    g_assert_cmpint(segment.other_tid, ==, strstr(way->sentence, "t2/2") ? 2 : 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(uring_ways); i++) {
        g_autofree char *name = g_strdup_printf("/requests/%s", uring_ways[i].name);
        g_test_add(name, struct fixture, &uring_ways[i], set_up, test_uring, tear_down);
    }
    g_test_add("/requests/worker", struct fixture, NULL, set_up, test_worker, tear_down);
    for (size_t i = 0; i < G_N_ELEMENTS(lease_ways); i++) {
        g_autofree char *name = g_strdup_printf("/requests/lease/%s", lease_ways[i].name);
        g_test_add(name, struct fixture, &lease_ways[i], set_up, test_kept_lease, tear_down);
    }
    return g_test_run();
}
