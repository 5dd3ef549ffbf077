/* SPDX-License-Identifier: MIT */
/* What a path says of each of its segments: which disk, which packet, which interrupt, who had the
 * CPU. */
#include "base/time.h"
#include "graph/path.h"
#include "graph/work.h"

#define DEV_SDA (INT64_C(8) << 20)

static struct lull_path *path_of(const struct world *world, uint32_t host, int tid,
                                 int64_t start_ns, int64_t end_ns)
{
    return lull_execgraph_path(world->eg, world->session, NULL,
                               lull_model_find_tid(world->model, host, tid), start_ns, end_ns,
                               LULL_PATH_BOUNDED);
}

static const struct lull_segment *find(const struct lull_path *path, enum lull_state state)
{
    for (uint32_t i = 0; i < path->n_segments; i++) {
        if (path->segments[i].state == state) {
            return &path->segments[i];
        }
    }
    g_error("no %s", lull_state_name(state));
}

static void feed_request(struct lull_model *model, int64_t t, unsigned rwbs, unsigned sectors)
{
    const uint64_t have = WITHOUT(block_rq_issue, context_tid) & WITHOUT(block_rq_issue, rwbs_text);
    FEED(block_rq_insert, 0, 0, t, .have = have, .dev = DEV_SDA, .sector = 100, .sectors = sectors,
         .rwbs = rwbs);
    FEED(block_rq_issue, 0, 0, t + 5, .have = have, .dev = DEV_SDA, .sector = 100,
         .sectors = sectors, .rwbs = rwbs);
    feed_switch(model, 0, 0, t + 10, 7, 0, 2);
    feed_irq(model, 0, 0, t + 34, 28, "ahci", true);
    /* Without data it ends at no place. */
    FEED(block_rq_complete, 0, 0, t + 35, .have = have, .dev = DEV_SDA,
         .sector = sectors ? 100 : -1, .sectors = sectors, .rwbs = rwbs);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 35, 7, 0);
    feed_irq(model, 0, 0, t + 36, 28, "ahci", false);
    feed_switch(model, 0, 0, t + 40, 0, 7, 0);
}

/* Inserted by 7, 5 ns in the queue, 30 ns in the device. */
static void test_disk(void)
{
    static const struct {
        unsigned rwbs, sectors;
        const char *operation;
    } cases[] = {{LULL_RWBS_READ, 8, "read"},
                 {LULL_RWBS_WRITE, 8, "write"},
                 {LULL_RWBS_DISCARD, 8, "discard"},
                 {LULL_RWBS_DISCARD | LULL_RWBS_WRITE, 8, "discard"},
                 {0, 8, "write"}, /* of zeroes */
                 {LULL_RWBS_FLUSH | LULL_RWBS_PREFLUSH, 0, "flush"},
                 {LULL_RWBS_WRITE | LULL_RWBS_SYNC, 0, "flush"}, /* before Linux 4.8 */
                 {0, 0, "command"}};
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    FEED(statedump_block_device, 0, 0, world.now_ns, .have = ALL, .dev = DEV_SDA,
         .diskname = feed_text("sda"));
    const int64_t start_ns = world.now_ns;
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++, world.now_ns += 100) {
        feed_request(model, world.now_ns, cases[i].rwbs, cases[i].sectors);
    }
    world_finish(&world);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const int64_t t = start_ns + 100 * (int64_t)i;
        struct lull_path *path = path_of(&world, 0, 7, t, t + 50);
        const struct lull_segment *wait = find(path, LULL_STATE_BLOCKED);
        g_assert_cmpint(wait->cause, ==, LULL_CAUSE_DISK);
        g_assert_cmpint(wait->start_ns, ==, t + 10);
        g_assert_cmpint(wait->end_ns, ==, t + 35);
        g_assert_cmpstr(wait->object, ==, "sda");
        g_assert_cmpstr(wait->operation, ==, cases[i].operation);
        g_assert_cmpuint(wait->size_bytes, ==, cases[i].sectors * 512);
        g_assert_cmpint(wait->queue_ns, ==, 5);
        g_assert_cmpint(wait->device_ns, ==, 30);
        g_assert_cmpint(wait->other_tid, ==, 7);
        g_autofree char *detail = g_strdup_printf("sda %s%s", cases[i].operation,
                                                  cases[i].sectors ? " of 8 sectors at 100" : "");
        g_assert_true(g_str_has_prefix(wait->detail, detail));
        lull_path_free(path);

        const uint32_t sample = lull_portions_add(world.portions, world_task(&world, 7), t, t + 50);
        const uint32_t most = lull_sample_at(world.portions, sample)->most;
        g_autofree char *kind = g_strdup_printf("sda %s", cases[i].operation);
        g_assert_cmpstr(lull_portions_at(world.portions, most)->detail, ==, kind);
    }
    world_close(&world);
}

/* Sent by 100 of host 1, and once by nobody who was recorded. */
static void test_packet(void)
{
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    const int64_t t = world.now_ns;
    feed_switch(model, 1, 0, t, 0, 100, 0);
    feed_switch(model, 0, 0, t + 5, 7, 0, 1);
    feed_packet(model, 1, 0, t + 10, true, 1);
    for (uint32_t i = 0; i < 2; i++) {
        feed_softirq(model, 0, 0, t + 30 + 100 * i, 3, true);
        feed_packet(model, 0, 0, t + 30 + 100 * i, false, 1 + i);
        feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 30 + 100 * i, 7, 0);
        feed_softirq(model, 0, 0, t + 30 + 100 * i, 3, false);
        feed_switch(model, 0, 0, t + 30 + 100 * i, 0, 7, 0);
        feed_switch(model, 0, 0, t + 40 + 100 * i, 7, 0, 1);
    }
    feed_switch(model, 1, 0, t + 150, 100, 0, 1);
    lull_model_finish(model);
    struct lull_path *path = path_of(&world, 0, 7, t + 5, t + 40);
    const struct lull_segment *wait = find(path, LULL_STATE_BLOCKED);
    g_assert_cmpint(wait->start_ns, ==, t + 10);
    g_assert_cmpstr(wait->object, ==, "10.0.0.1:1000");
    g_assert_cmpuint(wait->size_bytes, ==, 1);
    g_assert_cmpint(wait->other_tid, ==, 100);
    g_assert_cmpstr(wait->other_comm, ==, "t100");
    g_assert_cmpstr(wait->detail, ==, "packet 10.0.0.1:1000 → 10.0.0.2:1000, 1 byte");
    lull_path_free(path);
    path = path_of(&world, 0, 7, t + 40, t + 140);
    wait = find(path, LULL_STATE_BLOCKED);
    g_assert_cmpint(wait->other_tid, ==, -1);
    g_assert_cmpstr(wait->detail, ==,
                    "packet 10.0.0.1:1000 → 10.0.0.2:1000, 1 byte, its sender is "
                    "not known");
    lull_path_free(path);
    world_close(&world);
}

/* The softirq of the network woke it, but no packet was recorded. */
static void test_packet_unrecorded(void)
{
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    const int64_t t = world.now_ns;
    feed_switch(model, 0, 0, t + 5, 7, 0, 1);
    feed_softirq(model, 0, 0, t + 30, 3, true);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 0, t + 31, 7, 0);
    feed_softirq(model, 0, 0, t + 32, 3, false);
    feed_switch(model, 0, 0, t + 33, 0, 7, 0);
    feed_switch(model, 0, 0, t + 40, 7, 0, 1);
    lull_model_finish(model);
    struct lull_path *path = path_of(&world, 0, 7, t + 5, t + 40);
    const struct lull_segment *wait = find(path, LULL_STATE_BLOCKED);
    g_assert_cmpint(wait->cause, ==, LULL_CAUSE_NETWORK);
    g_assert_cmpint(wait->other_tid, ==, -1);
    g_assert_cmpstr(wait->detail, ==, "softirq NET_RX");
    lull_path_free(path);
    world_close(&world);
}

static void test_interrupt(void)
{
    struct world world;
    world_open(&world);
    const int64_t t = world.now_ns;
    feed_irq(world.model, 0, 0, t + 10, 28, "eth0", true);
    feed_irq(world.model, 0, 0, t + 30, 28, "eth0", false);
    world.now_ns += 35;
    world_finish(&world);
    struct lull_path *path = path_of(&world, 0, 7, t, t + 35);
    const struct lull_segment *interrupted = find(path, LULL_STATE_INTERRUPTED);
    g_assert_cmpint(interrupted->start_ns, ==, t + 10);
    g_assert_cmpint(interrupted->end_ns, ==, t + 30);
    g_assert_cmpstr(interrupted->detail, ==, "irq 28 eth0");
    g_assert_cmpstr(interrupted->object, ==, "irq 28 eth0");
    lull_path_free(path);
    lull_portions_add(world.portions, world_task(&world, 7), t, t + 35);
    const uint32_t most = lull_sample_at(world.portions, 0)->most;
    g_assert_cmpint(lull_portions_at(world.portions, most)->state, ==, LULL_STATE_INTERRUPTED);
    g_assert_cmpstr(lull_portions_at(world.portions, most)->detail, ==, "irq 28 eth0");
    world_close(&world);
}

/* 30 wakes 7 before it has left its CPU: from 20 to 25 it waits for what has been done. */
static void test_woken(void)
{
    struct world world;
    world_open(&world);
    const int64_t t = world.now_ns;
    feed_wake(world.model, LULL_EVENT_sched_waking, 0, 1, t + 18, 7, 0);
    feed_switch(world.model, 0, 0, t + 20, 7, 0, 1);
    feed_wake(world.model, LULL_EVENT_sched_wakeup, 0, 1, t + 25, 7, 0);
    feed_switch(world.model, 0, 0, t + 25, 0, 7, 0);
    world.now_ns = t + 40;
    world_finish(&world);
    struct lull_path *path = path_of(&world, 0, 7, t, t + 40);
    const struct lull_segment *wait = find(path, LULL_STATE_BLOCKED);
    g_assert_cmpint(wait->start_ns, ==, t + 20);
    g_assert_cmpint(wait->end_ns, ==, t + 25);
    g_assert_cmpint(wait->cause, ==, LULL_CAUSE_TASK);
    g_assert_cmpint(wait->other_tid, ==, 30);
    g_assert_cmpstr(wait->detail, ==, "woken by t30/30");
    lull_path_free(path);
    world_close(&world);
}

/* First by 8 for 20 ns and 9 for 5; then the CPU was idle for 10 ns when 7 was woken. */
static void test_preempted(void)
{
    struct world world;
    world_open(&world);
    const int64_t t = world_work(&world, &(struct work){10, 20, 5, 0, 0}), again = world.now_ns;
    feed_switch(world.model, 0, 0, again + 10, 7, 0, 1);
    feed_wake(world.model, LULL_EVENT_sched_waking, 0, 1, again + 20, 7, 0);
    feed_switch(world.model, 0, 0, again + 30, 0, 7, 0);
    world.now_ns = again + 40;
    world_finish(&world);
    char twenty[LULL_TIME_TEXT_SIZE], five[LULL_TIME_TEXT_SIZE];
    lull_duration_format(20, twenty);
    lull_duration_format(5, five);
    g_autofree char *expected = g_strdup_printf("by t8/8 %s, t9/9 %s on CPU 0", twenty, five);
    struct lull_path *path = path_of(&world, 0, 7, t, again);
    g_assert_cmpstr(find(path, LULL_STATE_PREEMPTED)->detail, ==, expected);
    g_assert_cmpint(find(path, LULL_STATE_PREEMPTED)->other_tid, ==, 8);
    lull_path_free(path);
    path = path_of(&world, 0, 7, again + 20, again + 40);
    g_assert_cmpstr(find(path, LULL_STATE_PREEMPTED)->detail, ==,
                    "on CPU 0, which came out of idle");
    g_assert_cmpint(find(path, LULL_STATE_PREEMPTED)->other_tid, ==, -1);
    lull_path_free(path);
    world_close(&world);
}

/* 7 waits for CPU 0 from 2 to 9 ms. CPU 1 is idle from 1 ms on, CPU 2 from 4 to 6 ms, CPU 3 has no event. */
static void check_idle(int64_t seen_ms, int64_t idle_ms)
{
    const int64_t ms = 1000000;
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    const int64_t t = world.now_ns;
    feed_switch(model, 0, 0, t, 0, 7, 0);
    feed_switch(model, 0, 1, t, 0, 9, 0);
    feed_switch(model, 0, 2, t, 0, 10, 0);
    feed_switch(model, 0, 1, t + 1 * ms, 9, 0, 1);
    feed_switch(model, 0, 0, t + 2 * ms, 7, 8, 0);
    feed_switch(model, 0, 2, t + 4 * ms, 10, 0, 1);
    feed_switch(model, 0, 2, t + 6 * ms, 0, 10, 0);
    if (seen_ms) { /* 9 has run again: when it started to is not in the trace */
        feed_switch(model, 0, 1, t + seen_ms * ms, 9, 0, 1);
    }
    feed_switch(model, 0, 0, t + 9 * ms, 8, 7, 1);
    feed_switch(model, 0, 0, t + 10 * ms, 7, 0, 1);
    lull_model_finish(model);
    struct lull_path *path = path_of(&world, 0, 7, t, t + 10 * ms);
    g_assert_cmpuint(path->n_idle, ==, 1);
    g_assert_cmpint(path->idle->tid, ==, 7);
    g_assert_cmpint(path->idle->cpu, ==, 0);
    g_assert_cmpint(path->idle->waited_ns, ==, 7 * ms);
    g_assert_cmpint(path->idle->idle_ns, ==, idle_ms * ms);
    lull_path_free(path);
    world_close(&world);
}

static void test_idle(void)
{
    check_idle(0, 7);
    check_idle(7, 2 + 2); /* from 4 to 6 ms CPU 2, and from 7 to 9 ms CPU 1 */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/evidence/disk", test_disk);
    g_test_add_func("/graph/evidence/packet", test_packet);
    g_test_add_func("/graph/evidence/packet-unrecorded", test_packet_unrecorded);
    g_test_add_func("/graph/evidence/interrupt", test_interrupt);
    g_test_add_func("/graph/evidence/woken", test_woken);
    g_test_add_func("/graph/evidence/preempted", test_preempted);
    g_test_add_func("/graph/evidence/idle", test_idle);
    return g_test_run();
}
