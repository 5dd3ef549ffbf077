/* SPDX-License-Identifier: MIT */
/* Critical paths for the page: tasks of the reading are found by the rows that show them, and the
 * other way round. */
#include "server/view.h"

#include <inttypes.h>
#include <string.h>

#include <lull/requests.h>

#include "answers/flow.h"
#include "base/json.h"
#include "server/paths.h"

enum { SEGMENTS_MOST = 50000, REQUESTS_MOST = 10000 };

static bool find_task(const struct server_reading *reading, uint32_t row, uint32_t *task,
                      GError **error)
{
    for (uint32_t i = 0; i < reading->n_tasks; i++) {
        if (reading->rows[i] == row) {
            *task = i;
            return true;
        }
    }
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "only tasks have a critical path; select one of their rows");
    return false;
}

void server_flow_append(const struct served *served, const struct server_reading *reading,
                        const struct lull_path *path, GString *out)
{
    const struct lull_flow_options options = {
        .origin_ns = served->start_ns, .rows = reading->rows, .most = SEGMENTS_MOST};
    lull_flow_append(out, path, &options);
}

static struct lull_path *path_of_row(const struct server_reading *reading, uint32_t row,
                                     int64_t start_ns, int64_t end_ns, GError **error)
{
    uint32_t task;
    return find_task(reading, row, &task, error)
               ? lull_waits_task_path(reading->waits, task, start_ns, end_ns, LULL_PATH_BOUNDED,
                                      error)
               : NULL;
}

bool server_flow(const struct served *served, uint32_t row, int64_t start_ns, int64_t end_ns,
                 GString *out, GError **error)
{
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    struct lull_path *path = reading ? path_of_row(reading, row, start_ns, end_ns, error) : NULL;
    if (path) {
        server_flow_append(served, reading, path, out);
    }
    lull_path_free(path);
    server_paths_unlock(served->about->paths);
    return path != NULL;
}

bool server_flow_of_request(const struct served *served, int64_t id, GString *out, GError **error)
{
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    struct lull_path *path =
        reading ? lull_waits_request_path(reading->waits, id, LULL_PATH_BOUNDED, error) : NULL;
    if (path) {
        server_flow_append(served, reading, path, out);
    }
    lull_path_free(path);
    server_paths_unlock(served->about->paths);
    return path != NULL;
}

/* From the end of the path of a wait backwards: the first segment that a row shows, and that is not
 * of who waited. */
static bool find_other(const struct server_reading *reading, const struct lull_path *path,
                       uint32_t waiter, uint32_t *row, int64_t *time_ns)
{
    for (uint32_t i = lull_path_segment_count(path); i > 0; i--) {
        const struct lull_segment *segment = lull_path_segment(path, i - 1);
        const uint32_t at =
            segment->task < reading->n_tasks ? reading->rows[segment->task] : LULL_NONE;
        if (at != LULL_NONE && at != waiter) {
            *row = at;
            *time_ns = segment->end_ns - 1;
            return true;
        }
    }
    return false;
}

bool server_flow_cause(const struct served *served, const struct server_moment *wait, uint32_t *row,
                       int64_t *time_ns, GError **error)
{
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    struct lull_path *path =
        reading ? path_of_row(reading, wait->row, wait->at.start_ns, wait->at.end_ns, error) : NULL;
    const bool is_found = path && find_other(reading, path, wait->row, row, time_ns);
    if (path && !is_found) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_QUESTION,
                            "no other task had a part in this wait, as far as the trace shows");
    }
    lull_path_free(path);
    server_paths_unlock(served->about->paths);
    return is_found;
}

static void append_request(const struct served *served, const struct server_reading *reading,
                           const struct lull_request *request, GString *out)
{
    const uint32_t row =
        request->task < reading->n_tasks ? reading->rows[request->task] : LULL_NONE;
    g_string_append_printf(out, "%s[%u,%u,%d,", out->str[out->len - 1] == '[' ? "" : ",",
                           request->id, request->host, request->tid);
    lull_json_append(out, request->comm, strlen(request->comm));
    g_string_append_c(out, ',');
    lull_json_append(out, request->peer, strlen(request->peer));
    g_string_append_printf(
        out, ",%u,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 "]",
        request->port, request->start_ns - served->start_ns, request->end_ns - served->start_ns,
        request->blocked_ns, request->bytes_sent, request->bytes_received,
        row == LULL_NONE ? INT64_C(-1) : (int64_t)row);
}

bool server_requests(const struct served *served, GString *out, GError **error)
{
    const struct lull_selection all = LULL_SELECT_ALL;
    const struct server_reading *reading = server_paths_lock(served->about->paths, error);
    if (reading) {
        GPtrArray *found = lull_waits_select_requests(reading->waits, &all, REQUESTS_MOST);
        g_string_append_printf(out, "{\"count\":%u,\"requests\":[",
                               lull_waits_request_count(reading->waits));
        for (guint i = 0; i < found->len; i++) {
            append_request(served, reading, g_ptr_array_index(found, i), out);
        }
        g_string_append(out, "]}");
        g_ptr_array_unref(found);
    }
    server_paths_unlock(served->about->paths);
    return reading != NULL;
}
