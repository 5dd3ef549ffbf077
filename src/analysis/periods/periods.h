/* SPDX-License-Identifier: MIT */
/* The analysis of periods themselves: periodlog, periodtop, periodstats, periodfreq. It has one
 * window, the whole range, and it reports a tracker's list of instances. */
#ifndef LULL_ANALYSIS_PERIODS_H
#define LULL_ANALYSIS_PERIODS_H

#include "analysis/analysis.h"
#include "period/period.h"

/* One PERIOD.CAPTURE of --group-by. */
struct lull_period_grouping {
    uint32_t period;
    uint32_t capture; /* of its captures at start, then at end */
    const char *name; /* "req.who" */
};

/* The question about periods; for lull_question_params.periods. */
struct lull_periods_question {
    const struct lull_periods *periods;
    struct lull_period_tracker *tracker; /* set by whoever runs the analysis */
    bool *is_selected;                   /* by definition; --select, or all */
    bool has_selection;
    uint32_t ancestor; /* --aggregate-by, or LULL_NO_PERIOD */
    struct lull_period_grouping *groupings;
    uint32_t n_groupings;
    uint32_t group_period; /* the deepest of the groupings: its instances make the groups */
    bool by_hierarchy;     /* --order-by */
    int64_t min_duration_ns, max_duration_ns; /* others are left out; INT64_MIN, INT64_MAX */
};

/* The texts of --select, --aggregate-by, --group-by and --order-by, each of which may be NULL. NULL
 * and LULL_ERROR_USAGE if one is wrong. `periods` is borrowed. Free with
 * lull_periods_question_free(). */
struct lull_periods_question *lull_periods_question_new(const struct lull_periods *periods,
                                                        const char *select,
                                                        const char *aggregate_by,
                                                        const char *group_by, const char *order_by,
                                                        GError **error);
void lull_periods_question_free(struct lull_periods_question *question);

/* lull_analysis_periods: its instances need params->periods, with a tracker that follows the
 * session; sections STATS, FREQ, LOG and TOP. */

#endif
