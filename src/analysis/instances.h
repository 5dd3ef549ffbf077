/* SPDX-License-Identifier: MIT */
/* Finds the instances of the public API (lull/instances.h): of a period, or requests found from
 * packets; each with the task that did it. */
#ifndef LULL_ANALYSIS_INSTANCES_H
#define LULL_ANALYSIS_INSTANCES_H

#include <lull/instances.h>

#include "analysis/requests.h"
#include "graph/portions.h"
#include "kernel/model.h"
#include "period/period.h"

/* What is comparable with each other. */
struct lull_instance_kind {
    const char *name; /* "uri = /add/"; NULL: all instances are of one kind */
    uint32_t count;
};

struct lull_instances {
    const char *what; /* "request": name of the period, or NULL if it has none */
    GArray *list;     /* struct lull_instance, by number */
    GArray *kinds;    /* struct lull_instance_kind, in order of their first instance */
    GStringChunk *texts;
    /* Of the reading that they come from; NULL where there is none. */
    const struct lull_waits *waits;
    enum lull_path_kind kind;       /* of their paths */
    struct lull_portions *portions; /* what the paths that were found are about */
    uint32_t *samples;              /* by position in the list; LULL_NONE: no path yet */
};

/* The instances of one definition, after reading. They are worked on by the task that ran the
 * closing event, or, if that is not known, the opening one. `group_by` are names of captures of the
 * definition (NULL-terminated, or NULL): instances that captured the same are of one kind. NULL and
 * LULL_ERROR_USAGE if there is no such capture. Free with lull_instances_free(). */
struct lull_instances *lull_instances_of_period(const struct lull_periods *periods,
                                                const struct lull_period_tracker *tracker,
                                                const struct lull_model *model, uint32_t period,
                                                const char *const *group_by, GError **error);
/* Requests; those of one kind have a client of the same host and name and the same server. */
struct lull_instances *lull_instances_of_requests(const struct lull_requests *requests,
                                                  const struct lull_session *session,
                                                  const struct lull_model *model);

#endif
