/* SPDX-License-Identifier: MIT */
/* Statistics of a set of periods: of each definition, and of each pair of a definition and one that
 * it lies in, at any depth. For the pair, the values are those of the ancestor's instances: how
 * many of the inner ones each had, how long they were together, and which share of it that is. */
#ifndef LULL_ANALYSIS_PERIODS_PAIRS_H
#define LULL_ANALYSIS_PERIODS_PAIRS_H

#include "analysis/periods/private.h"

enum period_measure { PERIOD_DURATION, PERIOD_RATIO, PERIOD_COUNT, PERIOD_MEASURES };

/* Ratios are kept as multiples of this many percent. */
#define PERIOD_RATIO_SCALE 1e-9

struct period_pair {
    uint32_t inner, ancestor; /* definitions */
    /* Of the ancestors that had any, and of all of them. */
    struct lull_distribution values[2][PERIOD_MEASURES];
};

struct period_stats {
    struct lull_distribution *durations; /* by definition */
    struct period_pair *pairs; /* that occurred, by inner definition, then from the root */
    uint32_t n_periods, n_pairs;
};

/* `keeps`: the values are wanted, for histograms. Only requested definitions and ancestors. */
void period_stats_make(const struct period_report *report, const struct period_set *set, bool keeps,
                       struct period_stats *stats);
void period_stats_clear(struct period_stats *stats);

#endif
