/* SPDX-License-Identifier: MIT */
/* The calls in which the tasks of critical paths spent their time: the segments of a path, cut where the
 * innermost call of its task changed. */
#ifndef LULL_ANALYSIS_PATH_CALLS_H
#define LULL_ANALYSIS_PATH_CALLS_H

#include "analysis/calls.h"
#include "analysis/function_shares.h"
#include "graph/path.h"

/* A part of a segment that was spent in one innermost call. */
struct lull_path_part {
    uint32_t segment, node;
    int64_t start_ns, end_ns;
    bool is_uncertain;
};

/* Of one path. */
struct lull_path_calls {
    const struct lull_model *model;
    const struct lull_calls *calls;
    struct lull_path_part *parts; /* in time order, without overlap */
    uint32_t n_parts;
    uint32_t *firsts; /* of each segment its first part; one more, after the last */
    struct lull_function_share *by_function; /* longest first; they sum to the length of the path */
    uint32_t n_by_function;
    int64_t uncertain_ns;
};

struct lull_paths_calls;

/* Reads the session for the calls of `n` paths. Everything is borrowed; free with lull_paths_calls_free() before
 * that. */
struct lull_paths_calls *lull_paths_calls_read(struct lull_session *session,
                                               const struct lull_path *const *paths, uint32_t n,
                                               void (*progress)(void *user), void *user);
void lull_paths_calls_free(struct lull_paths_calls *paths_calls);
/* Of the path with that place among them. */
const struct lull_path_calls *lull_paths_calls_of(const struct lull_paths_calls *paths_calls,
                                                  uint32_t path);

#endif
