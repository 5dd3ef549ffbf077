/* SPDX-License-Identifier: MIT */
/* From the command line to the instances that it selects: what lull critpath --period and lull why
 * share. */
#ifndef LULL_CMD_INSTANCE_QUERY_H
#define LULL_CMD_INSTANCE_QUERY_H

#include "cmd/join_args.h"
#include "cmd/period_args.h"
#include "view/instances/instances.h"

/* Traces that were read for instances of a period, or for requests. */
struct lull_instance_query {
    const struct lull_args *args;
    struct lull_session *session;
    struct lull_periods *periods; /* NULL: requests */
    struct lull_waits *waits;
    struct lull_instances *instances;
    struct lull_selection selection; /* what the options ask for */
};

/* The options of instances: --period, --period-captures, --select. A verb that has these is
 * expected to have --begin, --end, --timerange, --host, --tid, --comm among its common ones. */
#define LULL_OPTIONS_INSTANCES                                                                     \
    LULL_OPTIONS_PERIOD("what an instance is, as NAME : BEGIN : END"),                             \
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

#endif
