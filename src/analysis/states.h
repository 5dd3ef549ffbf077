/* SPDX-License-Identifier: MIT */
/* Declared states as tables: how long each row was in which state. It reads the session itself, because
 * the states change without events, too. */
#ifndef LULL_ANALYSIS_STATES_H
#define LULL_ANALYSIS_STATES_H

#include "analysis/analysis.h"
#include "states/states.h"

/* ---- over time, for pictures ---- */

struct lull_states_span {
    int64_t start_ns, end_ns;
    uint16_t state;
};

/* A number had this value. */
struct lull_states_step {
    int64_t start_ns, end_ns;
    double value;
};

/* Steps in order of time that do not overlap. */
struct lull_states_curve {
    const struct lull_states_step *steps;
    size_t n_steps;
};

/* A row. */
struct lull_states_lane {
    char *title; /* not cleaned */
    const struct lull_states_span *spans;
    size_t n_spans;
    const struct lull_states_curve *numbers; /* by name of the group after its keys */
};

/* The rows of a group on a host. */
struct lull_states_block {
    const struct lull_states_group *group;
    const char *host;
    struct lull_states_lane *lanes;
    uint32_t n_lanes, n_left_out;           /* rows that are not shown */
    const struct lull_states_curve *counts; /* by count of the group; of all rows */
};

struct lull_states_picture {
    int64_t start_ns, end_ns;
    const struct lull_states_block *blocks;
    uint32_t n_blocks;
    bool has_hosts; /* there are several */
    bool is_cut;    /* there was more than is kept */
    uint64_t lost_events, lost_packets;
};

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
    /* Or NULL: gets what a picture shows, before the tables; not with slices. At most most_lanes rows of a
     * group on a host are in it. */
    void (*picture)(void *user, const struct lull_states_picture *picture);
    void *picture_user;
    uint32_t most_lanes;
};

/* Names the tables, for views; it is not run by a runner. */
extern const struct lull_analysis_class lull_analysis_states;

void lull_states_report(const struct lull_states_question *question, struct lull_session *session,
                        struct lull_sink *sink, void (*progress)(void *user), void *user);

#endif
