/* SPDX-License-Identifier: MIT */
/* The session's side of a watch: which classes it wants, where its fields lie, and what is handed
 * out once it has seen an event. */
#include "source/session/event_watch.h"

#include "source/session/private.h"

static void forget(struct lull_session *session)
{
    for (uint32_t t = 0; t < session->traces->len; t++) {
        struct session_trace *trace = lull_session_trace_at(session, t);
        for (uint32_t i = 0; i < trace->source->n_classes; i++) {
            trace->source->classes[i]->watch = NULL;
        }
        g_clear_pointer(&trace->class_watches, g_ptr_array_unref);
        trace->is_watched = false;
    }
    if (session->watch) {
        session->watch->ops->forget(session->watch);
    }
}

void lull_session_set_watch(struct lull_session *session, struct lull_event_watch *watch)
{
    lull_session_halt(session);
    forget(session);
    session->watch = watch;
    session->is_subscribed = false;
}

void lull_session_start_watch(struct lull_session *session, bool forgets)
{
    /* What nobody but the watch wants belongs to a subscription that has no number for others. */
    static const char *const none[] = {NULL};
    const struct lull_subscription hidden = {.names = none};
    if (forgets) {
        forget(session);
    }
    if (session->watch) {
        g_array_append_val(session->subscriptions, hidden);
    }
}

void lull_session_end_watch(struct lull_session *session)
{
    if (session->watch) {
        g_array_set_size(session->subscriptions, session->subscriptions->len - 1);
    }
}

static void free_class_watch(gpointer data)
{
    struct lull_class_watch *watch = data;
    g_free((gpointer)watch->extra.bindings);
    g_free(watch);
}

/* The fields of the filter, then those of the watch. */
static void join_fields(const struct lull_fields *filter, const struct lull_fields *own,
                        struct lull_fields *out)
{
    uint32_t n_filter = filter ? filter->n_bindings : 0;
    struct lull_binding *all = g_new(struct lull_binding, n_filter + own->n_bindings + 1);
    for (uint32_t i = 0; i < n_filter; i++) {
        all[i] = filter->bindings[i];
    }
    for (uint32_t i = 0; i < own->n_bindings; i++) {
        all[n_filter + i] = own->bindings[i];
    }
    *out = (struct lull_fields){
        .bindings = all, .n_bindings = n_filter + own->n_bindings, .size = own->size};
}

static struct lull_class_watch *watch_class(struct lull_session *session,
                                            const struct session_trace *trace, uint32_t index,
                                            const struct lull_fields *filter)
{
    const struct lull_source *source = trace->source;
    struct lull_class_watch *watch = g_new0(struct lull_class_watch, 1);
    struct lull_fields own = {0};
    if (filter) {
        own.n_bindings = filter->n_bindings;
        own.size = filter->size;
    }
    const uint32_t taken = own.n_bindings;
    const char *host = lull_session_host(session, source->info.host)->name;
    watch->program = session->watch->ops->compile(session->watch, source, index, host, &own);
    if (watch->program && taken + own.n_bindings > 64) {
        lull_report_remark(&trace->report,
                           "%s: the filter and the periods use more than 64 fields of event '%s'; "
                           "the periods ignore that event",
                           source->info.path, source->classes[index]->name);
        watch->program = NULL;
    }
    if (watch->program) {
        join_fields(filter, &own, &watch->extra);
    }
    return watch;
}

void lull_session_watch_classes(struct lull_session *session, struct session_trace *trace,
                                int32_t *of_class, const struct lull_fields **extra,
                                uint32_t *extra_size)
{
    struct lull_source *source = trace->source;
    const int32_t hidden = (int32_t)session->subscriptions->len - 1;
    if (!session->watch) {
        return;
    }
    if (!trace->class_watches) {
        trace->class_watches = g_ptr_array_new_with_free_func(free_class_watch);
    }
    for (uint32_t i = 0; i < source->n_classes; i++) {
        if (i >= trace->class_watches->len) {
            g_ptr_array_add(trace->class_watches, watch_class(session, trace, i, extra[i]));
        }
        struct lull_class_watch *watch = trace->class_watches->pdata[i];
        if (!watch->program) {
            continue;
        }
        source->classes[i]->watch = watch;
        trace->is_watched = true;
        watch->is_hidden = of_class[i] < 0;
        if (watch->is_hidden) {
            of_class[i] = hidden;
        }
        extra[i] = &watch->extra;
        *extra_size = MAX(*extra_size, watch->extra.size);
    }
}

bool lull_session_show_watch(struct lull_session *session, const struct lull_event *event)
{
    const struct lull_class_watch *watch = event->event_class->watch;
    if (!watch) {
        return true;
    }
    session->watch->ops->see(session->watch, watch->program, event,
                             (const uint8_t *)event->fields + session->filter_offset);
    return !watch->is_hidden && (!session->filter || lull_session_hands_out(session, event));
}
