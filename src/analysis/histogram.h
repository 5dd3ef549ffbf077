/* SPDX-License-Identifier: MIT */
/* Histograms of several sets of durations, as --freq requests them: one table each, or one for all
 * with a column each (--freq-series). */
#ifndef LULL_ANALYSIS_HISTOGRAM_H
#define LULL_ANALYSIS_HISTOGRAM_H

#include "analysis/analysis.h"

/* The columns of a class of histograms: bounds of `noun` in cells of `class` and `unit`, with `key`
 * at the end of theirs ("_ns"), and how many `count` lie between. */
#define LULL_HISTOGRAM_COLUMNS(noun, key, class, unit, count, count_unit)                          \
    {noun " (lower bound)", "FROM", "lower" key, class, unit, 0},                                  \
        {noun " (upper bound)", "TO", "upper" key, class, unit, 0},                                \
    {                                                                                              \
        count, "COUNT", "count", LULL_CELL_NUMBER, count_unit, LULL_USE_BAR                        \
    }

/* A zeroed one is a valid empty list. */
struct lull_histograms {
    LULL_VEC(struct lull_titled_distribution {
        char *title; /* NULL: the table needs none */
        const struct lull_distribution *values;
    })
    items;
    double scale;    /* bounds are this much times the values; 0: as they are */
    bool is_bounded; /* linear bins reach from params->min_ns to max_ns, where they are given */
};

/* `title` is copied; `values` are borrowed. Nothing is added if there are no values. */
void lull_histograms_add(struct lull_histograms *list, const char *title,
                         const struct lull_distribution *values);
void lull_histograms_clear(struct lull_histograms *list);

/* Gives the tables to the sink. Bins are linear over the values of each set, or over those of all
 * sets with freq_uniform, or powers of two with freq_logarithmic. The columns of `class` are lower
 * bound, upper bound (whose class the cells have) and count, with LULL_USE_HOST in none.
 * `series_title`: "Scheduling latencies frequency distributions"; NULL if there is no such table.
 * Linear bins need values that were kept. Values that are all the same have no linear bins: they
 * get one of no width, but not in LAMI, where lttng-analyses leaves the table out. */
void lull_histograms_emit(const struct lull_histograms *list,
                          const struct lull_question_params *params,
                          const struct lull_result_class *class, const char *series_title,
                          struct lull_sink *sink);

#endif
