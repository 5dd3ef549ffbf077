/* SPDX-License-Identifier: MIT */
/* What counters counted on a critical path: what was charged to its tasks, in the segments in which it
 * was. */
#ifndef LULL_ANALYSIS_PATH_COUNTS_H
#define LULL_ANALYSIS_PATH_COUNTS_H

#include "graph/path.h"
#include "kernel/model.h"

/* What was charged to a part of a path. */
struct lull_counted {
    uint64_t *values; /* by counter */
    bool is_known;    /* something was */
};

struct lull_path_counts {
    struct lull_model *model;                             /* which has the names */
    uint32_t n;                                           /* counters */
    struct lull_counted *by_segment, *by_task, *by_state; /* of each, as the path has them */
    bool has_shared;    /* some is a part by time of what was counted between two reads */
    bool has_estimates; /* counters took turns */
    int64_t unknown_ns; /* of the time that the path was on a CPU, nothing was counted */
};

/* Reads the session for the counters of a path. Borrows both; free with lull_path_counts_free() before
 * that. */
struct lull_path_counts *lull_path_counts_read(struct lull_session *session,
                                               const struct lull_path *path,
                                               void (*progress)(void *user), void *user);
void lull_path_counts_free(struct lull_path_counts *counts);

/* "page-faults" */
const char *lull_path_counts_name(const struct lull_path_counts *counts, uint32_t counter);

#endif
