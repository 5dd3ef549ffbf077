/* SPDX-License-Identifier: MIT */
/* Instances of work whose time is asked about: of a period, or requests found from packets; each
 * with the task that did it. */
#ifndef LULL_ANALYSIS_INSTANCES_H
#define LULL_ANALYSIS_INSTANCES_H

#include "analysis/requests.h"
#include "kernel/model.h"
#include "period/period.h"

struct lull_instance {
    uint32_t number; /* 1, 2, … in order of begin; of a request its id */
    uint32_t task;   /* LULL_NONE: not known */
    int64_t start_ns, end_ns;
    bool is_complete;     /* else it had not ended when the recording did, or its parent */
    uint32_t kind;        /* which of the kinds */
    const char *captures; /* "request.id = 42"; of a request the peer; NULL: none */
    const char *json;     /* captures as a JSON object, or NULL */
};

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
void lull_instances_free(struct lull_instances *instances);

/* True if its path can be found: it is complete, took time, and its task is known. */
bool lull_instance_has_path(const struct lull_instance *instance);

#endif
