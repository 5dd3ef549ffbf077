/* SPDX-License-Identifier: MIT */
/* What of a session is read: which classes its subscriptions want, what a filter leaves of them, of
 * the streams and of the time. */
#include "source/session/private.h"

#include <string.h>

/* ---- the filter ---- */

void lull_session_forget_filter(struct lull_session *session)
{
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct session_trace *trace = lull_session_trace_at(session, t);
        for (uint32_t i = 0; trace->class_filters && i < trace->source->n_classes; i++) {
            trace->source->classes[i]->filter = NULL;
        }
        g_clear_pointer(&trace->class_filters, g_ptr_array_unref);
    }
    if (session->filter) {
        session->filter->ops->forget(session->filter);
    }
    session->is_subscribed = false;
    lull_session_halt(session);
}

bool lull_session_has_filter(const struct lull_session *session)
{
    return session->filter != NULL;
}

bool lull_session_is_part(const struct lull_session *session)
{
    return session->filter || session->only_cpus || session->is_intersected ||
           session->start_ns != INT64_MIN || session->end_ns != INT64_MAX;
}

struct lull_event_filter *lull_session_take_filter(struct lull_session *session)
{
    lull_session_forget_filter(session);
    return g_steal_pointer(&session->filter);
}

void lull_session_set_filter(struct lull_session *session, struct lull_event_filter *filter)
{
    struct lull_event_filter *old = lull_session_take_filter(session);
    if (old && old != filter) {
        old->ops->free(old);
    }
    session->filter = filter;
}

void lull_session_exempt(struct lull_session *session, uint32_t subscription)
{
    g_return_if_fail(subscription < session->subscriptions->len);
    g_array_index(session->subscriptions, struct lull_subscription, subscription).is_exempt = true;
    session->has_exempt = true;
    session->is_subscribed = false;
    lull_session_halt(session);
}

bool lull_session_passes(const struct lull_session *session, const struct lull_event *event)
{
    const struct lull_class_filter *filter = event->event_class->filter;
    if (!filter || filter->verdict == LULL_VERDICT_PASS) {
        return true;
    }
    return filter->verdict == LULL_VERDICT_TEST &&
           session->filter->ops->test(filter->program, event,
                                      (const uint8_t *)event->fields + session->filter_offset);
}

bool lull_session_hands_out(const struct lull_session *session, const struct lull_event *event)
{
    return lull_session_passes(session, event) ||
           (session->has_exempt &&
            g_array_index(session->subscriptions, struct lull_subscription, event->subscription)
                .is_exempt);
}

bool lull_session_next_passing(const struct lull_session *session,
                               struct lull_source_stream *stream)
{
    while (stream->ops->next(stream)) {
        if (!stream->has_event || stream->event.event_class->watch ||
            lull_session_hands_out(session, &stream->event)) {
            return true;
        }
    }
    return false;
}

void lull_session_start_filter(struct lull_session *session)
{
    if (session->filter) {
        session->filter->ops->start(session->filter,
                                    session->filter->has_times ? lull_session_origin(session) : 0);
    }
}

/* ---- subscriptions ---- */

/* Names of all subscriptions: whole ones in a table, beginnings in a list. */
struct subscriptions {
    GHashTable *names; /* to the number + 1 of the first subscription */
    GArray *prefixes;  /* struct prefix, by number */
};

struct prefix {
    const char *text;
    size_t length;
    int32_t number;
};

static void collect_subscriptions(const struct lull_session *session,
                                  struct subscriptions *subscriptions)
{
    subscriptions->names = g_hash_table_new(g_str_hash, g_str_equal);
    subscriptions->prefixes = g_array_new(FALSE, FALSE, sizeof(struct prefix));
    for (uint32_t i = 0; i < session->subscriptions->len; i++) {
        const char *const *name =
            g_array_index(session->subscriptions, struct lull_subscription, i).names;
        for (; *name; name++) {
            size_t length = strlen(*name);
            if (length > 0 && (*name)[length - 1] == '*') {
                struct prefix prefix = {*name, length - 1, (int32_t)i};
                g_array_append_val(subscriptions->prefixes, prefix);
            } else if (!g_hash_table_contains(subscriptions->names, *name)) {
                g_hash_table_insert(subscriptions->names, (char *)*name, GUINT_TO_POINTER(i + 1));
            }
        }
    }
}

/* The first subscription that matches, or -1. */
static int32_t match_subscription(const struct subscriptions *subscriptions, const char *name)
{
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(subscriptions->names, name)) - 1;
    for (uint32_t i = 0; i < subscriptions->prefixes->len; i++) {
        const struct prefix *prefix = &g_array_index(subscriptions->prefixes, struct prefix, i);
        if (found >= 0 && found <= prefix->number) {
            break;
        }
        if (strncmp(name, prefix->text, prefix->length) == 0) {
            return prefix->number;
        }
    }
    return found;
}

static struct lull_class_filter *class_filter(const struct session_trace *trace, uint32_t index)
{
    return trace->class_filters->pdata[index];
}

/* Queries the filter about each subscribed class, unless it did before; unsubscribes those that
 * cannot pass. */
static void filter_classes(struct lull_session *session, struct session_trace *trace,
                           int32_t *of_class)
{
    const struct lull_source *source = trace->source;
    const char *host = lull_session_host(session, source->info.host)->name;
    if (!trace->class_filters) {
        trace->class_filters = g_ptr_array_new_with_free_func(g_free);
    }
    trace->is_wanted = trace->is_exempt = false;
    for (uint32_t i = 0; i < source->n_classes; i++) {
        bool is_new = i >= trace->class_filters->len;
        if (is_new) {
            g_ptr_array_add(trace->class_filters, g_new0(struct lull_class_filter, 1));
        }
        if (of_class[i] < 0) {
            continue;
        }
        struct lull_class_filter *filter = class_filter(trace, i);
        if (is_new) {
            session->filter->ops->compile(session->filter, source, i, host, filter);
        }
        source->classes[i]->filter = filter;
        bool is_exempt =
            g_array_index(session->subscriptions, struct lull_subscription, of_class[i]).is_exempt;
        trace->is_exempt |= is_exempt;
        if (filter->verdict == LULL_VERDICT_REJECT && !is_exempt) {
            of_class[i] = -1;
        }
        trace->is_wanted |= of_class[i] >= 0;
    }
}

static uint32_t largest_extra(const struct session_trace *trace, const struct lull_fields **extra)
{
    uint32_t size = 0;
    for (uint32_t i = 0; i < trace->source->n_classes; i++) {
        extra[i] = trace->class_filters ? &class_filter(trace, i)->extra : NULL;
        if (extra[i]) {
            size = MAX(size, extra[i]->size);
        }
    }
    return size;
}

static void subscribe_trace(struct lull_session *session, const struct subscriptions *subscriptions,
                            struct session_trace *trace)
{
    struct lull_source *source = trace->source;
    g_autofree int32_t *of_class = g_new(int32_t, MAX(source->n_classes, 1));
    g_autofree const struct lull_fields **extra =
        g_new(const struct lull_fields *, MAX(source->n_classes, 1));
    for (uint32_t i = 0; i < source->n_classes; i++) {
        of_class[i] = match_subscription(subscriptions, source->classes[i]->name);
    }
    if (session->filter) {
        filter_classes(session, trace, of_class);
    }
    uint32_t extra_size = largest_extra(trace, extra);
    lull_session_watch_classes(session, trace, of_class, extra, &extra_size);
    source->ops->subscribe(source,
                           (const struct lull_subscription *)(void *)session->subscriptions->data,
                           of_class, session->filter_offset, extra, extra_size);
}

/* The first trace that has its classes in common with this one, which may be this one itself. */
static struct session_trace *first_like(const struct lull_session *session,
                                        struct session_trace *trace)
{
    const void *shared = trace->source->shared;
    const guint first = GPOINTER_TO_UINT(g_hash_table_lookup(session->first_like, shared));
    return shared && first > 0 ? lull_session_trace_at(session, first - 1) : trace;
}

/* What a watch makes of a class depends on the trace, and so may what a filter makes of it. */
static bool may_share_classes(const struct lull_session *session)
{
    bool may = !session->watch;
    for (uint32_t i = 0; may && i < session->subscriptions->len; i++) {
        may = g_array_index(session->subscriptions, struct lull_subscription, i).is_typed;
    }
    for (uint32_t t = 0; may && session->filter && t < session->traces->len; t++) {
        struct session_trace *trace = lull_session_trace_at(session, t);
        const struct session_trace *first = first_like(session, trace);
        may = first == trace ||
              session->filter->ops->is_common(session->filter, first->source, trace->source);
    }
    return may;
}

static void subscribe_traces(struct lull_session *session, bool all)
{
    struct subscriptions subscriptions;
    uint32_t max_size = 0;
    if (!may_share_classes(session)) {
        lull_session_separate(session);
    }
    lull_session_start_watch(session, all);
    collect_subscriptions(session, &subscriptions);
    for (uint32_t i = 0; i < session->subscriptions->len; i++) {
        max_size =
            MAX(max_size,
                g_array_index(session->subscriptions, struct lull_subscription, i).fields_size);
    }
    max_size = (max_size + 7) & ~UINT32_C(7);
    session->filter_offset = max_size;
    g_autoptr(GHashTable) done = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct session_trace *trace = lull_session_trace_at(session, t);
        struct lull_source *source = trace->source;
        if (source->shared && !g_hash_table_add(done, (gpointer)source->shared)) {
            const struct session_trace *first = first_like(session, trace);
            trace->is_wanted = first->is_wanted;
            trace->is_exempt = first->is_exempt;
            source->ops->follow(source);
        } else if (all || source->wants_subscription) {
            subscribe_trace(session, &subscriptions, trace);
        }
    }
    g_hash_table_unref(subscriptions.names);
    g_array_unref(subscriptions.prefixes);
    lull_session_end_watch(session);
}

void lull_session_subscribe_sources(struct lull_session *session)
{
    lull_session_forget_filter(session);
    subscribe_traces(session, true);
    session->is_subscribed = true;
}

void lull_session_subscribe_grown(struct lull_session *session)
{
    subscribe_traces(session, false);
}

/* ---- streams and time ---- */

/* Whether events of some class of the trace can pass on this CPU. */
static bool cpu_may_pass(const struct lull_session *session, const struct session_trace *trace,
                         int32_t cpu)
{
    const struct lull_source *source = trace->source;
    const char *host = lull_session_host(session, source->info.host)->name;
    if (cpu < 0 || !session->filter->uses_cpu) {
        return true;
    }
    for (uint32_t i = 0; i < source->n_classes; i++) {
        const struct lull_class_filter *filter = source->classes[i]->filter;
        if (!filter || filter->verdict == LULL_VERDICT_REJECT) {
            continue;
        }
        if (session->filter->ops->may_pass(session->filter, source, i, host, cpu)) {
            return true;
        }
    }
    return false;
}

bool lull_session_is_selected(const struct lull_session *session,
                              const struct lull_source_stream *stream)
{
    if (session->only_host >= 0 && stream->event.host != (uint32_t)session->only_host) {
        return false;
    }
    /* What is live may get classes that are wanted, and of any CPU, while it is read. */
    if (stream->cpu == LULL_CPU_LATER) {
        return true;
    }
    if (!lull_numbers_have(lull_numbers_of(session->only_cpus), stream->cpu)) {
        return false;
    }
    if (!session->filter) {
        return true;
    }
    const struct session_trace *trace = lull_session_trace_at(session, stream->event.trace);
    return trace->is_exempt || trace->is_watched ||
           (trace->is_wanted && cpu_may_pass(session, trace, stream->cpu));
}

/* Leaves of the window the time in which all streams of the trace have packets. */
static void intersect(const struct session_trace *trace, struct lull_source_window *window)
{
    int64_t start = lull_clock_join(&window->transform, trace->common_start_ns, window->delta_ns);
    int64_t end = lull_clock_join(&window->transform, trace->common_end_ns, window->delta_ns);
    window->start_ns = MAX(window->start_ns, start);
    window->end_ns = MIN(window->end_ns, end + 1);
}

/* What all streams that are read at a time may take; where that is too little to read each with few
 * calls of the kernel, they may take more (measured with 1002 streams: 16 KiB each cost a quarter
 * more time than 64 KiB). */
#define STREAMS_BYTES (UINT64_C(8) << 20)
#define MANY_STREAMS_BYTES (UINT64_C(64) << 20)
#define FEW_CALLS_BYTES (UINT64_C(64) << 10)

static uint64_t bytes_of_stream(uint32_t n_together)
{
    const uint64_t n = MAX(n_together, 1);
    return MAX(STREAMS_BYTES / n, MIN(FEW_CALLS_BYTES, MANY_STREAMS_BYTES / n));
}

struct lull_source_window lull_session_window(const struct lull_session *session,
                                              const struct lull_source_stream *stream)
{
    const struct session_trace *trace = lull_session_trace_at(session, stream->event.trace);
    struct lull_source_window window = {
        .start_ns = session->start_ns,
        .end_ns = session->end_ns,
        .delta_ns = session->order == LULL_ORDER_BABELTRACE ? 0 : trace->delta_ns,
        .only_cpus = lull_numbers_of(session->only_cpus),
        .transform = lull_session_host_at(session, stream->event.host)->transform,
        .in_doubles = session->order == LULL_ORDER_BABELTRACE,
        .memory_bytes = bytes_of_stream(session->n_together),
        .is_brief = session->has_many_files,
    };
    if (session->is_intersected) {
        intersect(trace, &window);
    }
    if (stream->is_clipped) {
        const int64_t from_ns =
            lull_clock_join(&window.transform, stream->from_ns, trace->delta_ns);
        window.start_ns = MAX(window.start_ns, from_ns);
    }
    /* Those that are exempt, and a watch, may need what was before. */
    if (session->filter && !session->has_exempt && !session->watch) {
        window.start_ns = MAX(window.start_ns, session->filter->start_ns);
        window.end_ns = MIN(window.end_ns, session->filter->end_ns);
    }
    return window;
}

void lull_session_start_stream(const struct lull_session *session,
                               struct lull_source_stream *stream)
{
    struct lull_source_window window = lull_session_window(session, stream);
    stream->ops->start(stream, &window);
}

bool lull_session_start_selected(const struct lull_session *session,
                                 struct lull_source_stream *stream)
{
    bool is_selected = lull_session_is_selected(session, stream);
    if (is_selected) {
        lull_session_start_stream(session, stream);
    } else if (stream->ops->leave) {
        stream->ops->leave(stream);
    }
    return is_selected;
}

/* ---- counting ---- */

static const char *const all_names[] = {"*", NULL};

GArray *lull_session_start_count(struct lull_session *session)
{
    if (!session->filter) {
        return NULL;
    }
    static const struct lull_subscription all = {.names = all_names};
    GArray *subscriptions = session->subscriptions;
    struct lull_event_watch *watch = session->watch;
    if (session->filter->has_times) {
        lull_session_origin(session); /* which subscribes, so before we do */
        subscriptions = session->subscriptions;
    }
    lull_session_set_watch(session, NULL);
    session->subscriptions = g_array_new(FALSE, FALSE, sizeof(struct lull_subscription));
    g_array_append_val(session->subscriptions, all);
    lull_session_subscribe_sources(session);
    lull_session_start_filter(session);
    session->watch = watch;
    return subscriptions;
}

void lull_session_end_count(struct lull_session *session, GArray *subscriptions)
{
    if (!subscriptions) {
        return;
    }
    g_array_unref(session->subscriptions);
    session->subscriptions = subscriptions;
    session->is_subscribed = false;
}

/* Some class must be tested event by event. */
static bool must_test(const struct session_trace *trace)
{
    for (uint32_t i = 0; i < trace->source->n_classes; i++) {
        if (class_filter(trace, i)->verdict == LULL_VERDICT_TEST) {
            return true;
        }
    }
    return false;
}

void lull_session_count_stream(const struct lull_session *session,
                               struct lull_source_stream *stream, uint64_t *counts)
{
    const struct session_trace *trace = lull_session_trace_at(session, stream->event.trace);
    if (!session->filter || !must_test(trace)) {
        stream->ops->count(stream, counts);
        return;
    }
    while (lull_session_next_passing(session, stream)) {
        counts[stream->event.event_class->index]++;
    }
}

void lull_session_drop_rejected(const struct lull_session *session,
                                const struct session_trace *trace, uint64_t *counts)
{
    for (uint32_t i = 0; session->filter && i < trace->source->n_classes; i++) {
        if (class_filter(trace, i)->verdict == LULL_VERDICT_REJECT) {
            counts[i] = 0;
        }
    }
}
