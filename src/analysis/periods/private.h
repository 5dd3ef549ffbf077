/* SPDX-License-Identifier: MIT */
/* What the files of the analysis of periods share. */
#ifndef LULL_ANALYSIS_PERIODS_PRIVATE_H
#define LULL_ANALYSIS_PERIODS_PRIVATE_H

#include "analysis/period_windows.h"
#include "analysis/periods/periods.h"

/* Instances whose statistics are shown together: all of them, or a group. */
struct period_set {
    const char *title;       /* "a.fd = 0, req.who = w0"; NULL: all */
    const uint32_t *members; /* parents before children */
    uint32_t n;
};

struct period_report {
    const struct lull_question_params *params;
    const struct lull_periods_question *question;
    const struct lull_periods *periods;
    const struct lull_period_tracker *tracker;
    const struct lull_session *session; /* or NULL */
    struct lull_sink *sink;
    bool *is_counted; /* by instance: complete, and of a requested duration */
    bool *is_open;    /* of those that are asked for: not seen to end */
    bool *is_whole;   /* the same, and all its ancestors: only these are set against one another */
    uint32_t n_instances, n_counted, n_incomplete;
    const uint32_t *all; /* those that are counted */
    size_t *positions;   /* by instance, for statistics; SIZE_MAX between them */
};

static inline const struct lull_period_instance *period_instance(const struct period_report *report,
                                                                 uint32_t instance)
{
    return lull_period_at(report->tracker, instance);
}

static inline int64_t period_duration(const struct lull_period_instance *instance)
{
    return instance->end_ns - instance->start_ns;
}

static inline const struct lull_period *period_definition(const struct period_report *report,
                                                          uint32_t period)
{
    return lull_periods_at(report->periods, period);
}

/* "req/a"; something to call it by if it has no name. */
const char *period_path(const struct period_report *report, uint32_t period,
                        char unnamed[LULL_PERIOD_UNNAMED]);

/* Name of a host, or NULL. */
const char *period_host(const struct period_report *report, uint32_t host);
/* Whether the one is the other's ancestor; both definitions. */
bool period_is_inside(const struct period_report *report, uint32_t period, uint32_t ancestor);

/* periods_log.c */
extern const struct lull_result_class period_log_class, period_top_class, period_open_class;
void period_report_log(const struct period_report *report);
void period_report_top(const struct period_report *report);
/* Those that were still open, or ended with their parent. */
void period_report_incomplete(const struct period_report *report);

/* periods_stats.c */
extern const struct lull_result_class period_tree_class, period_stats_class;
extern const struct lull_result_class period_parent_durations_class, period_parent_ratios_class,
    period_parent_counts_class;
extern const struct lull_result_class period_freq_class, period_freq_counts_class,
    period_freq_ratios_class;
void period_report_tree(const struct period_report *report);
void period_report_stats(const struct period_report *report, const struct period_set *set);
void period_report_freq(const struct period_report *report, const struct period_set *set);

/* periods_groups.c: calls `tell` for each requested group, in the order in which their first
 * instances were opened. */
void period_each_group(const struct period_report *report,
                       void (*emit)(const struct period_report *report,
                                    const struct period_set *set));

/* periods_aggregate.c */
extern const struct lull_result_class period_aggregated_class, period_pairs_class,
    period_pairs_top_class;
void period_report_aggregated(const struct period_report *report, const struct period_set *set);
/* Pairs of an ancestor and an instance in it; the `limit` longest, or all by time. */
void period_report_pairs(const struct period_report *report, bool is_top);

#endif
