/* SPDX-License-Identifier: MIT */
/* Live sessions as part of a session: their traces join, grow and end while they are read. */
#include "source/session/private.h"

#include <string.h>

static void on_news(void *user)
{
    ((struct lull_session *)user)->has_news = true;
}

static void on_problem(void *user, const char *text)
{
    lull_session_note_problem(user, text);
}

static bool on_wait(void *user)
{
    struct lull_session *session = user;
    return !session->wait || session->wait(session->wait_user);
}

void lull_session_on_wait(struct lull_session *session, bool (*wait)(void *user), void *user)
{
    session->wait = wait;
    session->wait_user = user;
}

void lull_session_follow_from_start(struct lull_session *session, bool from_start)
{
    session->is_from_start = from_start;
}

bool lull_session_add_live(struct lull_session *session, const char *url, GError **error)
{
    if (g_hash_table_contains(session->directories, url)) {
        return true;
    }
    const struct lull_live_hooks hooks = {
        .wait = on_wait, .news = on_news, .problem = on_problem, .user = session};
    if (session->live_since_ns == 0) {
        session->live_since_ns = g_get_real_time() * 1000;
    }
    struct lull_live *live = lull_live_open(url, session->is_from_start, &hooks, error);
    if (!live) {
        return false;
    }
    g_hash_table_add(session->directories, g_strdup(url));
    g_ptr_array_add(session->lives, live);
    lull_session_take_news(session);
    session->is_subscribed = false;
    lull_session_halt(session);
    return true;
}

static void take_traces(struct lull_session *session, struct lull_live *live)
{
    for (;;) {
        struct session_trace *trace = lull_session_trace_new(session);
        trace->source = lull_live_take(live, &trace->report);
        if (!trace->source) {
            lull_session_trace_free(trace);
            return;
        }
        lull_session_trace_join(trace);
    }
}

/* Streams from number `first` on take part in the merge. */
static void merge_more(struct lull_session *session, uint32_t first)
{
    uint32_t n = session->merge.n;
    for (uint32_t i = 0; i < n; i++) {
        session->merged[i]->bound_ns = session->merge.times[i];
    }
    session->selected =
        g_renew(struct lull_source_stream *, session->selected, MAX(session->streams->len, 1));
    session->merged = session->selected;
    for (uint32_t i = first; i < session->streams->len; i++) {
        if (lull_session_start_selected(session, session->streams->pdata[i])) {
            session->merged[n++] = session->streams->pdata[i];
        }
    }
    session->n_selected = session->n_started = n;
    lull_session_play(session, n);
}

void lull_session_take_news(struct lull_session *session)
{
    uint32_t n_streams = session->streams->len;
    session->has_news = false;
    for (uint32_t i = 0; i < session->traces->len; i++) {
        lull_session_trace_grow(lull_session_trace_at(session, i));
    }
    for (uint32_t i = 0; i < session->lives->len; i++) {
        take_traces(session, session->lives->pdata[i]);
    }
    if (!session->is_started) {
        return;
    }
    lull_session_subscribe_grown(session);
    if (session->streams->len > n_streams) {
        merge_more(session, n_streams);
    }
}

bool lull_session_follow(struct lull_session *session)
{
    bool is_open = false;
    for (uint32_t i = 0; i < session->lives->len; i++) {
        is_open |= lull_live_follow(session->lives->pdata[i]);
    }
    if (session->has_news) {
        lull_session_take_news(session);
    }
    return is_open;
}

bool lull_session_failed(const struct lull_session *session, GError **error)
{
    for (uint32_t i = 0; i < session->lives->len; i++) {
        const GError *cause = lull_live_error(session->lives->pdata[i]);
        if (cause) {
            g_propagate_error(error, g_error_copy(cause));
            return true;
        }
    }
    return false;
}
