/* SPDX-License-Identifier: MIT */
/* A critical path as JSON: the contract of `lull critpath --json`, version 1. Segments are written
 * one by one, so the memory needed does not grow with the path. */
#include "view/view.h"

#include "view/out.h"
#include "view/path/calls.h"
#include "view/path/counts.h"
#include "view/quota.h"
#include "view/words.h"

static void add_known(struct json_object *object, const char *key, int64_t number, bool is_known)
{
    json_object_object_add(object, key, is_known ? json_object_new_int64(number) : NULL);
}

static void add_duration(struct json_object *object, int64_t duration_ns,
                         const struct lull_path *path)
{
    lull_json_add_number(object, "duration_ns", duration_ns);
    json_object_object_add(
        object, "share",
        lull_decimal_json(lull_share(duration_ns, path->end_ns - path->start_ns), 6));
}

static void add_host(struct json_object *object, const struct lull_path *path, uint32_t host)
{
    lull_json_add_text(object, "host", lull_path_host_name(path, host));
}

/* Writes the object as the next element of an array, and frees it. */
static void write_element(struct lull_out *out, uint32_t index, struct json_object *object)
{
    lull_out_text(out, index ? ",\n" : "\n");
    lull_out_json(out, object);
}

static void write_query(struct lull_out *out, const struct lull_path *path)
{
    struct json_object *object = json_object_new_object();

    add_host(object, path, path->host);
    lull_json_add_number(object, "tid", path->tid);
    lull_json_add_text(object, "comm", path->comm);
    lull_json_add_number(object, "begin_ns", path->start_ns);
    lull_json_add_number(object, "end_ns", path->end_ns);
    lull_json_add_number(object, "asked_begin_ns", path->asked_start_ns);
    lull_json_add_number(object, "asked_end_ns", path->asked_end_ns);
    lull_json_add_text(object, "started_by", path->started_by);
    json_object_object_add(object, "command", lull_json_texts(path->command));
    lull_json_add_text(object, "command_line", path->command_line);
    lull_out_text(out, "{\"version\":1,\n\"query\":");
    lull_out_json(out, object);
}

/* Addresses are texts: as numbers they are too large for some programs that read JSON. */
static void add_frames(struct json_object *object, const struct lull_segment *segment)
{
    struct json_object *frames = json_object_new_array();

    for (uint32_t i = 0; i < segment->n_frames; i++) {
        const struct lull_frame *frame = &segment->frames[i];
        struct json_object *element = json_object_new_object();
        char offset[24];
        g_snprintf(offset, sizeof offset, "0x%" G_GINT64_MODIFIER "x", frame->offset);
        lull_json_add_text(element, "object", frame->object);
        lull_json_add_text(element, frame->object ? "offset" : "address", offset);
        if (frame->symbol) {
            g_snprintf(offset, sizeof offset, "0x%" G_GINT64_MODIFIER "x", frame->symbol_offset);
            lull_json_add_text(element, "symbol", frame->symbol);
            lull_json_add_text(element, "symbol_offset", offset);
        }
        json_object_array_add(frames, element);
    }
    json_object_object_add(object, "stack", frames);
}

static void add_reason(struct json_object *object, const struct lull_reason *reason)
{
    struct json_object *element = NULL;
    char address[24];
    if (reason->call || reason->kind) {
        element = json_object_new_object();
        lull_json_add_text(element, "kind", reason->kind);
        lull_json_add_text(element, "call", reason->call);
        lull_json_add_text(element, "object", reason->object);
        add_known(element, "fd", reason->fd, reason->fd >= 0);
        g_snprintf(address, sizeof address, "0x%" G_GINT64_MODIFIER "x", reason->address);
        lull_json_add_text(element, "address", reason->address ? address : NULL);
        json_object_object_add(element, "timed_out", json_object_new_boolean(reason->timed_out));
    }
    json_object_object_add(object, "reason", element);
}

static void add_tcp_wait(struct json_object *object, const struct lull_tcp_wait *wait)
{
    if (wait->kind) {
        struct json_object *element = json_object_new_object();
        lull_json_add_text(element, "kind", wait->kind);
        lull_json_add_number(element, "first_ns", wait->first_ns);
        lull_json_add_number(element, "last_ns", wait->last_ns);
        lull_json_add_number(element, "times", wait->times);
        json_object_object_add(element, "nagle", json_object_new_boolean(wait->is_nagle));
        json_object_object_add(object, "tcp", element);
    }
}

/* The other task that the evidence names: the waker, the sender, who had the CPU. */
static void add_other(struct json_object *object, uint32_t task, int32_t tid, const char *comm,
                      const char *call)
{
    struct json_object *element = NULL;
    if (task != LULL_NONE) {
        element = json_object_new_object();
        lull_json_add_number(element, "tid", tid);
        lull_json_add_text(element, "comm", comm);
        lull_json_add_text(element, "call", call);
    }
    json_object_object_add(object, "by", element);
}

static struct json_object *wait_to_json(const struct lull_path *path, const struct lull_wait *wait)
{
    struct json_object *object = json_object_new_object();

    add_known(object, "within", wait->within, wait->within != LULL_NONE);
    add_host(object, path, wait->host);
    lull_json_add_number(object, "tid", wait->tid);
    lull_json_add_text(object, "comm", wait->comm);
    lull_json_add_number(object, "begin_ns", wait->start_ns);
    lull_json_add_number(object, "end_ns", wait->end_ns);
    lull_json_add_text(object, "detail", wait->detail);
    json_object_object_add(object, "is_shared", json_object_new_boolean(wait->is_shared));
    add_other(object, wait->other_task, wait->other_tid, wait->other_comm, wait->reason.release);
    add_reason(object, &wait->reason);
    return object;
}

static struct json_object *segment_to_json(const struct lull_path *path,
                                           const struct lull_path_counts *counts, uint32_t index)
{
    const struct lull_segment *segment = &path->segments[index];
    struct json_object *object = json_object_new_object();

    add_host(object, path, segment->host);
    lull_json_add_number(object, "tid", segment->tid);
    add_known(object, "pid", segment->pid, segment->pid >= 0);
    lull_json_add_text(object, "comm", segment->comm);
    lull_json_add_number(object, "begin_ns", segment->start_ns);
    lull_json_add_number(object, "end_ns", segment->end_ns);
    lull_json_add_text(object, "state", lull_state_name(segment->state));
    lull_json_add_text(object, "cause", lull_cause_name(segment->cause));
    add_known(object, "cpu", segment->cpu, segment->cpu >= 0);
    lull_json_add_text(object, "detail", segment->detail);
    lull_json_add_text(object, "object", segment->object);
    lull_json_add_text(object, "operation", segment->operation);
    add_other(object, segment->other_task, segment->other_tid, segment->other_comm,
              segment->reason.release);
    add_reason(object, &segment->reason);
    add_known(object, "wait", segment->wait, segment->wait != LULL_NONE);
    add_tcp_wait(object, &segment->tcp);
    if (segment->mostly) {
        lull_json_add_text(object, "mostly", segment->mostly);
        lull_json_add_number(object, "mostly_ns", segment->mostly_ns);
    }
    if (segment->n_frames > 0) {
        add_frames(object, segment);
    }
    if (counts) {
        path_counts_add(object, counts, &counts->by_segment[index]);
    }
    return object;
}

static void write_summary(struct lull_out *out, const struct lull_path *path,
                          const struct lull_view_style *style)
{
    const struct lull_path_calls *calls = style->calls;
    const struct lull_path_counts *counts = style->counts;
    lull_out_text(out, "],\n\"summary\":{\"by_state\":[");
    for (uint32_t i = 0; i < path->n_by_state; i++) {
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "state", lull_state_name(path->by_state[i].state));
        lull_json_add_text(object, "cause", lull_cause_name(path->by_state[i].cause));
        add_duration(object, path->by_state[i].duration_ns, path);
        if (counts) {
            path_counts_add(object, counts, &counts->by_state[i]);
        }
        write_element(out, i, object);
    }
    lull_out_text(out, "],\n\"by_mode\":[");
    for (uint32_t i = 0; i < path->n_by_mode; i++) {
        struct json_object *object = json_object_new_object();
        lull_json_add_text(object, "mode", lull_mode_name(path->by_mode[i].mode));
        add_duration(object, path->by_mode[i].duration_ns, path);
        write_element(out, i, object);
    }
    lull_out_text(out, "],\n\"by_cause\":[");
    for (uint32_t i = 0; i < path->n_by_cause; i++) {
        const struct lull_cause_share *share = &path->by_cause[i];
        struct json_object *object = json_object_new_object();
        add_host(object, path, share->host);
        lull_json_add_text(object, "program", share->program);
        lull_json_add_text(object, "state", lull_state_name(share->state));
        lull_json_add_text(object, "cause", lull_cause_name(share->cause));
        lull_json_add_text(object, "detail", share->detail);
        lull_json_add_text(object, "mode", lull_mode_name(share->mode));
        add_duration(object, share->duration_ns, path);
        lull_json_add_number(object, "count", share->count);
        lull_json_add_number(object, "longest_ns", share->longest_ns);
        lull_json_add_text(object, "waiter", share->waiter);
        lull_json_add_text(object, "waiter_kind", share->waiter_kind);
        lull_json_add_text(object, "waiter_call", share->waiter_call);
        lull_json_add_text(object, "waiter_object", share->waiter_object);
        lull_json_add_text(object, "object", share->object);
        lull_json_add_number(object, "object_ns", share->object_ns);
        write_element(out, i, object);
    }
    lull_out_text(out, "],\n\"by_task\":[");
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        struct json_object *object = json_object_new_object();
        add_host(object, path, path->by_task[i].host);
        lull_json_add_number(object, "tid", path->by_task[i].tid);
        lull_json_add_text(object, "comm", path->by_task[i].comm);
        lull_json_add_text(object, "started_by", path->by_task[i].started_by);
        lull_json_add_text(object, "container", path->by_task[i].container);
        lull_json_add_text(object, "command_line", path->by_task[i].command_line);
        add_duration(object, path->by_task[i].duration_ns, path);
        if (counts) {
            path_counts_add(object, counts, &counts->by_task[i]);
        }
        write_element(out, i, object);
    }
    lull_out_text(out, "],\n\"by_host\":[");
    for (uint32_t i = 0; i < path->n_by_host; i++) {
        struct json_object *object = json_object_new_object();
        add_host(object, path, path->by_host[i].host);
        add_duration(object, path->by_host[i].duration_ns, path);
        write_element(out, i, object);
    }
    lull_out_text(out, "],\n\"by_container\":[");
    for (uint32_t i = 0; i < path->n_by_container; i++) {
        struct json_object *object = json_object_new_object();
        add_host(object, path, path->by_container[i].host);
        lull_json_add_text(object, "name", path->by_container[i].name);
        add_duration(object, path->by_container[i].duration_ns, path);
        write_element(out, i, object);
    }
    if (calls) {
        path_calls_write_shares(out, path, calls);
    }
}

static void write_sync(struct lull_out *out, const struct lull_path *path)
{
    lull_out_text(out, "]},\n\"sync\":[");
    for (uint32_t i = 0; i < path->n_hosts && path->sync; i++) {
        const struct lull_host_clock *sync = &path->sync[i];
        bool is_joined = sync->is_joined || sync->is_reference;
        struct json_object *object = json_object_new_object();
        add_host(object, path, sync->host);
        lull_json_add_number(object, "offset_ns", is_joined ? sync->offset_ns : 0);
        json_object_object_add(object, "drift_ppm",
                               lull_decimal_json(is_joined ? sync->drift_ppm : 0, 6));
        add_known(object, "bound_ns", sync->bound_ns, is_joined && sync->bound_ns >= 0);
        write_element(out, i, object);
    }
}

/* What the path ends with, if that has not ended: who waits, and who holds what it waits for. */
static void write_open_waits(struct lull_out *out, const struct lull_path *path)
{
    lull_out_printf(out, "],\n\"deadlock\":%s,\n\"open_waits\":[",
                    path->is_deadlock ? "true" : "false");
    for (uint32_t i = 0; i < path->n_open_waits; i++) {
        const struct lull_open_wait *wait = &path->open_waits[i];
        struct json_object *object = json_object_new_object();
        add_host(object, path, wait->host);
        lull_json_add_number(object, "tid", wait->tid);
        lull_json_add_text(object, "comm", wait->comm);
        lull_json_add_number(object, "begin_ns", wait->start_ns);
        lull_json_add_number(object, "end_ns", wait->end_ns);
        json_object_object_add(object, "older", json_object_new_boolean(wait->is_older));
        lull_json_add_text(object, "call", wait->call);
        lull_json_add_text(object, "object", wait->object);
        lull_json_add_text(object, "refused", wait->refused);
        add_known(object, "holder_tid", wait->holder_tid, wait->holder_comm != NULL);
        lull_json_add_text(object, "holder_comm", wait->holder_comm);
        lull_json_add_text(object, "holder_is", wait->role ? wait->role->name : NULL);
        write_element(out, i, object);
    }
}

static void write_kills(struct lull_out *out, const struct lull_path *path)
{
    lull_out_text(out, "],\n\"kills\":[");
    for (uint32_t i = 0; i < path->n_kills; i++) {
        const struct lull_path_kill *kill = &path->kills[i];
        struct json_object *object = json_object_new_object();
        add_host(object, path, kill->host);
        lull_json_add_number(object, "tid", kill->tid);
        lull_json_add_text(object, "comm", kill->comm);
        lull_json_add_number(object, "time_ns", kill->time_ns);
        lull_json_add_text(object, "by", kill->kind);
        lull_json_add_text(object, "limit", kill->limit);
        add_known(object, "resident_bytes", kill->resident_bytes, kill->resident_bytes >= 0);
        add_known(object, "asker_tid", kill->asker_tid, kill->asker_comm != NULL);
        lull_json_add_text(object, "asker_comm", kill->asker_comm);
        write_element(out, i, object);
    }
}

static void write_idle(struct lull_out *out, const struct lull_path *path)
{
    lull_out_text(out, "],\n\"idle_elsewhere\":[");
    for (uint32_t i = 0; i < path->n_idle; i++) {
        const struct lull_path_idle *task = &path->idle[i];
        struct json_object *object = json_object_new_object();
        add_host(object, path, task->host);
        lull_json_add_number(object, "tid", task->tid);
        lull_json_add_text(object, "comm", task->comm);
        add_known(object, "cpu", task->cpu, task->cpu >= 0);
        lull_json_add_number(object, "waited_ns", task->waited_ns);
        lull_json_add_number(object, "idle_ns", task->idle_ns);
        write_element(out, i, object);
    }
}

bool lull_view_path_json(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error)
{
    struct lull_out out;

    lull_out_start(&out, file);
    write_query(&out, path);
    lull_out_text(&out, ",\n\"segments\":[");
    for (uint32_t i = 0; i < path->n_segments && !out.error; i++) {
        write_element(&out, i, segment_to_json(path, style->counts, i));
    }
    lull_out_text(&out, "],\n\"waits\":[");
    for (uint32_t i = 0; i < path->n_waits && !out.error; i++) {
        write_element(&out, i, wait_to_json(path, &path->waits[i]));
    }
    write_summary(&out, path, style);
    write_sync(&out, path);
    write_open_waits(&out, path);
    write_kills(&out, path);
    write_idle(&out, path);
    lull_out_text(&out, "],\n\"cpu_quotas\":[");
    for (uint32_t i = 0; i < path->n_quotas; i++) {
        write_element(&out, i, lull_quota_json(path->quotas[i]));
    }
    if (style->calls) {
        path_calls_write_parts(&out, style->calls);
    } else {
        lull_out_text(&out, "]");
    }
    lull_out_printf(
        &out, ",\n\"lost\":{\"events\":%" G_GUINT64_FORMAT ",\"packets\":%" G_GUINT64_FORMAT "}}\n",
        path->lost_events, path->lost_packets);
    return lull_out_end(&out, "JSON", error);
}
