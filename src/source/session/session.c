/* SPDX-License-Identifier: MIT */
/* A session as its users see it: what there is, subscriptions and limits. */
#include "base/sized.h"
#include "source/session/private.h"
#include "source/session/clocks.h"
#include "source/session/streams.h"
#include "source/session/symbols.h"

#include <string.h>

/* PID_MAX_LIMIT of the kernel. */
#define MAX_TID (4 << 20)

struct lull_session *lull_session_new(void)
{
    struct lull_session *session = g_new0(struct lull_session, 1);
    session->hosts = g_ptr_array_new_with_free_func(lull_session_host_free);
    session->host_names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    session->hosts_by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    session->traces = g_ptr_array_new_with_free_func(lull_session_trace_free);
    session->ctf_kinds = lull_ctf_kinds_new();
    session->first_like = g_hash_table_new(g_direct_hash, g_direct_equal);
    session->streams = g_ptr_array_new();
    session->directories = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    session->lives = g_ptr_array_new_with_free_func((GDestroyNotify)lull_live_free);
    session->recordings = g_ptr_array_new_with_free_func((GDestroyNotify)lull_recording_unref);
    session->subscriptions = g_array_new(FALSE, FALSE, sizeof(struct lull_subscription));
    session->converted = g_ptr_array_new_with_free_func(g_free);
    session->notes = lull_session_notes_new();
    session->start_ns = INT64_MIN;
    session->end_ns = INT64_MAX;
    session->only_host = -1;
    session->n_threads = 1;
    return session;
}

void lull_session_free(struct lull_session *session)
{
    if (!session) {
        return;
    }
    lull_session_halt(session);
    lull_session_set_filter(session, NULL);
    lull_merge_clear(&session->merge);
    g_free(session->selected);
    g_ptr_array_unref(session->streams);
    g_ptr_array_unref(session->traces);
    g_ptr_array_unref(session->lives); /* the sources of live traces are theirs */
    lull_ctf_kinds_free(session->ctf_kinds);
    g_hash_table_unref(session->first_like);
    g_ptr_array_unref(session->hosts);
    g_hash_table_unref(session->host_names);
    g_hash_table_unref(session->hosts_by_key);
    g_hash_table_unref(session->directories);
    g_clear_pointer(&session->only_cpus, g_array_unref);
    g_array_unref(session->subscriptions);
    g_ptr_array_unref(session->converted);
    lull_session_notes_free(session->notes);
    g_ptr_array_unref(session->recordings); /* sources have their names */
    lull_session_keep_sync(session, NULL, NULL);
    g_free(session);
}

void lull_session_set_symbols(struct lull_session *session, const struct lull_symbol_wishes *wishes)
{
    session->symbols = *wishes;
    session->symbols.nameless_kernel = &session->nameless_kernel;
}

const struct lull_symbol_wishes *lull_session_symbols(const struct lull_session *session)
{
    return &session->symbols;
}

/* ---- what there is ---- */

const char *lull_event_class_name(const struct lull_event_class *event_class)
{
    return event_class->name;
}

int64_t lull_event_class_log_level(const struct lull_event_class *event_class)
{
    return event_class->log_level;
}

const char *lull_event_class_model_uri(const struct lull_event_class *event_class)
{
    return event_class->model_uri;
}

uint32_t lull_event_class_number(const struct lull_event_class *event_class)
{
    return event_class->number;
}

void lull_event_class_each_field(const struct lull_event_class *event_class,
                                 void (*visit)(void *user, const struct lull_field_info *field),
                                 void *user)
{
    const struct lull_source *source = event_class->source;
    source->ops->each_field(source, event_class->index, visit, user);
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

const char *lull_session_environment(const struct lull_session *session, uint32_t trace,
                                     const char *key)
{
    g_return_val_if_fail(trace < session->traces->len, NULL);
    const char *const *entry = lull_session_trace_at(session, trace)->source->environment;
    for (; entry && *entry; entry += 2) {
        if (strcmp(entry[0], key) == 0) {
            return entry[1];
        }
    }
    return NULL;
}

const uint32_t *lull_session_host_traces(const struct lull_session *session, uint32_t host,
                                         uint32_t *n)
{
    const GArray *traces = lull_session_host_at(session, host)->traces;
    *n = traces->len;
    return (const uint32_t *)(const void *)traces->data;
}

static void each_class(const struct lull_session *session, uint32_t trace,
                       void (*visit)(void *user, uint32_t trace,
                                     const struct lull_event_class *event_class),
                       void *user)
{
    const struct lull_source *source = lull_session_trace_at(session, trace)->source;
    for (uint32_t i = 0; i < source->n_classes; i++) {
        visit(user, trace, source->classes[i]);
    }
}

void lull_session_each_class(const struct lull_session *session,
                             void (*visit)(void *user, uint32_t trace,
                                           const struct lull_event_class *event_class),
                             void *user)
{
    lull_session_separate((struct lull_session *)session);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        each_class(session, t, visit, user);
    }
}

void lull_session_each_declared_class(const struct lull_session *session,
                                      void (*visit)(void *user, uint32_t trace,
                                                    const struct lull_event_class *event_class),
                                      void *user)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const void *shared = lull_session_trace_at(session, t)->source->shared;
        if (!shared || g_hash_table_add(seen, (gpointer)shared)) {
            each_class(session, t, visit, user);
        }
    }
}

void lull_session_each_host_class(const struct lull_session *session, uint32_t host,
                                  void (*visit)(void *user, uint32_t trace,
                                                const struct lull_event_class *event_class),
                                  void *user)
{
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        each_class(session, traces[i], visit, user);
    }
}

/* Those of which there are events, if the source declares others too. Queried only when somebody
 * wants to know, since the source has to look at all of the trace. */
static void find_names(struct session_trace *trace)
{
    const struct lull_source *source = trace->source;
    if (trace->knows_names || !source->ops->find_used) {
        return;
    }
    g_autofree bool *used = g_new0(bool, MAX(source->n_classes, 1));
    source->ops->find_used(source, used);
    for (uint32_t i = 0; i < source->n_classes; i++) {
        if (used[i]) {
            g_hash_table_add(trace->class_names, (char *)source->classes[i]->name);
        }
    }
    trace->knows_names = true;
}

bool lull_session_trace_declares(const struct lull_session *session, uint32_t trace,
                                 const char *const *names)
{
    struct session_trace *found = lull_session_trace_at(session, trace);
    find_names(found);
    while (*names && !g_hash_table_contains(found->class_names, *names)) {
        names++;
    }
    return *names;
}

bool lull_session_declares(const struct lull_session *session, uint32_t host,
                           const char *const *names)
{
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    uint32_t t = 0;
    while (t < n && !lull_session_trace_declares(session, traces[t], names)) {
        t++;
    }
    return t < n;
}

const void *lull_session_host_kind(const struct lull_session *session, uint32_t host)
{
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    return n == 1 ? lull_session_trace_at(session, traces[0])->source->shared : NULL;
}

static void read_task_names(struct session_trace *trace)
{
    const char *line = trace->source->task_names, *next;
    trace->task_names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    for (; line; line = next) {
        const char *end = strchr(line, '\n');
        size_t length = end ? (size_t)(end - line) : strlen(line);
        g_autofree char *copy = g_strndup(line, length);
        char *name;
        gint64 tid = g_ascii_strtoll(copy, &name, 10);
        next = end ? end + 1 : NULL;
        if (name != copy && *name == ' ' && name[1] != '\0' && tid > 0 && tid <= MAX_TID) {
            g_hash_table_insert(trace->task_names, GINT_TO_POINTER((gint)tid), g_strdup(name + 1));
        }
    }
}

const char *lull_session_task_name(const struct lull_session *session, uint32_t host, int32_t tid,
                                   const char *no_name)
{
    const char *name = NULL;
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    for (uint32_t t = 0; t < n && !name; t++) {
        struct session_trace *trace = lull_session_trace_at(session, traces[t]);
        if (!trace->source->task_names) {
            continue;
        }
        if (!trace->task_names) {
            read_task_names(trace);
        }
        name = g_hash_table_lookup(trace->task_names, GINT_TO_POINTER(tid));
        name = g_strcmp0(name, no_name) != 0 ? name : NULL;
    }
    return name;
}

bool lull_session_range(const struct lull_session *session, int64_t *start_ns, int64_t *end_ns)
{
    bool any = false;
    for (uint32_t t = 0; t < session->traces->len; t++) {
        const struct lull_trace *info = lull_session_trace(session, t);
        if (info->start_ns > info->end_ns) {
            continue;
        }
        const struct lull_clock_transform *transform =
            &lull_session_host_at(session, info->host)->transform;
        int64_t start = lull_clock_join(transform, info->start_ns, 0);
        int64_t end = lull_clock_join(transform, info->end_ns, 0);
        *start_ns = any ? MIN(*start_ns, start) : start;
        *end_ns = any ? MAX(*end_ns, end) : end;
        any = true;
    }
    return any;
}

/* ---- what is wanted ---- */

/* Bindings of another size than ours, from a program that was compiled against other headers. */
static const struct lull_binding *convert_bindings(struct lull_session *session,
                                                   const struct lull_binding *bindings, size_t size,
                                                   uint32_t count)
{
    if (size == sizeof *bindings) {
        return bindings;
    }
    struct lull_binding *converted = g_new(struct lull_binding, MAX(count, 1));
    for (uint32_t i = 0; i < count; i++) {
        struct lull_binding known;
        converted[i] = *(const struct lull_binding *)lull_sized(
            &known, sizeof known, (const char *)bindings + i * size, size);
    }
    g_ptr_array_add(session->converted, converted);
    return converted;
}

uint32_t lull_session_subscribe_sized(struct lull_session *session, const char *const *names,
                                      const struct lull_binding *bindings, size_t binding_size,
                                      uint32_t n_bindings, uint32_t fields_size)
{
    g_return_val_if_fail(n_bindings <= 64, UINT32_MAX);
    bindings = convert_bindings(session, bindings, binding_size, n_bindings);
    struct lull_subscription subscription = {
        .names = names, .bindings = bindings, .n_bindings = n_bindings, .fields_size = fields_size};
    for (uint32_t i = 0; i < n_bindings; i++) {
        uint32_t size = bindings[i].kind == LULL_BIND_INT || bindings[i].kind == LULL_BIND_REAL
                            ? sizeof(int64_t)
                            : sizeof(struct lull_text);
        g_return_val_if_fail(bindings[i].offset >= 8 && bindings[i].offset % 8 == 0 &&
                                 bindings[i].offset + size <= fields_size,
                             UINT32_MAX);
    }
    g_array_append_val(session->subscriptions, subscription);
    session->is_subscribed = false;
    lull_session_halt(session);
    return session->subscriptions->len - 1;
}

void lull_session_share_classes(struct lull_session *session, uint32_t subscription)
{
    g_array_index(session->subscriptions, struct lull_subscription, subscription).is_typed = true;
}

void lull_session_unsubscribe_all(struct lull_session *session)
{
    g_array_set_size(session->subscriptions, 0);
    g_ptr_array_set_size(session->converted, 0);
    session->has_exempt = false;
    session->is_subscribed = false;
    lull_session_halt(session);
}

void lull_session_limit(struct lull_session *session, int64_t start_ns, int64_t end_ns)
{
    session->start_ns = start_ns;
    session->end_ns = end_ns;
    lull_session_halt(session);
}

void lull_session_select(struct lull_session *session, int32_t host, int32_t cpu)
{
    const int64_t number = cpu;
    lull_session_select_cpus(session, host, (struct lull_numbers){&number, cpu >= 0});
}

void lull_session_select_several(struct lull_session *session, int32_t host, const int64_t *cpus,
                                 size_t n)
{
    lull_session_select_cpus(session, host, (struct lull_numbers){cpus, (uint32_t)n});
}

void lull_session_select_cpus(struct lull_session *session, int32_t host, struct lull_numbers cpus)
{
    lull_session_halt(session);
    session->only_host = host;
    g_clear_pointer(&session->only_cpus, g_array_unref);
    if (cpus.count) {
        session->only_cpus = g_array_sized_new(FALSE, FALSE, sizeof(int64_t), cpus.count);
        g_array_append_vals(session->only_cpus, cpus.items, cpus.count);
    }
}

/* False if its streams have no time in common. */
static bool intersect_trace(struct session_trace *trace)
{
    const struct lull_source *source = trace->source;
    trace->common_start_ns = INT64_MIN;
    trace->common_end_ns = INT64_MAX;
    for (uint32_t i = 0; i < source->n_streams; i++) {
        trace->common_start_ns = MAX(trace->common_start_ns, source->streams[i]->start_ns);
        trace->common_end_ns = MIN(trace->common_end_ns, source->streams[i]->end_ns);
    }
    return trace->common_start_ns <= trace->common_end_ns;
}

bool lull_session_intersect(struct lull_session *session, GError **error)
{
    for (uint32_t t = 0; t < session->traces->len; t++) {
        if (!intersect_trace(lull_session_trace_at(session, t))) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "%s: there is no time in which all streams of the trace have packets",
                        lull_session_trace(session, t)->path);
            return false;
        }
    }
    session->is_intersected = true;
    lull_session_halt(session);
    return true;
}

void lull_session_set_order(struct lull_session *session, enum lull_order order)
{
    session->order = order;
    lull_session_halt(session);
}

void lull_session_allow_slices(struct lull_session *session, bool may)
{
    session->may_slice = may;
    lull_session_halt(session);
}

void lull_session_rewind(struct lull_session *session)
{
    lull_session_halt(session);
}

void lull_session_keep_sync(struct lull_session *session, struct lull_sync *sync,
                            void (*free_sync)(struct lull_sync *sync))
{
    if (session->sync) {
        session->free_sync(session->sync);
    }
    session->sync = sync;
    session->free_sync = free_sync;
}

struct lull_sync *lull_session_sync(const struct lull_session *session)
{
    return session->sync;
}

bool lull_session_clock_uuid(const struct lull_session *session, uint32_t host, uint8_t uuid[16])
{
    const struct session_host *it = lull_session_host_at(session, host);
    for (guint i = 0; i < it->traces->len; i++) {
        const struct lull_source *source =
            lull_session_trace_at(session, g_array_index(it->traces, uint32_t, i))->source;
        if (source->has_clock_uuid) {
            memcpy(uuid, source->clock_uuid, sizeof source->clock_uuid);
            return true;
        }
    }
    return false;
}

void lull_session_set_clock(struct lull_session *session, uint32_t host,
                            const struct lull_clock_transform *transform)
{
    g_return_if_fail(host < session->hosts->len);
    lull_session_keep_sync(session, NULL, NULL);
    lull_session_host_at(session, host)->transform = *transform;
    session->notes->is_stale = true;
    session->knows_origin = false;
    lull_session_halt(session);
}

const struct lull_clock_transform *lull_session_clock(const struct lull_session *session,
                                                      uint32_t host)
{
    g_return_val_if_fail(host < session->hosts->len, NULL);
    return &lull_session_host_at(session, host)->transform;
}
