/* SPDX-License-Identifier: MIT */
/* Who had a CPU longest, of turns that are known. */
#include "analysis/turns.h"

#include <glib.h>

enum { MS = 1000000, MANY = 40 };

static void switch_to(struct lull_turns *turns, int64_t t, uint32_t task)
{
    const struct lull_switch_fact fact = {.time_ns = t, .host = 1, .cpu = 2, .task = task};
    lull_turns_switched(turns, &fact);
}

static void expect(const struct lull_turns *turns, int64_t start_ns, int64_t end_ns, uint32_t task,
                   int64_t ns)
{
    const struct lull_kept kept = lull_turns_longest(turns, 1, 2, 7, start_ns, end_ns);
    g_assert_cmpuint(kept.task, ==, task);
    g_assert_cmpint(kept.ns, ==, ns);
}

/* 7 asks. 8 has the CPU twice, 2 ms in all; 9 once, 3 ms, of which the first is before the wait. */
static void test_sums(void)
{
    struct lull_turns *turns = lull_turns_new();
    switch_to(turns, 10 * MS, 9);
    switch_to(turns, 13 * MS, 8);
    switch_to(turns, 14 * MS, 7);
    switch_to(turns, 19 * MS, LULL_NONE);
    switch_to(turns, 29 * MS, 8);
    switch_to(turns, 30 * MS, 9);
    expect(turns, 10 * MS, 30 * MS, 9, 3 * MS);
    expect(turns, 12 * MS, 30 * MS, 8, 2 * MS);
    expect(turns, 13 * MS, 14 * MS, 8, 1 * MS);
    expect(turns, 14 * MS, 29 * MS, LULL_NONE, 0);
    g_assert_cmpuint(lull_turns_longest(turns, 1, 3, 7, 0, 99 * MS).task, ==, LULL_NONE);
    lull_turns_free(turns);
}

/* One of very many has it longest, whether it comes first or last. */
static void test_many(void)
{
    for (uint32_t first = 0; first < 2; first++) {
        struct lull_turns *turns = lull_turns_new();
        int64_t t = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            switch_to(turns, t, 100 + i);
            t += i == (first ? 0 : MANY - 1) ? 160 * MS : MS;
        }
        expect(turns, 0, t, first ? 100 : 100 + MANY - 1, 160 * MS);
        lull_turns_free(turns);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/turns/sums", test_sums);
    g_test_add_func("/turns/many", test_many);
    return g_test_run();
}
