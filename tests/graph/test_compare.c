/* SPDX-License-Identifier: MIT */
/* Slow work against typical work of which is known what the slow one does more. */
#include <math.h>

#include "graph/compare.h"
#include "graph/work.h"

/* Does all of it in turn; the samples have the numbers of their works. */
static void do_all(struct world *world, const struct work *works, uint32_t count)
{
    g_autofree int64_t *starts = g_new(int64_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = world_work(world, &works[i]);
    }
    starts[count] = world->now_ns;
    world_finish(world);
    for (uint32_t i = 0; i < count; i++) {
        lull_portions_add(world->portions, world_task(world, 7), starts[i], starts[i + 1]);
    }
}

/* On average the slow ones run 10 less (90 for 100), are preempted 420 more (400 by 8, and one of the
 * five 100 by 9), wait 60 more for the lock, and sleep 2 more (57 for 55), which is within what chance
 * does to the typical ones: 470 + 2 in all. */
static void test_causes(void)
{
    enum { NO_SAMPLE = UINT32_MAX };
    static const struct work works[] = {
        {100, 0, 0, 50, 0},   {100, 0, 0, 52, 0},   {100, 0, 0, 54, 0},    {100, 0, 0, 56, 0},
        {100, 0, 0, 58, 0},   {100, 0, 0, 60, 0},   {90, 400, 0, 57, 60},  {90, 400, 0, 57, 60},
        {90, 400, 0, 57, 60}, {90, 400, 0, 57, 60}, {90, 400, 100, 57, 60}};
    static const uint32_t typical[] = {0, 1, 2, 3, 4, 5, NO_SAMPLE};
    static const uint32_t slow[] = {6, 7, 8, 9, 10, NO_SAMPLE};
    struct world world;
    world_open(&world);
    do_all(&world, works, G_N_ELEMENTS(works));
    struct lull_comparison *found = lull_compare(world.portions, slow, 5, typical, 6, 10, 0);
    g_assert_cmpuint(found->n_slow, ==, 5);
    g_assert_cmpuint(found->n_typical, ==, 6);
    g_assert_cmpfloat_with_epsilon(found->slow_ns, 90 + 420 + 57 + 60, 1e-6);
    g_assert_cmpfloat_with_epsilon(found->typical_ns, 155, 1e-6);
    g_assert_cmpfloat_with_epsilon(found->difference_ns, 472, 1e-6);
    g_assert_cmpfloat_with_epsilon(found->less_ns, 10, 1e-6);
    g_assert_cmpfloat(found->unknown_ns, ==, 0);
    g_assert_cmpuint(found->n_contributions, ==, 2);

    const struct lull_contribution *cpu = &found->contributions[0];
    g_assert_cmpuint(cpu->lock, ==, LULL_NONE);
    g_assert_cmpfloat_with_epsilon(cpu->difference_ns, 420, 1e-6);
    g_assert_cmpfloat(cpu->typical_ns, ==, 0);
    g_assert_cmpuint(cpu->n_details, ==, 2);
    g_assert_cmpuint(cpu->portion, ==, cpu->details[0].portion);
    g_assert_cmpfloat_with_epsilon(cpu->details[0].difference_ns, 400, 1e-6);
    g_assert_cmpfloat_with_epsilon(cpu->details[1].difference_ns, 20, 1e-6);
    g_assert_cmpstr(lull_portions_at(world.portions, cpu->portion)->detail, ==, "by t8");
    g_assert_cmpuint(cpu->n_outstanding, ==, 5);
    g_assert_cmpuint(cpu->most, ==, 10);
    g_assert_cmpint(cpu->tid, ==, 7);
    g_assert_cmpint(cpu->other_tid, ==, 8);
    g_assert_cmpfloat(cpu->low_ns, >=, 400); /* each has that much, one has 100 more */
    g_assert_cmpfloat(cpu->high_ns, <=, 500);

    const struct lull_contribution *lock = &found->contributions[1];
    g_assert_cmpuint(lock->lock, ==, 0);
    g_assert_cmpfloat_with_epsilon(lock->difference_ns, 60, 1e-6);
    g_assert_cmpuint(lock->n_details, ==, 1);
    g_assert_cmpstr(lull_portions_at(world.portions, lock->portion)->comm, ==, "t30");
    g_assert_cmpint(lock->tid, ==, 30);
    g_assert_cmpint(lock->other_tid, ==, 30);
    g_assert_cmpfloat_with_epsilon(lock->low_ns, 60, 1e-6); /* all have the same */
    g_assert_cmpfloat_with_epsilon(lock->high_ns, 60, 1e-6);
    lull_comparison_free(found);
    lull_comparison_free(NULL);
    world_close(&world);
}

/* Two contributions are there; one is asked for, or those of at least a fifth of the difference. */
static void test_choice(void)
{
    static const struct work works[] = {
        {100, 0, 0, 0, 0},    {100, 0, 0, 0, 0},    {100, 0, 0, 0, 0},    {100, 0, 0, 0, 0},
        {100, 0, 0, 0, 0},    {100, 400, 0, 0, 60}, {100, 400, 0, 0, 60}, {100, 400, 0, 0, 60},
        {100, 400, 0, 0, 60}, {100, 400, 0, 0, 60}};
    static const uint32_t typical[] = {0, 1, 2, 3, 4}, slow[] = {5, 6, 7, 8, 9};
    static const struct {
        uint32_t most, expected;
        double least;
    } cases[] = {{10, 2, 0}, {1, 1, 0}, {10, 1, 0.2}, {10, 2, 0.1}, {10, 0, 0.95}, {0, 0, 0}};
    struct world world;
    world_open(&world);
    do_all(&world, works, G_N_ELEMENTS(works));
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_comparison *found =
            lull_compare(world.portions, slow, 5, typical, 5, cases[i].most, cases[i].least);
        g_assert_cmpuint(found->n_contributions, ==, cases[i].expected);
        lull_comparison_free(found);
    }
    world_close(&world);
}

/* Half of 300 slow ones sleep 100, half 120: 110 on average, with deviation 10, so the mean has a
 * standard error of 10 / sqrt(299), and 95 % of means lie within 1.96 of these. The typical ones do
 * not sleep. The interval is drawn a thousand times, so its ends are themselves uncertain by about a
 * tenth of the error. */
static void test_interval_of_many(void)
{
    enum { N = 300 };
    g_autofree struct work *works = g_new0(struct work, 2 * N);
    g_autofree uint32_t *numbers = g_new(uint32_t, 2 * N);
    for (uint32_t i = 0; i < 2 * N; i++) {
        works[i] = (struct work){.run_ns = 1000, .sleep_ns = i < N ? 0 : 100 + 20 * (i % 2)};
        numbers[i] = i;
    }
    struct world world;
    world_open(&world);
    do_all(&world, works, 2 * N);
    struct lull_comparison *found = lull_compare(world.portions, numbers + N, N, numbers, N, 10, 0);
    const double error = 10 / sqrt(N - 1);
    g_assert_cmpuint(found->n_contributions, ==, 1);
    g_assert_cmpfloat_with_epsilon(found->contributions[0].difference_ns, 110, 1e-6);
    g_assert_cmpfloat_with_epsilon(found->contributions[0].low_ns, 110 - 1.96 * error, error / 2);
    g_assert_cmpfloat_with_epsilon(found->contributions[0].high_ns, 110 + 1.96 * error, error / 2);
    lull_comparison_free(found);
    world_close(&world);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/compare/causes", test_causes);
    g_test_add_func("/graph/compare/choice", test_choice);
    g_test_add_func("/graph/compare/interval-of-many", test_interval_of_many);
    return g_test_run();
}
