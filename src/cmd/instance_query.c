/* SPDX-License-Identifier: MIT */
/* Reads traces for the instances that the command line defines, and finds their paths. */
#include "cmd/instance_query.h"

#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "kernel/vocabulary.h"
#include "source/session/clocks.h"

bool lull_instance_query_check_events(const struct lull_session *session, GError **error)
{
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (lull_session_declares(session, host, lull_vocabulary_names(LULL_EVENT_sched_switch))) {
            return true;
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "these traces have no sched_switch events: who ran and who waited is not in them "
                "('lull info' says what they can answer)");
    return false;
}

/* ---- definitions ---- */

bool lull_instance_query_periods(const struct lull_args *args, struct lull_periods **periods,
                                 GError **error)
{
    const char *select = lull_args_text(args, "select");
    if (!lull_args_periods(args, periods, error)) {
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

static uint32_t selected_period(const struct lull_instance_query *query)
{
    const char *select = lull_args_text(query->args, "select");
    return select ? lull_periods_find(query->periods, select, strlen(select)) : 0;
}

/* ---- reading ---- */

static void read_traces(struct lull_instance_query *query, int64_t start_ns, int64_t end_ns)
{
    int64_t first_ns, last_ns;
    query->model = lull_model_new(query->session, LULL_GROUP_GRAPH);
    query->eg = lull_execgraph_new(query->model, query->sync);
    if (query->periods) {
        query->tracker = lull_period_tracker_new(query->periods, query->session, NULL, NULL);
        lull_period_tracker_limit(query->tracker, start_ns, end_ns);
    } else {
        query->requests = lull_requests_new(query->model);
    }
    struct lull_progress progress;
    lull_progress_start(&progress, query->args, query->session, "reading", false);
    lull_model_run(query->model, lull_args_progress, &progress);
    lull_progress_end(&progress);
    if (query->requests) {
        lull_requests_finish(query->requests);
    }
    if (query->tracker && lull_session_range(query->session, &first_ns, &last_ns)) {
        lull_period_tracker_finish(query->tracker, MIN(last_ns, end_ns));
    }
}

static bool list_instances(struct lull_instance_query *query, GError **error)
{
    if (!query->periods) {
        query->instances =
            lull_instances_of_requests(query->requests, query->session, query->model);
        return true;
    }
    const uint64_t refused = lull_period_refused(query->tracker);
    if (refused > 0) {
        fprintf(stderr,
                "lull: too many instances: %" G_GUINT64_FORMAT
                " more were started and not followed\n",
                refused);
    }
    const struct lull_verb *verb = lull_args_verb(query->args);
    const char *group_by = NULL;
    for (const struct lull_option *o = verb->options; o->name; o++) {
        if (strcmp(o->name, "group-by") == 0) {
            group_by = lull_args_text(query->args, "group-by");
        }
    }
    g_auto(GStrv) groups = group_by ? g_strsplit(group_by, ",", -1) : NULL;
    query->instances =
        lull_instances_of_period(query->periods, query->tracker, query->model,
                                 selected_period(query), (const char *const *)groups, error);
    return query->instances != NULL;
}

/* ---- which of them ---- */

struct wanted {
    int32_t host;
    const char *comm;
    int64_t tid, start_ns, end_ns;
};

static bool is_wanted(const struct lull_instance_query *query, const struct wanted *wanted,
                      const struct lull_instance *instance)
{
    if (instance->start_ns < wanted->start_ns || instance->end_ns > wanted->end_ns) {
        return false;
    }
    if (wanted->host < 0 && wanted->tid < 0 && !wanted->comm) {
        return true;
    }
    if (instance->task == LULL_NONE) {
        return false;
    }
    const struct lull_task *task = lull_model_task(query->model, instance->task);
    return (wanted->host < 0 || (uint32_t)wanted->host == task->host) &&
           (wanted->tid < 0 || task->tid == wanted->tid) &&
           (!wanted->comm || strcmp(lull_model_comm(query->model, instance->task, instance->end_ns),
                                    wanted->comm) == 0);
}

static void choose_wanted(struct lull_instance_query *query, const struct wanted *wanted)
{
    const GArray *list = query->instances->list;
    query->wanted = g_new(uint32_t, MAX(list->len, 1));
    query->samples = g_new(uint32_t, MAX(list->len, 1));
    for (uint32_t i = 0; i < list->len; i++) {
        query->samples[i] = LULL_NONE;
        if (is_wanted(query, wanted, &g_array_index(list, struct lull_instance, i))) {
            query->wanted[query->n_wanted++] = i;
        }
    }
}

bool lull_instance_query_read(struct lull_instance_query *query, const struct lull_args *args,
                              int *status, GError **error)
{
    *query = (struct lull_instance_query){.args = args};
    *status = 2;
    if (!lull_instance_query_periods(args, &query->periods, error)) {
        return false;
    }
    *status = 1;
    query->session = lull_args_open_traces(args, error);
    if (!query->session || !lull_instance_query_check_events(query->session, error)) {
        return false;
    }
    lull_args_join(args, query->session);
    query->sync = lull_session_sync(query->session);
    struct wanted wanted = {.comm = lull_args_text(args, "comm"),
                            .tid = lull_args_number(args, "tid")};
    if (!lull_args_host(args, query->session, &wanted.host, error) ||
        !lull_args_range(args, query->session, &wanted.start_ns, &wanted.end_ns, error)) {
        return false;
    }
    read_traces(query, wanted.start_ns, wanted.end_ns);
    if (!list_instances(query, error)) {
        *status = 2;
        return false;
    }
    choose_wanted(query, &wanted);
    query->portions = lull_portions_new(query->eg, query->session);
    return true;
}

void lull_instance_query_find_paths(struct lull_instance_query *query, const uint32_t *positions,
                                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_instance *instance =
            &g_array_index(query->instances->list, struct lull_instance, positions[i]);
        if (query->samples[positions[i]] == LULL_NONE && lull_instance_has_path(instance)) {
            query->samples[positions[i]] = lull_portions_add(query->portions, instance->task,
                                                             instance->start_ns, instance->end_ns);
        }
    }
}

void lull_instance_query_clear(struct lull_instance_query *query)
{
    g_free(query->wanted);
    g_free(query->samples);
    lull_portions_free(query->portions);
    lull_instances_free(query->instances);
    lull_period_tracker_free(query->tracker);
    lull_requests_free(query->requests);
    lull_execgraph_free(query->eg);
    lull_model_free(query->model);
    lull_session_free(query->session);
    lull_periods_free(query->periods);
}
