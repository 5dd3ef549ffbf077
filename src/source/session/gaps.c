/* SPDX-License-Identifier: MIT */
/* When nothing was recorded on a host: between sessions that were recorded one after the other, and while one was stopped. */
#include <stdlib.h>

#include "source/session/aside.h"
#include "source/session/private.h"
#include "source/session/streams.h"

/* When a trace was recorded. */
struct span {
    int64_t start_ns, end_ns; /* of its packets */
    int64_t until_ns;         /* the latest end of the host's until then */
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

/* Of the traces that count, in order. */
static struct span *find_spans(const struct lull_session *session, const bool *counted, uint32_t *n)
{
    const uint32_t n_traces = lull_session_trace_count(session),
                   n_streams = lull_session_stream_count(session);
    struct span *spans = g_new(struct span, MAX(n_traces, 1));
    for (uint32_t i = 0; i < n_traces; i++) {
        spans[i] =
            (struct span){INT64_MAX, INT64_MIN, INT64_MIN, lull_session_trace(session, i)->host, i};
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
    for (uint32_t i = 0; i < *n; i++) {
        const bool is_first = i == 0 || spans[i].host != spans[i - 1].host;
        spans[i].until_ns =
            is_first ? spans[i].end_ns : MAX(spans[i].end_ns, spans[i - 1].until_ns);
    }
    return spans;
}

static bool is_after_gap(const struct span *spans, uint32_t i)
{
    return i > 0 && spans[i].host == spans[i - 1].host && spans[i - 1].until_ns < spans[i].start_ns;
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
static void find_between(struct lull_session *session, const struct span *spans, uint32_t n_spans,
                         struct lull_gaps *gaps)
{
    const uint32_t n_traces = lull_session_trace_count(session);
    g_autofree bool *wanted = g_new0(bool, MAX(n_traces, 1));
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
}

/* ---- within a trace ---- */

/* LTTng ends the packets of all streams when a session is stopped, and starts the next ones with the first events after it was
 * started again; soon after that it dumps the state of the machine once more. An idle machine may leave such holes as well, but
 * for the dump. The longest holes are looked at, of those that are long enough to matter. */
enum { MOST_HOLES = 256 };
#define SHORTEST_HOLE_NS 1000000
#define DUMPED_WITHIN_NS 1000000000

struct stretch {
    int64_t start_ns, end_ns;
};
struct stretches {
    LULL_VEC(struct stretch) all;
};

static const char *const switch_name[] = {"sched_switch", NULL};
static const char *const dump_name[] = {"lttng_statedump_start", NULL};

static void add_packet(void *user, int64_t start_ns, int64_t end_ns)
{
    struct stretches *packets = user;
    lull_vec_push(&packets->all, ((struct stretch){start_ns, end_ns}));
}

static int stretch_by_start(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int longest_first(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    const int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;
    return (x_ns < y_ns) - (x_ns > y_ns);
}

/* Of a trace: the times, on its own clock, in which none of its streams has a packet. */
static void find_holes(const struct lull_session *session, uint32_t trace, struct stretches *holes)
{
    const struct lull_source *source = lull_session_trace_at(session, trace)->source;
    struct stretches packets = {0};
    bool is_known = true;
    for (uint32_t i = 0; i < source->n_streams && is_known; i++) {
        const struct lull_source_stream *stream = source->streams[i];
        is_known =
            stream->ops->each_packet && stream->ops->each_packet(stream, add_packet, &packets);
    }
    if (packets.all.count > 1 && is_known) {
        qsort(packets.all.items, packets.all.count, sizeof *packets.all.items, stretch_by_start);
        int64_t end_ns = packets.all.items[0].end_ns;
        for (size_t i = 1; i < packets.all.count; i++) {
            const struct stretch *packet = &packets.all.items[i];
            if (end_ns < packet->start_ns && packet->start_ns - end_ns >= SHORTEST_HOLE_NS) {
                lull_vec_push(&holes->all, ((struct stretch){end_ns, packet->start_ns}));
            }
            end_ns = MAX(end_ns, packet->end_ns);
        }
    }
    lull_vec_free(&packets.all);
    if (holes->all.count > MOST_HOLES) {
        qsort(holes->all.items, holes->all.count, sizeof *holes->all.items, longest_first);
        holes->all.count = MOST_HOLES;
    }
}

/* Another trace with switches was recorded in that time, or a part of it. */
static bool is_covered(const struct lull_session *session, const struct span *spans, uint32_t n,
                       uint32_t number, const struct lull_gap *gap)
{
    uint32_t i = number;
    while (i > 0 && spans[i - 1].host == gap->host) {
        i--;
    }
    for (; i < n && spans[i].host == gap->host && spans[i].start_ns < gap->end_ns; i++) {
        if (i != number && spans[i].end_ns > gap->start_ns &&
            lull_session_trace_declares(session, spans[i].trace, switch_name)) {
            return true;
        }
    }
    return false;
}

static bool is_dumped_after(struct lull_session *session, uint32_t trace, int64_t time_ns)
{
    const struct lull_event *event;
    lull_session_limit(session, time_ns, time_ns + DUMPED_WITHIN_NS);
    while ((event = lull_session_read(session))) {
        if (event->trace == trace) {
            return true;
        }
    }
    return false;
}

struct stop {
    struct lull_gap gap;
    uint32_t trace;
};
struct stops {
    LULL_VEC(struct stop) all;
};

/* Times in which a trace may have been stopped. */
static void add_stops(const struct lull_session *session, const struct span *spans, uint32_t n,
                      uint32_t number, struct stops *stops)
{
    const uint32_t trace = spans[number].trace, host = spans[number].host;
    const struct lull_clock_transform *clock = lull_session_clock(session, host);
    const int64_t delta_ns = lull_session_trace_at(session, trace)->delta_ns;
    struct stretches holes = {0};
    find_holes(session, trace, &holes);
    for (size_t i = 0; i < holes.all.count; i++) {
        const struct stretch *hole = &holes.all.items[i];
        const struct lull_gap gap = {host, lull_clock_join(clock, hole->start_ns, delta_ns),
                                     lull_clock_join(clock, hole->end_ns, delta_ns)};
        if (!is_covered(session, spans, n, number, &gap)) {
            lull_vec_push(&stops->all, ((struct stop){gap, trace}));
        }
    }
    lull_vec_free(&holes.all);
}

static void find_stops(struct lull_session *session, const struct span *spans, uint32_t n,
                       struct lull_gaps *gaps)
{
    struct lull_session_aside aside;
    struct stops stops = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (lull_session_trace_declares(session, spans[i].trace, switch_name) &&
            lull_session_trace_declares(session, spans[i].trace, dump_name)) {
            add_stops(session, spans, n, i, &stops);
        }
    }
    /* Of what is live nothing is read ahead. */
    if (stops.all.count && lull_session_put_aside(session, &aside)) {
        lull_session_subscribe(session, dump_name, NULL, 0, 0);
        for (size_t i = 0; i < stops.all.count; i++) {
            const struct stop *stop = &stops.all.items[i];
            lull_session_select(session, (int32_t)stop->gap.host, -1);
            if (is_dumped_after(session, stop->trace, stop->gap.end_ns)) {
                lull_vec_push(&gaps->all, stop->gap);
            }
        }
        lull_session_take_up(session, &aside);
    }
    lull_vec_free(&stops.all);
}

void lull_session_find_gaps(struct lull_session *session, const bool *counted,
                            struct lull_gaps *gaps)
{
    uint32_t n_spans;
    g_autofree struct span *spans = find_spans(session, counted, &n_spans);
    *gaps = (struct lull_gaps){0};
    find_between(session, spans, n_spans, gaps);
    find_stops(session, spans, n_spans, gaps);
    if (gaps->all.count > 1) {
        qsort(gaps->all.items, gaps->all.count, sizeof *gaps->all.items, by_start);
    }
}
