/* SPDX-License-Identifier: MIT */
/* The incremental hull against the sequences of Trace Compass's unit tests (specification, 7.4),
 * exactly. */
#include "clock/hull.h"

#include <time.h>

struct step {
    char direction; /* '>' from the reference t1 to t2, '<' back */
    int64_t sent, received;
    int64_t alpha, beta; /* expected, in thousandths */
    enum lull_sync_quality quality;
};

/* alpha and beta are means of fractions of small numbers: compare in integers. */
static void assert_estimate(const struct lull_hull_estimate *estimate, const struct step *step)
{
    const struct lull_hull_line *s = &estimate->steepest, *f = &estimate->flattest;
    int64_t both = 2 * s->dx * f->dx;
    int64_t alpha = s->dy * f->dx + f->dy * s->dx;
    int64_t beta = (s->through.y * s->dx - s->dy * s->through.x) * f->dx +
                   (f->through.y * f->dx - f->dy * f->through.x) * s->dx;

    g_assert_cmpint(estimate->quality, ==, step->quality);
    g_assert_cmpint(s->dx, >, 0);
    g_assert_cmpint(f->dx, >, 0);
    g_assert_cmpint(alpha * 1000, ==, step->alpha * both);
    g_assert_cmpint(beta * 1000, ==, step->beta * both);
}

static void run(const struct step *steps, unsigned count, int64_t shift_x, int64_t shift_y)
{
    struct lull_hull *hull = lull_hull_new();

    g_assert_cmpint(lull_hull_estimate(hull)->quality, ==, LULL_SYNC_ABSENT);
    for (unsigned i = 0; i < count; i++) {
        bool from_other = steps[i].direction == '<';
        struct lull_hull_point point =
            from_other ? (struct lull_hull_point){steps[i].received, steps[i].sent}
                       : (struct lull_hull_point){steps[i].sent, steps[i].received};

        point.x += shift_x;
        point.y += shift_y;
        lull_hull_add(hull, from_other, point);
        if (!shift_x && !shift_y) {
            assert_estimate(lull_hull_estimate(hull), &steps[i]);
        } else {
            g_assert_cmpint(lull_hull_estimate(hull)->quality, ==, steps[i].quality);
        }
    }
    lull_hull_free(hull);
}

static const struct step sequence[] = {
    {'<', 1, 1, 1000, 0, LULL_SYNC_INCOMPLETE},    {'>', 1, 3, 1000, 0, LULL_SYNC_INCOMPLETE},
    {'<', 2, 3, 1000, 500, LULL_SYNC_APPROXIMATE}, {'>', 3, 5, 750, 1250, LULL_SYNC_ACCURATE},
    {'>', 4, 8, 750, 1250, LULL_SYNC_ACCURATE},    {'<', 4, 5, 1125, 875, LULL_SYNC_ACCURATE},
    {'<', 4, 6, 1125, 875, LULL_SYNC_ACCURATE},    {'>', 6, 7, 725, 1275, LULL_SYNC_ACCURATE},
    {'>', 7, 4, 375, 1625, LULL_SYNC_ACCURATE},    {'<', 7, 3, 375, 1625, LULL_SYNC_FAIL},
};

static void test_sequence(void)
{
    run(sequence, G_N_ELEMENTS(sequence), 0, 0);
}

/* The same far from the origin: products of coordinates need 128 bits. */
static void test_far(void)
{
    run(sequence, G_N_ELEMENTS(sequence), INT64_C(1) << 60, -(INT64_C(1) << 60));
}

static void test_one_direction(void)
{
    static const struct step steps[] = {
        {'>', 1, 3, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 2, 5, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 3, 5, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 4, 7, 1000, 0, LULL_SYNC_INCOMPLETE},
    };

    run(steps, G_N_ELEMENTS(steps), 0, 0);
}

static void test_disjoint(void)
{
    static const struct step steps[] = {
        {'>', 1, 3, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 2, 5, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 3, 5, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 4, 7, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'<', 7, 6, 900, 2600, LULL_SYNC_APPROXIMATE},
        {'<', 8, 6, 1000, 2500, LULL_SYNC_APPROXIMATE},
        {'<', 10, 8, 1000, 2500, LULL_SYNC_APPROXIMATE},
    };

    run(steps, G_N_ELEMENTS(steps), 0, 0);
}

/* Messages on two curves that bend away from each other: each of them is a corner of its hull. The
 * line y = x lies between all of them, so no estimate may exclude its slope; and the CPU time of a
 * message does not grow with how many were before it. */
static double run_curves(int64_t n)
{
    const int64_t step = 1000, apart = INT64_C(1) << 50;
    struct lull_hull *hull = lull_hull_new();
    const clock_t start = clock();
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i * step, bend = i * i;
        lull_hull_add(hull, true, (struct lull_hull_point){x, x - apart - bend});
        lull_hull_add(hull, false, (struct lull_hull_point){x, x + apart + bend});
    }
    const clock_t end = clock();
    const struct lull_hull_estimate *estimate = lull_hull_estimate(hull);
    g_assert_cmpint(estimate->quality, ==, LULL_SYNC_ACCURATE);
    g_assert_cmpint(estimate->steepest.dy, >=, estimate->steepest.dx);
    g_assert_cmpint(estimate->flattest.dy, <=, estimate->flattest.dx);
    lull_hull_free(hull);
    return (double)(end - start);
}

static void test_curves(void)
{
    const double few = run_curves(10000), many = run_curves(80000);
    g_test_message("10000 messages: %.0f us, 80000: %.0f us", few, many);
    g_assert_cmpfloat(many, <, 24 * few); /* 8 times as many; 64 if each looks at all before it */
}

/* The third message lifts the hull over the second: the steepest line to (6, 5) leaves the hull at
 * (4, 4) with slope 1/2; past the dent it would be thought to leave it at (0, 0). The flattest has
 * slope 1 through the newest message, (5, 4). */
static void test_dent(void)
{
    static const struct step steps[] = {
        {'<', 0, 0, 1000, 0, LULL_SYNC_INCOMPLETE},   {'<', 0, 2, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'<', 4, 4, 1000, 0, LULL_SYNC_INCOMPLETE},   {'<', 4, 5, 1000, 0, LULL_SYNC_INCOMPLETE},
        {'>', 6, 5, 750, 500, LULL_SYNC_APPROXIMATE},
    };

    run(steps, G_N_ELEMENTS(steps), 0, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/hull/sequence", test_sequence);
    g_test_add_func("/graph/hull/far", test_far);
    g_test_add_func("/graph/hull/one-direction", test_one_direction);
    g_test_add_func("/graph/hull/disjoint", test_disjoint);
    g_test_add_func("/graph/hull/curves", test_curves);
    g_test_add_func("/graph/hull/dent", test_dent);
    return g_test_run();
}
