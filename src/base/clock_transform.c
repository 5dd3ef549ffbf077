/* SPDX-License-Identifier: MIT */
/* The clock of a host against the joined clock: offset and drift in integers, so that the
 * nanoseconds of epoch times survive. Monotone: later times never come out earlier. */
#include "base/clock.h"

enum { RATE_BITS = LULL_CLOCK_RATE_BITS, NEAR = 4 };

static int64_t clamp(__int128 value)
{
    if (value > INT64_MAX) {
        return INT64_MAX;
    }
    return value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

int64_t lull_clock_transform_apply(const struct lull_clock_transform *transform, int64_t t)
{
    /* |rate_num| <= 2^63 and the distance < 2^64: one bit too much for extreme values only. */
    __int128 drift, distance = (__int128)t - transform->origin_ns;

    if (__builtin_mul_overflow(distance, (__int128)transform->rate_num, &drift) ||
        __builtin_add_overflow(drift, (__int128)1 << (RATE_BITS - 1), &drift)) {
        return (distance < 0) == (transform->rate_num < 0) ? INT64_MAX : INT64_MIN;
    }
    return clamp((__int128)t + transform->offset_ns + (drift >> RATE_BITS));
}

int64_t lull_clock_transform_invert(const struct lull_clock_transform *transform, int64_t joined)
{
    __int128 slope = ((__int128)1 << RATE_BITS) + transform->rate_num;

    if (!transform->rate_num && !transform->offset_ns) {
        return joined;
    }
    /* joined = origin + offset + slope * (t - origin), solved for t; rounding leaves it some ns
     * off. */
    __int128 distance = (__int128)joined - transform->offset_ns - transform->origin_ns;
    int64_t low = INT64_MIN, high = INT64_MAX;

    if (slope > 0 && distance > -((__int128)1 << 63) && distance < (__int128)1 << 63) {
        int64_t guess = clamp(transform->origin_ns + distance -
                              (__int128)((long double)distance * transform->rate_num / slope));

        if (guess > INT64_MIN + NEAR && guess < INT64_MAX - NEAR &&
            lull_clock_transform_apply(transform, guess - NEAR) <= joined &&
            lull_clock_transform_apply(transform, guess + NEAR) > joined) {
            low = guess - NEAR;
            high = guess + NEAR;
        }
    }
    /* The largest t with apply(t) <= joined lies in [low, high], if there is one. */
    while (low < high) {
        int64_t middle = high - (int64_t)(((uint64_t)high - (uint64_t)low) / 2);

        if (lull_clock_transform_apply(transform, middle) <= joined) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}
