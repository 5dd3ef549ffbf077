/* Clock arithmetic with 128-bit integers, so that no nanosecond is lost to rounding. The usual
 * clock, 1 GHz and not drifting, takes one addition. */
#include "base/clock.h"

#define NS_PER_S INT64_C(1000000000)

/* Between the extremes, which stand for "no time". */
static int64_t saturate(__int128 v)
{
    if (v >= INT64_MAX) {
        return INT64_MAX - 1;
    }
    return v <= INT64_MIN ? INT64_MIN + 1 : (int64_t)v;
}

static __int128 ns_in_doubles(uint64_t cycles, uint64_t frequency)
{
    double ns = 1e9 * (double)cycles / (double)frequency;
    return ns < 0x1p64 ? (__int128)ns : UINT64_MAX;
}

/* Before joining; cannot overflow: cycles * 1e9 needs at most 94 bits. */
static __int128 own_time(const struct lull_clock_map *map, uint64_t value)
{
    unsigned __int128 cycles = (unsigned __int128)map->offset_cycles + value;
    __int128 ns = (__int128)(cycles * NS_PER_S / map->frequency);
    if (map->in_doubles) { /* the offset and the value are rounded each */
        ns = ns_in_doubles(map->offset_cycles, map->frequency) +
             ns_in_doubles(value, map->frequency);
    }
    return ns + (__int128)map->offset_s * NS_PER_S + map->delta_ns;
}

int64_t lull_clock_map_own(const struct lull_clock_map *map, uint64_t value)
{
    return saturate(own_time(map, value));
}

int64_t lull_clock_map_slow(const struct lull_clock_map *map, uint64_t value)
{
    return saturate(lull_clock_transform_apply(&map->transform, lull_clock_map_own(map, value)));
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
    __int128 base = (__int128)offset_s * NS_PER_S + offset_cycles + delta_ns + transform->offset_ns;
    map->is_linear =
        frequency == (uint64_t)NS_PER_S && transform->rate_num == 0 && base == (int64_t)base;
    map->base = (uint64_t)base;
}

void lull_clock_map_use_doubles(struct lull_clock_map *map)
{
    map->in_doubles = map->frequency != (uint64_t)NS_PER_S;
}
