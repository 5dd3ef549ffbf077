/* SPDX-License-Identifier: MIT */
/* Reads traces for the instances that the command line defines. */
#include "cmd/instance_query.h"

#include <stdio.h>
#include <string.h>

#include "answers/tasks.h"
#include "answers/waits.h"
#include "cmd/options.h"
#include "cmd/say.h"
#include "cmd/whom_args.h"

/* ---- definitions ---- */

bool lull_instance_query_periods(const struct lull_args *args, struct lull_periods **periods,
                                 GError **error)
{
    const char *select = lull_args_text(args, "select");
    if (!lull_periods_parse_given(lull_args_texts(args, "period"),
                                  lull_args_texts(args, "period-captures"), periods, error)) {
        return false;
    }
    if (select && !*periods) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--select needs a --period");
        return false;
    }
    if (select && lull_periods_find(*periods, select, strlen(select)) == LULL_NO_PERIOD) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--select: there is no period named “%s”",
                    select);
        return false;
    }
    return true;
}

/* ---- reading ---- */

static void report_refused(const struct lull_waits *waits)
{
    if (lull_waits_refused(waits) > 0) {
        lull_say("lull: too many instances: %" G_GUINT64_FORMAT
                 " more were started and not followed\n",
                 lull_waits_refused(waits));
    }
}

static bool list_instances(struct lull_instance_query *query, GError **error)
{
    const char *group_by =
        lull_args_takes(query->args, "group-by") ? lull_args_text(query->args, "group-by") : NULL;
    g_auto(GStrv) groups = group_by ? g_strsplit(group_by, ",", -1) : NULL;
    query->instances = lull_waits_instances(query->waits, lull_args_text(query->args, "select"),
                                            (const char *const *)groups, error);
    return query->instances != NULL;
}

/* What the options select of the instances. */
static bool read_selection(struct lull_instance_query *query, GError **error)
{
    const struct lull_args *args = query->args;
    struct lull_selection *selection = &query->selection;
    *selection = lull_args_whom(args);
    selection->port = lull_args_takes(args, "port") ? lull_args_number(args, "port") : -1;
    return lull_args_host(args, query->session, &selection->host, error) &&
           lull_args_range(args, query->session, &selection->start_ns, &selection->end_ns, error);
}

static bool prepare(struct lull_instance_query *query, GError **error)
{
    query->session = lull_args_open_traces(query->args, error);
    if (!query->session) {
        return false;
    }
    if (!lull_args_check_periods(query->args, query->session, query->periods, error)) {
        return false;
    }
    lull_args_join(query->args, query->session);
    if (!read_selection(query, error)) {
        return false;
    }
    query->waits = lull_waits_new(
        query->session, LULL_WANT_PATHS | (query->periods ? 0 : LULL_WANT_REQUESTS), error);
    if (query->waits && query->periods) {
        lull_waits_follow(query->waits, query->periods, query->selection.start_ns,
                          query->selection.end_ns);
    }
    return query->waits;
}

bool lull_instance_query_read(struct lull_instance_query *query, const struct lull_args *args,
                              int *status, GError **error)
{
    *query = (struct lull_instance_query){.args = args, .selection = LULL_SELECT_ALL};
    *status = 2;
    if (!lull_instance_query_periods(args, &query->periods, error)) {
        return false;
    }
    *status = 1;
    if (!prepare(query, error)) {
        return false;
    }
    lull_args_read(args, query->session, query->waits);
    report_refused(query->waits);
    if (!lull_check_left_tasks(query->session, query->waits->model, &query->selection, error)) {
        return false;
    }
    *status = 2;
    return list_instances(query, error);
}

void lull_instance_query_clear(struct lull_instance_query *query)
{
    lull_instances_free(query->instances);
    lull_waits_free(query->waits);
    lull_session_free(query->session);
    lull_periods_free(query->periods);
}
