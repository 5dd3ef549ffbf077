/* SPDX-License-Identifier: MIT */
/* Instances of a reading: which of them are meant, and their paths. */
#include "answers/instances.h"

#include <string.h>

#include <lull/why.h>

uint64_t lull_waits_refused(const struct lull_waits *waits)
{
    return waits->tracker ? lull_period_refused(waits->tracker) : 0;
}

/* Makes of those that were found what paths can be asked of; NULL stays NULL. */
static struct lull_instances *prepare(const struct lull_waits *waits, enum lull_path_kind kind,
                                      struct lull_instances *instances)
{
    if (instances) {
        instances->waits = waits;
        instances->kind = kind;
        instances->portions = lull_portions_new(waits->eg, waits->session, kind);
        instances->samples = g_new(uint32_t, MAX(instances->list->len, 1));
        for (uint32_t i = 0; i < instances->list->len; i++) {
            instances->samples[i] = LULL_NONE;
        }
    }
    return instances;
}

struct lull_instances *lull_waits_instances_of(const struct lull_waits *waits, uint32_t period,
                                               const char *const *group_by, GError **error)
{
    return prepare(waits, period == LULL_NO_PERIOD ? LULL_PATH_REQUEST : LULL_PATH_BOUNDED,
                   period == LULL_NO_PERIOD
                       ? lull_instances_of_requests(waits->requests, waits->session, waits->model)
                       : lull_instances_of_period(waits->periods, waits->tracker, waits->model,
                                                  period, group_by, error));
}

static struct lull_instances *of_period(const struct lull_waits *waits, const char *period,
                                        const char *const *group_by, GError **error)
{
    const uint32_t number = period ? lull_periods_find(waits->periods, period, strlen(period)) : 0;
    if (number >= lull_periods_count(waits->periods)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "there is no period named “%s”",
                    period ? period : "");
        return NULL;
    }
    return lull_waits_instances_of(waits, number, group_by, error);
}

struct lull_instances *lull_waits_instances(const struct lull_waits *waits, const char *period,
                                            const char *const *group_by, GError **error)
{
    g_return_val_if_fail(waits->periods || waits->requests, NULL);
    return waits->periods ? of_period(waits, period, group_by, error)
                          : lull_waits_instances_of(waits, LULL_NO_PERIOD, group_by, error);
}

uint32_t lull_instances_count(const struct lull_instances *instances)
{
    return instances->list->len;
}

const struct lull_instance *lull_instances_at(const struct lull_instances *instances,
                                              uint32_t index)
{
    g_return_val_if_fail(index < instances->list->len, NULL);
    return &g_array_index(instances->list, struct lull_instance, index);
}

const char *lull_instances_kind(const struct lull_instances *instances, uint32_t kind)
{
    g_return_val_if_fail(kind < instances->kinds->len, NULL);
    return g_array_index(instances->kinds, struct lull_instance_kind, kind).name;
}

/* ---- which of them ---- */

static bool has_port(const struct lull_instances *instances, const struct lull_instance *instance,
                     int64_t port)
{
    const struct lull_waits *waits = instances->waits;
    return port < 0 || waits->periods ||
           lull_waits_request(waits, instance->number - 1)->port == port;
}

static bool is_selected(const struct lull_instances *instances, const struct lull_selection *wanted,
                        const struct lull_instance *instance)
{
    const struct lull_model *model = instances->waits->model;
    if (instance->start_ns < wanted->start_ns || instance->end_ns > wanted->end_ns ||
        !has_port(instances, instance, wanted->port)) {
        return false;
    }
    if (instance->task == LULL_NONE) {
        return wanted->host < 0 && lull_selection_has_ids(wanted, -1, -1) && !wanted->comm &&
               !wanted->container;
    }
    const struct lull_task *task = lull_model_task(model, instance->task);
    return (wanted->host < 0 || (uint32_t)wanted->host == task->host) &&
           lull_selection_has_ids(wanted, task->tid, task->pid) &&
           (!wanted->container ||
            lull_container_matches(wanted->container,
                                   lull_model_container(model, instance->task))) &&
           (!wanted->comm || lull_comm_matches(wanted->comm, lull_model_comm(model, instance->task,
                                                                             instance->end_ns)));
}

static gint slowest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_instance *x = *(const struct lull_instance *const *)a;
    const struct lull_instance *y = *(const struct lull_instance *const *)b;
    const int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;
    if (x_ns != y_ns) {
        return x_ns < y_ns ? 1 : -1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

GPtrArray *lull_instances_select(const struct lull_instances *instances,
                                 const struct lull_selection *selection, int64_t slowest)
{
    const struct lull_selection wanted = lull_selection_of(selection);
    GPtrArray *selected = g_ptr_array_new();
    for (uint32_t i = 0; i < instances->list->len; i++) {
        const struct lull_instance *instance = lull_instances_at(instances, i);
        if (is_selected(instances, &wanted, instance) &&
            (slowest < 0 || lull_instance_has_path(instance))) {
            g_ptr_array_add(selected, (gpointer)instance);
        }
    }
    if (slowest >= 0) {
        g_ptr_array_sort(selected, slowest_first);
        g_ptr_array_set_size(selected, (gint)MIN(selected->len, slowest));
    }
    return selected;
}

/* ---- their paths ---- */

struct lull_path *lull_instances_path(const struct lull_instances *instances,
                                      const struct lull_instance *instance, GError **error)
{
    const struct lull_waits *waits = instances->waits;
    if (lull_instance_has_path(instance)) {
        return lull_execgraph_path(waits->eg, waits->session, waits->sync, instance->task,
                                   instance->start_ns, instance->end_ns, instances->kind);
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "instance %u has no path: %s",
                instance->number,
                !instance->is_complete        ? "it did not end in the recording"
                : instance->task == LULL_NONE ? "the task that did it is not known"
                                              : "it took no time");
    return NULL;
}

uint32_t lull_instances_sample(struct lull_instances *instances,
                               const struct lull_instance *instance)
{
    uint32_t *sample = &instances->samples[instance->number - 1];
    if (*sample == LULL_NONE && lull_instance_has_path(instance)) {
        *sample = lull_portions_add(instances->portions, instance->task, instance->start_ns,
                                    instance->end_ns);
    }
    return *sample;
}

GPtrArray *lull_instances_sum(struct lull_instances *instances, const GPtrArray *chosen)
{
    GPtrArray *out = g_ptr_array_new_with_free_func(g_free);
    g_autofree uint32_t *samples = g_new(uint32_t, MAX(chosen->len, 1));
    uint32_t count = 0;
    for (guint i = 0; i < chosen->len; i++) {
        samples[count] = lull_instances_sample(instances, chosen->pdata[i]);
        count += samples[count] != LULL_NONE;
    }
    g_autoptr(GArray) sums = lull_portions_sum(instances->portions, samples, count);
    for (guint i = 0; i < sums->len; i++) {
        g_ptr_array_add(out, g_memdup2(&g_array_index(sums, struct lull_portion_sum, i),
                                       sizeof(struct lull_portion_sum)));
    }
    return out;
}
