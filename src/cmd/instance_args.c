/* Reads traces for the instances that the command line defines, and finds their paths. */
#include "cmd/instance_args.h"

#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "kernel/vocabulary.h"

bool lull_asked_check_events(const struct lull_session *session, GError **error)
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

bool lull_asked_periods(const struct lull_args *args, struct lull_periods **periods, GError **error)
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

static uint32_t selected_period(const struct lull_asked *asked)
{
    const char *select = lull_args_text(asked->args, "select");
    return select ? lull_periods_find(asked->periods, select, strlen(select)) : 0;
}

/* ---- reading ---- */

static void read_traces(struct lull_asked *asked, int64_t begin_ns, int64_t end_ns)
{
    int64_t first_ns, last_ns;
    asked->model = lull_model_new(asked->session, LULL_GROUP_GRAPH);
    asked->eg = lull_execgraph_new(asked->model, asked->sync);
    if (asked->periods) {
        asked->tracker = lull_period_tracker_new(asked->periods, asked->session, NULL, NULL);
        lull_period_tracker_limit(asked->tracker, begin_ns, end_ns);
    } else {
        asked->requests = lull_requests_new(asked->model);
    }
    struct lull_progress progress;
    lull_progress_begin(&progress, asked->args, asked->session, "reading", false);
    lull_model_run(asked->model, lull_args_progress, &progress);
    lull_progress_end(&progress);
    if (asked->requests) {
        lull_requests_finish(asked->requests);
    }
    if (asked->tracker && lull_session_range(asked->session, &first_ns, &last_ns)) {
        lull_period_tracker_finish(asked->tracker, MIN(last_ns, end_ns));
    }
}

static bool list_instances(struct lull_asked *asked, GError **error)
{
    if (!asked->periods) {
        asked->instances =
            lull_instances_of_requests(asked->requests, asked->session, asked->model);
        return true;
    }
    const uint64_t refused = lull_period_refused(asked->tracker);
    if (refused > 0) {
        fprintf(stderr,
                "lull: too many instances: %" G_GUINT64_FORMAT
                " more were begun and not followed\n",
                refused);
    }
    const struct lull_verb *verb = lull_args_verb(asked->args);
    const char *group_by = NULL;
    for (const struct lull_option *o = verb->options; o->name; o++) {
        if (strcmp(o->name, "group-by") == 0) {
            group_by = lull_args_text(asked->args, "group-by");
        }
    }
    g_auto(GStrv) groups = group_by ? g_strsplit(group_by, ",", -1) : NULL;
    asked->instances =
        lull_instances_of_period(asked->periods, asked->tracker, asked->model,
                                 selected_period(asked), (const char *const *)groups, error);
    return asked->instances != NULL;
}

/* ---- which of them ---- */

struct wanted {
    int32_t host;
    const char *comm;
    int64_t tid, begin_ns, end_ns;
};

static bool is_wanted(const struct lull_asked *asked, const struct wanted *wanted,
                      const struct lull_instance *instance)
{
    if (instance->begin_ns < wanted->begin_ns || instance->end_ns > wanted->end_ns) {
        return false;
    }
    if (wanted->host < 0 && wanted->tid < 0 && !wanted->comm) {
        return true;
    }
    if (instance->task == LULL_NONE) {
        return false;
    }
    const struct lull_task *task = lull_model_task(asked->model, instance->task);
    return (wanted->host < 0 || (uint32_t)wanted->host == task->host) &&
           (wanted->tid < 0 || task->tid == wanted->tid) &&
           (!wanted->comm || strcmp(lull_model_comm(asked->model, instance->task, instance->end_ns),
                                    wanted->comm) == 0);
}

static void choose_wanted(struct lull_asked *asked, const struct wanted *wanted)
{
    const GArray *list = asked->instances->list;
    asked->wanted = g_new(uint32_t, MAX(list->len, 1));
    asked->samples = g_new(uint32_t, MAX(list->len, 1));
    for (uint32_t i = 0; i < list->len; i++) {
        asked->samples[i] = LULL_NONE;
        if (is_wanted(asked, wanted, &g_array_index(list, struct lull_instance, i))) {
            asked->wanted[asked->n_wanted++] = i;
        }
    }
}

bool lull_asked_read(struct lull_asked *asked, const struct lull_args *args, int *status,
                     GError **error)
{
    *asked = (struct lull_asked){.args = args};
    *status = 2;
    if (!lull_asked_periods(args, &asked->periods, error)) {
        return false;
    }
    *status = 1;
    asked->session = lull_args_open_traces(args, error);
    if (!asked->session || !lull_asked_check_events(asked->session, error)) {
        return false;
    }
    asked->sync = lull_args_join(args, asked->session);
    struct wanted wanted = {.comm = lull_args_text(args, "comm"),
                            .tid = lull_args_number(args, "tid")};
    if (!lull_args_host(args, asked->session, &wanted.host, error) ||
        !lull_args_range(args, asked->session, &wanted.begin_ns, &wanted.end_ns, error)) {
        return false;
    }
    read_traces(asked, wanted.begin_ns, wanted.end_ns);
    if (!list_instances(asked, error)) {
        *status = 2;
        return false;
    }
    choose_wanted(asked, &wanted);
    asked->portions = lull_portions_new(asked->eg, asked->session);
    return true;
}

void lull_asked_find_paths(struct lull_asked *asked, const uint32_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_instance *instance =
            &g_array_index(asked->instances->list, struct lull_instance, places[i]);
        if (asked->samples[places[i]] == LULL_NONE && lull_instance_has_path(instance)) {
            asked->samples[places[i]] = lull_portions_add(asked->portions, instance->task,
                                                          instance->begin_ns, instance->end_ns);
        }
    }
}

void lull_asked_clear(struct lull_asked *asked)
{
    g_free(asked->wanted);
    g_free(asked->samples);
    lull_portions_free(asked->portions);
    lull_instances_free(asked->instances);
    lull_period_tracker_free(asked->tracker);
    lull_requests_free(asked->requests);
    lull_execgraph_free(asked->eg);
    lull_model_free(asked->model);
    lull_sync_free(asked->sync);
    lull_session_free(asked->session);
    lull_periods_free(asked->periods);
}
