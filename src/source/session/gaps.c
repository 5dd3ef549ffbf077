/* SPDX-License-Identifier: MIT */
/* When nothing was recorded on a host: between sessions that were recorded one after the other. */
#include <stdlib.h>

#include "source/session/streams.h"

/* When a trace was recorded. */
struct span {
    int64_t start_ns, end_ns; /* of its packets */
    uint32_t host, trace;
};

static int by_host_and_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct lull_gap *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->host > y->host) - (x->host < y->host);
}

/* Of the traces that count, in order; `end_ns` becomes the latest of the host until then. */
static struct span *find_spans(const struct lull_session *session, const bool *counted, uint32_t *n)
{
    const uint32_t n_traces = lull_session_trace_count(session),
                   n_streams = lull_session_stream_count(session);
    struct span *spans = g_new(struct span, MAX(n_traces, 1));
    for (uint32_t i = 0; i < n_traces; i++) {
        spans[i] = (struct span){INT64_MAX, INT64_MIN, lull_session_trace(session, i)->host, i};
    }
    for (uint32_t i = 0; i < n_streams; i++) {
        const struct lull_stream_info stream = lull_session_stream(session, i);
        if (stream.start_ns != INT64_MAX && (!counted || counted[stream.trace])) {
            struct span *span = &spans[stream.trace];
            const bool is_known = stream.end_ns != INT64_MIN && !stream.may_grow;
            span->start_ns = MIN(span->start_ns, stream.start_ns);
            span->end_ns = MAX(span->end_ns, is_known ? stream.end_ns : INT64_MAX);
        }
    }
    *n = 0;
    for (uint32_t i = 0; i < n_traces; i++) {
        if (spans[i].start_ns <= spans[i].end_ns) {
            spans[(*n)++] = spans[i];
        }
    }
    qsort(spans, *n, sizeof *spans, by_host_and_start);
    for (uint32_t i = 1; i < *n; i++) {
        if (spans[i].host == spans[i - 1].host) {
            spans[i].end_ns = MAX(spans[i].end_ns, spans[i - 1].end_ns);
        }
    }
    return spans;
}

static bool is_after_gap(const struct span *spans, uint32_t i)
{
    return i > 0 && spans[i].host == spans[i - 1].host && spans[i - 1].end_ns < spans[i].start_ns;
}

/* All traces of hosts that have a gap; false if none has. */
static bool find_wanted(const struct span *spans, uint32_t n, bool *wanted)
{
    bool has_gap = false, is_any = false;
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && spans[i].host != spans[i - 1].host) {
            first = i;
            has_gap = false;
        }
        if (is_after_gap(spans, i)) {
            has_gap = is_any = true;
            for (; first < i; first++) {
                wanted[spans[first].trace] = true;
            }
        }
        wanted[spans[i].trace] = has_gap;
    }
    return is_any;
}

/* Packets may start long before their first event, and end long after their last: what is known ends and starts with events. */
void lull_session_find_gaps(struct lull_session *session, const bool *counted,
                            struct lull_gaps *gaps)
{
    uint32_t n_spans;
    const uint32_t n_traces = lull_session_trace_count(session);
    g_autofree struct span *spans = find_spans(session, counted, &n_spans);
    g_autofree bool *wanted = g_new0(bool, MAX(n_traces, 1));
    *gaps = (struct lull_gaps){0};
    if (!find_wanted(spans, n_spans, wanted)) {
        return;
    }
    g_autofree struct lull_trace_events *events = g_new(struct lull_trace_events, n_traces);
    lull_session_trace_events(session, wanted, events);
    int64_t last_ns = INT64_MIN;
    bool is_gap = false;
    for (uint32_t i = 0; i < n_spans; i++) {
        const struct lull_trace_events of = events[spans[i].trace];
        if (i == 0 || spans[i].host != spans[i - 1].host) {
            last_ns = INT64_MIN;
            is_gap = false;
        }
        is_gap |= is_after_gap(spans, i) && last_ns != INT64_MIN;
        if (of.first_ns > of.last_ns) {
            continue; /* it has no events */
        }
        if (is_gap && last_ns < of.first_ns) {
            lull_vec_push(&gaps->all, ((struct lull_gap){spans[i].host, last_ns, of.first_ns}));
        }
        is_gap = false;
        last_ns = MAX(last_ns, of.last_ns);
    }
    if (gaps->all.count > 1) {
        qsort(gaps->all.items, gaps->all.count, sizeof *gaps->all.items, by_start);
    }
}
