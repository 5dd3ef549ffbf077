/* SPDX-License-Identifier: MIT */
/* Declared states as tables: how long each row was in which state. It reads the session itself, because
 * the states change without events, too. */
#ifndef LULL_ANALYSIS_STATES_H
#define LULL_ANALYSIS_STATES_H

#include "analysis/analysis.h"
#include "states/states.h"

struct lull_states_question {
    const struct lull_states *states;
    int32_t host;             /* -1: all */
    int64_t start_ns, end_ns; /* INT64_MIN, INT64_MAX: all */
    int64_t slice_ns;         /* a result for each; 0: one */
    bool has_log;
    bool has_kernel;   /* what tasks did in each state; not with slices */
    uint32_t limit;    /* rows of each table; 0: all */
    const char *group; /* only this one; or NULL */
    const char *row;   /* only rows whose title matches the pattern; or NULL */
};

/* Names the tables, for views; it is not run by a runner. */
extern const struct lull_analysis_class lull_analysis_states;

void lull_states_report(const struct lull_states_question *question, struct lull_session *session,
                        struct lull_sink *sink, void (*progress)(void *user), void *user);

#endif
