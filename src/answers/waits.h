/* SPDX-License-Identifier: MIT */
/* The internals of the waits of the public API (lull/waits.h, instances.h, why.h): one reading of a
 * session, and what was found in it. */
#ifndef LULL_ANSWERS_WAITS_H
#define LULL_ANSWERS_WAITS_H

#include <lull/instances.h>

#include "analysis/requests.h"
#include "graph/execgraph.h"
#include "period/period.h"

/* See nearby.h. */
struct nearby {
    int64_t asked_start_ns, asked_end_ns;
    int64_t start_ns, end_ns; /* what is read; INT64_MIN and INT64_MAX: not limited */
    uint64_t before, after;   /* bytes; 0: all */
    uint64_t total_bytes;
};

struct lull_waits {
    struct lull_session *session;
    unsigned wanted;              /* enum lull_want */
    bool names_calls;             /* in which calls tasks wait, though no paths are wanted */
    const struct lull_sync *sync; /* how its clocks were joined; NULL: they were not */
    struct lull_model *model;
    struct lull_execgraph *eg;           /* NULL: paths are not wanted */
    struct lull_requests *requests;      /* NULL: they are not wanted */
    const struct lull_periods *periods;  /* NULL: none are followed */
    struct lull_period_tracker *tracker; /* of them */
    int64_t last_ns;                     /* where periods end that are open at the end */
    struct nearby nearby;
};

/* Forgets what was read, for reading again. */
void lull_waits_reopen(struct lull_waits *waits);

/* Whether all has to be read again: there are requests without an answer, and whether who sent them waits for that depends on the
 * call in which it does. To read that each time would cost a fifth more. */
bool lull_waits_need_calls(struct lull_waits *waits);

/* Requests of the selection that had no answer when the trace ended (lull_requests_unanswered()), as const struct lull_request *;
 * free with g_ptr_array_unref(). */
GPtrArray *lull_waits_select_unanswered(const struct lull_waits *waits,
                                        const struct lull_selection *selection);

/* The selection as this version knows it. */
struct lull_selection lull_selection_of(const struct lull_selection *selection);
/* Whether its tid and pid (or -1, if it is not known of which task something is) are wanted. */
bool lull_selection_has_ids(const struct lull_selection *wanted, int64_t tid, int64_t pid);

#endif
