/* SPDX-License-Identifier: MIT */
/* Clock arithmetic with 128-bit integers, so that no nanosecond is lost to rounding. The usual
 * clock, 1 GHz, takes one addition, and a multiplication for its drift. */
#include "base/clock.h"

#define NS_PER_S INT64_C(1000000000)

static __int128 ns_in_doubles(uint64_t cycles, uint64_t frequency)
{
    double ns = 1e9 * (double)cycles / (double)frequency;
    return ns < 0x1p64 ? (__int128)ns : UINT64_MAX;
}

/* Of the trace's own clock; cannot overflow: cycles * 1e9 needs at most 94 bits. */
static __int128 own_time(const struct lull_clock_map *map, uint64_t value)
{
    unsigned __int128 cycles = (unsigned __int128)map->offset_cycles + value;
    __int128 ns = (__int128)(cycles * NS_PER_S / map->frequency);
    if (map->in_doubles) { /* the offset and the value are rounded each */
        ns = ns_in_doubles(map->offset_cycles, map->frequency) +
             ns_in_doubles(value, map->frequency);
    }
    return ns + (__int128)map->offset_s * NS_PER_S;
}

int64_t lull_clock_map_own(const struct lull_clock_map *map, uint64_t value)
{
    return lull_time_clamp(own_time(map, value));
}

int64_t lull_clock_map_slow(const struct lull_clock_map *map, uint64_t value)
{
    return lull_clock_join(&map->transform, lull_clock_map_own(map, value), map->delta_ns);
}

bool lull_clock_map_holds_slow(const struct lull_clock_map *map, uint64_t value)
{
    return lull_time_is_valid(own_time(map, value));
}

/* Negative if the time of a value lies before all valid times, 0 if it is one, else positive. */
static int judge(const struct lull_clock_map *map, uint64_t value)
{
    __int128 own = own_time(map, value), moved = own + map->delta_ns;
    __int128 joined = lull_clock_transform_apply(&map->transform, lull_time_clamp(moved));
    bool is_early = MIN(own, MIN(moved, joined)) < LULL_TIME_MIN;
    return is_early ? -1 : MAX(own, MAX(moved, joined)) > LULL_TIME_MAX;
}

/* The first value for which judge() gives `least` or more, UINT64_MAX if there is none before. */
static uint64_t find_value(const struct lull_clock_map *map, int least)
{
    uint64_t low = 0, high = UINT64_MAX;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (judge(map, middle) >= least) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Times grow with values, so that the valid ones are one range. */
static void find_range(struct lull_clock_map *map)
{
    map->first = find_value(map, 0);
    map->count = find_value(map, 1) - map->first;
    /* No valid time is 2^63 ns away from a valid origin; and no clock runs backwards. */
    bool is_linear = map->frequency == (uint64_t)NS_PER_S &&
                     lull_time_is_valid(map->transform.origin_ns) &&
                     map->transform.rate_num > -(INT64_C(1) << LULL_CLOCK_RATE_BITS);
    map->n_linear = is_linear ? map->count : 0;
    map->base = (uint64_t)map->offset_s * (uint64_t)NS_PER_S + map->offset_cycles +
                (uint64_t)map->delta_ns + (uint64_t)map->transform.offset_ns;
    map->drift_origin = (uint64_t)map->transform.origin_ns + (uint64_t)map->transform.offset_ns;
}

void lull_clock_map_init(struct lull_clock_map *map, uint64_t frequency, int64_t offset_s,
                         uint64_t offset_cycles, int64_t delta_ns,
                         const struct lull_clock_transform *transform)
{
    map->frequency = MAX(frequency, 1);
    map->offset_s = offset_s;
    map->offset_cycles = offset_cycles;
    map->delta_ns = delta_ns;
    map->transform = *transform;
    map->in_doubles = false;
    find_range(map);
}

void lull_clock_map_use_doubles(struct lull_clock_map *map)
{
    map->in_doubles = map->frequency != (uint64_t)NS_PER_S;
    find_range(map);
}
