/* SPDX-License-Identifier: MIT */
/* Sums and products of what traces say, which can be any number: they end at the last one that
 * int64_t holds. Two durations fit, a duration for each of many CPUs or instances need not. */
#ifndef LULL_BASE_SUMS_H
#define LULL_BASE_SUMS_H

#include <stdint.h>

static inline int64_t lull_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t lull_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX)
                                                  : product;
}

static inline void lull_add(int64_t *sum, int64_t value)
{
    *sum = lull_sum(*sum, value);
}

/* The same without sign. */
static inline void lull_add_unsigned(uint64_t *sum, uint64_t value)
{
    *sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

#endif
