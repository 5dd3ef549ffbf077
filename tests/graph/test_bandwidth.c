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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bandwidth/newcomer", test_newcomer);
    return g_test_run();
}
