/* SPDX-License-Identifier: MIT */
/* From clock values in a trace to nanoseconds on the joined clock of a session. */
#ifndef LULL_BASE_CLOCK_H
#define LULL_BASE_CLOCK_H

#include <lull/session.h>

#include "base/time.h"

/* The unit of struct lull_clock_transform's rate_num is 2^-62. */
enum { LULL_CLOCK_RATE_BITS = 62 };

/* How a trace's clock is read. Filled by lull_clock_map_init(). */
struct lull_clock_map {
    uint64_t frequency;
    int64_t offset_s;
    uint64_t offset_cycles;
    int64_t delta_ns; /* from the trace's own clock to that of the host's first trace */
    struct lull_clock_transform transform;
    bool in_doubles; /* computed with doubles, to the nanosecond that babeltrace2 gives */
    /* Values whose times are valid, own and joined: count of them, from the first on. */
    uint64_t first, count;
    /* joined = value + base, with wrapping, plus the drift since drift_origin, for so many of them:
     * all or none */
    uint64_t n_linear, base, drift_origin;
};

void lull_clock_map_init(struct lull_clock_map *map, uint64_t frequency, int64_t offset_s,
                         uint64_t offset_cycles, int64_t delta_ns,
                         const struct lull_clock_transform *transform);
/* Computes as babeltrace2 does from now on. Clocks of 1 GHz come out the same. */
void lull_clock_map_use_doubles(struct lull_clock_map *map);

/* By how much a clock has drifted in so many ns, of an int64_t. */
static inline uint64_t lull_clock_drift(const struct lull_clock_transform *transform, uint64_t ns)
{
    const __int128 half = (__int128)1 << (LULL_CLOCK_RATE_BITS - 1);
    return (uint64_t)(((__int128)(int64_t)ns * transform->rate_num + half) >> LULL_CLOCK_RATE_BITS);
}

/* The general cases of the functions below. */
int64_t lull_clock_map_slow(const struct lull_clock_map *map, uint64_t value);
bool lull_clock_map_holds_slow(const struct lull_clock_map *map, uint64_t value);

/* Whether the trace's own clock can show this value: its time is valid. What is
 * read from a trace is checked here before its time is used; an event that does not fit is
 * damage. */
static inline bool lull_clock_map_holds(const struct lull_clock_map *map, uint64_t value)
{
    return G_LIKELY(value - map->first < map->count) || lull_clock_map_holds_slow(map, value);
}

/* The time of a clock value on the trace's own clock; clamped to valid times. */
int64_t lull_clock_map_own(const struct lull_clock_map *map, uint64_t value);

/* The time of a clock value on the joined clock; clamped to valid times. */
static inline int64_t lull_clock_map_joined(const struct lull_clock_map *map, uint64_t value)
{
    if (G_LIKELY(value - map->first < map->n_linear)) {
        const uint64_t steady = value + map->base;
        return (int64_t)(steady + lull_clock_drift(&map->transform, steady - map->drift_origin));
    }
    return lull_clock_map_slow(map, value);
}

/* A host's own time, moved by delta_ns, on the joined clock; clamped to valid times. */
static inline int64_t lull_clock_join(const struct lull_clock_transform *transform, int64_t time_ns,
                                      int64_t delta_ns)
{
    return lull_time_clamp(lull_clock_transform_apply(transform, lull_time_add(time_ns, delta_ns)));
}

#endif
