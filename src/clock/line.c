/* SPDX-License-Identifier: MIT */
/* Lines between clocks: evaluated, inverted, composed in 128-bit integers. Drifts are below 1 and
 * distances from an origin below 2^63, so products stay below 2^126. */
#include "clock/line.h"

#include <glib.h>

static const __int128 one = LULL_LINE_WHOLE;

/* rate * distance, with the distance in 2^-32 ns; the result in 2^-32 ns. */
static __int128 drift_over(int64_t rate, __int128 distance)
{
    __int128 whole = distance >> LULL_LINE_FRACTION;
    __int128 rest = distance - (whole * LULL_LINE_NS);

    whole = CLAMP(whole, -(__int128)INT64_MAX, (__int128)INT64_MAX);
    return ((whole * rate) >> (LULL_LINE_RATE - LULL_LINE_FRACTION)) +
           ((rest * rate) >> LULL_LINE_RATE);
}

__int128 lull_line_offset_at(const struct lull_line *line, int64_t t)
{
    __int128 distance = ((__int128)t - line->origin) * LULL_LINE_NS;

    return line->offset + drift_over(line->rate, distance);
}

int64_t lull_line_round(__int128 offset)
{
    __int128 whole = (offset + (LULL_LINE_NS / 2)) >> LULL_LINE_FRACTION;

    return (int64_t)CLAMP(whole, (__int128)INT64_MIN, (__int128)INT64_MAX);
}

struct lull_line lull_line_inverse(const struct lull_line *line)
{
    /* With y = c + o at t = c: t = y - o - r / (1 + r) * (y - (c + o)), and the whole part of c + o
     * as origin. */
    __int128 image = ((__int128)line->origin * LULL_LINE_NS) + line->offset;
    __int128 whole = image >> LULL_LINE_FRACTION;
    struct lull_line inverse;

    inverse.origin = (int64_t)CLAMP(whole, (__int128)INT64_MIN, (__int128)INT64_MAX);
    inverse.rate = (int64_t)(-((__int128)line->rate * LULL_LINE_WHOLE) / (one + line->rate));
    inverse.offset = -line->offset - drift_over(inverse.rate, image - (whole * LULL_LINE_NS));
    return inverse;
}

struct lull_line lull_line_then(const struct lull_line *inner, const struct lull_line *outer)
{
    __int128 distance = (((__int128)inner->origin - outer->origin) * LULL_LINE_NS) + inner->offset;
    __int128 rate = (__int128)inner->rate + outer->rate +
                    (((__int128)inner->rate * outer->rate) >> LULL_LINE_RATE);
    struct lull_line line = {
        .origin = inner->origin,
        .offset = inner->offset + outer->offset + drift_over(outer->rate, distance),
        .rate = (int64_t)CLAMP(rate, -one / 2 - 1, one / 2 + 1),
    };

    return line;
}

bool lull_line_transform(const struct lull_line *line, struct lull_clock_transform *transform)
{
    __int128 whole = line->offset >> LULL_LINE_FRACTION;
    __int128 rest = line->offset - (whole * LULL_LINE_NS);

    if (whole > one || whole < -one || line->rate > one / 2 || line->rate < -one / 2) {
        return false;
    }
    *transform = (struct lull_clock_transform){line->origin, (int64_t)whole, line->rate};
    if (!rest) {
        return true;
    }
    /* The part after the point is the drift over some distance: move the origin by that, if it is
     * not too far. */
    if (line->rate) {
        __int128 shift = rest * (LULL_LINE_WHOLE / LULL_LINE_NS) / line->rate;
        __int128 origin = (__int128)line->origin - shift;

        if (shift < one / 16 && shift > -one / 16 && origin > -one * 2 && origin < one * 2 - 1) {
            transform->origin_ns = (int64_t)origin;
            return true;
        }
    }
    transform->offset_ns += rest >> (LULL_LINE_FRACTION - 1);
    return true;
}

__int128 lull_line_exact(const struct lull_clock_transform *transform, int64_t t)
{
    return (((__int128)t + transform->offset_ns) * LULL_LINE_WHOLE) +
           ((__int128)t - transform->origin_ns) * transform->rate_num;
}
