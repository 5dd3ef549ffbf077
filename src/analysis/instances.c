/* SPDX-License-Identifier: MIT */
/* Makes one list of what periods and requests report, with the tasks found by tid and time. */
#include "analysis/instances.h"

#include <lull/error.h>
#include <string.h>

#include "analysis/period_windows.h"
#include "base/map.h"
#include "base/vec.h"

static struct lull_instances *instances_new(const char *what)
{
    struct lull_instances *instances = g_new0(struct lull_instances, 1);
    instances->list = g_array_new(FALSE, FALSE, sizeof(struct lull_instance));
    instances->kinds = g_array_new(FALSE, FALSE, sizeof(struct lull_instance_kind));
    instances->texts = g_string_chunk_new(4096);
    instances->what = what ? g_string_chunk_insert(instances->texts, what) : NULL;
    return instances;
}

void lull_instances_free(struct lull_instances *instances)
{
    if (!instances) {
        return;
    }
    g_array_unref(instances->list);
    g_array_unref(instances->kinds);
    g_string_chunk_free(instances->texts);
    lull_portions_free(instances->portions);
    g_free(instances->samples);
    g_free(instances);
}

bool lull_instance_has_path(const struct lull_instance *instance)
{
    return instance->is_complete && instance->task != LULL_NONE &&
           instance->start_ns < instance->end_ns;
}

/* The number of the kind of that name, which is new or not. */
static uint32_t kind_of(struct lull_instances *instances, GHashTable *kinds, const char *name)
{
    gpointer found = g_hash_table_lookup(kinds, name);
    if (!found) {
        struct lull_instance_kind kind = {0};
        char *kept = g_string_chunk_insert(instances->texts, name);
        kind.name = *kept ? kept : NULL;
        g_array_append_val(instances->kinds, kind);
        found = GUINT_TO_POINTER(instances->kinds->len);
        g_hash_table_insert(kinds, kept, found);
    }
    const uint32_t number = GPOINTER_TO_UINT(found) - 1;
    g_array_index(instances->kinds, struct lull_instance_kind, number).count++;
    return number;
}

/* ---- tasks by tid and time ---- */

struct tasks {
    const struct lull_model *model;
    struct lull_map last;      /* host and tid to the last task that had the tid */
    LULL_VEC(uint32_t) before; /* by task: the one that had its tid before, or LULL_NONE */
};

static uint64_t tid_key(uint32_t host, int64_t tid)
{
    return (uint64_t)host << 32 | (uint32_t)tid;
}

static void tasks_init(struct tasks *tasks, const struct lull_model *model)
{
    *tasks = (struct tasks){.model = model};
    for (uint32_t i = 0; i < lull_model_task_count(model); i++) {
        const struct lull_task *task = lull_model_task(model, i);
        uint32_t before = LULL_NONE;
        if (task->first_ns <= task->last_ns) {
            before = lull_map_insert(&tasks->last, tid_key(task->host, task->tid), i);
        }
        lull_vec_push(&tasks->before, before);
    }
}

static void tasks_clear(struct tasks *tasks)
{
    lull_map_free(&tasks->last);
    lull_vec_free(&tasks->before);
}

/* The task that had the tid then. The idle task is none. */
static uint32_t find_task(const struct tasks *tasks, uint32_t host, int64_t tid, int64_t time_ns)
{
    if (tid <= 0 || tid > INT32_MAX) {
        return LULL_NONE;
    }
    uint32_t task = lull_map_find(&tasks->last, tid_key(host, tid));
    while (task != LULL_NONE && lull_model_task(tasks->model, task)->first_ns > time_ns) {
        task = tasks->before.items[task];
    }
    return task;
}

/* ---- periods ---- */

struct grouping {
    bool at_end;
    uint32_t capture;
    const char *name;
};

static bool find_capture(const struct lull_period *period, const char *name,
                         struct grouping *grouping)
{
    for (int at_end = 0; at_end < 2; at_end++) {
        const char *const *names = at_end ? period->end_captures : period->start_captures;
        const uint32_t n = at_end ? period->n_end_captures : period->n_start_captures;
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(names[i], name) == 0) {
                *grouping = (struct grouping){at_end, i, names[i]};
                return true;
            }
        }
    }
    return false;
}

static GArray *find_groupings(const struct lull_period *period, const char *const *group_by,
                              GError **error)
{
    GArray *groupings = g_array_new(FALSE, FALSE, sizeof(struct grouping));
    for (; group_by && *group_by; group_by++) {
        struct grouping grouping;
        if (!find_capture(period, *group_by, &grouping)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "the period%s%s captures no “%s” to group by", period->name ? " " : "",
                        period->name ? period->name : "", *group_by);
            g_array_unref(groupings);
            return NULL;
        }
        g_array_append_val(groupings, grouping);
    }
    return groupings;
}

static char *group_name(const GArray *groupings, const struct lull_period_tracker *tracker,
                        uint32_t instance)
{
    GString *out = g_string_new(NULL);
    for (guint i = 0; i < groupings->len; i++) {
        const struct grouping *grouping = &g_array_index(groupings, struct grouping, i);
        g_string_append_printf(out, "%s%s = ", i ? ", " : "", grouping->name);
        lull_period_append_value(
            out, lull_period_value(tracker, instance, grouping->at_end, grouping->capture));
    }
    return g_string_free(out, FALSE);
}

static void add_captures(struct lull_instances *instances, struct lull_instance *instance,
                         const struct lull_periods *periods,
                         const struct lull_period_tracker *tracker, uint32_t at)
{
    g_autofree char *text = lull_period_captures_text(periods, tracker, at);
    if (!*text) {
        return;
    }
    g_autofree char *json = lull_period_captures_whole_json(periods, tracker, at);
    instance->captures = g_string_chunk_insert(instances->texts, text);
    instance->json = g_string_chunk_insert(instances->texts, json);
}

static struct lull_instance take_period(const struct lull_period_instance *at,
                                        const struct tasks *tasks)
{
    struct lull_instance instance = {
        .start_ns = at->start_ns,
        .end_ns = at->end_ns,
        .is_complete = at->is_complete,
        .task = find_task(tasks, at->end_host, at->end_tid, at->end_ns),
    };
    if (instance.task == LULL_NONE) {
        instance.task = find_task(tasks, at->host, at->start_tid, at->start_ns);
    }
    return instance;
}

struct lull_instances *lull_instances_of_period(const struct lull_periods *periods,
                                                const struct lull_period_tracker *tracker,
                                                const struct lull_model *model, uint32_t period,
                                                const char *const *group_by, GError **error)
{
    const struct lull_period *definition = lull_periods_at(periods, period);
    g_autoptr(GArray) groupings = find_groupings(definition, group_by, error);
    if (!groupings) {
        return NULL;
    }
    struct lull_instances *instances = instances_new(definition->name);
    g_autoptr(GHashTable) kinds = g_hash_table_new(g_str_hash, g_str_equal);
    struct tasks tasks;
    tasks_init(&tasks, model);
    for (uint32_t i = 0; i < lull_period_instance_count(tracker); i++) {
        const struct lull_period_instance *at = lull_period_at(tracker, i);
        if (at->period != period) {
            continue;
        }
        struct lull_instance instance = take_period(at, &tasks);
        g_autofree char *group = group_name(groupings, tracker, i);
        instance.number = instances->list->len + 1;
        instance.kind = kind_of(instances, kinds, group);
        add_captures(instances, &instance, periods, tracker, i);
        g_array_append_val(instances->list, instance);
    }
    tasks_clear(&tasks);
    return instances;
}

/* ---- requests ---- */

static struct lull_instance take_request(struct lull_instances *instances, GHashTable *kinds,
                                         const struct lull_request *request,
                                         const struct lull_session *session,
                                         const struct lull_model *model)
{
    char server[64];
    lull_flow_format_end(lull_flows_at(lull_model_flows(model), request->flow), false, server,
                         sizeof server);
    g_autofree char *kind = g_strdup_printf(
        "%s on %s to %s", request->comm, lull_session_host(session, request->host)->name, server);
    return (struct lull_instance){
        .number = request->id,
        .task = request->task,
        .start_ns = request->start_ns,
        .end_ns = request->end_ns,
        .is_complete = true,
        .kind = kind_of(instances, kinds, kind),
    };
}

struct lull_instances *lull_instances_of_requests(const struct lull_requests *requests,
                                                  const struct lull_session *session,
                                                  const struct lull_model *model)
{
    struct lull_instances *instances = instances_new("request");
    g_autoptr(GHashTable) kinds = g_hash_table_new(g_str_hash, g_str_equal);
    uint32_t count;
    const struct lull_request *list = lull_requests_list(requests, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct lull_instance instance =
            take_request(instances, kinds, &list[i], session, model);
        g_array_append_val(instances->list, instance);
    }
    return instances;
}
