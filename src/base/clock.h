/* From clock values in a trace to nanoseconds on the joined clock of a session. */
#ifndef LULL_BASE_CLOCK_H
#define LULL_BASE_CLOCK_H

#include <lull/session.h>

/* How a trace's clock is read. Filled by lull_clock_map_init(). */
struct lull_clock_map {
    uint64_t frequency;
    int64_t offset_s;
    uint64_t offset_cycles;
    int64_t delta_ns; /* to the clock of the host's first trace */
    struct lull_clock_transform transform;
    bool in_doubles; /* computed with doubles, to the nanosecond that babeltrace2 gives */
    bool is_linear;  /* joined = value + base, with wrapping */
    uint64_t base;
};

void lull_clock_map_init(struct lull_clock_map *map, uint64_t frequency, int64_t offset_s,
                         uint64_t offset_cycles, int64_t delta_ns,
                         const struct lull_clock_transform *transform);
/* Computes as babeltrace2 does from now on. Clocks of 1 GHz come out the same. */
void lull_clock_map_use_doubles(struct lull_clock_map *map);

/* The general cases of the functions below. */
int64_t lull_clock_map_slow(const struct lull_clock_map *map, uint64_t value);

/* Nanoseconds since the origin of the trace's clock, plus delta_ns; saturates. */
int64_t lull_clock_map_own(const struct lull_clock_map *map, uint64_t value);

/* The time of a clock value on the joined clock. */
static inline int64_t lull_clock_map_joined(const struct lull_clock_map *map, uint64_t value)
{
    if (G_LIKELY(map->is_linear)) {
        return (int64_t)(value + map->base);
    }
    return lull_clock_map_slow(map, value);
}

#endif
