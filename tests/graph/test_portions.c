/* SPDX-License-Identifier: MIT */
/* What critical paths are about, in sums that are known beforehand. */
#include "graph/work.h"

static void expect_sum(const struct lull_portion_sum *sum, const char *comm, enum lull_state state,
                       enum lull_cause cause, const int64_t *numbers)
{
    g_assert_cmpuint(sum->host, ==, 0);
    g_assert_cmpstr(sum->comm, ==, comm);
    g_assert_cmpint(sum->state, ==, state);
    g_assert_cmpint(sum->cause, ==, cause);
    g_assert_cmpint(sum->total_ns, ==, numbers[0]);
    g_assert_cmpint(sum->min_ns, ==, numbers[1]);
    g_assert_cmpint(sum->max_ns, ==, numbers[2]);
    g_assert_cmpuint(sum->n_samples, ==, (uint32_t)numbers[3]);
}

/* Two pieces of work; the second neither is preempted nor waits for the lock. */
static void test_sums(void)
{
    static const struct work works[] = {{10, 20, 5, 40, 15}, {30, 0, 0, 4, 0}};
    struct world world;
    world_open(&world);
    int64_t starts[] = {world_work(&world, &works[0]), world_work(&world, &works[1])};
    world_finish(&world);
    g_assert_cmpuint(lull_portions_add(world.portions, world_task(&world, 7), starts[0], starts[1]),
                     ==, 0);
    g_assert_cmpuint(
        lull_portions_add(world.portions, world_task(&world, 7), starts[1], world.now_ns), ==, 1);
    g_assert_cmpuint(lull_sample_count(world.portions), ==, 2);
    const struct lull_sample *first = lull_sample_at(world.portions, 0);
    const struct lull_sample *second = lull_sample_at(world.portions, 1);
    g_assert_cmpuint(first->n_parts, ==, 5);
    g_assert_cmpuint(second->n_parts, ==, 2);
    g_assert_cmpint(first->most_ns, ==, 40);
    g_assert_cmpint(lull_portions_at(world.portions, first->most)->cause, ==, LULL_CAUSE_TIMER);
    g_assert_cmpint(second->most_ns, ==, 30);
    g_assert_cmpint(lull_portions_at(world.portions, second->most)->state, ==, LULL_STATE_RUNNING);

    static const uint32_t both[] = {0, 1};
    g_autoptr(GArray) sums = lull_portions_sum(world.portions, both, 2);
    const struct lull_portion_sum *sum = (const void *)sums->data;
    const enum lull_cause none = LULL_CAUSE_NONE;
    /* total, least, most, in how many */
    g_assert_cmpuint(sums->len, ==, 5);
    expect_sum(&sum[0], "t7", LULL_STATE_BLOCKED, LULL_CAUSE_TIMER, (int64_t[]){44, 4, 40, 2});
    expect_sum(&sum[1], "t7", LULL_STATE_RUNNING, none, (int64_t[]){40, 10, 30, 2});
    expect_sum(&sum[2], "t7", LULL_STATE_PREEMPTED, none, (int64_t[]){20, 20, 20, 1});
    expect_sum(&sum[3], "t30", LULL_STATE_RUNNING, none, (int64_t[]){15, 15, 15, 1});
    expect_sum(&sum[4], "t7", LULL_STATE_PREEMPTED, none, (int64_t[]){5, 5, 5, 1});
    g_assert_cmpstr(sum[2].detail, ==, "by t8");
    g_assert_cmpstr(sum[4].detail, ==, "by t9");
    world_close(&world);
    lull_portions_free(NULL);
    lull_execgraph_free(NULL);
}

/* While the task waits in futex, what the holder does is the path, and lies within the lock. */
static void test_lock(void)
{
    struct world world;
    world_open(&world);
    const int64_t start_ns = world_work(&world, &(struct work){.run_ns = 10, .lock_ns = 15});
    world_finish(&world);
    lull_portions_add(world.portions, world_task(&world, 7), start_ns, world.now_ns);
    g_assert_cmpuint(lull_portions_lock_count(world.portions), ==, 1);
    const struct lull_lock *lock = lull_portions_lock(world.portions, 0);
    g_assert_cmpstr(lock->comm, ==, "t7");
    g_assert_cmpstr(lock->call, ==, "futex");
    g_assert_cmpstr(lock->holder, ==, "t30");
    g_assert_cmpuint(lull_sample_at(world.portions, 0)->n_parts, ==, 2);
    const struct lull_part *run = lull_part_at(world.portions, 0);
    g_assert_cmpuint(run->lock, ==, LULL_NONE);
    g_assert_cmpint(run->duration_ns, ==, 10);
    g_assert_cmpint(run->tid, ==, 7);
    g_assert_cmpint(run->other_tid, ==, -1);
    const struct lull_part *held = lull_part_at(world.portions, 1);
    g_assert_cmpuint(held->lock, ==, 0);
    g_assert_cmpint(held->duration_ns, ==, 15);
    g_assert_cmpint(held->tid, ==, 30);
    g_assert_cmpint(held->other_tid, ==, 30);
    world_close(&world);
}

/* 40 wakes 30, which wakes 7: what 40 did meanwhile, 30 waited for, and 7 for that. */
static void test_through(void)
{
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    const int64_t start_ns = world.now_ns;
    feed_switch(model, 0, 2, start_ns, 0, 40, 0);
    feed_switch(model, 0, 0, start_ns + 10, 7, 0, 1);
    feed_switch(model, 0, 1, start_ns + 15, 30, 0, 1);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 2, start_ns + 35, 30, 1);
    feed_switch(model, 0, 1, start_ns + 35, 0, 30, 0);
    feed_wake(model, LULL_EVENT_sched_waking, 0, 1, start_ns + 50, 7, 0);
    feed_switch(model, 0, 0, start_ns + 50, 0, 7, 0);
    world.now_ns = start_ns + 60;
    world_finish(&world);
    lull_portions_add(world.portions, world_task(&world, 7), start_ns, world.now_ns);
    static const struct {
        int tid;
        int64_t duration_ns;
        const char *through;
    } expected[] = {{7, 20, NULL}, {30, 20, "t7"}, {40, 20, "t30, waited for by t7"}};
    g_assert_cmpuint(lull_sample_at(world.portions, 0)->n_parts, ==, G_N_ELEMENTS(expected));
    for (uint32_t i = 0; i < G_N_ELEMENTS(expected); i++) {
        const struct lull_part *part = lull_part_at(world.portions, i);
        g_assert_cmpint(part->tid, ==, expected[i].tid);
        g_assert_cmpint(part->duration_ns, ==, expected[i].duration_ns);
        g_assert_cmpstr(part->through, ==, expected[i].through);
    }
    world_close(&world);
}

/* Ports as IANA registers them, those without a registration as their programs document them. */
static void test_services(void)
{
    static const struct {
        uint16_t port;
        const char *name;
    } services[] = {
        {22, "SSH"},          {25, "SMTP"},   {53, "DNS"},     {80, "HTTP"},
        {88, "Kerberos"},     {123, "NTP"},   {389, "LDAP"},   {443, "HTTPS"},
        {445, "SMB"},         {636, "LDAPS"}, {2049, "NFS"},   {3306, "MySQL"},
        {5432, "PostgreSQL"}, {5672, "AMQP"}, {6379, "Redis"}, {11211, "memcached"},
        {87, NULL},           {4711, NULL},
    };
    struct world world;
    world_open(&world);
    struct lull_model *model = world.model;
    int64_t starts[G_N_ELEMENTS(services)];
    for (uint32_t i = 0; i < G_N_ELEMENTS(services); i++) {
        starts[i] = world.now_ns;
        feed_switch(model, 0, 0, world.now_ns += 10, 7, 0, 1);
        feed_softirq(model, 0, 0, world.now_ns += 10, 3, true);
        feed_tcp(model, 0, 0, world.now_ns, false,
                 &(struct feed_segment){9, 1, services[i].port, 40000, 1, 0, 0, 1, NULL});
        feed_wake(model, LULL_EVENT_sched_waking, 0, 0, world.now_ns, 7, 0);
        feed_softirq(model, 0, 0, world.now_ns, 3, false);
        feed_switch(model, 0, 0, world.now_ns, 0, 7, 0);
    }
    world_finish(&world);
    for (uint32_t i = 0; i < G_N_ELEMENTS(services); i++) {
        lull_portions_add(world.portions, world_task(&world, 7), starts[i], starts[i] + 20);
        const struct lull_sample *sample = lull_sample_at(world.portions, i);
        g_assert_cmpuint(sample->n_parts, ==, 2);
        const struct lull_part *part = lull_part_at(world.portions, sample->first_part + 1);
        const struct lull_portion *portion = lull_portions_at(world.portions, part->portion);
        g_autofree char *expected = g_strdup_printf(
            "TCP from 10.0.0.9:%u%s%s%s", services[i].port, services[i].name ? " (" : "",
            services[i].name ? services[i].name : "", services[i].name ? ")" : "");
        g_assert_cmpint(portion->cause, ==, LULL_CAUSE_NETWORK);
        g_assert_cmpstr(portion->detail, ==, expected);
    }
    world_close(&world);
}

/* Two pieces of work, in which task 7 runs 10 ns, 8 and 9 have its CPU for 20 and 25, then for 4 ns 8
 * alone: each is a cause of its own, however long the other had the CPU. */
static void test_preemptors(void)
{
    static const struct work works[] = {{10, 20, 25, 0, 0}, {10, 4, 0, 0, 0}};
    struct world world;
    world_open(&world);
    const int64_t start_ns = world_work(&world, &works[0]);
    world_work(&world, &works[1]);
    world_finish(&world);
    struct lull_path *path =
        lull_execgraph_path(world.eg, world.session, NULL, world_task(&world, 7), start_ns,
                            world.now_ns, LULL_PATH_BOUNDED);
    static const struct {
        const char *detail;
        int64_t ns, longest_ns;
        uint32_t count;
    } expected[] = {{"by t9", 25, 25, 1}, {"by t8", 24, 20, 2}};
    uint32_t found = 0;
    for (uint32_t i = 0; i < lull_path_cause_count(path); i++) {
        const struct lull_cause_share *share = lull_path_cause(path, i);
        if (share->state == LULL_STATE_PREEMPTED) {
            g_assert_cmpuint(found, <, G_N_ELEMENTS(expected));
            g_assert_cmpstr(share->detail, ==, expected[found].detail);
            g_assert_cmpint(share->duration_ns, ==, expected[found].ns);
            g_assert_cmpint(share->longest_ns, ==, expected[found].longest_ns);
            g_assert_cmpuint(share->count, ==, expected[found++].count);
        }
    }
    g_assert_cmpuint(found, ==, G_N_ELEMENTS(expected));
    lull_path_free(path);
    world_close(&world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/portions/sums", test_sums);
    g_test_add_func("/graph/portions/lock", test_lock);
    g_test_add_func("/graph/portions/through", test_through);
    g_test_add_func("/graph/portions/services", test_services);
    g_test_add_func("/graph/portions/preemptors", test_preemptors);
    return g_test_run();
}
