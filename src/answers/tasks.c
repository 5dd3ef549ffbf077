/* SPDX-License-Identifier: MIT */
/* Looks for the tasks and CPUs that a question names among those that were seen. */
#include "answers/tasks.h"

#include <string.h>

#include <lull/error.h>

#include "kernel/running.h"
#include "kernel/vocabulary.h"
#include "source/session/aside.h"
#include "source/session/event_filter.h"
#include "source/session/streams.h"

enum kind { TID, PID, COMM };

static bool is_seen(const struct lull_model *model, int32_t host, enum kind kind, int64_t number,
                    const char *comm)
{
    for (uint32_t i = 0; i < lull_model_task_count(model); i++) {
        const struct lull_task *task = lull_model_task(model, i);
        if ((host < 0 || task->host == (uint32_t)host) &&
            (kind == TID   ? task->tid == number
             : kind == PID ? task->pid == number
                           : lull_model_had_comm(model, i, comm))) {
            return true;
        }
    }
    return false;
}

static bool check_numbers(const struct lull_model *model, int32_t host, enum kind kind,
                          const struct lull_numbers *numbers, GError **error)
{
    for (uint32_t i = 0; i < numbers->count; i++) {
        if (!is_seen(model, host, kind, numbers->items[i], NULL)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "no task with %s %" G_GINT64_FORMAT " was seen in the traces",
                        kind == TID ? "tid" : "pid", numbers->items[i]);
            return false;
        }
    }
    return true;
}

/* Of a list, each; but it may also be one name with commas. */
static bool check_comms(const struct lull_model *model, int32_t host, const char *comms,
                        GError **error)
{
    g_autofree char *one = comms ? g_strdelimit(g_strdup(comms), ",", '?') : NULL;
    if (!comms || is_seen(model, host, COMM, 0, one)) {
        return true;
    }
    g_auto(GStrv) names = g_strsplit(comms, ",", -1);
    const bool is_any_seen = is_seen(model, host, COMM, 0, comms);
    for (uint32_t i = 0; names[i]; i++) {
        if (!is_any_seen || !is_seen(model, host, COMM, 0, names[i])) {
            const char *name = is_any_seen ? names[i] : comms;
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "no task named “%s” was seen in the traces%s", name,
                        strlen(name) > LULL_COMM_LENGTH
                            ? " (the kernel keeps the first 15 bytes of a name)"
                            : "");
            return false;
        }
    }
    return true;
}

static bool check_containers(const struct lull_model *model, int32_t host, const char *patterns,
                             GError **error)
{
    bool is_any_known = false;
    for (uint32_t i = 0; patterns && i < lull_model_container_count(model); i++) {
        uint32_t where;
        const struct lull_container *container = lull_model_container_at(model, i, &where);
        if (host >= 0 && (uint32_t)host != where) {
            continue;
        }
        if (lull_container_matches(patterns, container)) {
            return true;
        }
        is_any_known = true;
    }
    if (patterns) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    is_any_known
                        ? "no task was seen in a container “%s”; “lull info” lists them"
                        : "the traces do not say which container tasks are in (“%s” is not "
                          "known); “lull record” records it",
                    patterns);
    }
    return !patterns;
}

bool lull_check_selected_tasks(const struct lull_model *model,
                               const struct lull_selection *selection, GError **error)
{
    const int32_t host = selection->host;
    const struct lull_numbers tid = {&selection->tid, selection->tid >= 0};
    const struct lull_numbers pid = {&selection->pid, selection->pid >= 0};
    const struct lull_numbers tids = {selection->tids, (uint32_t)selection->n_tids};
    const struct lull_numbers pids = {selection->pids, (uint32_t)selection->n_pids};
    return check_numbers(model, host, TID, &tid, error) &&
           check_numbers(model, host, TID, &tids, error) &&
           check_numbers(model, host, PID, &pid, error) &&
           check_numbers(model, host, PID, &pids, error) &&
           check_comms(model, selection->host, selection->comm, error) &&
           check_containers(model, selection->host, selection->container, error);
}

struct lull_selection lull_params_selection(int32_t host, const struct lull_question_params *params)
{
    struct lull_selection selection = LULL_SELECT_ALL;
    selection.host = host;
    selection.tids = params->tids.items;
    selection.n_tids = params->tids.count;
    selection.pids = params->pids.items;
    selection.n_pids = params->pids.count;
    selection.comm = params->comms;
    selection.container = params->containers;
    return selection;
}

bool lull_check_tasks(const struct lull_model *model, int32_t host,
                      const struct lull_question_params *params, GError **error)
{
    const struct lull_selection selection = lull_params_selection(host, params);
    return lull_check_selected_tasks(model, &selection, error);
}

struct lull_model *lull_read_all_tasks(struct lull_session *session)
{
    struct lull_session_aside aside;
    if (!lull_session_put_aside(session, &aside)) {
        return NULL;
    }
    struct lull_model *model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE);
    lull_model_run(model, NULL, NULL);
    lull_session_take_up(session, &aside);
    return model;
}

bool lull_check_left_tasks(struct lull_session *session, const struct lull_model *model,
                           const struct lull_selection *selection, GError **error)
{
    g_autoptr(GError) why = NULL;
    if (lull_check_selected_tasks(model, selection, &why) ||
        lull_is_hidden(session, selection, NULL)) {
        return true;
    }
    g_propagate_error(error, g_steal_pointer(&why));
    return false;
}

static bool has_cpu(const struct lull_session *session, const struct lull_model *model,
                    int32_t host, int64_t cpu)
{
    for (uint32_t i = 0; i < lull_session_stream_count(session); i++) {
        const struct lull_stream_info stream = lull_session_stream(session, i);
        if ((stream.cpu == cpu || (!model && stream.cpu < 0)) &&
            (host < 0 || stream.host == (uint32_t)host)) {
            return true;
        }
    }
    for (uint32_t i = 0; model && i < lull_session_host_count(session); i++) {
        if ((host < 0 || i == (uint32_t)host) && cpu <= INT32_MAX &&
            lull_model_next_cpu(model, i, (int32_t)cpu - 1) == cpu) {
            return true;
        }
    }
    return false;
}

bool lull_check_cpus(const struct lull_session *session, const struct lull_model *model,
                     int32_t host, const struct lull_numbers *cpus, GError **error)
{
    for (uint32_t i = 0; i < cpus->count; i++) {
        if (!has_cpu(session, model, host, cpus->items[i])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "no CPU %" G_GINT64_FORMAT " was seen in the traces", cpus->items[i]);
            return false;
        }
    }
    return true;
}

bool lull_is_hidden(struct lull_session *session, const struct lull_selection *selection,
                    const struct lull_numbers *cpus)
{
    if (!lull_session_is_part(session)) {
        return false;
    }
    struct lull_model *all = lull_read_all_tasks(session);
    const bool is_there = all && lull_check_selected_tasks(all, selection, NULL) &&
                          (!cpus || lull_check_cpus(session, all, selection->host, cpus, NULL));
    lull_model_free(all);
    return is_there;
}
