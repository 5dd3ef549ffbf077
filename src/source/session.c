/* A session as its users see it: subscriptions, limits, and reading in order of time. */
#include "source/session_private.h"

#include <string.h>

struct lull_session *lull_session_new(void)
{
    struct lull_session *session = g_new0(struct lull_session, 1);
    session->hosts = g_ptr_array_new_with_free_func(lull_session_host_free);
    session->traces = g_ptr_array_new_with_free_func(lull_session_trace_free);
    session->streams = g_ptr_array_new();
    session->directories = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    session->lives = g_ptr_array_new_with_free_func((GDestroyNotify)lull_live_free);
    session->subscriptions = g_array_new(FALSE, FALSE, sizeof(struct lull_subscription));
    session->notes = lull_session_notes_new();
    session->begin_ns = INT64_MIN;
    session->end_ns = INT64_MAX;
    session->only_host = session->only_cpu = -1;
    return session;
}

void lull_session_free(struct lull_session *session)
{
    if (session == NULL)
        return;
    lull_merge_clear(&session->merge);
    g_free(session->merged);
    g_ptr_array_unref(session->streams);
    g_ptr_array_unref(session->traces);
    g_ptr_array_unref(session->lives); /* the sources of live traces are theirs */
    g_ptr_array_unref(session->hosts);
    g_hash_table_unref(session->directories);
    g_array_unref(session->subscriptions);
    lull_session_notes_free(session->notes);
    g_free(session);
}

/* ---- what there is ---- */

const char *lull_event_class_name(const struct lull_event_class *event_class)
{
    return event_class->name;
}

uint32_t lull_event_class_number(const struct lull_event_class *event_class)
{
    return event_class->number;
}

uint32_t lull_session_host_count(const struct lull_session *session)
{
    return session->hosts->len;
}

const struct lull_host *lull_session_host(const struct lull_session *session, uint32_t index)
{
    g_return_val_if_fail(index < session->hosts->len, NULL);
    return &lull_session_host_at(session, index)->info;
}

uint32_t lull_session_trace_count(const struct lull_session *session)
{
    return session->traces->len;
}

const struct lull_trace *lull_session_trace(const struct lull_session *session, uint32_t index)
{
    g_return_val_if_fail(index < session->traces->len, NULL);
    return &lull_session_trace_at(session, index)->source->info;
}

void lull_session_each_class(const struct lull_session *session,
                             void (*visit)(void *user, uint32_t trace,
                                           const struct lull_event_class *event_class),
                             void *user)
{
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_source *source = lull_session_trace_at(session, t)->source;
        for (uint32_t i = 0; i < source->n_classes; i++)
            visit(user, t, source->classes[i]);
    }
}

bool lull_session_declares(const struct lull_session *session, uint32_t host,
                           const char *const *names)
{
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct session_trace *trace = lull_session_trace_at(session, t);
        if (trace->source->info.host != host)
            continue;
        for (const char *const *name = names; *name != NULL; name++)
            if (g_hash_table_contains(trace->class_names, *name))
                return true;
    }
    return false;
}

bool lull_session_range(const struct lull_session *session, int64_t *begin_ns, int64_t *end_ns)
{
    bool any = false;
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_trace *info = lull_session_trace(session, t);
        if (info->begin_ns > info->end_ns)
            continue;
        const struct lull_clock_transform *transform =
            &lull_session_host_at(session, info->host)->transform;
        int64_t begin = lull_clock_transform_apply(transform, info->begin_ns);
        int64_t end = lull_clock_transform_apply(transform, info->end_ns);
        *begin_ns = any ? MIN(*begin_ns, begin) : begin;
        *end_ns = any ? MAX(*end_ns, end) : end;
        any = true;
    }
    return any;
}

/* ---- what is wanted ---- */

uint32_t lull_session_subscribe(struct lull_session *session, const char *const *names,
                                const struct lull_binding *bindings, uint32_t n_bindings,
                                uint32_t fields_size)
{
    struct lull_subscription subscription = {names, bindings, n_bindings, fields_size};
    g_return_val_if_fail(n_bindings <= 64, UINT32_MAX);
    for (uint32_t i = 0; i < n_bindings; i++) {
        uint32_t size =
            bindings[i].kind == LULL_BIND_INT ? sizeof(int64_t) : sizeof(struct lull_text);
        g_return_val_if_fail(bindings[i].offset >= 8 && bindings[i].offset % 8 == 0 &&
                                 bindings[i].offset + size <= fields_size,
                             UINT32_MAX);
    }
    g_array_append_val(session->subscriptions, subscription);
    session->is_subscribed = false;
    session->is_started = false;
    return session->subscriptions->len - 1;
}

void lull_session_unsubscribe_all(struct lull_session *session)
{
    g_array_set_size(session->subscriptions, 0);
    session->is_subscribed = false;
    session->is_started = false;
}

void lull_session_limit(struct lull_session *session, int64_t begin_ns, int64_t end_ns)
{
    session->begin_ns = begin_ns;
    session->end_ns = end_ns;
    session->is_started = false;
}

void lull_session_select(struct lull_session *session, int32_t host, int32_t cpu)
{
    session->only_host = host;
    session->only_cpu = cpu;
    session->is_started = false;
}

void lull_session_rewind(struct lull_session *session)
{
    session->is_started = false;
}

void lull_session_set_clock(struct lull_session *session, uint32_t host,
                            const struct lull_clock_transform *transform)
{
    g_return_if_fail(host < session->hosts->len);
    lull_session_host_at(session, host)->transform = *transform;
    session->notes->is_stale = true;
    session->is_started = false;
}

const struct lull_clock_transform *lull_session_clock(const struct lull_session *session,
                                                      uint32_t host)
{
    g_return_val_if_fail(host < session->hosts->len, NULL);
    return &lull_session_host_at(session, host)->transform;
}

/* Names of all subscriptions: whole ones in a table, beginnings in a list. */
struct wishes {
    GHashTable *names; /* to the number + 1 of the first subscription */
    GArray *prefixes;  /* struct prefix, by number */
};

struct prefix {
    const char *text;
    size_t length;
    int32_t number;
};

static void collect_wishes(const struct lull_session *session, struct wishes *wishes)
{
    wishes->names = g_hash_table_new(g_str_hash, g_str_equal);
    wishes->prefixes = g_array_new(FALSE, FALSE, sizeof(struct prefix));
    for (uint32_t i = 0; i < session->subscriptions->len; i++) {
        const char *const *name =
            g_array_index(session->subscriptions, struct lull_subscription, i).names;
        for (; *name != NULL; name++) {
            size_t length = strlen(*name);
            if (length > 0 && (*name)[length - 1] == '*') {
                struct prefix prefix = {*name, length - 1, (int32_t)i};
                g_array_append_val(wishes->prefixes, prefix);
            } else if (!g_hash_table_contains(wishes->names, *name)) {
                g_hash_table_insert(wishes->names, (char *)*name, GUINT_TO_POINTER(i + 1));
            }
        }
    }
}

/* The first subscription that matches, or -1. */
static int32_t match_wish(const struct wishes *wishes, const char *name)
{
    int32_t found = GPOINTER_TO_INT(g_hash_table_lookup(wishes->names, name)) - 1;
    for (uint32_t i = 0; i < wishes->prefixes->len; i++) {
        const struct prefix *prefix = &g_array_index(wishes->prefixes, struct prefix, i);
        if (found >= 0 && found <= prefix->number)
            break;
        if (strncmp(name, prefix->text, prefix->length) == 0)
            return prefix->number;
    }
    return found;
}

void lull_session_subscribe_sources(struct lull_session *session, bool all)
{
    struct wishes wishes;
    uint32_t max_size = 0;
    collect_wishes(session, &wishes);
    for (uint32_t i = 0; i < session->subscriptions->len; i++)
        max_size =
            MAX(max_size,
                g_array_index(session->subscriptions, struct lull_subscription, i).fields_size);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct lull_source *source = lull_session_trace_at(session, t)->source;
        if (!all && !source->wants_subscription)
            continue;
        g_autofree int32_t *of_class = g_new(int32_t, MAX(source->n_classes, 1));
        for (uint32_t i = 0; i < source->n_classes; i++)
            of_class[i] = match_wish(&wishes, source->classes[i]->name);
        source->ops->subscribe(
            source, (const struct lull_subscription *)(void *)session->subscriptions->data,
            of_class, max_size);
    }
    g_hash_table_unref(wishes.names);
    g_array_unref(wishes.prefixes);
}

/* ---- reading ---- */

bool lull_session_selects(const struct lull_session *session,
                          const struct lull_source_stream *stream)
{
    return (session->only_host < 0 || stream->event.host == (uint32_t)session->only_host) &&
           (session->only_cpu < 0 || stream->cpu == session->only_cpu ||
            stream->cpu == LULL_CPU_LATER);
}

void lull_session_start_stream(const struct lull_session *session,
                               struct lull_source_stream *stream)
{
    struct lull_source_window window = {
        .begin_ns = session->begin_ns,
        .end_ns = session->end_ns,
        .delta_ns = lull_session_trace_at(session, stream->event.trace)->delta_ns,
        .only_cpu = session->only_cpu,
        .transform = lull_session_host_at(session, stream->event.host)->transform,
    };
    stream->ops->start(stream, &window);
}

/* INT64_MAX means that a stream is exhausted. */
static int64_t merge_time(int64_t time_ns)
{
    return MIN(time_ns, INT64_MAX - 1);
}

static void start(struct lull_session *session)
{
    if (session->has_news)
        lull_session_take_news(session);
    if (!session->is_subscribed)
        lull_session_subscribe_sources(session, true);
    session->is_subscribed = true;
    g_free(session->merged);
    session->merged = g_new(struct lull_source_stream *, MAX(session->streams->len, 1));
    uint32_t n = 0;
    for (uint32_t i = 0; i < session->streams->len; i++)
        if (lull_session_selects(session, session->streams->pdata[i]))
            session->merged[n++] = session->streams->pdata[i];
    lull_merge_init(&session->merge, n);
    for (uint32_t i = 0; i < n; i++) {
        lull_session_start_stream(session, session->merged[i]);
        session->merge.times[i] = session->merged[i]->bound_ns;
    }
    lull_merge_play(&session->merge);
    session->is_started = true;
}

const struct lull_event *lull_session_read(struct lull_session *session)
{
    if (G_UNLIKELY(!session->is_started))
        start(session);
    struct lull_merge *merge = &session->merge;
    do {
        while (merge->n > 0 && merge->times[merge->winner] != INT64_MAX) {
            struct lull_source_stream *stream = session->merged[merge->winner];
            if (stream->has_event) {
                stream->has_event = false;
                return &stream->event;
            }
            /* The tree has held a lower bound, or the time of the event that was handed out. */
            bool any = stream->ops->next(stream);
            lull_merge_update(merge, any ? merge_time(stream->event.time_ns) : INT64_MAX);
            if (G_UNLIKELY(session->has_news))
                lull_session_take_news(session);
        }
    } while (lull_session_follow(session));
    return NULL;
}

int lull_session_next(struct lull_session *session, struct lull_event *event)
{
    const struct lull_event *next = lull_session_read(session);
    if (next != NULL)
        *event = *next;
    return next != NULL;
}

bool lull_event_visit(const struct lull_event *event, const struct lull_visitor *visitor,
                      void *user, GError **error)
{
    const struct lull_source_stream *stream = event->impl;
    return stream->ops->visit(stream, visitor, user, error);
}

void lull_session_count(struct lull_session *session,
                        void (*visit)(void *user, uint32_t trace,
                                      const struct lull_event_class *event_class, uint64_t count),
                        void *user)
{
    session->is_started = false;
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_source *source = lull_session_trace_at(session, t)->source;
        g_autofree uint64_t *counts = g_new0(uint64_t, MAX(source->n_classes, 1));
        for (uint32_t i = 0; i < source->n_streams; i++) {
            if (!lull_session_selects(session, source->streams[i]))
                continue;
            lull_session_start_stream(session, source->streams[i]);
            source->streams[i]->ops->count(source->streams[i], counts);
        }
        for (uint32_t i = 0; i < source->n_classes; i++)
            if (counts[i] > 0)
                visit(user, t, source->classes[i], counts[i]);
    }
}

double lull_session_progress(const struct lull_session *session)
{
    uint64_t done = 0, all = 0;
    if (!session->is_started)
        return 0;
    for (uint32_t i = 0; i < session->merge.n; i++) {
        done += session->merged[i]->ops->progress(session->merged[i]);
        all += session->merged[i]->size_bytes;
    }
    return all == 0 ? 1 : (double)done / (double)all;
}
