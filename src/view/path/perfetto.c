/* SPDX-License-Identifier: MIT */
/* A critical path in Chrome's JSON trace event format: complete events ("X") on a thread per task,
 * flow events ("s", "f") for the jumps. Times are relative to the start of the path: microseconds
 * since the epoch with three decimals do not fit the doubles that viewers read them into. */
#include "view/view.h"

#include <lull/version.h>

#include <json-c/json.h>

#include "base/map.h"
#include "view/out.h"
#include "view/words.h"

/* Perfetto identifies a thread by its number alone when it names it, so numbers are unique in the
 * whole file: the tid where it is free, else one from here on. */
#define FIRST_MADE_UP_TID 1000000000

struct writer {
    struct lull_out out;
    const struct lull_path *path;
    GHashTable *threads; /* (host, task) -> thread number */
    GHashTable *taken;   /* thread numbers */
    int next_made_up;
    uint32_t n_events;
};

static void write_event(struct writer *writer, struct json_object *event)
{
    lull_out_text(&writer->out, writer->n_events++ ? ",\n" : "\n");
    lull_out_json(&writer->out, event);
}

/* Nanoseconds as microseconds with three decimals, in exact digits. */
static void add_time(struct json_object *object, const char *key, int64_t ns)
{
    char text[48];
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

    g_snprintf(text, sizeof text, "%s%" G_GUINT64_FORMAT ".%03u", ns < 0 ? "-" : "", size / 1000,
               (unsigned)(size % 1000));
    json_object_object_add(object, key, json_object_new_double_s((double)ns / 1000.0, text));
}

static void write_name(struct writer *writer, const char *what, int pid, int tid, const char *name)
{
    struct json_object *event = json_object_new_object();
    struct json_object *args = json_object_new_object();

    json_object_object_add(event, "ph", json_object_new_string("M"));
    json_object_object_add(event, "name", json_object_new_string(what));
    lull_json_add_number(event, "pid", pid);
    lull_json_add_number(event, "tid", tid);
    lull_json_add_text(args, "name", name);
    json_object_object_add(event, "args", args);
    write_event(writer, event);
}

static int process_of(const struct lull_segment *segment)
{
    return (int)MIN(segment->host, G_MAXINT - 1) + 1;
}

static gint64 task_key(const struct lull_segment *segment)
{
    return (gint64)((uint64_t)segment->host << 32 | segment->task);
}

static int thread_of(struct writer *writer, const struct lull_segment *segment)
{
    gint64 key = task_key(segment);
    return GPOINTER_TO_INT(g_hash_table_lookup(writer->threads, &key));
}

static int pick_thread(struct writer *writer, int32_t tid)
{
    /* A thread whose number is its process's would be taken for the main thread, and name the
     * process. */
    if (tid > 0 && tid < FIRST_MADE_UP_TID && (uint32_t)tid > writer->path->n_hosts &&
        !g_hash_table_contains(writer->taken, GINT_TO_POINTER(tid))) {
        return tid;
    }
    return writer->next_made_up++;
}

static void write_names(struct writer *writer)
{
    const struct lull_path *path = writer->path;
    GHashTable *hosts = g_hash_table_new(NULL, NULL);

    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        gint64 key = task_key(segment);
        int pid = process_of(segment);
        if (g_hash_table_add(hosts, GINT_TO_POINTER(pid))) {
            write_name(writer, "process_name", pid, pid, lull_path_host_name(path, segment->host));
        }
        if (g_hash_table_contains(writer->threads, &key)) {
            continue;
        }
        int thread = pick_thread(writer, segment->tid);
        g_hash_table_add(writer->taken, GINT_TO_POINTER(thread));
        g_hash_table_insert(writer->threads, g_memdup2(&key, sizeof key), GINT_TO_POINTER(thread));
        GString *name = g_string_new(NULL);
        lull_task_append(name, segment->comm, segment->tid, false);
        write_name(writer, "thread_name", pid, thread, name->str);
        g_string_free(name, TRUE);
    }
    g_hash_table_unref(hosts);
}

/* What all events have in common. */
static struct json_object *new_event(struct writer *writer, const char *phase, const char *name,
                                     const char *category, const struct lull_segment *segment,
                                     int64_t time_ns)
{
    struct json_object *event = json_object_new_object();

    json_object_object_add(event, "ph", json_object_new_string(phase));
    json_object_object_add(event, "name", json_object_new_string(name));
    json_object_object_add(event, "cat", json_object_new_string(category));
    lull_json_add_number(event, "pid", process_of(segment));
    lull_json_add_number(event, "tid", thread_of(writer, segment));
    add_time(event, "ts", time_ns - writer->path->start_ns);
    return event;
}

static void write_slice(struct writer *writer, const struct lull_segment *segment)
{
    const struct lull_look *look = lull_look_of(segment->state, segment->cause);
    struct json_object *event = new_event(
        writer, "X", look->phrase, lull_state_name(segment->state), segment, segment->start_ns);
    struct json_object *args = json_object_new_object();

    add_time(event, "dur", segment->end_ns - segment->start_ns);
    lull_json_add_text(args, "state", lull_state_name(segment->state));
    if (lull_cause_name(segment->cause)) {
        lull_json_add_text(args, "cause", lull_cause_name(segment->cause));
    }
    if (segment->detail) {
        lull_json_add_text(args, "detail", segment->detail);
    }
    if (segment->comm) {
        lull_json_add_text(args, "comm", segment->comm);
    }
    lull_json_add_number(args, "tid", segment->tid);
    if (segment->pid >= 0) {
        lull_json_add_number(args, "pid", segment->pid);
    }
    if (segment->cpu >= 0) {
        lull_json_add_number(args, "cpu", segment->cpu);
    }
    lull_json_add_number(args, "begin_ns", segment->start_ns);
    json_object_object_add(event, "args", args);
    write_event(writer, event);
}

/* A wait that the path goes into: a slice on the line of who waits, which the path has left. */
static void write_wait(struct writer *writer, const struct lull_wait *wait)
{
    const struct lull_segment waiter = {.host = wait->host, .task = wait->task, .tid = wait->tid};
    gint64 key = task_key(&waiter);

    if (!wait->detail || !g_hash_table_contains(writer->threads, &key)) {
        return;
    }
    struct json_object *args = json_object_new_object();
    g_autoptr(GString) name = g_string_new("waits ");
    lull_clean_append(name, wait->detail, false);
    struct json_object *event = new_event(writer, "X", name->str, "wait", &waiter, wait->start_ns);
    add_time(event, "dur", wait->end_ns - wait->start_ns);
    lull_json_add_text(args, "call", wait->reason.call);
    lull_json_add_text(args, "object", wait->reason.object);
    lull_json_add_text(args, "by", wait->other_comm);
    json_object_object_add(event, "args", args);
    write_event(writer, event);
}

/* The jump from segment `from` to the one that follows it: the flow starts inside the one and ends
 * at the start of the other. */
static void write_flow(struct writer *writer, uint32_t from)
{
    const struct lull_segment *source = &writer->path->segments[from];
    struct json_object *event =
        new_event(writer, "s", "jump", "path", source, MAX(source->start_ns, source->end_ns - 1));

    lull_json_add_number(event, "id", (int64_t)from + 1);
    write_event(writer, event);
    event = new_event(writer, "f", "jump", "path", source + 1, source[1].start_ns);
    lull_json_add_number(event, "id", (int64_t)from + 1);
    json_object_object_add(event, "bp", json_object_new_string("e"));
    write_event(writer, event);
}

bool lull_view_path_perfetto(const struct lull_path *path, FILE *file,
                             const struct lull_view_style *style, GError **error)
{
    struct writer writer = {.path = path, .next_made_up = FIRST_MADE_UP_TID};

    writer.threads = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);
    writer.taken = g_hash_table_new(NULL, NULL);
    lull_out_start(&writer.out, file);
    lull_out_printf(&writer.out,
                    "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"producer\":\"lull " LULL_VERSION
                    "\",\"base_ns\":\"%" G_GINT64_FORMAT "\"},\n\"traceEvents\":[",
                    path->start_ns);
    write_names(&writer);
    for (uint32_t i = 0; i < path->n_segments && !writer.out.error; i++) {
        write_slice(&writer, &path->segments[i]);
        /* The end of a flow binds to the slice written before it, so it follows the slice it leads
         * to. */
        if (i > 0 && !lull_segment_same_task(&path->segments[i - 1], &path->segments[i])) {
            write_flow(&writer, i - 1);
        }
    }
    for (uint32_t i = 0; i < path->n_waits && !writer.out.error; i++) {
        write_wait(&writer, &path->waits[i]);
    }
    lull_out_text(&writer.out, "]}\n");
    g_hash_table_unref(writer.threads);
    g_hash_table_unref(writer.taken);
    return lull_out_end(&writer.out, "the trace for Perfetto", error);
}
