/* SPDX-License-Identifier: MIT */
/* --events (the names, and that some trace declares each of them), --tid, --comm and the time. */
#include "cmd/event_args.h"
#include "cmd/say.h"
#include "cmd/whom_args.h"

#include <stdio.h>
#include <string.h>

#include <lull/error.h>

#include "base/map.h"
#include "answers/tasks.h"
#include "filter/filter.h"
#include "kernel/model.h"
#include "kernel/vocabulary.h"
#include "source/session/event_filter.h"

char **lull_args_event_names(const struct lull_args *args, GError **error)
{
    const char *list = lull_args_text(args, "events");
    char **names = g_strsplit(list ? list : "*", ",", -1);
    for (uint32_t i = 0; names[i]; i++) {
        const char *star = strchr(g_strstrip(names[i]), '*');
        if (!names[i][0] || (star && star[1])) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--events takes names with commas between, each may end with '*', not "
                        "“%s”",
                        list);
            g_strfreev(names);
            return NULL;
        }
    }
    return names;
}

bool lull_args_check_event_names(const struct lull_session *session, char *const *names,
                                 GError **error)
{
    return lull_filter_check_names((const char *const *)names, session, error);
}

/* ---- tasks ---- */

static bool check_tasks(const struct lull_args *args, const struct lull_session *session,
                        const struct lull_model *model, GError **error)
{
    struct lull_selection selection = lull_args_whom(args);
    const struct lull_numbers cpus = lull_args_numbers(args, "cpu");
    return lull_args_host(args, session, &selection.host, error) &&
           lull_check_selected_tasks(model, &selection, error) &&
           lull_check_cpus(session, model, selection.host, &cpus, error);
}

bool lull_args_explain_nothing(const struct lull_args *args, struct lull_session *session,
                               bool is_said, GError **error)
{
    if (lull_args_whom_given(args) > 0 || lull_args_text(args, "cpu")) {
        struct lull_model *model = lull_read_all_tasks(session);
        const bool is_right = !model || check_tasks(args, session, model, error);
        lull_model_free(model);
        if (!is_right) {
            return false;
        }
    }
    if (is_said) {
        lull_say("lull: no event was found\n");
    }
    return true;
}

/* The threads of --pid and --container; NULL and an error if there are none. */
static GHashTable *read_threads(const struct lull_args *args, struct lull_session *session,
                                GError **error)
{
    if (lull_args_live(args)) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--pid, --container: which threads they name is known only when the "
                            "live session is over; choose with --tid, or with --filter by a "
                            "context");
        return NULL;
    }
    const struct lull_numbers pids = lull_args_numbers(args, "pid");
    const char *container = lull_args_text(args, "container");
    struct lull_model *model = lull_read_all_tasks(session);
    GHashTable *threads = NULL;
    if (check_tasks(args, session, model, error)) {
        threads = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);
        for (uint32_t i = 0; i < lull_model_task_count(model); i++) {
            const struct lull_task *task = lull_model_task(model, i);
            const int64_t number = lull_running_task(task->host, task->tid);
            if (lull_numbers_have(pids, task->pid) &&
                (!container || lull_container_matches(container, lull_model_container(model, i)))) {
                g_hash_table_add(threads, g_memdup2(&number, sizeof number));
            }
        }
    }
    lull_model_free(model);
    return threads;
}

/* ---- all of it ---- */

/* What --filter and --events leave. */
static bool filter_events(const struct lull_args *args, struct lull_session *session,
                          char *const *names, GError **error)
{
    const char *text = lull_args_text(args, "filter");
    if (!text && !lull_args_text(args, "events")) {
        return true;
    }
    struct lull_filter *filter = lull_filter_parse_named(text, (const char *const *)names,
                                                         lull_args_flag(args, "local"), error);
    if (filter) {
        lull_filter_attach(filter, session);
    }
    return filter != NULL;
}

struct lull_running_filter *lull_args_select_events(const struct lull_args *args,
                                                    struct lull_session *session,
                                                    char *const *names, GError **error)
{
    int32_t host;
    const struct lull_numbers cpus = lull_args_numbers(args, "cpu");
    if (!lull_args_host(args, session, &host, error) ||
        (!lull_args_live(args) && !lull_check_cpus(session, NULL, host, &cpus, error))) {
        return NULL;
    }
    struct lull_running_query query = {
        .tids = lull_args_numbers(args, "tid"),
        .pids = lull_args_numbers(args, "pid"),
        .comm = lull_args_text(args, "comm"),
        .only_threads = lull_args_text(args, "container") != NULL,
        .is_live = lull_args_live(args) != NULL,
        .wants_places = lull_args_takes(args, "places") && lull_args_flag(args, "places"),
    };
    const bool is_shown = query.pids.count && !query.is_live && lull_running_shows_pid(session);
    if ((query.only_threads || (query.pids.count && !is_shown)) &&
        !(query.threads = read_threads(args, session, error))) {
        return NULL;
    }
    if (!filter_events(args, session, names, error) ||
        !lull_args_range(args, session, &query.start_ns, &query.end_ns, error) ||
        !lull_args_apply(args, session, error)) {
        g_clear_pointer(&query.threads, g_hash_table_unref);
        return NULL;
    }
    return lull_running_filter_new(session, &query);
}
