/* SPDX-License-Identifier: MIT */
/* The answer of lull why for programs. */
#include "view/why/why.h"

#include <math.h>

#include "kernel/kills.h"
#include "view/out.h"
#include "view/words.h"

static void add_ns(struct json_object *object, const char *key, double ns)
{
    json_object_object_add(object, key, json_object_new_int64(llround(ns)));
}

/* NULL where there are several tasks, or none. */
static void add_tid(struct json_object *object, const char *key, int32_t tid)
{
    json_object_object_add(
        object, key, tid == LULL_SEVERAL_TIDS || tid == -1 ? NULL : json_object_new_int64(tid));
}

static void add_host(struct json_object *object, const struct lull_why_shown *why, uint32_t host)
{
    lull_json_add_text(object, "host", lull_session_host(why->paths.session, host)->name);
}

static void add_portion(struct json_object *object, const struct lull_why_shown *why,
                        uint32_t number)
{
    const struct lull_portion *portion = lull_portions_at(why->paths.portions, number);
    add_host(object, why, portion->host);
    lull_json_add_text(object, "comm", portion->comm);
    lull_json_add_text(object, "state", lull_state_name(portion->state));
    lull_json_add_text(object, "cause", lull_cause_name(portion->cause));
    lull_json_add_text(object, "detail", portion->detail);
}

static struct json_object *lock_to_json(const struct lull_why_shown *why,
                                        const struct lull_contribution *contribution)
{
    if (contribution->lock == LULL_NONE) {
        return NULL;
    }
    const struct lull_lock *lock = lull_portions_lock(why->paths.portions, contribution->lock);
    struct json_object *object = json_object_new_object();
    add_host(object, why, lock->host);
    lull_json_add_text(object, "comm", lock->comm);
    lull_json_add_text(object, "call", lock->call);
    lull_json_add_text(object, "holder", lock->holder);
    add_tid(object, "holder_tid", contribution->other_tid);
    json_object_object_add(object, "is_worker", json_object_new_boolean(lock->is_worker));
    json_object_object_add(object, "is_kernel", json_object_new_boolean(lock->is_kernel));
    return object;
}

static struct json_object *details_to_json(const struct lull_why_shown *why,
                                           const struct lull_contribution *contribution)
{
    struct json_object *array = json_object_new_array();
    for (uint32_t i = 0; i < contribution->n_details; i++) {
        struct json_object *object = json_object_new_object();
        add_portion(object, why, contribution->details[i].portion);
        add_tid(object, "tid", contribution->details[i].tid);
        lull_json_add_text(object, "inside", contribution->details[i].inside);
        add_ns(object, "difference_ns", contribution->details[i].difference_ns);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *contribution_to_json(const struct lull_why_shown *why,
                                                const struct lull_why_group *kind,
                                                const struct lull_contribution *contribution)
{
    struct json_object *object = json_object_new_object();
    g_autoptr(GString) sentence = g_string_new(NULL);
    lull_contribution_append(sentence, why, contribution, false);
    lull_json_add_text(object, "sentence", sentence->str);
    add_portion(object, why, contribution->portion);
    add_tid(object, "tid", contribution->tid);
    add_tid(object, "other_tid", contribution->other_tid);
    json_object_object_add(object, "lock", lock_to_json(why, contribution));
    json_object_object_add(object, "details", details_to_json(why, contribution));
    lull_json_add_text(object, "through", contribution->through);
    int32_t tid;
    g_autofree char *ancestors = lull_contribution_lineage(why, contribution, &tid);
    lull_json_add_text(object, "started_by", ancestors);
    lull_json_add_text(object, "command_line", lull_contribution_command(why, contribution));
    add_ns(object, "difference_ns", contribution->difference_ns);
    const double whole_ns = kind->comparison->difference_ns;
    json_object_object_add(
        object, "share",
        lull_decimal_json(whole_ns > 0 ? contribution->difference_ns / whole_ns : 0, 6));
    add_ns(object, "low_ns", contribution->low_ns);
    add_ns(object, "high_ns", contribution->high_ns);
    add_ns(object, "slow_ns", contribution->slow_ns);
    add_ns(object, "typical_ns", contribution->typical_ns);
    json_object_object_add(object, "outstanding",
                           json_object_new_int64(contribution->n_outstanding));
    int64_t waited_ns, idle_ns;
    const bool is_idle = lull_contribution_idle(why, contribution, &waited_ns, &idle_ns);
    json_object_object_add(object, "waited_ns", is_idle ? json_object_new_int64(waited_ns) : NULL);
    json_object_object_add(object, "idle_ns", is_idle ? json_object_new_int64(idle_ns) : NULL);
    const struct lull_instance *most = lull_why_instance(why, kind, contribution->most);
    json_object_object_add(object, "most", most ? json_object_new_int64(most->number) : NULL);
    return object;
}

static struct json_object *kills_to_json(const struct lull_why_shown *why,
                                         const struct lull_instance *instance)
{
    const struct lull_model *model = why->paths.model;
    struct json_object *array = json_object_new_array();
    uint32_t n;
    const struct lull_kill *kill =
        lull_model_kills(model, instance->start_ns, instance->end_ns, &n);
    for (uint32_t i = 0; i < n; i++, kill++) {
        const struct lull_task *task = lull_model_task(model, kill->task);
        struct json_object *object = json_object_new_object();
        add_host(object, why, task->host);
        json_object_object_add(object, "tid", json_object_new_int64(task->tid));
        lull_json_add_text(object, "comm", lull_model_comm(model, kill->task, kill->time_ns));
        json_object_object_add(object, "time_ns", json_object_new_int64(kill->time_ns));
        lull_json_add_text(object, "by", lull_kill_kind_name(kill->kind));
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *group_to_json(const struct lull_why_shown *why, const GArray *timed)
{
    struct json_object *array = json_object_new_array();
    for (guint i = timed->len; i-- > 0;) {
        const uint32_t position = g_array_index(timed, struct lull_timed, i).position;
        const struct lull_instance *instance =
            &g_array_index(why->paths.instances->list, struct lull_instance, position);
        const struct lull_task *task = lull_model_task(why->paths.model, instance->task);
        struct json_object *object = json_object_new_object();
        json_object_object_add(object, "number", json_object_new_int64(instance->number));
        json_object_object_add(object, "begin_ns", json_object_new_int64(instance->start_ns));
        json_object_object_add(object, "duration_ns",
                               json_object_new_int64(instance->end_ns - instance->start_ns));
        add_host(object, why, task->host);
        json_object_object_add(object, "tid", json_object_new_int64(task->tid));
        lull_json_add_text(object, "comm",
                           lull_model_comm(why->paths.model, instance->task, instance->end_ns));
        json_object_object_add(object, "captures",
                               instance->json ? json_tokener_parse(instance->json) : NULL);
        json_object_object_add(object, "kills", kills_to_json(why, instance));
        json_object_array_add(array, object);
    }
    return array;
}

static void add_comparison(struct json_object *object, const struct lull_why_shown *why,
                           const struct lull_why_group *kind)
{
    const struct lull_comparison *comparison = kind->comparison;
    struct json_object *array = json_object_new_array();
    add_ns(object, "slow_ns", comparison->slow_ns);
    add_ns(object, "typical_ns", comparison->typical_ns);
    add_ns(object, "difference_ns", comparison->difference_ns);
    add_ns(object, "less_ns", comparison->less_ns);
    add_ns(object, "unknown_ns", comparison->unknown_ns);
    json_object_object_add(object, "lost_events",
                           json_object_new_int64((int64_t)MIN(comparison->lost_events, INT64_MAX)));
    json_object_object_add(
        object, "lost_packets",
        json_object_new_int64((int64_t)MIN(comparison->lost_packets, INT64_MAX)));
    if (kind->info.verdict == LULL_WHY_EXPLAINED) {
        for (uint32_t i = 0; i < comparison->n_contributions; i++) {
            json_object_array_add(array,
                                  contribution_to_json(why, kind, &comparison->contributions[i]));
        }
    }
    json_object_object_add(object, "contributions", array);
}

static struct json_object *functions_to_json(const GArray *functions)
{
    struct json_object *array = json_object_new_array();
    for (guint i = 0; i < functions->len; i++) {
        const struct lull_why_function *function =
            &g_array_index(functions, struct lull_why_function, i);
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "function", function->name);
        lull_json_add_text(object, "kind", function->kind);
        lull_json_add_text(object, "state", lull_state_name(function->state));
        lull_json_add_text(object, "cause", lull_cause_name(function->cause));
        add_ns(object, "slow_ns", function->slow_ns);
        add_ns(object, "typical_ns", function->typical_ns);
        add_ns(object, "difference_ns", function->difference_ns);
        json_object_array_add(array, object);
    }
    return array;
}

static struct json_object *kind_to_json(const struct lull_why_shown *why, uint32_t number)
{
    const struct lull_why_group *kind =
        &g_array_index(why->why->groups, struct lull_why_group, number);
    struct json_object *object = json_object_new_object();
    lull_json_add_text(object, "kind", kind->info.name);
    lull_json_add_text(object, "verdict", lull_why_verdict_name(kind->info.verdict));
    json_object_object_add(object, "instances", json_object_new_int64(kind->info.n_instances));
    json_object_object_add(object, "slow", group_to_json(why, kind->chosen.slow));
    json_object_object_add(object, "typical", group_to_json(why, kind->chosen.typical));
    if (kind->comparison) {
        add_comparison(object, why, kind);
    }
    if (why->calls && kind->comparison) {
        json_object_object_add(object, "functions",
                               functions_to_json(lull_why_calls_of(why->calls, number)));
    }
    return object;
}

static void write_apart(struct lull_out *out, const struct lull_why_shown *why)
{
    const struct lull_session *session = why->paths.session;
    struct json_object *hosts = json_object_new_array();
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        if (!lull_instance_host_is_joined(&why->paths, host)) {
            json_object_array_add(hosts, lull_json_text(lull_session_host(session, host)->name));
        }
    }
    lull_out_json(out, hosts);
}

bool lull_view_why_json(const struct lull_why_shown *why, FILE *file, GError **error)
{
    struct lull_out out;
    lull_out_start(&out, file);
    lull_out_printf(&out,
                    "{\"version\":1,\"without_path\":%u,\"not_joined\":", why->why->n_without_path);
    write_apart(&out, why);
    lull_out_text(&out, ",\"kinds\":[");
    for (uint32_t i = 0; i < why->why->groups->len && !out.error; i++) {
        struct json_object *object = kind_to_json(why, i);
        lull_out_text(&out, i ? ",\n" : "\n");
        lull_out_json(&out, object);
    }
    lull_out_text(&out, "]}\n");
    return lull_out_end(&out, "JSON", error);
}
