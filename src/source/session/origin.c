/* SPDX-License-Identifier: MIT */
/* The zero of all relative times: the first event. Packets may start long before their first event,
 * so it has to be read. */
#include "source/session/private.h"
#include "source/session/streams.h"

/* What limits reading, put aside while all events are wanted. */
struct wants {
    GArray *subscriptions;
    struct lull_event_filter *filter;
    struct lull_event_watch *watch;
    int64_t start_ns, end_ns;
    int32_t only_host, only_cpu;
    enum lull_order order;
    bool is_intersected, has_exempt;
};

static struct wants want_all(struct lull_session *session)
{
    static const char *const all_names[] = {"*", NULL};
    static const struct lull_subscription all = {.names = all_names, .is_typed = true};
    struct wants wants = {
        .subscriptions = session->subscriptions,
        .watch = session->watch,
        .start_ns = session->start_ns,
        .end_ns = session->end_ns,
        .only_host = session->only_host,
        .only_cpu = session->only_cpu,
        .order = session->order,
        .is_intersected = session->is_intersected,
        .has_exempt = session->has_exempt,
    };
    lull_session_set_watch(session, NULL);
    wants.filter = session->filter ? lull_session_take_filter(session) : NULL;
    session->subscriptions = g_array_new(FALSE, FALSE, sizeof(struct lull_subscription));
    g_array_append_val(session->subscriptions, all);
    session->start_ns = INT64_MIN;
    session->end_ns = INT64_MAX;
    session->only_host = session->only_cpu = -1;
    session->order = LULL_ORDER_ADDED;
    session->is_intersected = session->has_exempt = false;
    session->is_subscribed = false;
    lull_session_halt(session);
    return wants;
}

static void want_again(struct lull_session *session, const struct wants *wants)
{
    g_array_unref(session->subscriptions);
    session->subscriptions = wants->subscriptions;
    session->start_ns = wants->start_ns;
    session->end_ns = wants->end_ns;
    session->only_host = wants->only_host;
    session->only_cpu = wants->only_cpu;
    session->order = wants->order;
    session->is_intersected = wants->is_intersected;
    session->has_exempt = wants->has_exempt;
    if (wants->filter) {
        lull_session_set_filter(session, wants->filter);
    }
    session->watch = wants->watch;
    session->is_subscribed = false;
    lull_session_halt(session);
}

void lull_session_first_events(struct lull_session *session, int64_t *by_host)
{
    for (uint32_t host = 0; host < session->hosts->len; host++) {
        by_host[host] = INT64_MAX;
    }
    if (session->lives->len > 0) {
        return; /* nothing is read of them before its time */
    }
    struct wants wants = want_all(session);
    lull_session_subscribe_sources(session);
    for (uint32_t i = 0; i < session->streams->len; i++) {
        struct lull_source_stream *stream = session->streams->pdata[i];
        int64_t *first_ns = &by_host[stream->event.host];
        lull_session_start_stream(session, stream);
        if (stream->bound_ns < *first_ns && stream->ops->next(stream)) {
            *first_ns = MIN(*first_ns, stream->event.time_ns);
        }
        if (stream->ops->leave) {
            stream->ops->leave(stream);
        }
    }
    want_again(session, &wants);
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
