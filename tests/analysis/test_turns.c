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

enum { CPUS = 4, TIMES = 3000, IDLE = -1, UNKNOWN = -2 };

static void put(struct lull_turns *turns, int64_t t, int32_t cpu, int what, int64_t unknown_ns)
{
    const struct lull_switch_fact fact = {.time_ns = t,
                                          .cpu = cpu,
                                          .task = what < 0 ? LULL_NONE : (uint32_t)what,
                                          .is_unknown = what == UNKNOWN,
                                          .since_ns = t,
                                          .unknown_ns = unknown_ns};
    lull_turns_switched(turns, &fact);
}

/* Four CPUs that change at times of chance, against a table of what each does at each time. */
static void test_idle_elsewhere(void)
{
    struct lull_turns *turns = lull_turns_new();
    static int table[CPUS][TIMES];
    int now[CPUS] = {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN};
    uint32_t n_exact = 0;
    for (int64_t t = 0; t < TIMES; t++) {
        for (int32_t c = 0; c < CPUS; c++) {
            const int what = g_test_rand_int_range(0, 5);
            if (g_test_rand_int_range(0, 20) == 0) {
                now[c] = what == 0 ? UNKNOWN : what == 1 ? IDLE : what;
                put(turns, t, c, now[c], 0);
            }
            table[c][t] = now[c];
        }
    }
    for (int i = 0; i < 2000; i++) {
        const int32_t own = g_test_rand_int_range(0, CPUS);
        const int from = g_test_rand_int_range(TIMES / 2, TIMES - 20);
        const int to = from + g_test_rand_int_range(1, 20);
        int64_t idle_ns = 0;
        bool is_busy = true;
        for (int t = from; t < to; t++) {
            bool is_idle = false;
            for (int32_t c = 0; c < CPUS; c++) {
                is_idle |= c != own && table[c][t] == IDLE;
            }
            idle_ns += is_idle;
            is_busy &= table[own][t] >= 0;
        }
        const int64_t found = lull_turns_idle_elsewhere_ns(turns, 0, own, from, to);
        g_assert_cmpint(found, <=, idle_ns);
        if (is_busy) {
            g_assert_cmpint(found, ==, idle_ns);
            n_exact += idle_ns > 0;
        }
    }
    g_assert_cmpuint(n_exact, >, 20);
    g_assert_cmpint(lull_turns_idle_elsewhere_ns(turns, 7, 0, 0, TIMES), ==, 0);
    lull_turns_free(turns);
}

/* A CPU that was last seen idle, and leaves that unseen, was not idle as far as is known. */
static void test_left_unseen(void)
{
    struct lull_turns *turns = lull_turns_new();
    put(turns, 0, 0, 1, 0);
    put(turns, 10, 1, IDLE, 0);
    put(turns, 30, 1, 2, 20);
    put(turns, 40, 1, IDLE, 5); /* who was there before is not known: it is idle now */
    put(turns, 60, 1, 3, 0);
    put(turns, 55, 1, UNKNOWN, 0); /* late */
    g_assert_cmpint(lull_turns_idle_elsewhere_ns(turns, 0, 0, 0, 40), ==, 0);
    g_assert_cmpint(lull_turns_idle_elsewhere_ns(turns, 0, 0, 0, 50), ==, 10);
    g_assert_cmpint(lull_turns_idle_elsewhere_ns(turns, 0, 0, 45, 100), ==, 15);
    lull_turns_free(turns);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/turns/sums", test_sums);
    g_test_add_func("/turns/many", test_many);
    g_test_add_func("/turns/idle-elsewhere", test_idle_elsewhere);
    g_test_add_func("/turns/left-unseen", test_left_unseen);
    return g_test_run();
}
