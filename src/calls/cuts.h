/* SPDX-License-Identifier: MIT */
/* Times of tasks, cut at their calls: the question is in which calls certain tasks spent certain times,
 * such as the segments of a critical path. */
#ifndef LULL_CALLS_CUTS_H
#define LULL_CALLS_CUTS_H

#include "calls/calls.h"

/* A time that is in question. A number of a task may be used again: it is the task of that time. */
struct lull_calls_span {
    uint32_t host;
    int32_t tid;
    int64_t start_ns, end_ns;
    uint32_t number; /* the caller's */
};

struct lull_calls_cuts;

/* Sorts the spans, and borrows them; they may overlap. `part` is called for each part of a span that was spent in
 * calls: span->number, and the stretch cut to the span. Free with lull_calls_cuts_free(). */
struct lull_calls_cuts *lull_calls_cuts_new(struct lull_calls_span *spans, size_t count,
                                            void (*part)(void *user, uint32_t number,
                                                         const struct lull_calls_stretch *stretch),
                                            void *user);
void lull_calls_cuts_free(struct lull_calls_cuts *cuts);
/* Has the calls watched for the cuts. Both are borrowed. */
void lull_calls_cuts_watch(struct lull_calls_cuts *cuts, struct lull_calls *calls,
                           const struct lull_model *model);

#endif
