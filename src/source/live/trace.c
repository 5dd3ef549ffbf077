/* SPDX-License-Identifier: MIT */
/* One trace of a live session: its metadata as it grows, its classes, its streams. */
#include "source/live/private.h"

#include <string.h>

#include "ctf/plan/fields.h"
#include "source/ctf/trace.h"

/* Metadata of the largest kernel is some 5 MiB. */
#define MOST_METADATA ((size_t)64 << 20)
/* Growing metadata is parsed as a whole each time: a limit for all of it together. */
#define MOST_PARSED (UINT64_C(2) << 30)
/* For so long metadata may be missing or incomplete, or three periods of the live timer. */
#define PATIENCE_US INT64_C(10000000)
#define MOST_PATIENCE_US INT64_C(600000000)

/* ---- classes ---- */

static const char *keep_text(struct live_trace *trace, const char *text)
{
    char *copy = g_strdup(text);
    if (copy) {
        g_ptr_array_add(trace->texts, copy);
    }
    return copy;
}

/* The class that users know, which outlives the metadata it was first seen in. */
static struct lull_event_class *class_of(struct live_trace *trace, uint64_t stream,
                                         const struct lull_event_decl *event)
{
    struct live_key key = {stream, event->id};
    struct lull_event_class *event_class = g_hash_table_lookup(trace->by_id, &key);
    if (!event_class) {
        event_class = g_new0(struct lull_event_class, 1);
        lull_ctf_describe_class(event_class, event);
        event_class->name = keep_text(trace, event->name);
        event_class->model_uri = keep_text(trace, event->emf_uri);
        event_class->index = trace->classes->len;
        event_class->source = &trace->base;
        g_ptr_array_add(trace->classes, event_class);
        g_hash_table_insert(trace->by_id, g_memdup2(&key, sizeof key), event_class);
    }
    return event_class;
}

static void adopt(struct live_trace *trace, struct live_schema *newest)
{
    static const struct live_location nowhere = {UINT32_MAX, 0};
    const struct lull_schema *schema = newest->schema;
    for (guint i = 0; i < trace->locations->len; i++) {
        g_array_index(trace->locations, struct live_location, i) = nowhere;
    }
    for (uint32_t i = 0; i < schema->n_streams; i++) {
        for (uint32_t e = 0; e < schema->streams[i].n_events; e++) {
            struct lull_event_class *event_class =
                class_of(trace, schema->streams[i].id, &schema->streams[i].events[e]);
            newest->plan->streams[i].plans[e].event_class = event_class;
            g_array_set_size(trace->locations, trace->classes->len);
            g_array_index(trace->locations, struct live_location, event_class->index) =
                (struct live_location){i, e};
        }
    }
    trace->base.classes = (struct lull_event_class **)trace->classes->pdata;
    trace->base.n_classes = trace->classes->len;
    if (!trace->first) {
        trace->first = live_schema_ref(newest);
        lull_ctf_describe_trace(&trace->base, schema, newest->plan, &trace->live->report,
                                trace->texts);
    }
    live_schema_unref(trace->newest);
    trace->newest = newest;
    trace->base.wants_subscription = true;
    if (trace->live->hooks.news) {
        trace->live->hooks.news(trace->live->hooks.user);
    }
}

/* ---- metadata ---- */

static void drop(struct live_trace *trace, const char *why)
{
    live_problem(trace->live, "%s: trace %" G_GUINT64_FORMAT ": %s; the trace is left out",
                 trace->live->relay.wire.name, trace->id, why);
    trace->is_dropped = true;
    trace->needs_metadata = false;
}

void live_trace_end(struct live_trace *trace)
{
    g_autofree char *why = g_steal_pointer(&trace->why);
    if (why && !trace->newest) {
        drop(trace, why);
    } else if (why) {
        live_problem(trace->live, "%s", why);
    }
}

/* Metadata is missing or ends in the middle of something: fetches it again until it is whole, or
 * patience ends. */
static void be_patient(struct live_trace *trace, const char *why)
{
    if (!trace->newest && trace->streams->len == 0) { /* nothing to wait for yet */
        trace->needs_metadata = true;
        return;
    }
    int64_t now = g_get_monotonic_time(), patience = PATIENCE_US;
    for (guint i = 0; i < trace->live->attached->len; i++) {
        const struct live_attached *a =
            &g_array_index(trace->live->attached, struct live_attached, i);
        if (a->id == trace->session) {
            patience = CLAMP(INT64_C(3) * a->timer_us, PATIENCE_US, MOST_PATIENCE_US);
        }
    }
    if (trace->deadline_us == 0) {
        trace->deadline_us = now + patience;
    }
    if (now < trace->deadline_us) {
        trace->needs_metadata = true;
    } else if (!trace->newest) {
        drop(trace, why);
        g_clear_pointer(&trace->why, g_free);
    } else { /* what was understood before goes on */
        live_problem(trace->live, "%s", why);
        g_clear_pointer(&trace->why, g_free);
        trace->needs_metadata = false;
        trace->deadline_us = 0;
    }
}

static void parse(struct live_trace *trace)
{
    g_autoptr(GError) error = NULL;
    trace->parsed += trace->text->len;
    if (trace->parsed > MOST_PARSED) {
        drop(trace, "its metadata comes in too many pieces");
        return;
    }
    g_autofree char *name = g_strdup_printf("%s: metadata of trace %" G_GUINT64_FORMAT,
                                            trace->live->relay.wire.name, trace->id);
    struct live_schema *schema = live_schema_new(name, trace->text, &error);
    if (!schema) {
        g_free(trace->why);
        trace->why = g_strdup(error->message);
        be_patient(trace, trace->why);
        return;
    }
    trace->deadline_us = 0;
    g_clear_pointer(&trace->why, g_free);
    adopt(trace, schema);
}

bool live_trace_update(struct live_trace *trace)
{
    struct lull_live *live = trace->live;
    enum live_metadata_status status;
    guint before = trace->text->len;
    if (!trace->needs_metadata || trace->is_dropped) {
        return !live->is_over;
    }
    trace->needs_metadata = false;
    do {
        GError *error = NULL;
        if (!trace->has_metadata) {
            break;
        }
        if (!live_relay_metadata(&live->relay, trace->metadata_stream, trace->text, MOST_METADATA,
                                 &status, &error)) {
            live_fail(live, error);
            return false;
        }
        if (status == LIVE_METADATA_ERROR && !trace->newest && trace->text->len == 0) {
            drop(trace, "the relay has no metadata for it");
        }
    } while (status == LIVE_METADATA_OK);
    if (trace->text->len > before) {
        parse(trace);
    } else if (!trace->newest || trace->deadline_us != 0) {
        be_patient(trace, trace->why ? trace->why : "its metadata did not arrive");
    }
    return true;
}

bool live_trace_is_waiting(const struct live_trace *trace)
{
    return !trace->is_dropped && trace->streams->len > 0 &&
           (!trace->newest || trace->deadline_us != 0);
}

/* ---- as a source ---- */

static void source_free(struct lull_source *base)
{
}

static void source_subscribe(struct lull_source *base,
                             const struct lull_subscription *subscriptions, const int32_t *of_class,
                             uint32_t max_fields_size, const struct lull_fields *const *extra,
                             uint32_t max_extra_size)
{
    struct live_trace *trace = (struct live_trace *)base;
    struct lull_ctf_plan *plan = trace->newest->plan;
    trace->fields_size = max_fields_size + max_extra_size;
    base->wants_subscription = false;
    lull_ctf_plan_unsubscribe_all(plan);
    for (uint32_t i = 0; i < trace->newest->schema->n_streams; i++) {
        struct lull_stream_plan *stream = &plan->streams[i];
        for (uint32_t e = 0; e < stream->decl->n_events; e++) {
            uint32_t index = stream->plans[e].event_class->index;
            lull_ctf_subscribe(plan, stream, e, subscriptions, of_class[index], extra[index],
                               max_fields_size);
        }
    }
}

static void source_each_field(const struct lull_source *base, uint32_t class_index,
                              void (*visit)(void *user, const struct lull_field_info *field),
                              void *user)
{
    const struct live_trace *trace = (const struct live_trace *)base;
    const struct live_location *location =
        &g_array_index(trace->locations, struct live_location, class_index);
    if (location->stream == UINT32_MAX) {
        return;
    }
    const struct lull_stream_decl *stream = &trace->newest->schema->streams[location->stream];
    lull_ctf_each_field(stream, &stream->events[location->event], visit, user);
}

/* Labels are borrowed from the metadata, which then stay. */
static bool source_describe(const struct lull_source *base, uint32_t class_index, const char *path,
                            struct lull_field_type *type)
{
    struct live_trace *trace = (struct live_trace *)base;
    const struct live_location *location =
        &g_array_index(trace->locations, struct live_location, class_index);
    if (location->stream == UINT32_MAX ||
        !lull_ctf_describe_field(&trace->newest->plan->streams[location->stream], location->event,
                                 path, type)) {
        return false;
    }
    if (type->labels && !trace->newest->is_kept) {
        trace->newest->is_kept = true;
        g_ptr_array_add(trace->kept, live_schema_ref(trace->newest));
    }
    return true;
}

void live_trace_add_stream(struct live_trace *trace, const struct live_stream_info *info)
{
    if (info->is_metadata) {
        trace->has_metadata = trace->needs_metadata = true;
        trace->metadata_stream = info->id;
        return;
    }
    g_ptr_array_add(trace->streams, live_stream_new(trace, info, trace->streams->len));
    trace->base.streams = (struct lull_source_stream **)trace->streams->pdata;
    trace->base.n_streams = trace->base.info.stream_count = trace->streams->len;
    if (!trace->newest) {
        trace->needs_metadata = true;
    }
    if (trace->live->hooks.news) {
        trace->live->hooks.news(trace->live->hooks.user);
    }
}

struct live_trace *live_trace_new(struct lull_live *live, uint64_t session, uint64_t id)
{
    static const struct lull_source_ops ops = {.free = source_free,
                                               .subscribe = source_subscribe,
                                               .each_field = source_each_field,
                                               .describe = source_describe,
                                               .label = lull_ctf_label};
    struct live_trace *trace = g_new0(struct live_trace, 1);
    trace->base.ops = &ops;
    trace->base.info.path =
        g_strdup_printf("%s trace %" G_GUINT64_FORMAT, live->relay.wire.name, id);
    trace->base.info.below = "";
    trace->base.info.start_ns = INT64_MAX;
    trace->base.info.end_ns = INT64_MIN;
    trace->live = live;
    trace->session = session;
    trace->id = id;
    trace->text = g_byte_array_new();
    trace->streams = g_ptr_array_new_with_free_func(live_stream_free);
    trace->classes = g_ptr_array_new_with_free_func(g_free);
    trace->by_id = live_keys_new();
    trace->locations = g_array_new(FALSE, TRUE, sizeof(struct live_location));
    trace->kept = g_ptr_array_new_with_free_func((GDestroyNotify)live_schema_unref);
    trace->texts = g_ptr_array_new_with_free_func(g_free);
    return trace;
}

void live_trace_free(gpointer data)
{
    struct live_trace *trace = data;
    g_ptr_array_unref(trace->streams);
    live_schema_unref(trace->first);
    live_schema_unref(trace->newest);
    g_byte_array_unref(trace->text);
    g_free(trace->why);
    g_hash_table_unref(trace->by_id);
    g_array_unref(trace->locations);
    g_ptr_array_unref(trace->kept);
    g_ptr_array_unref(trace->classes);
    g_ptr_array_unref(trace->texts);
    g_free((char *)trace->base.info.path);
    g_free(trace);
}
