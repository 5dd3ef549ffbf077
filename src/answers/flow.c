/* SPDX-License-Identifier: MIT */
/* Tasks are numbered in the order in which the path comes to them, and have the name that they have
 * on it last. */
#include "answers/flow.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "graph/path.h"

static void append_text(GString *out, const char *text)
{
    lull_json_append(out, text ? text : "", text ? strlen(text) : 0);
}

static const char *host_name(const struct lull_path *path, uint32_t host)
{
    return host < path->n_hosts && path->host_names ? path->host_names[host] : NULL;
}

static void append_task(GString *out, const struct lull_path *path,
                        const struct lull_flow_options *options, const struct lull_segment *segment)
{
    const uint32_t row =
        options->rows && segment->task != LULL_NONE ? options->rows[segment->task] : LULL_NONE;
    g_string_append(out, out->str[out->len - 1] == '[' ? "[" : ",[");
    append_text(out, host_name(path, segment->host));
    g_string_append_c(out, ',');
    append_text(out, segment->comm);
    g_string_append_printf(out, ",%d,%" PRId64 "]", segment->tid,
                           row == LULL_NONE ? INT64_C(-1) : (int64_t)row);
}

static void append_segment(GString *out, const struct lull_segment *segment, uint32_t task,
                           int64_t origin_ns)
{
    g_string_append_printf(out, "%s[%u,%" PRId64 ",%" PRId64 ",",
                           out->str[out->len - 1] == '[' ? "" : ",", task,
                           segment->start_ns - origin_ns, segment->end_ns - origin_ns);
    append_text(out, lull_state_name(segment->state));
    g_string_append_c(out, ',');
    append_text(out, lull_cause_name(segment->cause));
    g_string_append_c(out, ',');
    append_text(out, segment->detail);
    g_string_append_c(out, ']');
}

/* Of segments without a task, interrupts say by their tid which they are. */
static uint64_t key_of(const struct lull_segment *segment)
{
    const uint64_t host = (uint64_t)segment->host << 32;
    return segment->task != LULL_NONE ? host | segment->task
                                      : UINT64_C(1) << 63 | host | (uint32_t)segment->tid;
}

void lull_flow_append(GString *out, const struct lull_path *path,
                      const struct lull_flow_options *options)
{
    const uint32_t n = options->most ? MIN(path->n_segments, options->most) : path->n_segments;
    g_autoptr(GString) segments = g_string_new("[");
    LULL_VEC(const struct lull_segment *) tasks = {0}; /* the last of each */
    struct lull_map numbers = {0};
    g_string_append_printf(out, "{\"origin\":\"%" PRId64 "\",\"host\":", options->origin_ns);
    append_text(out, host_name(path, path->host));
    g_string_append(out, ",\"name\":");
    append_text(out, path->comm);
    g_string_append_printf(out,
                           ",\"tid\":%d,\"start\":%" PRId64 ",\"end\":%" PRId64 ",\"lost\":%" PRIu64
                           ",\"cut\":%s,\"tasks\":[",
                           path->tid, path->start_ns - options->origin_ns,
                           path->end_ns - options->origin_ns, path->lost_events,
                           n < path->n_segments ? "true" : "false");
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_segment *segment = &path->segments[i];
        uint32_t task = lull_map_find(&numbers, key_of(segment));
        if (task == LULL_MAP_NONE) {
            task = (uint32_t)tasks.count;
            lull_map_insert(&numbers, key_of(segment), task);
            lull_vec_push(&tasks, segment);
        }
        tasks.items[task] = segment;
        append_segment(segments, segment, task, options->origin_ns);
    }
    for (size_t i = 0; i < tasks.count; i++) {
        append_task(out, path, options, tasks.items[i]);
    }
    g_string_append(out, "],\"segments\":");
    g_string_append_len(out, segments->str, (gssize)segments->len);
    g_string_append(out, "]}");
    lull_map_free(&numbers);
    lull_vec_free(&tasks);
}
