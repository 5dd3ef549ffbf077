/* SPDX-License-Identifier: MIT */
/* The internals of the waits of the public API (lull/waits.h, instances.h, why.h): one reading of a
 * session, and what was found in it. */
#ifndef LULL_ANSWERS_WAITS_H
#define LULL_ANSWERS_WAITS_H

#include <lull/instances.h>

#include "analysis/requests.h"
#include "graph/execgraph.h"
#include "period/period.h"

struct lull_waits {
    struct lull_session *session;
    const struct lull_sync *sync; /* how its clocks were joined; NULL: they were not */
    struct lull_model *model;
    struct lull_execgraph *eg;           /* NULL: paths are not wanted */
    struct lull_requests *requests;      /* NULL: they are not wanted */
    const struct lull_periods *periods;  /* NULL: none are followed */
    struct lull_period_tracker *tracker; /* of them */
    int64_t last_ns;                     /* where periods end that are open at the end */
};

/* The selection as this version knows it. */
struct lull_selection lull_selection_of(const struct lull_selection *selection);

#endif
