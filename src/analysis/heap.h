/* SPDX-License-Identifier: MIT */
/* Memory that programs allocated as tables: by process, and by the path of calls that allocated it. It
 * reads the session itself, as calls.h does, and for the same reason. */
#ifndef LULL_ANALYSIS_HEAP_H
#define LULL_ANALYSIS_HEAP_H

#include "analysis/calls.h"

struct lull_heap_question {
    struct lull_calls_question calls; /* its sections mean nothing */
    enum lull_heap_weight order;      /* of the paths: most first */
    /* Paths with a function or a file that one of these patterns matches are left out; or NULL. */
    const char *const *ignored;
};

/* Names the tables, for views; it is not run by a runner. */
extern const struct lull_analysis_class lull_analysis_heap;

/* False with LULL_ERROR_QUESTION if a pattern is none; nothing was read then. */
bool lull_heap_report(const struct lull_heap_question *question, struct lull_session *session,
                      struct lull_sink *sink, void (*progress)(void *user), void *user,
                      GError **error);

/* ---- for heap.c and heap_tables.c only ---- */

/* What a process allocated on paths of one name. */
struct heap_row {
    uint32_t process;
    uint32_t n_paths; /* peaks of several need not have been at one time */
    char *path;
    struct lull_heap_sums sums;
    uint64_t at_peak_bytes;
};

struct heap_report {
    const struct lull_heap_question *question;
    struct lull_session *session;
    struct lull_calls_reading reading;
    LULL_VEC(struct heap_row) rows;
    LULL_VEC(uint32_t) processes; /* that are wanted, most bytes first */
};

void heap_emit(const struct heap_report *report, struct lull_sink *sink);

#endif
