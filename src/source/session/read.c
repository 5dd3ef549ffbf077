/* SPDX-License-Identifier: MIT */
/* Reading a session in order of time: which streams are merged when, and by whom. */
#include "base/sized.h"
#include "source/session/ahead.h"
#include "source/session/streams.h"

#include <sys/resource.h>

void lull_session_play(struct lull_session *session, uint32_t n)
{
    lull_session_sort_streams(session, session->merged, n);
    lull_session_slice(session, n);
    lull_merge_init(&session->merge, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_source_stream *stream = session->merged[i];
        session->merge.times[i] = lull_session_turn(session, stream, stream->bound_ns);
    }
    lull_merge_play(&session->merge);
}

/* One host after the other: a live session, whose hosts are not known yet, is read as a whole. */
static bool is_apart(const struct lull_session *session)
{
    return session->order == LULL_ORDER_HOSTS && session->lives->len == 0;
}

static void select_stream(struct lull_session *session, struct lull_source_stream *stream)
{
    if (lull_session_is_selected(session, stream)) {
        session->selected[session->n_selected++] = stream;
    } else if (stream->ops->leave) {
        stream->ops->leave(stream);
    }
}

static void select_host(struct lull_session *session, uint32_t host)
{
    const GArray *traces = lull_session_host_at(session, host)->traces;
    for (guint t = 0; t < traces->len; t++) {
        const struct lull_source *source =
            lull_session_trace_at(session, g_array_index(traces, uint32_t, t))->source;
        for (uint32_t i = 0; i < source->n_streams; i++) {
            select_stream(session, source->streams[i]);
        }
    }
}

/* Only one host's streams are looked at if the others are not wanted. */
static void select_streams(struct lull_session *session)
{
    session->n_selected = session->n_started = 0;
    if (session->only_host >= 0 && session->lives->len == 0) {
        select_host(session, (uint32_t)session->only_host);
    } else if (is_apart(session)) {
        for (uint32_t host = 0; host < session->hosts->len; host++) {
            select_host(session, host);
        }
    } else {
        for (uint32_t i = 0; i < session->streams->len; i++) {
            select_stream(session, session->streams->pdata[i]);
        }
    }
}

/* Half of the files that may be open are for whatever else this process has open. */
static bool are_many_files(uint32_t n)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && n > limit.rlim_cur / 2;
}

/* Goes on with the streams of the next host, or with all. False if there are none. */
static bool play_more(struct lull_session *session)
{
    const bool takes_all = !is_apart(session);
    const uint32_t left = session->n_selected - session->n_started;
    uint32_t n = 0;
    session->merged = session->selected + session->n_started;
    while (n < left &&
           (takes_all || session->merged[n]->event.host == session->merged[0]->event.host)) {
        n++;
    }
    session->n_together = n;
    session->has_many_files = are_many_files(n);
    for (uint32_t i = 0; i < n; i++) {
        lull_session_start_stream(session, session->merged[i]);
    }
    session->n_started += n;
    lull_session_play(session, n);
    return n > 0;
}

/* Less than this is read before a thread has helped. */
#define LEAST_AHEAD_BYTES (UINT64_C(16) << 20)

/* As many threads as there are CPUs means: where it helps. */
static bool is_worth_ahead(const struct lull_session *session)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < session->n_selected; i++) {
        bytes += session->selected[i]->size_bytes;
    }
    return lull_session_threads(session) > 1 &&
           (session->n_threads != 0 || bytes >= LEAST_AHEAD_BYTES);
}

void lull_session_halt(struct lull_session *session)
{
    session->is_started = false;
    if (session->ahead) {
        lull_ahead_stop(session->ahead);
        session->ahead = NULL;
    }
}

static void start(struct lull_session *session)
{
    if (session->has_news) {
        lull_session_take_news(session);
    }
    if (session->filter && session->filter->has_times) {
        lull_session_origin(session); /* which reads, so before anything else does */
    }
    if (!session->is_subscribed) {
        lull_session_subscribe_sources(session);
    }
    lull_session_start_filter(session);
    g_free(session->selected);
    session->selected = g_new(struct lull_source_stream *, MAX(session->streams->len, 1));
    select_streams(session);
    play_more(session);
    session->is_started = true;
    if (session->wants_ahead && is_worth_ahead(session) && lull_ahead_is_possible(session)) {
        session->ahead = lull_ahead_start(session);
    }
}

void lull_session_read_ahead(struct lull_session *session)
{
    session->wants_ahead = true;
}

void lull_session_end_ahead(struct lull_session *session)
{
    session->wants_ahead = false;
    if (session->ahead) {
        session->is_started = lull_ahead_stop(session->ahead);
        session->ahead = NULL;
    }
}

static __attribute__((noinline)) const struct lull_event *read_usual(struct lull_session *session)
{
    if (G_UNLIKELY(!session->is_started)) {
        start(session);
        if (session->ahead) {
            return lull_ahead_read(session->ahead);
        }
    }
    struct lull_merge *merge = &session->merge;
    do {
        while (merge->n > 0 && merge->times[merge->winner] != INT64_MAX) {
            struct lull_source_stream *stream = session->merged[merge->winner];
            if (stream->has_event) {
                stream->has_event = false;
                if (G_UNLIKELY(session->watch) &&
                    !lull_session_show_watch(session, &stream->event)) {
                    continue;
                }
                return &stream->event;
            }
            /* The tree has held a lower bound, or the time of the event that was handed out. */
            bool any = G_LIKELY(!session->filter) ? stream->ops->next(stream)
                                                  : lull_session_next_passing(session, stream);
            const int64_t time_ns = any ? stream->event.time_ns : INT64_MAX;
            const bool is_next =
                lull_merge_update(merge, lull_session_turn(session, stream, time_ns));
            if (G_UNLIKELY(session->has_news)) {
                lull_session_take_news(session);
            } else if (G_LIKELY(is_next && stream->has_event && !session->watch)) {
                stream->has_event = false;
                return &stream->event;
            }
        }
    } while (lull_session_follow(session) || (is_apart(session) && play_more(session)));
    return NULL;
}

const struct lull_event *lull_session_read(struct lull_session *session)
{
    return session->ahead ? lull_ahead_read(session->ahead) : read_usual(session);
}

bool lull_session_read_batch(struct lull_session *session, struct lull_batch *batch)
{
    if (!session->is_started) {
        start(session);
    }
    return session->ahead && lull_ahead_batch(session->ahead, batch);
}

bool lull_session_last_event(struct lull_session *session, uint32_t host, int64_t *last_ns)
{
    const GArray *traces = lull_session_host_at(session, host)->traces;
    *last_ns = INT64_MIN;
    lull_session_halt(session);
    for (guint t = 0; t < traces->len; t++) {
        const uint32_t trace = g_array_index(traces, uint32_t, t);
        const struct lull_source *source = lull_session_trace_at(session, trace)->source;
        for (uint32_t i = 0; i < source->n_streams; i++) {
            struct lull_source_stream *stream = source->streams[i];
            if (!stream->ops->last) {
                return false;
            }
            lull_session_start_stream(session, stream);
            const int64_t time_ns = stream->ops->last(stream); /* not in MAX, which reads twice */
            *last_ns = MAX(*last_ns, time_ns);
        }
    }
    return true;
}

int lull_session_next_sized(struct lull_session *session, struct lull_event *event, size_t size)
{
    const struct lull_event *next = lull_session_read(session);
    if (next) {
        lull_sized_fill(event, size, next, sizeof *next);
    }
    return next != NULL;
}

bool lull_event_visit_sized(const struct lull_event *event, const struct lull_visitor *visitor,
                            size_t size, void *user, GError **error)
{
    const struct lull_source_stream *stream = event->impl;
    struct lull_visitor known;
    return stream->ops->visit(stream, lull_sized(&known, sizeof known, visitor, size), user, error);
}

bool lull_event_visit_packet_sized(const struct lull_event *event,
                                   const struct lull_visitor *visitor, size_t size, void *user,
                                   GError **error)
{
    const struct lull_source_stream *stream = event->impl;
    struct lull_visitor known;
    return stream->ops->visit_packet(stream, lull_sized(&known, sizeof known, visitor, size), user,
                                     error);
}

bool lull_event_cycles(const struct lull_event *event, uint64_t *cycles)
{
    const struct lull_source_stream *stream = event->impl;
    return stream->ops->cycles(stream, cycles);
}

double lull_session_progress(const struct lull_session *session)
{
    uint64_t done = 0, all = 0;
    if (!session->is_started) {
        return 0;
    }
    for (uint32_t i = 0; i < session->n_selected; i++) {
        const struct lull_source_stream *stream = session->selected[i];
        done += i < session->n_started && !session->ahead ? stream->ops->progress(stream) : 0;
        all += stream->size_bytes;
    }
    done = session->ahead ? lull_ahead_progress(session->ahead) : done;
    return all == 0 ? 1 : (double)done / (double)all;
}
