/* SPDX-License-Identifier: MIT */
/* The zero of all relative times: the first event. Packets may start long before their first event,
 * so it has to be read, and what the session is to be read for is put aside meanwhile. */
#include "source/session/aside.h"
#include "source/session/private.h"
#include "source/session/streams.h"

bool lull_session_put_aside(struct lull_session *session, struct lull_session_aside *aside)
{
    if (session->lives->len > 0) {
        return false; /* nothing is read of them before its time */
    }
    *aside = (struct lull_session_aside){
        .subscriptions = session->subscriptions,
        .converted = session->converted,
        .watch = session->watch,
        .start_ns = session->start_ns,
        .end_ns = session->end_ns,
        .only_host = session->only_host,
        .only_cpus = session->only_cpus,
        .order = session->order,
        .is_intersected = session->is_intersected,
        .has_exempt = session->has_exempt,
    };
    lull_session_set_watch(session, NULL);
    aside->filter = session->filter ? lull_session_take_filter(session) : NULL;
    session->subscriptions = g_array_new(FALSE, FALSE, sizeof(struct lull_subscription));
    session->converted = g_ptr_array_new_with_free_func(g_free);
    session->start_ns = INT64_MIN;
    session->end_ns = INT64_MAX;
    session->only_host = -1;
    session->only_cpus = NULL;
    session->order = LULL_ORDER_ADDED;
    session->is_intersected = session->has_exempt = false;
    session->is_subscribed = false;
    lull_session_halt(session);
    return true;
}

void lull_session_take_up(struct lull_session *session, const struct lull_session_aside *aside)
{
    g_array_unref(session->subscriptions);
    g_ptr_array_unref(session->converted);
    session->subscriptions = aside->subscriptions;
    session->converted = aside->converted;
    session->start_ns = aside->start_ns;
    session->end_ns = aside->end_ns;
    session->only_host = aside->only_host;
    g_clear_pointer(&session->only_cpus, g_array_unref);
    session->only_cpus = aside->only_cpus;
    session->order = aside->order;
    session->is_intersected = aside->is_intersected;
    session->has_exempt = aside->has_exempt;
    if (aside->filter) {
        lull_session_set_filter(session, aside->filter);
    }
    session->watch = aside->watch;
    session->is_subscribed = false;
    lull_session_halt(session);
}

static const char *const every_name[] = {"*", NULL};

/* Calls `visit` for each stream while all events are wanted of it, if the session can be read more than once. */
static void each_aside(struct lull_session *session,
                       void (*visit)(void *user, struct lull_session *session,
                                     struct lull_source_stream *stream),
                       void *user)
{
    static const struct lull_subscription all = {.names = every_name, .is_typed = true};
    struct lull_session_aside aside;
    if (!lull_session_put_aside(session, &aside)) {
        return;
    }
    g_array_append_val(session->subscriptions, all);
    lull_session_subscribe_sources(session);
    for (uint32_t i = 0; i < session->streams->len; i++) {
        visit(user, session, session->streams->pdata[i]);
    }
    lull_session_take_up(session, &aside);
}

/* Takes in when a stream's first event is, if that is before *first_ns. */
static void find_first(struct lull_session *session, struct lull_source_stream *stream,
                       int64_t *first_ns)
{
    lull_session_start_stream(session, stream);
    if (stream->bound_ns < *first_ns && stream->ops->next(stream)) {
        *first_ns = MIN(*first_ns, stream->event.time_ns);
    }
    if (stream->ops->leave) {
        stream->ops->leave(stream);
    }
}

static void find_first_of_host(void *user, struct lull_session *session,
                               struct lull_source_stream *stream)
{
    find_first(session, stream, &((int64_t *)user)[stream->event.host]);
}

static void find_first_of_trace(void *user, struct lull_session *session,
                                struct lull_source_stream *stream)
{
    find_first(session, stream, &((int64_t *)user)[stream->event.trace]);
}

void lull_session_first_events(struct lull_session *session, int64_t *by_host)
{
    for (uint32_t host = 0; host < session->hosts->len; host++) {
        by_host[host] = INT64_MAX;
    }
    each_aside(session, find_first_of_host, by_host);
}

void lull_session_first_events_by_trace(struct lull_session *session, int64_t *by_trace)
{
    for (uint32_t trace = 0; trace < session->traces->len; trace++) {
        by_trace[trace] = INT64_MAX;
    }
    each_aside(session, find_first_of_trace, by_trace);
}

struct search_of_traces {
    const bool *wanted;
    struct lull_trace_events *found;
};

/* Some formats know no more than the end of a stream, which is that of its last event. */
static void find_events(void *user, struct lull_session *session, struct lull_source_stream *stream)
{
    const struct search_of_traces *search = user;
    const uint32_t trace = stream->event.trace;
    struct lull_trace_events *found = &search->found[trace];
    if (!search->wanted[trace] || stream->start_ns > stream->end_ns) {
        return;
    }
    find_first(session, stream, &found->first_ns);
    lull_session_start_stream(session, stream);
    const struct lull_source_window window = lull_session_window(session, stream);
    const int64_t last_ns =
        stream->ops->last ? stream->ops->last(stream)
                          : lull_clock_join(&window.transform, stream->end_ns, window.delta_ns);
    if (stream->ops->leave) {
        stream->ops->leave(stream);
    }
    found->last_ns = MAX(found->last_ns, last_ns);
}

void lull_session_trace_events(struct lull_session *session, const bool *wanted,
                               struct lull_trace_events *found)
{
    struct search_of_traces search = {wanted, found};
    for (uint32_t i = 0; i < session->traces->len; i++) {
        found[i] = (struct lull_trace_events){INT64_MAX, INT64_MIN};
    }
    each_aside(session, find_events, &search);
}

int64_t lull_session_origin(struct lull_session *session)
{
    int64_t end_ns;
    if (session->knows_origin) {
        return session->origin_ns;
    }
    g_autofree int64_t *by_host = g_new(int64_t, MAX(session->hosts->len, 1));
    lull_session_first_events(session, by_host);
    session->origin_ns = INT64_MAX;
    for (uint32_t host = 0; host < session->hosts->len; host++) {
        session->origin_ns = MIN(session->origin_ns, by_host[host]);
    }
    if (session->origin_ns == INT64_MAX &&
        !lull_session_range(session, &session->origin_ns, &end_ns)) {
        return session->live_since_ns;
    }
    session->knows_origin = true;
    return session->origin_ns;
}
