/* SPDX-License-Identifier: MIT */
/* A clock as a straight line of another, in fixed point: nanoseconds with 32 binary digits after
 * the point, drift in multiples of 2^-62 as in struct lull_clock_transform. */
#ifndef LULL_CLOCK_LINE_H
#define LULL_CLOCK_LINE_H

#include <lull/session.h>

#include <stdbool.h>

enum { LULL_LINE_FRACTION = 32, LULL_LINE_RATE = 62 };
/* One nanosecond, and a drift of 1. Negative numbers must not be shifted left, so multiply. */
#define LULL_LINE_NS (INT64_C(1) << LULL_LINE_FRACTION)
#define LULL_LINE_WHOLE (INT64_C(1) << LULL_LINE_RATE)

/* other(t) = t + offset / 2^32 + rate / 2^62 * (t - origin) */
struct lull_line {
    int64_t origin;
    __int128 offset;
    int64_t rate;
};

/* other(t) - t, in 2^-32 ns. */
__int128 lull_line_offset_at(const struct lull_line *line, int64_t t);
/* 2^-32 ns to the nearest ns. */
int64_t lull_line_round(__int128 offset);
/* The line from the other clock back. */
struct lull_line lull_line_inverse(const struct lull_line *line);
/* `inner`, then `outer`. */
struct lull_line lull_line_then(const struct lull_line *inner, const struct lull_line *outer);
/* The line with all digits after the point kept as well as a transform can. False if it is out of
 * range: an offset beyond +-2^62 ns (146 years) or a drift beyond +-50 %. */
bool lull_line_transform(const struct lull_line *line, struct lull_clock_transform *transform);
/* The joined time before rounding, in 2^-62 ns: exact. */
__int128 lull_line_exact(const struct lull_clock_transform *transform, int64_t t);

#endif
