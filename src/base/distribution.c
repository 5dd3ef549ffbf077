/* SPDX-License-Identifier: MIT */
/* Count, extremes, moments, percentiles and histograms of a set of values in bounded memory. The
 * buckets are those of HdrHistogram with 6 bits: values below 64 have one each, above each power of
 * two is cut into 64. */
#include "base/distribution.h"

#include <math.h>
#include <string.h>

enum {
    BITS = 6,
    PER_POWER = 1 << BITS,
    MAX_BUCKETS = (63 - BITS) * PER_POWER + PER_POWER,
};

static uint32_t bucket_of(int64_t value)
{
    if (value < PER_POWER) {
        return (uint32_t)value;
    }
    const uint32_t power = 63 - (uint32_t)__builtin_clzll((uint64_t)value);
    const uint32_t part = (uint32_t)(value >> (power - BITS)) & (PER_POWER - 1);
    return (power - BITS + 1) * PER_POWER + part;
}

/* The largest value of a bucket. */
static int64_t bucket_end(uint32_t bucket)
{
    if (bucket < PER_POWER) {
        return bucket;
    }
    const uint32_t shift = bucket / PER_POWER - 1;
    const uint64_t start = (uint64_t)(PER_POWER + bucket % PER_POWER) << shift;
    return (int64_t)(start + ((UINT64_C(1) << shift) - 1));
}

static __attribute__((noinline)) void reach_bucket(struct lull_distribution *distribution,
                                                   uint32_t bucket)
{
    const size_t more = bucket + 1 - distribution->buckets.count;
    lull_vec_reserve(&distribution->buckets, more);
    memset(distribution->buckets.items + distribution->buckets.count, 0,
           more * sizeof *distribution->buckets.items);
    distribution->buckets.count = bucket + 1;
}

static inline void count_in_bucket(struct lull_distribution *distribution, uint32_t bucket,
                                   uint32_t count)
{
    if (G_UNLIKELY(bucket >= distribution->buckets.count)) {
        reach_bucket(distribution, bucket);
    }
    uint32_t *in = &distribution->buckets.items[bucket];
    *in = count > UINT32_MAX - *in ? UINT32_MAX : *in + count;
}

static void add_squares(struct lull_distribution *distribution, unsigned __int128 squares)
{
    if (__builtin_add_overflow(distribution->square_sum, squares, &distribution->square_sum)) {
        distribution->square_sum = ~(unsigned __int128)0;
    }
}

void lull_distribution_add(struct lull_distribution *distribution, int64_t value)
{
    value = MAX(value, 0);
    distribution->min = distribution->count ? MIN(distribution->min, value) : value;
    distribution->max = distribution->count ? MAX(distribution->max, value) : value;
    distribution->count++;
    distribution->sum += (uint64_t)value;
    add_squares(distribution, (unsigned __int128)value * (uint64_t)value);
    if (distribution->has_buckets) {
        count_in_bucket(distribution, bucket_of(value), 1);
    }
    if (distribution->keep_values) {
        lull_vec_push(&distribution->values, value);
    }
}

/* Of what `other` holds, buckets can be had from its values, but not the other way round. */
static void merge_buckets(struct lull_distribution *distribution,
                          const struct lull_distribution *other)
{
    if (other->has_buckets) {
        for (uint32_t i = 0; i < other->buckets.count; i++) {
            if (other->buckets.items[i]) {
                count_in_bucket(distribution, i, other->buckets.items[i]);
            }
        }
        return;
    }
    for (size_t i = 0; i < other->values.count; i++) {
        count_in_bucket(distribution, bucket_of(other->values.items[i]), 1);
    }
}

void lull_distribution_merge(struct lull_distribution *distribution,
                             const struct lull_distribution *other)
{
    if (other->count == 0) {
        return;
    }
    distribution->min = distribution->count ? MIN(distribution->min, other->min) : other->min;
    distribution->max = distribution->count ? MAX(distribution->max, other->max) : other->max;
    distribution->count += other->count;
    distribution->sum += other->sum;
    add_squares(distribution, other->square_sum);
    if (distribution->has_buckets) {
        merge_buckets(distribution, other);
    }
    if (distribution->keep_values && other->values.count > 0) {
        lull_vec_reserve(&distribution->values, other->values.count);
        memcpy(distribution->values.items + distribution->values.count, other->values.items,
               other->values.count * sizeof *other->values.items);
        distribution->values.count += other->values.count;
    }
}

void lull_distribution_clear(struct lull_distribution *distribution)
{
    lull_vec_free(&distribution->buckets);
    lull_vec_free(&distribution->values);
    memset(distribution, 0, sizeof *distribution);
}

double lull_distribution_mean(const struct lull_distribution *distribution)
{
    return distribution->count ? (double)distribution->sum / (double)distribution->count : 0;
}

/* The sum of squared differences from the mean, without the cancellation that sums of squares
 * suffer in floating point: around the whole part q of the mean it is an integer, computed modulo
 * 2^128 and below 2^128; the rest r of the division moves it to the mean. */
double lull_distribution_deviation(const struct lull_distribution *distribution)
{
    const uint64_t n = distribution->count;
    if (n < 2 || distribution->square_sum == ~(unsigned __int128)0) {
        return -1;
    }
    const unsigned __int128 q = distribution->sum / n, r = distribution->sum % n;
    const unsigned __int128 around_q = distribution->square_sum - q * (distribution->sum + r);
    const double squares = (double)around_q - (double)r * (double)r / (double)n;
    return sqrt(MAX(squares, 0) / (double)(n - 1));
}

static int compare_values(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The value of a rank (from 1) within one bucket, found among the values that were kept. */
static int64_t value_in_bucket(const struct lull_distribution *distribution, uint32_t bucket,
                               uint64_t rank)
{
    LULL_VEC(int64_t) here = {0};
    for (size_t i = 0; i < distribution->values.count; i++) {
        if (bucket_of(distribution->values.items[i]) == bucket) {
            lull_vec_push(&here, distribution->values.items[i]);
        }
    }
    qsort(here.items, here.count, sizeof *here.items, compare_values);
    const int64_t value = here.items[rank - 1];
    lull_vec_free(&here);
    return value;
}

/* Buckets of what was kept, if none were counted when values were added. False: there is nothing. */
static bool collect_buckets(const struct lull_distribution *distribution,
                            struct lull_distribution *counted)
{
    if (!distribution->has_buckets && !distribution->keep_values) {
        return false;
    }
    merge_buckets(counted, distribution);
    return true;
}

int64_t lull_distribution_quantile(const struct lull_distribution *distribution, double share)
{
    if (distribution->count == 0) {
        return 0;
    }
    /* A share such as 0.07 is not exact: 7.000000000000001 of 100 are 7. */
    const double exact = CLAMP(share, 0, 1) * (double)distribution->count;
    uint64_t rank = MAX((uint64_t)ceil(exact - exact * 1e-12), 1);
    struct lull_distribution counted = {0};
    int64_t value = distribution->max;
    if (collect_buckets(distribution, &counted)) {
        for (uint32_t i = 0; i < counted.buckets.count; i++) {
            if (rank <= counted.buckets.items[i]) {
                value = distribution->keep_values ? value_in_bucket(distribution, i, rank)
                                                  : bucket_end(i);
                break;
            }
            rank -= counted.buckets.items[i];
        }
    }
    lull_distribution_clear(&counted);
    return CLAMP(value, distribution->min, distribution->max);
}

bool lull_distribution_linear(const struct lull_distribution *distribution, int64_t min,
                              int64_t max, uint32_t n_bins, struct lull_bin *bins)
{
    if (max <= min || n_bins == 0) {
        return false;
    }
    const unsigned __int128 width = (uint64_t)max - (uint64_t)min;
    for (uint32_t i = 0; i < n_bins; i++) {
        bins[i] = (struct lull_bin){
            .lower = (double)min + (double)width * i / n_bins,
            .upper = i + 1 == n_bins ? (double)max : (double)min + (double)width * (i + 1) / n_bins,
        };
    }
    for (size_t i = 0; i < distribution->values.count; i++) {
        const int64_t value = distribution->values.items[i];
        if (value >= min && value <= max) {
            const uint64_t above = (uint64_t)value - (uint64_t)min;
            const uint64_t bin = (uint64_t)((unsigned __int128)above * n_bins / width);
            bins[MIN(bin, n_bins - 1)].count++;
        }
    }
    return true;
}

/* 0 holds 0; k > 0 holds 2^(k-1) up to below 2^k. */
static uint32_t power_of(int64_t value)
{
    return value == 0 ? 0 : 64 - (uint32_t)__builtin_clzll((uint64_t)value);
}

uint32_t lull_distribution_logarithmic(const struct lull_distribution *distribution,
                                       struct lull_bin bins[64])
{
    struct lull_distribution counted = {0};
    if (distribution->count == 0 || !collect_buckets(distribution, &counted)) {
        return 0;
    }
    const uint32_t first = power_of(distribution->min), last = power_of(distribution->max);
    for (uint32_t k = first; k <= last; k++) {
        bins[k - first] =
            (struct lull_bin){.lower = k ? ldexp(1, (int)k - 1) : 0, .upper = ldexp(1, (int)k)};
    }
    for (uint32_t i = 0; i < counted.buckets.count; i++) {
        if (counted.buckets.items[i]) {
            bins[power_of(bucket_end(i)) - first].count += counted.buckets.items[i];
        }
    }
    lull_distribution_clear(&counted);
    return last - first + 1;
}
