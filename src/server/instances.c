/* SPDX-License-Identifier: MIT */
/* Instances of the periods of --period, and their critical paths, for the page. A period is called by its
 * name or, if it has none, by its text. */
#include "server/view.h"

#include <inttypes.h>
#include <string.h>

#include "answers/instances.h"
#include "base/json.h"
#include "server/paths.h"

enum { INSTANCES_MOST = 10000 };

const char *server_period_name(const struct served *served, uint32_t number)
{
    const struct lull_period *period = lull_periods_at(served->about->periods, number);
    return *period->path ? period->path : period->text;
}

void server_periods(const struct served *served, GString *out)
{
    const struct lull_periods *periods = served->about->periods;
    g_string_append(out, "{\"periods\":[");
    for (uint32_t i = 0; periods && i < lull_periods_count(periods); i++) {
        g_string_append(out, i ? "," : "");
        lull_json_append(out, server_period_name(served, i), strlen(server_period_name(served, i)));
    }
    g_string_append(out, "]}");
}

/* To be freed with lull_instances_free(). */
static struct lull_instances *instances_of(const struct served *served,
                                           const struct server_reading *reading, const char *name,
                                           GError **error)
{
    const struct lull_periods *periods = served->about->periods;
    for (uint32_t i = 0; periods && i < lull_periods_count(periods); i++) {
        if (strcmp(server_period_name(served, i), name) == 0) {
            return reading->why_no_periods
                       ? (g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                                              reading->why_no_periods),
                          NULL)
                       : lull_waits_instances_of(reading->waits, i, NULL, error);
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "there is no period “%s”; lull view --period makes one", name);
    return NULL;
}

static void append_instance(const struct served *served, const struct server_reading *reading,
                            const struct lull_instance *instance, GString *out)
{
    const struct lull_task *task = lull_waits_task(reading->waits, instance->task);
    const char *comm = lull_waits_comm(reading->waits, instance->task, instance->end_ns);
    const uint32_t row = reading->rows[instance->task];
    g_string_append_printf(out, "%s[%u,%u,%d,", out->str[out->len - 1] == '[' ? "" : ",",
                           instance->number, task->host, task->tid);
    lull_json_append(out, comm, strlen(comm));
    g_string_append_printf(
        out, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", instance->start_ns - served->start_ns,
        instance->end_ns - served->start_ns, row == LULL_NONE ? INT64_C(-1) : (int64_t)row);
    const char *captures = instance->captures ? instance->captures : "";
    lull_json_append(out, captures, strlen(captures));
    g_string_append_c(out, ']');
}

bool server_instances(const struct served *served, const char *period, GString *out, GError **error)
{
    const struct lull_selection all = LULL_SELECT_ALL;
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    struct lull_instances *instances =
        reading ? instances_of(served, reading, period, error) : NULL;
    if (instances) {
        g_autoptr(GPtrArray) found = lull_instances_select(instances, &all, INSTANCES_MOST);
        g_string_append_printf(out, "{\"count\":%u,\"instances\":[",
                               lull_instances_count(instances));
        for (guint i = 0; i < found->len; i++) {
            append_instance(served, reading, found->pdata[i], out);
        }
        g_string_append(out, "]}");
    }
    lull_instances_free(instances);
    server_paths_unlock(served->about->paths);
    return instances != NULL;
}

static struct lull_path *path_of(const struct lull_instances *instances, int64_t number,
                                 GError **error)
{
    if (number < 1 || number > lull_instances_count(instances)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                    "there is no instance %" PRId64 " of the period: there are %u", number,
                    lull_instances_count(instances));
        return NULL;
    }
    return lull_instances_path(instances, lull_instances_at(instances, (uint32_t)number - 1),
                               error);
}

bool server_flow_of_instance(const struct served *served, const char *period, int64_t number,
                             GString *out, GError **error)
{
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    struct lull_instances *instances =
        reading ? instances_of(served, reading, period, error) : NULL;
    struct lull_path *path = instances ? path_of(instances, number, error) : NULL;
    if (path) {
        server_flow_append(served, reading, path, out);
    }
    lull_path_free(path);
    lull_instances_free(instances);
    server_paths_unlock(served->about->paths);
    return path != NULL;
}
