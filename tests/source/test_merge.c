/* SPDX-License-Identifier: MIT */
/* The tournament tree against sorting, and clock arithmetic against sums by hand. */
#include "base/clock.h"
#include "source/session/merge.h"

#include <glib.h>
#include <stdlib.h>

struct item {
    int64_t time;
    uint32_t stream;
};

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->stream > y->stream) - (x->stream < y->stream);
}

#define PER_STREAM 50

/* n streams with few different times, so that there are many ties. */
static void merge_once(GRand *random, uint32_t n)
{
    g_autofree int64_t *times = g_new(int64_t, (size_t)n *PER_STREAM);
    g_autofree struct item *expected = g_new(struct item, (size_t)n * PER_STREAM);
    g_autofree uint32_t *next = g_new0(uint32_t, n);
    for (uint32_t s = 0; s < n; s++) {
        int64_t t = g_rand_int_range(random, 0, 20);
        for (uint32_t i = 0; i < PER_STREAM; i++) {
            times[s * PER_STREAM + i] = t;
            expected[s * PER_STREAM + i] = (struct item){t, s};
            t += g_rand_int_range(random, 0, 3);
        }
    }
    qsort(expected, (size_t)n * PER_STREAM, sizeof expected[0], compare_items);
    struct lull_merge merge = {0};
    lull_merge_init(&merge, n);
    for (uint32_t s = 0; s < n; s++) {
        merge.times[s] = times[s * PER_STREAM];
    }
    lull_merge_play(&merge);
    for (uint32_t i = 0; i < n * PER_STREAM; i++) {
        uint32_t s = merge.winner;
        g_assert_cmpint(merge.times[s], ==, expected[i].time);
        g_assert_cmpuint(s, ==, expected[i].stream);
        next[s]++;
        lull_merge_update(&merge,
                          next[s] < PER_STREAM ? times[s * PER_STREAM + next[s]] : INT64_MAX);
    }
    g_assert_cmpint(merge.times[merge.winner], ==, INT64_MAX);
    lull_merge_clear(&merge);
}

static void test_merge(void)
{
    GRand *random = g_rand_new_with_seed(7);
    for (uint32_t n = 1; n <= 33; n++) {
        merge_once(random, n);
    }
    g_rand_free(random);
}

/* 1 GHz: an addition, and the drift to the nearest ns, halves up. Other frequencies: rounded down,
 * without overflow at the top. */
static void test_clock(void)
{
    struct lull_clock_map map;
    struct lull_clock_transform identity = {0};
    /* 1 ns in 1024 */
    struct lull_clock_transform fast = {
        .origin_ns = 10000000000, .offset_ns = 3, .rate_num = INT64_C(1) << 52};
    lull_clock_map_init(&map, 1000000000, 10, 0, 0, &fast);
    g_assert_cmpuint(map.n_linear, >, 0);
    g_assert_cmpint(lull_clock_map_joined(&map, 5120), ==, 10000005128);
    g_assert_cmpint(lull_clock_map_joined(&map, 511), ==, 10000000514);
    g_assert_cmpint(lull_clock_map_joined(&map, 512), ==, 10000000516);
    lull_clock_map_init(&map, 1000000000, 10, 0, -1536, &fast);
    g_assert_cmpint(lull_clock_map_joined(&map, 0), ==, 9999998466);
    /* One that ran backwards, or whose origin is no time, is not read fast. */
    fast.rate_num = -(INT64_C(1) << 62);
    lull_clock_map_init(&map, 1000000000, 10, 0, 0, &fast);
    g_assert_cmpuint(map.n_linear, ==, 0);
    fast = (struct lull_clock_transform){.origin_ns = INT64_MIN};
    lull_clock_map_init(&map, 1000000000, 10, 5, 100, &fast);
    g_assert_cmpuint(map.n_linear, ==, 0);
    g_assert_cmpint(lull_clock_map_joined(&map, 7), ==, 10000000112);
    lull_clock_map_init(&map, 1000000000, 10, 5, 100, &identity);
    g_assert_cmpuint(map.n_linear, >, 0);
    g_assert_cmpint(lull_clock_map_joined(&map, 7), ==, 10000000112);
    /* 3 Hz, 2 s, (1 + 4) cycles: 5/3 s */
    lull_clock_map_init(&map, 3, 2, 1, 0, &identity);
    g_assert_cmpuint(map.n_linear, ==, 0);
    g_assert_cmpint(lull_clock_map_joined(&map, 4), ==, 3666666666);
    /* 2.4 GHz for 2^63 cycles: 9223372036854775808 / 2.4 ns */
    lull_clock_map_init(&map, 2400000000, 0, 0, 0, &identity);
    g_assert_cmpint(lull_clock_map_joined(&map, UINT64_C(1) << 63), ==, 3843071682022823253);
    lull_clock_map_init(&map, 1, INT64_MAX, UINT64_MAX, 0, &identity);
    g_assert_cmpint(lull_clock_map_joined(&map, UINT64_MAX), ==, LULL_TIME_MAX);
    lull_clock_map_init(&map, 1000000000, INT64_MIN, 0, 0, &identity);
    g_assert_cmpint(lull_clock_map_joined(&map, UINT64_MAX), ==, LULL_TIME_MIN);
}

/* What a clock can show: from -(2^62 - 1) = -4611686018427387903 to 2^62 - 1. */
static void test_valid(void)
{
    const int64_t most = 4611686018427387903;
    struct lull_clock_map map;
    struct lull_clock_transform identity = {0}, later = {.offset_ns = 5};
    lull_clock_map_init(&map, 1000000000, 0, 0, 0, &identity);
    g_assert_true(lull_clock_map_holds(&map, 0));
    g_assert_true(lull_clock_map_holds(&map, (uint64_t)most));
    g_assert_cmpint(lull_clock_map_joined(&map, (uint64_t)most), ==, most);
    g_assert_false(lull_clock_map_holds(&map, (uint64_t)most + 1));
    g_assert_false(lull_clock_map_holds(&map, UINT64_MAX));
    g_assert_cmpint(lull_clock_map_joined(&map, UINT64_MAX), ==, most);
    /* 4611686019 s earlier the first valid value is 4611686019000000000 - 4611686018427387903. */
    lull_clock_map_init(&map, 1000000000, -4611686019, 0, 0, &identity);
    g_assert_false(lull_clock_map_holds(&map, 572612096));
    g_assert_true(lull_clock_map_holds(&map, 572612097));
    g_assert_cmpint(lull_clock_map_joined(&map, 572612097), ==, -most);
    /* What joining moves out of the valid times stays at their edge, and is no damage. */
    lull_clock_map_init(&map, 1000000000, 0, 0, 2, &later);
    g_assert_true(lull_clock_map_holds(&map, (uint64_t)most));
    g_assert_cmpint(lull_clock_map_joined(&map, (uint64_t)most - 7), ==, most);
    g_assert_cmpint(lull_clock_map_joined(&map, (uint64_t)most - 6), ==, most);
    g_assert_cmpint(lull_clock_map_joined(&map, (uint64_t)most - 8), ==, most - 1);
    g_assert_cmpint(lull_clock_map_own(&map, (uint64_t)most - 7), ==, most - 7);
    /* Clocks that are not of 1 GHz: 3 Hz, the last cycle before 4611686018.427387904 s. */
    lull_clock_map_init(&map, 3, 0, 0, 0, &identity);
    g_assert_true(lull_clock_map_holds(&map, 13835058055));
    g_assert_false(lull_clock_map_holds(&map, 13835058056));
    /* None at all, and all. */
    lull_clock_map_init(&map, 1000000000, INT64_MAX, 0, 0, &identity);
    g_assert_false(lull_clock_map_holds(&map, 0) || lull_clock_map_holds(&map, UINT64_MAX));
    lull_clock_map_init(&map, UINT64_MAX, 0, 0, 0, &identity);
    g_assert_true(lull_clock_map_holds(&map, 0) && lull_clock_map_holds(&map, UINT64_MAX));
}

/* What babeltrace2 2.0.4 prints of clocks that do not count nanoseconds; the cycles are from real
 * traces, the clocks of their metadata. */
static void test_clock_in_doubles(void)
{
    static const struct {
        uint64_t frequency;
        int64_t offset_s;
        uint64_t offset_cycles, value;
        int64_t ns;
    } cases[] = {
        {2100000000, 1679921155, 1697611796, 232817291917952, 1680032021185490355},
        {2100000000, 1679921155, 1697611796, 232868022881895, 1680032045343092233},
        {3293832152, 1641387136, 958208807, 31201858439297, 1641396609104641703},
        {2800130166, 1651437635, 370127861, 4536688456365976, 1653057805691198444},
        {3293841647, 1641387136, 958208802, 30394570329221, 1641396363987194133},
    };
    struct lull_clock_transform identity = {0};
    unsigned others = 0;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_clock_map map;
        lull_clock_map_init(&map, cases[i].frequency, cases[i].offset_s, cases[i].offset_cycles, 0,
                            &identity);
        others += lull_clock_map_joined(&map, cases[i].value) != cases[i].ns;
        lull_clock_map_use_doubles(&map);
        g_assert_cmpint(lull_clock_map_joined(&map, cases[i].value), ==, cases[i].ns);
    }
    g_assert_cmpuint(others, >, 0); /* else doubles are not tested */
}

static void test_transform(void)
{
    /* 2^-20 fast from 1000 s on, and 5 ns ahead */
    struct lull_clock_transform transform = {
        .origin_ns = INT64_C(1000000000000), .offset_ns = 5, .rate_num = INT64_C(1) << 42};
    g_assert_cmpint(lull_clock_transform_apply(&transform, transform.origin_ns), ==,
                    transform.origin_ns + 5);
    int64_t t = transform.origin_ns + (INT64_C(1) << 40);
    g_assert_cmpint(lull_clock_transform_apply(&transform, t), ==, t + 5 + (1 << 20));
    /* halves are rounded up: 2^19 / 2^20 = 0.5 */
    t = transform.origin_ns + (1 << 19);
    g_assert_cmpint(lull_clock_transform_apply(&transform, t), ==, t + 5 + 1);
    for (int i = 0; i < 1000; i++) {
        t = transform.origin_ns + (int64_t)i * 7919 * 104729;
        int64_t joined = lull_clock_transform_apply(&transform, t);
        int64_t back = lull_clock_transform_invert(&transform, joined);
        g_assert_cmpint(lull_clock_transform_apply(&transform, back), <=, joined);
        g_assert_cmpint(lull_clock_transform_apply(&transform, back + 1), >, joined);
        g_assert_cmpint(ABS(back - t), <=, 1);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/random", test_merge);
    g_test_add_func("/clock/map", test_clock);
    g_test_add_func("/clock/valid", test_valid);
    g_test_add_func("/clock/map-in-doubles", test_clock_in_doubles);
    g_test_add_func("/clock/transform", test_transform);
    return g_test_run();
}
