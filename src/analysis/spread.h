/* SPDX-License-Identifier: MIT */
/* How a set of durations is kept and shown by the analyses that have one for each of many things:
 * exact values while they are few, buckets when they are many, so that memory stays bounded; and
 * the cells that all their tables share. */
#ifndef LULL_ANALYSIS_SPREAD_H
#define LULL_ANALYSIS_SPREAD_H

#include "analysis/result.h"
#include "base/distribution.h"

/* Adds to a distribution that was zeroed before the first value. */
void lull_spread_add(struct lull_distribution *spread, int64_t duration_ns);

/* The columns of lull_spread_cells(). */
#define LULL_SPREAD_COLUMNS(noun, of_deviation)                                                    \
    {"Minimum " noun, "MIN", "min_ns", LULL_CELL_DURATION, NULL, 0},                               \
        {"Average " noun, "AVG", "avg_ns", LULL_CELL_DURATION, NULL, 0},                           \
        {"Maximum " noun, "MAX", "max_ns", LULL_CELL_DURATION, NULL, 0},                           \
    {                                                                                              \
        of_deviation " standard deviation", "STDEV", "stdev_ns", LULL_CELL_DURATION, NULL,         \
            LULL_USE_DETAIL                                                                        \
    }

/* Lull's own columns after those of LAMI. */
#define LULL_SPREAD_PERCENTILES                                                                    \
    {                                                                                              \
        "50th percentile",  "P50", "p50_ns",                                                       \
        LULL_CELL_DURATION, NULL,  LULL_USE_OWN | LULL_USE_DETAIL},                                \
        {"90th percentile",  "P90", "p90_ns",                                                      \
         LULL_CELL_DURATION, NULL,  LULL_USE_OWN | LULL_USE_DETAIL},                               \
        {"99th percentile",  "P99", "p99_ns",                                                      \
         LULL_CELL_DURATION, NULL,  LULL_USE_OWN | LULL_USE_DETAIL},                               \
    {                                                                                              \
        "99.9th percentile", "P99.9", "p99_9_ns", LULL_CELL_DURATION, NULL,                        \
            LULL_USE_OWN | LULL_USE_DETAIL                                                         \
    }

/* `cells` were cleared. Minimum, average, maximum and deviation; without a value all are EMPTY, the
 * deviation of one is UNKNOWN. Returns the cell after the last one. */
struct lull_cell *lull_spread_cells(const struct lull_distribution *spread,
                                    struct lull_cell *cells);
/* The same for rows that are there without a value: in LAMI that is zeroes and an UNKNOWN deviation, as
 * lttng-analyses has it for the readers of durations. */
struct lull_cell *lull_spread_cells_or_zeroes(const struct lull_distribution *spread, bool is_lami,
                                              struct lull_cell *cells);
/* The cells of LULL_SPREAD_PERCENTILES; without a value EMPTY. */
struct lull_cell *lull_spread_percentiles(const struct lull_distribution *spread,
                                          struct lull_cell *cells);

#endif
