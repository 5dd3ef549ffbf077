/* SPDX-License-Identifier: MIT */
/* What cannot run although it never ran: a replay of events by hand. How the kernel shares a quota out as a whole is
 * simulated in test_bandwidth.py. */
#include <glib.h>

#include "graph/bandwidth.h"

#define MS INT64_C(1000000)

/* Task 1 uses the quota of 5 ms up on CPU 0. Task 2 comes to CPU 1, where none of the group has run, and has to wait for the
 * next period. */
static void test_newcomer(void)
{
    static const struct lull_bandwidth_event events[] = {
        {.time_ns = 0, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
        {.time_ns = 5 * MS, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_STOP, .is_last = true},
        {.time_ns = 20 * MS, .cpu = 1, .task = 2, .step = LULL_BANDWIDTH_WAKE},
        {.time_ns = 100 * MS, .step = LULL_BANDWIDTH_REFILL},
        {.time_ns = 100 * MS, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
        {.time_ns = 100 * MS, .cpu = 1, .task = 2, .step = LULL_BANDWIDTH_START},
    };
    struct lull_bandwidth_pauses pauses = {0};
    lull_bandwidth_replay(events, G_N_ELEMENTS(events), 5 * MS, (95 + 80) * MS, &pauses);
    g_assert_cmpuint(pauses.all.count, ==, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct lull_bandwidth_pause *pause = &pauses.all.items[i];
        g_assert_cmpuint(pause->cpu, ==, i);
        g_assert_cmpint(pause->start_ns, ==, (i == 0 ? 5 : 20) * MS);
        g_assert_cmpint(pause->counted_ns, ==, pause->start_ns);
        g_assert_cmpint(pause->end_ns, ==, 100 * MS);
    }
    lull_vec_free(&pauses.all);
}

/* Task 1 uses the quota up on CPU 0 and waits there for two periods, as the kernel had nothing for it at the first: these are two
 * pauses, of which none counts twice. */
static void test_two_periods(void)
{
    static const struct lull_bandwidth_event events[] = {
        {.time_ns = 0, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
        {.time_ns = 5 * MS, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_STOP, .is_last = true},
        {.time_ns = 100 * MS, .step = LULL_BANDWIDTH_REFILL},
        {.time_ns = 200 * MS, .step = LULL_BANDWIDTH_REFILL},
        {.time_ns = 200 * MS, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
    };
    struct lull_bandwidth_pauses pauses = {0};
    lull_bandwidth_replay(events, G_N_ELEMENTS(events), 5 * MS, 195 * MS, &pauses);
    g_assert_cmpuint(pauses.all.count, ==, 2);
    g_assert_cmpint(pauses.all.items[0].start_ns, ==, 5 * MS);
    g_assert_cmpint(pauses.all.items[0].end_ns, ==, 100 * MS);
    g_assert_cmpint(pauses.all.items[1].start_ns, ==, 100 * MS);
    g_assert_cmpint(pauses.all.items[1].counted_ns, ==, 100 * MS);
    g_assert_cmpint(pauses.all.items[1].end_ns, ==, 200 * MS);
    lull_vec_free(&pauses.all);
}

/* Task 1 seems to have 2 ms of its quota left, as not all of its running was seen. It waits beside another task, which lets it on
 * the CPU so long after the next period starts. */
static void check_later(int64_t after_ns, int64_t kernel_ns, uint32_t n)
{
    const struct lull_bandwidth_event events[] = {
        {.time_ns = 0, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
        {.time_ns = 48 * MS, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_STOP},
        {.time_ns = 100 * MS, .step = LULL_BANDWIDTH_REFILL},
        {.time_ns = 100 * MS + after_ns, .cpu = 0, .task = 1, .step = LULL_BANDWIDTH_START},
    };
    struct lull_bandwidth_pauses pauses = {0};
    lull_bandwidth_replay(events, G_N_ELEMENTS(events), 50 * MS, kernel_ns, &pauses);
    g_assert_cmpuint(pauses.all.count, ==, n);
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpint(pauses.all.items[i].start_ns, ==, 48 * MS);
        g_assert_cmpint(pauses.all.items[i].end_ns, ==, 100 * MS);
    }
    lull_vec_free(&pauses.all);
}

/* It waited for the period if the kernel counted that much, and for its turn if not. */
static void test_later(void)
{
    check_later(MS / 10, 52 * MS, 1);
    check_later(3 * MS, 52 * MS, 1);
    check_later(3 * MS, 0, 0);
    check_later(3 * MS, 20 * MS, 0);
    check_later(6 * MS, 52 * MS, 0);
}

/* On each of many CPUs a task waits, and as many periods start: who looked at all CPUs for each would take 4 * 10^10 steps. */
static void test_many(void)
{
    enum { MANY = 200000 };
    g_autofree struct lull_bandwidth_event *events = g_new0(struct lull_bandwidth_event, 4 * MANY);
    struct lull_bandwidth_pauses pauses = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        events[n++] = (struct lull_bandwidth_event){
            .time_ns = i, .cpu = i, .task = i, .step = LULL_BANDWIDTH_START};
        events[n++] = (struct lull_bandwidth_event){
            .time_ns = i, .cpu = i, .task = i, .step = LULL_BANDWIDTH_SLEEP};
    }
    for (uint32_t i = 0; i < MANY; i++) {
        events[n++] =
            (struct lull_bandwidth_event){.time_ns = (i + 1) * MS, .step = LULL_BANDWIDTH_REFILL};
    }
    lull_bandwidth_replay(events, n, 5 * MS, 0, &pauses);
    g_assert_cmpuint(pauses.all.count, ==, 0);
    lull_vec_free(&pauses.all);
}

/* A task that runs no more is not looked at for ever, nor does each period that starts make a pause. */
static void test_endless(void)
{
    enum { PERIODS = 100000 };
    g_autofree struct lull_bandwidth_event *events =
        g_new0(struct lull_bandwidth_event, PERIODS + 2);
    struct lull_bandwidth_pauses pauses = {0};
    events[0] = (struct lull_bandwidth_event){.step = LULL_BANDWIDTH_START};
    events[1] =
        (struct lull_bandwidth_event){.time_ns = MS, .step = LULL_BANDWIDTH_STOP, .is_last = true};
    for (uint32_t i = 0; i < PERIODS; i++) {
        events[i + 2] = (struct lull_bandwidth_event){.time_ns = (i + 1) * 100 * MS,
                                                      .step = LULL_BANDWIDTH_REFILL};
    }
    lull_bandwidth_replay(events, PERIODS + 2, 5 * MS, INT64_MAX, &pauses);
    g_assert_cmpuint(pauses.all.count, <=, 2000);
    lull_vec_free(&pauses.all);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bandwidth/newcomer", test_newcomer);
    g_test_add_func("/bandwidth/two-periods", test_two_periods);
    g_test_add_func("/bandwidth/later", test_later);
    g_test_add_func("/bandwidth/many", test_many);
    g_test_add_func("/bandwidth/endless", test_endless);
    return g_test_run();
}
