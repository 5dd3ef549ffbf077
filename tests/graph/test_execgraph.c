/* SPDX-License-Identifier: MIT */
/* Events in, graph and path out. The fixtures of section 7.3 of the Trace Compass facts, expected
 * lines and paths derived from there by hand: TC's BLOCKED by a waker is "blocked:task", NETWORK is
 * "blocked:network"; neighbouring edges of one state are written as one; a packet's transit is a
 * step of the waiting task. Then cases of our own. */
#include "graph/critpath.h"
#include "graph/execgraph.h"
#include "lib/feed.h"

struct fixture {
    struct lull_model *model;
    struct lull_execgraph *eg;
};

static void set_up(struct fixture *f, gconstpointer data)
{
    f->model = lull_model_new(NULL, LULL_GROUP_GRAPH);
    f->eg = lull_execgraph_new(f->model, NULL);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
    lull_execgraph_free(f->eg);
    lull_model_free(f->model);
}

static void append_state(GString *out, enum lull_state state, enum lull_cause cause)
{
    g_string_append_printf(out, "%s%s%s", lull_state_name(state), cause ? ":" : "",
                           cause ? lull_cause_name(cause) : "");
}

static uint32_t line_of(const struct fixture *f, uint32_t host, int32_t tid)
{
    for (uint32_t i = 0; i < lull_model_task_count(f->model); i++) {
        const struct lull_task *task = lull_model_task(f->model, i);
        if (task->host == host && task->tid == tid) {
            return i;
        }
    }
    g_error("no task %d on host %u", tid, host);
}

/* "10 running 15 blocked:network 70": a gap is written as "|". */
static char *line_text(const struct fixture *f, uint32_t host, int32_t tid)
{
    uint32_t count;
    const struct lull_graph_point *points =
        lull_graph_points(lull_execgraph_graph(f->eg), line_of(f, host, tid), &count);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < count; i++) {
        bool goes_on = i + 1 < count && i > 0 && points[i].state != LULL_STATE_NONE &&
                       points[i + 1].state == points[i].state &&
                       points[i + 1].cause == points[i].cause;
        if (i > 0 && points[i].state == LULL_STATE_NONE) {
            g_string_append(out, " | ");
        }
        if (i > 0 && points[i].state != LULL_STATE_NONE && !goes_on) {
            g_string_append_c(out, ' ');
            append_state(out, points[i].state, points[i].cause);
            g_string_append_c(out, ' ');
        }
        if (!goes_on) {
            g_string_append_printf(out, "%d", (int)points[i].time_ns);
        }
    }
    return g_string_free(out, FALSE);
}

/* "200 running 15, 100 blocked:network 35, …": who, what, until when. */
static char *path_text(const struct fixture *f, uint32_t host, int32_t tid, int64_t start,
                       int64_t end)
{
    g_autoptr(GArray) hops = lull_critpath_find(lull_execgraph_graph(f->eg), line_of(f, host, tid),
                                                start, end, LULL_PATH_BOUNDED);
    GString *out = g_string_new(NULL);
    int64_t t = start;
    for (guint i = 0; i < hops->len; i++) {
        const struct lull_hop *hop = &g_array_index(hops, struct lull_hop, i);
        const struct lull_hop *next =
            i + 1 < hops->len ? &g_array_index(hops, struct lull_hop, i + 1) : NULL;
        g_assert_cmpint(hop->start_ns, ==, t);
        t = hop->end_ns;
        if (next && next->line == hop->line && next->state == hop->state &&
            next->cause == hop->cause) {
            continue;
        }
        g_string_append_printf(out, "%s%d ", out->len ? ", " : "",
                               lull_model_task(f->model, hop->line)->tid);
        append_state(out, hop->state, hop->cause);
        g_string_append_printf(out, " %d", (int)hop->end_ns);
    }
    g_assert_cmpint(t, ==, end);
    return g_string_free(out, FALSE);
}

#define ASSERT_LINE(host, tid, expected)                                                           \
    do {                                                                                           \
        g_autofree char *line_ = line_text(f, host, tid);                                          \
        g_assert_cmpstr(line_, ==, expected);                                                      \
    } while (0)
#define ASSERT_PATH(host, tid, start, end, expected)                                               \
    do {                                                                                           \
        g_autofree char *path_ = path_text(f, host, tid, start, end);                              \
        g_assert_cmpstr(path_, ==, expected);                                                      \
    } while (0)

/* Shorthands of the scripts below: t is the time, on CPU 0 unless said. */
#define SWITCH(t, prev, next, state) feed_switch(f->model, 0, 0, t, prev, next, state)
#define WAKEUP(t, tid) feed_wake(f->model, LULL_EVENT_sched_wakeup, 0, 0, t, tid, 0)
#define WAKING(t, tid) feed_wake(f->model, LULL_EVENT_sched_waking, 0, 0, t, tid, 0)

static void test_sched_only(struct fixture *f, gconstpointer data)
{
    SWITCH(10, 1, 2, 0);
    SWITCH(20, 2, 1, 3);
    SWITCH(30, 1, 2, 0);
    SWITCH(40, 2, 1, 0);
    ASSERT_LINE(0, 1, "10 preempted 20 running 30 preempted 40");
    ASSERT_LINE(0, 2, "10 running 20 blocked:unknown 30 running 40");
}

enum { SERVER, CLIENT };

static void server(struct lull_model *model, int64_t t, bool with_wrappers)
{
    switch (t) {
    case 5:
        feed_switch(model, SERVER, 1, t, 100, 101, 1);
        break;
    case 18:
        if (with_wrappers) {
            FEED(do_irq_entry, SERVER, 1, t, .have = 0);
        }
        break;
    case 20:
        feed_irq(model, SERVER, 1, t, 15, "nic", true);
        break;
    case 25:
        feed_irq(model, SERVER, 1, t, 15, "nic", false);
        break;
    case 30:
        feed_softirq(model, SERVER, 1, t, 3, true);
        break;
    case 31:
        if (with_wrappers) {
            FEED(receive_entry, SERVER, 1, t, .have = 0);
        }
        break;
    case 33:
        feed_packet(model, SERVER, 1, t, false, 1);
        break;
    case 35:
        feed_wake(model, LULL_EVENT_sched_wakeup, SERVER, 1, t, 100, 0);
        break;
    case 36:
        if (with_wrappers) {
            FEED(receive_exit, SERVER, 1, t, .have = 0);
        }
        break;
    case 38:
        feed_softirq(model, SERVER, 1, t, 3, false);
        break;
    case 39:
        if (with_wrappers) {
            FEED(do_irq_exit, SERVER, 1, t, .have = 0);
        }
        break;
    case 40:
        feed_switch(model, SERVER, 1, t, 101, 100, 0);
        break;
    case 45:
        feed_packet(model, SERVER, 1, t, true, 2);
        break;
    case 55:
        feed_switch(model, SERVER, 1, t, 100, 101, 1);
        break;
    }
}

/* The client of the first fixture: the packet is received by a threaded interrupt handler, task 50.
 */
static void threaded_client(struct lull_model *model, uint32_t host, int64_t t)
{
    switch (t) {
    case 10:
        feed_switch(model, host, 0, t, 201, 200, 0);
        break;
    case 13:
        feed_packet(model, host, 0, t, true, 1);
        break;
    case 15:
        feed_switch(model, host, 0, t, 200, 201, 1);
        break;
    case 48:
        FEED(do_irq_entry, host, 0, t, .have = 0);
        break;
    case 50:
        feed_irq(model, host, 0, t, 5, "wifi", true);
        break;
    case 53:
        feed_irq(model, host, 0, t, 5, "wifi", false);
        break;
    case 55:
        feed_wake(model, LULL_EVENT_sched_wakeup, host, 0, t, 50, 0);
        break;
    case 58:
        FEED(do_irq_exit, host, 0, t, .have = 0);
        break;
    case 60:
        feed_switch(model, host, 0, t, 201, 50, 0);
        break;
    case 62:
        FEED(receive_entry, host, 0, t, .have = 0);
        break;
    case 65:
        feed_packet(model, host, 0, t, false, 2);
        break;
    case 70:
        feed_wake(model, LULL_EVENT_sched_wakeup, host, 0, t, 200, 0);
        break;
    case 72:
        FEED(receive_exit, host, 0, t, .have = 0);
        break;
    case 75:
        feed_switch(model, host, 0, t, 50, 200, 1);
        break;
    }
}

static void softirq_client(struct lull_model *model, uint32_t host, int64_t t)
{
    switch (t) {
    case 7:
        feed_switch(model, host, 0, t, 202, 201, 1);
        break;
    case 50:
        feed_irq(model, host, 0, t, 5, "nic", true);
        break;
    case 53:
        feed_irq(model, host, 0, t, 5, "nic", false);
        break;
    case 60:
        feed_softirq(model, host, 0, t, 3, true);
        break;
    case 72:
        feed_softirq(model, host, 0, t, 3, false);
        break;
    case 75:
        feed_switch(model, host, 0, t, 201, 200, 0);
        break;
    case 90:
        feed_wake(model, LULL_EVENT_sched_wakeup, host, 0, t, 202, 0);
        break;
    case 95:
        feed_switch(model, host, 0, t, 200, 202, 0);
        break;
    case 10:
    case 13:
    case 15:
    case 65:
    case 70:
        threaded_client(model, host, t);
        break;
    }
}

static void test_threaded(struct fixture *f, gconstpointer data)
{
    for (int64_t t = 1; t <= 100; t++) {
        server(f->model, t, true);
        threaded_client(f->model, CLIENT, t);
    }
    ASSERT_LINE(CLIENT, 201, "10 preempted 15 running 60");
    ASSERT_LINE(CLIENT, 200, "10 running 15 blocked:network 70 preempted 75");
    ASSERT_LINE(CLIENT, 50, "55 preempted 60 running 75");
    ASSERT_LINE(SERVER, 101, "5 running 40 preempted 55");
    ASSERT_LINE(SERVER, 100, "5 blocked:network 35 preempted 40 running 55");
    ASSERT_LINE(SERVER, -2, "30 running 33"); /* the kernel's interrupt context on CPU 1 */
    ASSERT_PATH(CLIENT, 200, 10, 75,
                "200 running 15, 100 blocked:network 35, 100 preempted 40, 100 running 45, "
                "200 blocked:network 70, 200 preempted 75");
}

static void test_threaded_alone(struct fixture *f, gconstpointer data)
{
    for (int64_t t = 1; t <= 100; t++) {
        threaded_client(f->model, 0, t);
    }
    ASSERT_PATH(0, 200, 10, 75, "200 running 15, 200 blocked:network 70, 200 preempted 75");
}

static void test_softirq(struct fixture *f, gconstpointer data)
{
    for (int64_t t = 1; t <= 100; t++) {
        server(f->model, t, false);
        softirq_client(f->model, CLIENT, t);
    }
    ASSERT_LINE(CLIENT, 201, "7 running 10 preempted 15 running 75");
    ASSERT_LINE(CLIENT, 200, "10 running 15 blocked:network 70 preempted 75 running 95");
    ASSERT_LINE(CLIENT, 202, "7 blocked:task 90 preempted 95");
    ASSERT_LINE(CLIENT, -1, "60 running 65");
    ASSERT_LINE(SERVER, 101, "5 running 40 preempted 55");
    ASSERT_LINE(SERVER, 100, "5 blocked:network 35 preempted 40 running 55");
    ASSERT_LINE(SERVER, -2, "30 running 33");
    ASSERT_PATH(CLIENT, 200, 10, 95,
                "200 running 15, 100 blocked:network 35, 100 preempted 40, 100 running 45, "
                "200 blocked:network 70, 200 preempted 75, 200 running 95");
}

static void test_softirq_alone(struct fixture *f, gconstpointer data)
{
    for (int64_t t = 1; t <= 100; t++) {
        softirq_client(f->model, 0, t);
    }
    ASSERT_PATH(0, 200, 10, 95,
                "200 running 15, 200 blocked:network 70, 200 preempted 75, 200 running 95");
    ASSERT_PATH(0, 202, 7, 95,
                "200 blocked:unknown 10, 200 running 15, 200 blocked:network 70, 200 preempted 75, "
                "200 running 90, 202 preempted 95");
}

/* A waking that comes while the task still leaves its CPU explains the wait that follows. */
static void test_early_waking(struct fixture *f, gconstpointer data)
{
    SWITCH(10, 9, 1, 1);
    feed_switch(f->model, 0, 1, 10, 9, 2, 1);
    feed_wake(f->model, LULL_EVENT_sched_waking, 0, 1, 20, 1, 0);
    SWITCH(21, 1, 0, 1);
    feed_wake(f->model, LULL_EVENT_sched_wakeup, 0, 0, 24, 1, 0);
    SWITCH(30, 0, 1, 0);
    ASSERT_LINE(0, 1, "10 running 21 blocked:task 24 preempted 30");
}

/* Without wake-ups, only wakings: it left its CPU to wait for another one. */
static void test_early_waking_only(struct fixture *f, gconstpointer data)
{
    SWITCH(10, 9, 1, 1);
    feed_switch(f->model, 0, 1, 10, 9, 2, 1);
    feed_wake(f->model, LULL_EVENT_sched_waking, 0, 1, 20, 1, 0);
    SWITCH(21, 1, 0, 1);
    SWITCH(30, 0, 1, 0);
    ASSERT_LINE(0, 1, "10 running 21 preempted 30");
}

/* A second wake-up of a task that already waits for a CPU changes nothing (quirk 5). */
static void test_second_wakeup(struct fixture *f, gconstpointer data)
{
    SWITCH(10, 1, 2, 1);
    WAKING(20, 1);
    WAKEUP(22, 1);
    WAKING(25, 1);
    SWITCH(30, 2, 1, 0);
    ASSERT_LINE(0, 1, "10 blocked:task 20 preempted 30");
}

/* Stopped, traced and dead tasks do not wait for a CPU (quirk 6). */
static void test_prev_states(struct fixture *f, gconstpointer data)
{
    static const struct {
        int tid, prev_state;
        const char *line;
    } cases[] = {
        {1, 0, "10 preempted 20"},
        {2, 256, "10 preempted 20"},
        {3, 2048, "10 preempted 20"},
        {4, 1, "10 blocked:unknown 20"},
        {5, 2, "10 blocked:unknown 20"},
        {6, 4, "10 blocked:unknown 20"},
        {7, 8, "10 blocked:unknown 20"},
        {8, 128, "10 blocked:unknown 20"},
        {9, 64, "10 blocked:unknown 20"},
        {10, 16, "10"},
        {11, 32, "10"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        int cpu = (int)i;
        feed_switch(f->model, 0, cpu, 10, cases[i].tid, 0, cases[i].prev_state);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (cases[i].line[2]) {
            feed_switch(f->model, 0, (int)i, 20, 0, cases[i].tid, 0);
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        ASSERT_LINE(0, cases[i].tid, cases[i].line);
    }
}

/* Before Linux 4.14 a task leaves for the last time in state 64, TASK_DEAD, which later says that a
 * thread is parked: only who exits is dead. */
static void test_dead_on_old_kernels(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    SWITCH(10, 1, 2, 1);
    FEED(sched_process_exit, 0, 0, 12, .have = ALL, .tid = 2);
    uint32_t exiting = line_of(f, 0, 2);
    SWITCH(20, 2, 3, 64);
    g_assert_true(lull_model_task(f->model, exiting)->is_dead);
    SWITCH(30, 3, 0, 64);
    g_assert_false(lull_model_task(f->model, line_of(f, 0, 3))->is_dead);
    SWITCH(40, 0, 3, 0);
    ASSERT_LINE(0, 3, "20 running 30 blocked:unknown 40");
}

/* A tid that is used again after its task died is another task. */
static void test_tid_again(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    SWITCH(10, 1, 2, 1);
    FEED(sched_process_exit, 0, 0, 12, .have = ALL, .tid = 2);
    SWITCH(20, 2, 0, 64);
    FEED(sched_process_fork, 0, 1, 30, .have = ALL, .parent_tid = 7, .child_tid = 2, .child_pid = 2,
         .child_comm = feed_text("again"));
    feed_wake(model, LULL_EVENT_sched_wakeup_new, 0, 1, 32, 2, 0);
    SWITCH(40, 0, 2, 0);
    uint32_t second = lull_model_find_tid(model, 0, 2);
    uint32_t first = line_of(f, 0, 2);
    g_assert_cmpuint(first, !=, second);
    g_assert_true(lull_model_task(model, first)->is_dead);
    g_assert_cmpint(lull_model_task(model, first)->last_ns, ==, 20);
    g_assert_cmpint(lull_model_task(model, second)->first_ns, ==, 32);
    ASSERT_LINE(0, 2, "10 running 20");
}

/* A wake-up inside an interrupt is charged to what the interrupt is about, not to the task beneath.
 */
static void test_interrupt_causes(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    for (int tid = 1; tid <= 6; tid++) {
        feed_switch(model, 0, tid, 10, tid, 0, 1);
    }
    SWITCH(11, 0, 50, 0);

    FEED(local_timer_entry, 0, 0, 20, .have = 0);
    FEED(hrtimer_entry, 0, 0, 21, .have = 0);
    WAKING(22, 1);
    FEED(hrtimer_exit, 0, 0, 23, .have = 0);
    FEED(local_timer_exit, 0, 0, 24, .have = 0);

    feed_irq(model, 0, 0, 30, 28, "some-disk", true);
    FEED(block_rq_complete, 0, 0, 31, .have = WITHOUT(block_rq_complete, context_tid), .dev = 8,
         .sector = 64, .sectors = 8);
    WAKING(32, 2);
    feed_irq(model, 0, 0, 33, 28, "", false);

    FEED(reschedule_entry, 0, 0, 40, .have = 0);
    WAKING(41, 3);
    FEED(reschedule_exit, 0, 0, 42, .have = 0);

    feed_irq(model, 0, 0, 50, 1, "i8042", true);
    WAKING(51, 4);
    feed_irq(model, 0, 0, 52, 1, "", false);

    feed_softirq(model, 0, 0, 60, 9, true);
    WAKING(61, 5);
    feed_softirq(model, 0, 0, 62, 9, false);

    WAKING(70, 6); /* and after all that, the task itself */
    for (int tid = 1; tid <= 6; tid++) {
        feed_switch(model, 0, tid, 80, 0, tid, 0);
    }
    ASSERT_LINE(0, 1, "10 blocked:timer 22 preempted 80");
    ASSERT_LINE(0, 2, "10 blocked:disk 32 preempted 80");
    ASSERT_LINE(0, 3, "10 blocked:ipi 41 preempted 80");
    ASSERT_LINE(0, 4, "10 blocked:user-input 51 preempted 80");
    ASSERT_LINE(0, 5, "10 blocked:irq 61 preempted 80");
    ASSERT_LINE(0, 6, "10 blocked:task 70 preempted 80");
}

/* A request whose device number is none: a bio merged into it tells the disk, and so it does for
 * what completes in interrupts of the same device, on any queue. The number of a disk that is not in the
 * state dump is its own: it was plugged in later, and shares the interrupt. */
static void test_disk_names(struct fixture *f, gconstpointer data)
{
    const int64_t vda = INT64_C(254) << 20, vdb = vda | 16, wrong = INT64_C(4089) << 20;
    const int64_t later = vda | 32;
    struct lull_model *model = f->model;
    FEED(statedump_block_device, 0, 0, 5, .have = ALL, .dev = vda, .diskname = feed_text("vda"));
    FEED(statedump_block_device, 0, 0, 6, .have = ALL, .dev = vdb, .diskname = feed_text("vdb"));
    FEED(block_bio_merge, 0, 0, 10, .have = ALL, .dev = vdb, .sector = 104);
    FEED(block_rq_issue, 0, 0, 11, .have = ALL, .dev = wrong, .sector = 100, .sectors = 8);
    FEED(block_rq_issue, 0, 0, 12, .have = ALL, .dev = wrong, .sector = 500, .sectors = 8);
    FEED(block_rq_issue, 0, 0, 13, .have = ALL, .dev = wrong, .sector = 900, .sectors = 8);
    FEED(block_rq_issue, 0, 0, 14, .have = ALL, .dev = later, .sector = 100, .sectors = 8);
    feed_irq(model, 0, 0, 20, 28, "virtio2-req.0", true);
    FEED(block_rq_complete, 0, 0, 21, .have = ALL, .dev = wrong, .sector = 100, .sectors = 8);
    feed_irq(model, 0, 0, 22, 28, "", false);
    feed_irq(model, 0, 1, 23, 29, "virtio2-req.1", true);
    FEED(block_rq_complete, 0, 1, 24, .have = ALL, .dev = wrong, .sector = 500, .sectors = 8);
    FEED(block_rq_complete, 0, 1, 24, .have = ALL, .dev = later, .sector = 100, .sectors = 8);
    feed_irq(model, 0, 1, 25, 29, "", false);
    feed_irq(model, 0, 1, 26, 30, "virtio1-req.0", true);
    FEED(block_rq_complete, 0, 1, 27, .have = ALL, .dev = wrong, .sector = 900, .sectors = 8);
    feed_irq(model, 0, 1, 28, 30, "", false);
    g_assert_cmpuint(lull_model_request_count(model), ==, 4);
    g_assert_null(lull_model_device(model, 3));
    g_assert_cmpstr(lull_model_device(model, 0), ==, "vdb");
    g_assert_cmpstr(lull_model_device(model, 1), ==, "vdb");
    g_assert_null(lull_model_device(model, 2));
}

/* A context receives two packets before it wakes anyone: the one that answers the task is its
 * cause. */
static void test_batch(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    struct feed_segment ask = {1, 2, 40000, 80, 100, 0, 0, 10, NULL};
    struct feed_segment answer = {2, 1, 80, 40000, 500, 0, 0, 10, NULL};
    struct feed_segment other = {2, 1, 80, 41000, 900, 0, 0, 10, NULL};
    feed_switch(model, CLIENT, 0, 10, 0, 1, 0);
    feed_switch(model, SERVER, 0, 10, 0, 2, 0);
    feed_tcp(model, CLIENT, 0, 12, true, &ask);
    feed_switch(model, CLIENT, 0, 15, 1, 0, 1);
    feed_tcp(model, SERVER, 0, 20, true, &answer);
    feed_switch(model, SERVER, 0, 22, 2, 3, 1);
    feed_tcp(model, SERVER, 0, 24, true, &other);
    feed_softirq(model, CLIENT, 0, 30, 3, true);
    feed_tcp(model, CLIENT, 0, 31, false, &answer);
    feed_tcp(model, CLIENT, 0, 32, false, &other);
    feed_wake(model, LULL_EVENT_sched_waking, CLIENT, 0, 35, 1, 0);
    feed_softirq(model, CLIENT, 0, 36, 3, false);
    feed_switch(model, CLIENT, 0, 40, 0, 1, 0);
    ASSERT_PATH(CLIENT, 1, 10, 40,
                "1 running 15, 2 running 20, 1 blocked:network 35, 1 preempted 40");
}

/* A write with a flush behind it completes twice; an empty flush completes after the flush it
 * needed. */
static void test_flushes(struct fixture *f, gconstpointer data)
{
    struct lull_model *model = f->model;
    FEED(block_rq_issue, 0, 0, 10, .have = ALL, .sector = 100, .sectors = 2, .rwbs = 1);
    FEED(block_rq_complete, 0, 0, 20, .have = ALL, .sector = 100, .sectors = 2, .rwbs = 1);
    FEED(block_rq_issue, 0, 0, 21, .have = ALL, .sector = 0, .sectors = 0, .rwbs = 1280);
    FEED(block_rq_complete, 0, 0, 30, .have = ALL, .sector = -1, .sectors = 0, .rwbs = 1280);
    FEED(block_rq_complete, 0, 0, 31, .have = ALL, .sector = 100, .sectors = 0, .rwbs = 1);
    FEED(block_rq_complete, 0, 0, 40, .have = ALL, .sector = 0, .sectors = 0, .rwbs = 33);
    g_assert_cmpuint(lull_model_request_count(model), ==, 2);
    g_assert_cmpint(lull_model_request(model, 0)->complete_ns, ==, 31);
    g_assert_cmpint(lull_model_request(model, 1)->complete_ns, ==, 30);
    g_assert_cmpuint(lull_model_request(model, 1)->rwbs, ==, 1280);
}

/* A packet sent by a timer's softirq does not make the kernel run through the idle time before
 * (quirk 3). */
static void test_timer_sends(struct fixture *f, gconstpointer data)
{
    feed_softirq(f->model, 0, 0, 10, 3, true);
    feed_packet(f->model, 0, 0, 11, false, 1);
    feed_softirq(f->model, 0, 0, 12, 3, false);
    feed_softirq(f->model, 0, 0, 1000, 1, true);
    feed_packet(f->model, 0, 0, 1002, true, 2);
    feed_softirq(f->model, 0, 0, 1003, 1, false);
    /* Since when it had waited before the first is not known. */
    ASSERT_LINE(0, -1, "9 blocked:network 10 running 11 blocked:timer 1000 running 1002");
}

/* Whoever waits for what a timer's softirq sends waits for the timer all the time, also if the same CPU has received
 * other packets meanwhile. */
static void timer_sends_late(struct fixture *f, bool is_first)
{
    SWITCH(5, 0, 1, 0);
    SWITCH(7, 1, 0, 1);
    if (!is_first) {
        feed_softirq(f->model, 0, 0, 10, 3, true);
        feed_packet(f->model, 0, 0, 11, false, 1);
        feed_softirq(f->model, 0, 0, 12, 3, false);
    }
    feed_softirq(f->model, 0, 0, 1000, 1, true);
    feed_packet(f->model, 0, 0, 1002, true, 2);
    feed_softirq(f->model, 0, 0, 1003, 1, false);
    feed_softirq(f->model, 0, 0, 1010, 3, true);
    feed_packet(f->model, 0, 0, 1012, false, 2);
    WAKING(1014, 1);
    feed_softirq(f->model, 0, 0, 1016, 3, false);
    SWITCH(1020, 0, 1, 0);
    ASSERT_PATH(0, 1, 5, 1020,
                "1 running 7, -1 blocked:timer 1000, -1 running 1002, 1 blocked:network 1014, "
                "1 preempted 1020");
}

static void test_timer_sends_late(struct fixture *f, gconstpointer data)
{
    timer_sends_late(f, false);
}

static void test_timer_sends_first(struct fixture *f, gconstpointer data)
{
    timer_sends_late(f, true);
}

static void feed_named_switch(struct lull_model *model, int64_t t, int prev, const char *prev_comm,
                              int prev_state, int next, const char *next_comm)
{
    FEED(sched_switch, 0, 0, t,
         .have = WITHOUT(sched_switch, context_pid) & WITHOUT(sched_switch, prev_prio) &
                 WITHOUT(sched_switch, next_prio),
         .prev_tid = prev, .next_tid = next, .prev_state = prev_state,
         .prev_comm = feed_text(prev_comm), .next_comm = feed_text(next_comm));
}

/* A worker was idle until there was work: what it did before, and a wait in the midst of work, are other things. */
static void test_worker(struct fixture *f, gconstpointer data)
{
    enum { IDLE = 1026, UNINTERRUPTIBLE = 2 };
    const char *const comms[] = {"kworker/0:1", "kthread"};
    const bool is_worker = GPOINTER_TO_INT(data) != 2;
    const int how = GPOINTER_TO_INT(data) == 1 ? UNINTERRUPTIBLE : IDLE;
    const char *comm = comms[!is_worker];
    struct lull_model *model = f->model;
    feed_named_switch(model, 10, 0, "swapper/0", 0, 1, "asker");
    feed_named_switch(model, 20, 1, "asker", 1, 8, comm);
    feed_named_switch(model, 30, 8, comm, how, 2, "typist"); /* of other work until here */
    WAKING(40, 8);
    feed_named_switch(model, 50, 2, "typist", 1, 8, comm);
    WAKING(60, 1);
    feed_named_switch(model, 70, 8, comm, IDLE, 1, "asker");
    const char *const ends = "8 preempted 50, 8 running 60, 1 preempted 70";
    g_autofree char *expected = g_strdup_printf(
        is_worker && how == IDLE ? "1 running 20, 2 blocked:unknown 30, 2 running 40, %s"
                                 : "1 running 20, 8 running 30, 2 running 40, %s",
        ends);
    ASSERT_PATH(0, 1, 10, 70, expected);
}

static void test_idle_worker(struct fixture *f, gconstpointer data)
{
    test_worker(f, GINT_TO_POINTER(0));
}

static void test_busy_worker(struct fixture *f, gconstpointer data)
{
    test_worker(f, GINT_TO_POINTER(1));
}

static void test_idle_thread(struct fixture *f, gconstpointer data)
{
    test_worker(f, GINT_TO_POINTER(2));
}

/* A switch that was lost leaves a gap, not a wrong state. */
static void test_lost_switch(struct fixture *f, gconstpointer data)
{
    SWITCH(10, 1, 2, 1);
    SWITCH(30, 3, 1, 1); /* 2 left and 3 came, and 1 was woken, unseen */
    SWITCH(40, 1, 2, 1);
    ASSERT_LINE(0, 1, "10 blocked:unknown 30 running 40");
    ASSERT_LINE(0, 2, "10 | 40");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(struct fixture *f, gconstpointer data);
    } tests[] = {
        {"/execgraph/sched-only", test_sched_only},
        {"/execgraph/threaded", test_threaded},
        {"/execgraph/threaded-alone", test_threaded_alone},
        {"/execgraph/softirq", test_softirq},
        {"/execgraph/softirq-alone", test_softirq_alone},
        {"/execgraph/early-waking", test_early_waking},
        {"/execgraph/early-waking-only", test_early_waking_only},
        {"/execgraph/second-wakeup", test_second_wakeup},
        {"/execgraph/prev-states", test_prev_states},
        {"/execgraph/dead-on-old-kernels", test_dead_on_old_kernels},
        {"/execgraph/tid-again", test_tid_again},
        {"/execgraph/interrupt-causes", test_interrupt_causes},
        {"/execgraph/batch", test_batch},
        {"/execgraph/disk-names", test_disk_names},
        {"/execgraph/flushes", test_flushes},
        {"/execgraph/timer-sends", test_timer_sends},
        {"/execgraph/timer-sends-late", test_timer_sends_late},
        {"/execgraph/timer-sends-first", test_timer_sends_first},
        {"/execgraph/idle-worker", test_idle_worker},
        {"/execgraph/busy-worker", test_busy_worker},
        {"/execgraph/idle-thread", test_idle_thread},
        {"/execgraph/lost-switch", test_lost_switch},
    };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add(tests[i].name, struct fixture, NULL, set_up, tests[i].test, tear_down);
    }
    return g_test_run();
}
