/* SPDX-License-Identifier: MIT */
/* Distributions against arithmetic by hand: moments, nearest-rank percentiles, histograms. */
#include <glib.h>
#include <math.h>

#include "base/distribution.h"

static struct lull_distribution of(const int64_t *values, size_t n, bool keep, bool buckets)
{
    struct lull_distribution d = {.keep_values = keep, .has_buckets = buckets};
    for (size_t i = 0; i < n; i++) {
        lull_distribution_add(&d, values[i]);
    }
    return d;
}

static void test_empty(void)
{
    struct lull_distribution d = {.keep_values = true, .has_buckets = true};
    struct lull_bin bins[64];
    g_assert_cmpfloat(lull_distribution_mean(&d), ==, 0);
    g_assert_cmpfloat(lull_distribution_deviation(&d), <, 0);
    g_assert_cmpint(lull_distribution_quantile(&d, 0.5), ==, 0);
    g_assert_cmpuint(lull_distribution_logarithmic(&d, bins), ==, 0);
    lull_distribution_clear(&d);
}

/* 2 4 4 4 5 5 7 9: mean 5, squared differences 9+1+1+1+0+0+4+16 = 32, sample variance 32/7. */
static void test_moments(void)
{
    static const int64_t values[] = {2, 4, 4, 4, 5, 5, 7, 9};
    struct lull_distribution d = of(values, 8, false, false);
    g_assert_cmpuint(d.count, ==, 8);
    g_assert_cmpint(d.min, ==, 2);
    g_assert_cmpint(d.max, ==, 9);
    g_assert_cmpfloat(lull_distribution_mean(&d), ==, 5);
    g_assert_cmpfloat_with_epsilon(lull_distribution_deviation(&d), sqrt(32.0 / 7), 1e-12);
    lull_distribution_clear(&d);

    d = of(values, 1, false, false);
    g_assert_cmpfloat(lull_distribution_deviation(&d), <, 0);
    lull_distribution_clear(&d);
}

/* Two times near the year 2026 that differ by 2 ns: deviation sqrt(2). In doubles the squares
 * differ by less than a unit in the last place. */
static void test_no_cancellation(void)
{
    static const int64_t values[] = {INT64_C(1795224979432835564), INT64_C(1795224979432835566)};
    struct lull_distribution d = of(values, 2, false, false);
    g_assert_cmpfloat_with_epsilon(lull_distribution_deviation(&d), sqrt(2), 1e-12);
    lull_distribution_clear(&d);
}

static void test_extreme_values(void)
{
    static const int64_t values[] = {-5, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    struct lull_distribution d = of(values, 6, true, true);
    struct lull_bin bins[64];
    g_assert_cmpint(d.min, ==, 0);                            /* a negative value counts as 0 */
    g_assert_cmpfloat(lull_distribution_deviation(&d), <, 0); /* the squares do not fit */
    g_assert_cmpint(lull_distribution_quantile(&d, 1), ==, INT64_MAX);
    g_assert_cmpint(lull_distribution_quantile(&d, 0), ==, 0);
    g_assert_cmpuint(lull_distribution_logarithmic(&d, bins), ==, 64);
    g_assert_cmpuint(bins[0].count, ==, 1);
    g_assert_cmpuint(bins[63].count, ==, 5);
    lull_distribution_clear(&d);
}

/* 1 … 100 in disorder: the nearest-rank percentile p is p. */
static void test_quantiles_exact(void)
{
    struct lull_distribution d = {.keep_values = true};
    for (int64_t i = 0; i < 100; i++) {
        lull_distribution_add(&d, i * 37 % 100 + 1);
    }
    for (int64_t percent = 1; percent <= 100; percent++) {
        g_assert_cmpint(lull_distribution_quantile(&d, (double)percent / 100), ==, percent);
    }
    g_assert_cmpint(lull_distribution_quantile(&d, 0.501), ==, 51);
    g_assert_cmpint(lull_distribution_quantile(&d, 0), ==, 1);
    lull_distribution_clear(&d);

    static const int64_t four[] = {15, 20, 35, 40}; /* rank of 0.5 among 4: 2; of 0.51: 3 */
    d = of(four, 4, true, true);
    g_assert_cmpint(lull_distribution_quantile(&d, 0.5), ==, 20);
    g_assert_cmpint(lull_distribution_quantile(&d, 0.51), ==, 35);
    lull_distribution_clear(&d);
}

/* With buckets alone a percentile is at or above the true one, by less than a 64th of it. */
static void test_quantiles_bounded(void)
{
    struct lull_distribution d = {.has_buckets = true};
    for (int64_t i = 1; i <= 100000; i++) {
        lull_distribution_add(&d, i * 1000);
    }
    for (int64_t permille = 1; permille <= 1000; permille++) {
        const int64_t truth = permille * 100 * 1000;
        const int64_t found = lull_distribution_quantile(&d, (double)permille / 1000);
        g_assert_cmpint(found, >=, truth);
        g_assert_cmpint(found - truth, <=, truth / 64);
    }
    lull_distribution_clear(&d);
}

static void test_linear(void)
{
    static const int64_t values[] = {0, 9, 10, 19, 20, 40, 41, 99, 100, 101};
    struct lull_distribution d = of(values, 10, true, false);
    struct lull_bin bins[5];
    static const uint64_t counts[] = {4, 1, 2, 0, 2}; /* of 0, 20, 40, 60, 80 … 100 */
    g_assert_true(lull_distribution_linear(&d, 0, 100, 5, bins));
    for (int i = 0; i < 5; i++) {
        g_assert_cmpfloat(bins[i].lower, ==, 20 * i);
        g_assert_cmpfloat(bins[i].upper, ==, 20 * (i + 1));
        g_assert_cmpuint(bins[i].count, ==, counts[i]);
    }
    g_assert_false(lull_distribution_linear(&d, 7, 7, 5, bins));
    g_assert_false(lull_distribution_linear(&d, 0, 100, 0, bins));
    lull_distribution_clear(&d);
}

static void test_logarithmic(void)
{
    static const int64_t values[] = {3, 4, 7, 8, 100, 127, 128};
    for (int keep = 0; keep < 2; keep++) {
        struct lull_distribution d = of(values, 7, keep, !keep);
        struct lull_bin bins[64];
        static const uint64_t counts[] = {1, 2, 1, 0, 0, 2, 1}; /* of 2, 4, 8, 16, 32, 64, 128 */
        g_assert_cmpuint(lull_distribution_logarithmic(&d, bins), ==, 7);
        for (int i = 0; i < 7; i++) {
            g_assert_cmpfloat(bins[i].lower, ==, 2 << i);
            g_assert_cmpfloat(bins[i].upper, ==, 4 << i);
            g_assert_cmpuint(bins[i].count, ==, counts[i]);
        }
        lull_distribution_clear(&d);
    }
}

/* Adding two sets to one another is the same as having added all to one. */
static void test_merge(void)
{
    static const int64_t values[] = {5, 1, 900, 70, 70, 12345678, 3};
    struct lull_distribution whole = of(values, 7, true, true);
    struct lull_distribution left = of(values, 3, true, true);
    struct lull_distribution right = of(values + 3, 4, true, false);
    struct lull_distribution nothing = {0};
    struct lull_bin a[64], b[64];
    lull_distribution_merge(&left, &right);
    lull_distribution_merge(&left, &nothing);
    g_assert_cmpuint(left.count, ==, 7);
    g_assert_cmpint(left.min, ==, 1);
    g_assert_cmpint(left.max, ==, 12345678);
    g_assert_true(left.sum == whole.sum && left.square_sum == whole.square_sum);
    g_assert_cmpmem(left.values.items, left.values.count * sizeof(int64_t), values, sizeof values);
    const uint32_t n = lull_distribution_logarithmic(&left, a);
    g_assert_cmpuint(n, ==, lull_distribution_logarithmic(&whole, b));
    for (uint32_t i = 0; i < n; i++) {
        g_assert_cmpuint(a[i].count, ==, b[i].count);
    }
    lull_distribution_clear(&whole);
    lull_distribution_clear(&left);
    lull_distribution_clear(&right);
    g_assert_cmpuint(left.count, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/distribution/empty", test_empty);
    g_test_add_func("/distribution/moments", test_moments);
    g_test_add_func("/distribution/no-cancellation", test_no_cancellation);
    g_test_add_func("/distribution/extreme-values", test_extreme_values);
    g_test_add_func("/distribution/quantiles-exact", test_quantiles_exact);
    g_test_add_func("/distribution/quantiles-bounded", test_quantiles_bounded);
    g_test_add_func("/distribution/linear", test_linear);
    g_test_add_func("/distribution/logarithmic", test_logarithmic);
    g_test_add_func("/distribution/merge", test_merge);
    return g_test_run();
}
