/* SPDX-License-Identifier: MIT */
/* What the kernel does to a task that did not ask for it: it is read into memory, held back by limits,
 * kept off the CPU by a quota, or its core is dumped. */
#include "graph/portions.h"
#include "graph/reasons.h"

static void feed_read(struct lull_model *model, int64_t issue_ns, int64_t complete_ns)
{
    FEED(block_rq_issue, 0, 1, issue_ns,
         .have = WITHOUT(block_rq_issue, rwbs_text) & WITHOUT(block_rq_issue, context_tid),
         .dev = 254 << 20, .sector = 800, .sectors = 8, .rwbs = 4);
    feed_irq(model, 0, 0, complete_ns - 1000, 30, "virtio0-req.0", true);
    FEED(block_rq_complete, 0, 0, complete_ns,
         .have = WITHOUT(block_rq_complete, rwbs_text) & WITHOUT(block_rq_complete, context_tid),
         .dev = 254 << 20, .sector = 800, .sectors = 8, .rwbs = 4);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, complete_ns + 1000, 1, 0);
    feed_irq(model, 0, 0, complete_ns + 2000, 30, "", false);
}

/* A disk is read in no call: memory was there. The same in a call is none, and before any call of
 * the task was seen nothing is known. */
static void test_page_fault(struct fixture *f, gconstpointer data)
{
    const int calls = GPOINTER_TO_INT(data); /* 0: none, 1: one before, 2: one before, and one */
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    if (calls > 0) {
        feed_call(model, 10, KILL, 1, 0, 0);
        feed_return(model, 20, KILL, 0);
    }
    if (calls > 1) {
        feed_call(model, 30, READ, 8, 0, 4096);
    }
    feed_switch(model, 0, 0, 100000, 1, 0, 2);
    feed_read(model, 110000, 400000);
    struct lull_segment step = wait_of(f, strings, 100000, 401000);
    g_assert_cmpstr(step.reason.kind, ==, calls == 1 ? "fault" : NULL);
    g_assert_cmpstr(step.operation, ==, "read");
    g_assert_cmpint(strstr(step.detail, "; in a page fault") != NULL, ==, calls == 1);
    g_assert_cmpint(strstr(step.detail, "; in read of descriptor 8") != NULL, ==, calls == 2);
    g_assert_null(strstr(step.detail, "held back"));
}

/* Another program provides the page of a file that was used just before, not one that was used long ago. */
static void test_provided_page(struct fixture *f, gconstpointer data)
{
    const bool is_recent = GPOINTER_TO_INT(data);
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 10, KILL, 1, 0, 0);
    feed_return(model, 20, KILL, 0);
    FEED(filemap_fault, 0, 0, is_recent ? 950000 : 500000, .have = ALL, .context_tid = 1,
         .inode = 77);
    feed_switch(model, 0, 0, 1000000, 1, 2, 2);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 1500000, 1, 0);
    feed_switch(model, 0, 0, 1600000, 2, 1, 0);
    const struct lull_wait wait = entered_wait(f, strings, 0, 1600000, 1500000);
    g_assert_cmpstr(wait.reason.kind, ==, is_recent ? "fault" : NULL);
    g_assert_cmpstr(wait.detail, ==,
                    is_recent ? "in a page fault of a mapped file, inode 77, woken by t2/2"
                              : "woken by t2/2");
}

/* The request goes to the device 128 ms after the task had begun to wait: a limit on I/O. */
static void test_held_back(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 30, READ, 8, 0, 4096);
    feed_switch(model, 0, 0, 1000000, 1, 0, 2);
    feed_read(model, 129000000, 129291000);
    struct lull_segment step = wait_of(f, strings, 1000000, 129292000);
    g_assert_nonnull(
        strstr(step.detail, ", held back 128.0 ms before (an I/O limit, or a full queue)"));
    g_assert_nonnull(strstr(step.detail, "291.0 us in the device"));
}

static void add_throttled(void *user, const struct path_piece *piece)
{
    int64_t *throttled_ns = user;
    if (piece->cause == LULL_CAUSE_THROTTLED) {
        g_assert_cmpint(piece->state, ==, LULL_STATE_PREEMPTED);
        *throttled_ns += piece->end_ns - piece->start_ns;
    }
}

static int64_t throttled_ns(struct fixture *f, int64_t start_ns, int64_t end_ns)
{
    int64_t sum_ns = 0;
    g_autoptr(GArray) hops = lull_critpath_find(f->eg->graph, lull_model_find_tid(f->model, 0, 1),
                                                start_ns, end_ns, LULL_PATH_BOUNDED);
    for (guint i = 0; i < hops->len; i++) {
        lull_path_each_piece(f->eg, &g_array_index(hops, struct lull_hop, i), add_throttled,
                             &sum_ns);
    }
    return sum_ns;
}

/* A quota of 20 ms in 100 ms: the task leaves the CPU runnable, and the CPU idles for 80 ms; the
 * next time another task has the CPU for the first 30 ms of them. */
static void test_quota(struct fixture *f, gconstpointer data)
{
    enum { MS = 1000000 };
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_switch(model, 0, 0, 20 * MS, 1, 0, 0);
    feed_switch(model, 0, 0, 100 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 120 * MS, 1, 2, 0);
    feed_switch(model, 0, 0, 150 * MS, 2, 0, 1);
    feed_switch(model, 0, 0, 200 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 220 * MS, 1, 0, 1);
    g_assert_cmpint(throttled_ns(f, 0, 220 * MS), ==, (80 + 50) * MS);
    g_assert_cmpint(throttled_ns(f, 50 * MS, 220 * MS), ==, (50 + 50) * MS);
    /* Woken while another has the CPU, which then idles all the same. */
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 230 * MS, 2, 0);
    feed_switch(model, 0, 0, 231 * MS, 0, 2, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 232 * MS, 1, 0);
    feed_switch(model, 0, 0, 240 * MS, 2, 0, 1);
    feed_switch(model, 0, 0, 300 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 310 * MS, 1, 0, 1);
    g_assert_cmpint(throttled_ns(f, 220 * MS, 310 * MS), ==, 60 * MS);
}

/* A CPU that wakes up slowly for a task, that takes another for a moment, or that has not heard of it yet, is no quota. */
static void test_no_quota(struct fixture *f, gconstpointer data)
{
    enum { MS = 1000000 };
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_switch(model, 0, 0, 10 * MS, 1, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 20 * MS, 1, 0);
    feed_switch(model, 0, 0, 30 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 40 * MS, 1, 2, 0);
    feed_switch(model, 0, 0, 50 * MS, 2, 1, 1);
    /* Another CPU wakes it as this one becomes idle, or shortly before, and is heard later. */
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 60 * MS, 1, 0);
    feed_switch(model, 0, 0, 60 * MS, 1, 0, 1);
    feed_switch(model, 0, 0, 75 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 76 * MS, 1, 2, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, 80 * MS - 20000, 1, 0);
    feed_switch(model, 0, 0, 80 * MS, 2, 0, 1);
    feed_switch(model, 0, 0, 95 * MS, 0, 1, 0);
    feed_switch(model, 0, 0, 96 * MS, 1, 0, 1);
    g_assert_cmpint(throttled_ns(f, 0, 96 * MS), ==, 0);
}

/* Task 3 wakes task 1 while task 2 is on the CPU, which becomes idle 0.15 ms later, for 14 ms: who wakes may come to that late, as
 * where a hypervisor takes its CPU. Task 2 then leaves the CPU as if for a quota: of itself that says nothing of task 1. Once it has
 * done so itself, it is kept off. */
static void test_late_waker(struct fixture *f, gconstpointer data)
{
    enum { MS = 1000000, US = 1000 };
    struct lull_model *model = f->model;
    feed_switch(model, 0, 1, 0, 0, 3, 0);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    int64_t t = 0;
    for (int round = 0; round < 2; round++, t += 100 * MS) {
        feed_switch(model, 0, 0, t + 10 * MS, 1, 2, 1);
        feed_wake(model, LULL_EVENT_sched_waking, 0, 1, t + 20 * MS, 1, 0);
        feed_switch(model, 0, 0, t + 20 * MS + 150 * US, 2, 0, 0);
        feed_switch(model, 0, 0, t + 34 * MS + 150 * US, 0, 1, 0);
        g_assert_cmpint(throttled_ns(f, t, t + 35 * MS), ==, round == 0 ? 0 : 14 * MS);
        feed_switch(model, 0, 0, t + 50 * MS, 1, 0, 0);
        feed_switch(model, 0, 0, t + 70 * MS, 0, 1, 0);
        g_assert_cmpint(throttled_ns(f, t + 35 * MS, t + 75 * MS), ==, 20 * MS);
    }
}

/* Woken, and put into the queue of another CPU, which becomes idle just then. */
static void test_moved_waker(struct fixture *f, gconstpointer data)
{
    enum { MS = 1000000, US = 1000 };
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_switch(model, 0, 1, 0, 0, 2, 0);
    feed_switch(model, 0, 0, 10 * MS, 1, 3, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 20 * MS, 1, 0);
    FEED(sched_migrate_task, 0, 0, 20 * MS + 1 * US, .have = WITHOUT(sched_migrate_task, prio),
         .tid = 1, .orig_cpu = 0, .dest_cpu = 1);
    feed_switch(model, 0, 1, 20 * MS + 5 * US, 2, 0, 1);
    feed_switch(model, 0, 1, 30 * MS, 0, 1, 0);
    g_assert_cmpint(throttled_ns(f, 0, 31 * MS), ==, 0);
}

/* Moves are not recorded: the task leaves CPU 0, which then idles, and comes to CPU 1, where another was before it. */
static void test_unseen_move(struct fixture *f, gconstpointer data)
{
    enum { MS = 1000000 };
    const int cpu = GPOINTER_TO_INT(data); /* where it runs in the end */
    struct lull_model *model = f->model;
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_switch(model, 0, 1, 0, 0, 3, 0);
    feed_switch(model, 0, 0, 10 * MS, 1, 2, 0);
    feed_switch(model, 0, 0, 12 * MS, 2, 0, 1);
    feed_switch(model, 0, cpu, 30 * MS, cpu == 1 ? 3 : 0, 1, cpu == 1);
    feed_switch(model, 0, cpu, 40 * MS, 1, 0, 1);
    g_assert_cmpint(throttled_ns(f, 0, 31 * MS), ==, cpu == 1 ? 0 : 18 * MS);
}

static void add_mode(void *user, enum lull_mode mode, uint32_t name, int64_t ns)
{
    int64_t *ns_of = user;
    ns_of[mode] += ns;
}

/* Who has the CPU meanwhile keeps the core from being dumped. */
static void check_dump_preempted(const struct fixture *f, bool is_dump)
{
    struct lull_session *session = lull_session_new();
    struct lull_portions *portions = lull_portions_new(f->eg, session, LULL_PATH_BOUNDED);
    lull_portions_add(portions, lull_model_find_tid(f->model, 0, 1), 0, 700);
    uint32_t n = 0;
    for (uint32_t i = 0; i < lull_portions_count(portions); i++) {
        const struct lull_portion *portion = lull_portions_at(portions, i);
        if (portion->state == LULL_STATE_PREEMPTED) {
            g_assert_cmpstr(portion->detail, ==,
                            is_dump ? "by t2, while its core is dumped" : "by t2");
            n++;
        }
    }
    g_assert_cmpuint(n, ==, 1);
    lull_portions_free(portions);
    lull_session_free(session);
}

/* SIGSEGV without a handler at 100: what the task does from then to its exit at 700 is its core
 * dump, also when it waits. A handler takes the signal, and SIGTERM dumps no core. */
static void test_core_dump(struct fixture *f, gconstpointer data)
{
    enum { SEGV = 11, TERM = 15 };
    const int kind = GPOINTER_TO_INT(data); /* 0: dumps, 1: has a handler, 2: another signal */
    struct lull_model *model = f->model;
    int64_t ns_of[LULL_MODE_COUNT] = {0};
    g_autoptr(GStringChunk) strings = g_string_chunk_new(64);
    feed_switch(model, 0, 0, 0, 0, 1, 0);
    feed_call(model, 10, KILL, 1, 0, 0);
    feed_return(model, 20, KILL, 0);
    FEED(signal_deliver, 0, 0, 100, .have = WITHOUT(signal_deliver, context_tid),
         .sig = kind == 2 ? TERM : SEGV, .handler = kind == 1 ? 0x4711 : 0);
    feed_switch(model, 0, 0, 300, 1, 2, 2);
    FEED(hrtimer_entry, 0, 0, 450, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, 450, 1, 0);
    FEED(hrtimer_exit, 0, 0, 451, 0);
    feed_switch(model, 0, 0, 500, 2, 1, 0);
    FEED(sched_process_exit, 0, 0, 700, .have = ALL, .tid = 1);
    feed_switch(model, 0, 0, 800, 1, 0, 16);
    struct lull_segment step = wait_of(f, strings, 300, 450);
    g_assert_cmpint(strstr(step.detail, "; while its core is dumped") != NULL, ==, kind == 0);
    for (int i = 0; i < 2; i++) {
        g_autoptr(GArray) hops =
            lull_critpath_find(f->eg->graph, lull_model_find_tid(f->model, 0, 1), i ? 500 : 0,
                               i ? 800 : 300, LULL_PATH_BOUNDED);
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, 0);
        const struct path_piece piece = {hop,        hop->start_ns, hop->end_ns,
                                         hop->state, LULL_NONE,     LULL_CAUSE_NONE};
        lull_modes_each(f->eg, &piece, LULL_MODE_USER, add_mode, ns_of);
    }
    g_assert_cmpint(ns_of[LULL_MODE_DUMP], ==, kind == 0 ? 200 + 200 : 0);
    g_assert_cmpint(ns_of[LULL_MODE_CALL], ==, 10);
    check_dump_preempted(f, kind == 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int calls = 0; calls < 3; calls++) {
        g_autofree char *name = g_strdup_printf("/imposed/page-fault-%d", calls);
        g_test_add(name, struct fixture, GINT_TO_POINTER(calls), set_up, test_page_fault,
                   tear_down);
    }
    for (int kind = 0; kind < 3; kind++) {
        g_autofree char *name = g_strdup_printf("/imposed/core-dump-%d", kind);
        g_test_add(name, struct fixture, GINT_TO_POINTER(kind), set_up, test_core_dump, tear_down);
    }
    g_test_add("/imposed/provided-page", struct fixture, GINT_TO_POINTER(true), set_up,
               test_provided_page, tear_down);
    g_test_add("/imposed/page-used-before", struct fixture, GINT_TO_POINTER(false), set_up,
               test_provided_page, tear_down);
    g_test_add("/imposed/held-back", struct fixture, NULL, set_up, test_held_back, tear_down);
    g_test_add("/imposed/quota", struct fixture, NULL, set_up, test_quota, tear_down);
    g_test_add("/imposed/no-quota", struct fixture, NULL, set_up, test_no_quota, tear_down);
    g_test_add("/imposed/late-waker", struct fixture, NULL, set_up, test_late_waker, tear_down);
    g_test_add("/imposed/moved-waker", struct fixture, NULL, set_up, test_moved_waker, tear_down);
    g_test_add("/imposed/unseen-move", struct fixture, GINT_TO_POINTER(1), set_up, test_unseen_move,
               tear_down);
    g_test_add("/imposed/no-move", struct fixture, GINT_TO_POINTER(0), set_up, test_unseen_move,
               tear_down);
    return g_test_run();
}
