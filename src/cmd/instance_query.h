/* SPDX-License-Identifier: MIT */
/* From the command line to the critical paths of many instances: what lull critpath --period and
 * lull why share. */
#ifndef LULL_CMD_INSTANCE_QUERY_H
#define LULL_CMD_INSTANCE_QUERY_H

#include "analysis/requests.h"
#include "cmd/join_args.h"
#include "cmd/period_args.h"
#include "graph/execgraph.h"
#include "view/instances/instances.h"

/* Traces that were read for instances of a period, or for requests. */
struct lull_instance_query {
    const struct lull_args *args;
    struct lull_session *session;
    const struct lull_sync *sync;
    struct lull_model *model;
    struct lull_execgraph *eg;
    struct lull_periods *periods; /* NULL: requests */
    struct lull_period_tracker *tracker;
    struct lull_requests *requests;
    struct lull_instances *instances;
    struct lull_portions *portions;
    uint32_t *wanted; /* places in the list that the options let pass */
    uint32_t n_wanted;
    uint32_t *samples; /* by place in the list; LULL_NONE: no path yet */
};

/* The options of instances: --period, --period-captures, --select. A verb that has these is
 * expected to have --begin, --end, --timerange, --host, --tid, --comm among its common ones. */
#define LULL_OPTIONS_INSTANCES                                                                     \
    LULL_OPTIONS_PERIOD("what an instance is, as NAME : BEGIN : END; may be given several times"), \
        {.name = "select",                                                                         \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "NAME",                                                                       \
         .help = "which of several periods to use (default: the first)"}

/* The periods of these options, or NULL in *periods if none is defined. False with
 * LULL_ERROR_USAGE. Free them with lull_periods_free(). */
bool lull_instance_query_periods(const struct lull_args *args, struct lull_periods **periods,
                                 GError **error);

/* Opens and reads the traces and lists the instances. False and an error; *status is then 1 or 2.
 * In any case lull_instance_query_clear() comes after it. */
bool lull_instance_query_read(struct lull_instance_query *query, const struct lull_args *args,
                              int *status, GError **error);
void lull_instance_query_clear(struct lull_instance_query *query);

/* Finds the paths of these places of the list, as far as they have one. */
void lull_instance_query_find_paths(struct lull_instance_query *query, const uint32_t *positions,
                                    uint32_t count);
/* Without the graph nothing can be answered. */
bool lull_instance_query_check_events(const struct lull_session *session, GError **error);

#endif
