/* SPDX-License-Identifier: MIT */
/* What a set of durations or sizes looks like: count, extremes, mean, deviation, percentiles and
 * logarithmic histogram in bounded memory, and the values themselves if a linear histogram is
 * requested. */
#ifndef LULL_BASE_DISTRIBUTION_H
#define LULL_BASE_DISTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* A zeroed one is a valid empty one. Values are >= 0; a negative one counts as 0. */
struct lull_distribution {
    uint64_t count;
    int64_t min, max;                  /* valid if count > 0 */
    unsigned __int128 sum, square_sum; /* exact up to 2^63 for the sum; squares saturate */
    /* Logarithmic buckets, each 1/64 of a power of two wide: a percentile is off by less than 1.6
     * %. Grown as far as the largest value needs. */
    LULL_VEC(uint32_t) buckets;
    LULL_VEC(int64_t) values; /* in order of arrival; only if keep_values was set before adding */
    bool keep_values;
    bool has_buckets; /* set before adding: percentiles are wanted */
};

void lull_distribution_add(struct lull_distribution *distribution, int64_t value);
/* Adds what is in `other`, which stays as it is. Buckets and values are taken over if
 * `distribution` has or keeps them, and `other` too (buckets are also made from values). */
void lull_distribution_merge(struct lull_distribution *distribution,
                             const struct lull_distribution *other);
/* Frees what it holds and leaves a valid empty one. */
void lull_distribution_clear(struct lull_distribution *distribution);

/* 0 if there is no value. */
double lull_distribution_mean(const struct lull_distribution *distribution);
/* Sample standard deviation (divided by count - 1); negative if there are fewer than two values,
 * or such large ones that their squares cannot be summed. */
double lull_distribution_deviation(const struct lull_distribution *distribution);
/* The smallest value such that at least `share` (0..1) of all are not above it (nearest rank):
 * exact if the values were kept, else the upper end of its bucket, within min and max. 0 if there
 * is none. */
int64_t lull_distribution_quantile(const struct lull_distribution *distribution, double share);

/* One bin of a histogram: lower <= value < upper, the last one also value == upper. */
struct lull_bin {
    double lower, upper;
    uint64_t count;
};

/* `n_bins` equal bins from `min` to `max`; values outside are not counted. Needs the values. False
 * if max <= min or n_bins is 0: nothing to show. */
bool lull_distribution_linear(const struct lull_distribution *distribution, int64_t min,
                              int64_t max, uint32_t n_bins, struct lull_bin *bins);
/* Bins of powers of two from that of the smallest to that of the largest value (at most 64).
 * Returns how many; counts sum to `count`. Needs buckets or values. */
uint32_t lull_distribution_logarithmic(const struct lull_distribution *distribution,
                                       struct lull_bin bins[64]);

#endif
