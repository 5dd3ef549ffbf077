/* SPDX-License-Identifier: MIT */
/* The order of streams for events of equal time: as added, or as Babeltrace 2 has it; and slices of
 * time, in which many hosts come one after the other. */
#include "source/session/private.h"

#include <string.h>

/* Traces with a UUID come first. */
static int compare_uuids(const struct lull_source *a, const struct lull_source *b)
{
    if (a->has_uuid != b->has_uuid) {
        return a->has_uuid ? -1 : 1;
    }
    return a->has_uuid ? memcmp(a->uuid, b->uuid, sizeof a->uuid) : 0;
}

/* Babeltrace's name of a trace: the host, then where the trace was found. */
static char *trace_name(const struct lull_source *source)
{
    const char *host = source->hostname ? source->hostname : "";
    const char *slash = *host != '\0' && *source->info.below != '\0' ? "/" : "";
    return g_strconcat(host, slash, source->info.below, NULL);
}

static int compare_names(const struct lull_source *a, const struct lull_source *b)
{
    g_autofree char *name_a = trace_name(a);
    g_autofree char *name_b = trace_name(b);
    return strcmp(name_a, name_b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_streams(const void *left, const void *right, void *data)
{
    const struct lull_session *session = data;
    const struct lull_source_stream *a = *(struct lull_source_stream *const *)left;
    const struct lull_source_stream *b = *(struct lull_source_stream *const *)right;
    const struct lull_source *source_a = lull_session_trace_at(session, a->event.trace)->source;
    const struct lull_source *source_b = lull_session_trace_at(session, b->event.trace)->source;
    int order = 0;
    if (source_a != source_b) {
        order = compare_uuids(source_a, source_b);
        order = order != 0 ? order : compare_names(source_a, source_b);
    }
    order = order != 0 ? order : compare_numbers(a->class_id, b->class_id);
    order = order != 0 ? order : compare_numbers(a->instance, b->instance);
    return order != 0 ? order : compare_numbers(a->event.stream, b->event.stream);
}

void lull_session_sort_streams(const struct lull_session *session,
                               struct lull_source_stream **streams, uint32_t n)
{
    if (session->order == LULL_ORDER_BABELTRACE && n > 1) {
        g_qsort_with_data(streams, (gint)n, sizeof *streams, compare_streams, (gpointer)session);
    }
}

/* ---- slices ---- */

/* Fewer streams fit the caches well enough. A slice has so much of each on average: so much longer
 * than a window that most of it is read while it is in the cache. */
#define LEAST_STREAMS 64u
#define SLICE_BYTES (256 << 10)

/* Times before the start and far after the end of what the packets say are damage; there the order
 * of hosts does not matter. */
int64_t lull_session_slice_turn(const struct session_slices *slices, uint32_t host, int64_t time_ns)
{
    const int64_t length_ns = slices->length_ns;
    int64_t since, turn;
    if (time_ns == INT64_MAX || __builtin_sub_overflow(time_ns, slices->start_ns, &since)) {
        return time_ns;
    }
    since = MAX(since, 0);
    if (__builtin_mul_overflow(since / length_ns, (int64_t)slices->n_hosts, &turn) ||
        __builtin_add_overflow(turn, (int64_t)host, &turn) ||
        __builtin_mul_overflow(turn, length_ns, &turn) ||
        __builtin_add_overflow(turn, since % length_ns, &turn)) {
        return INT64_MAX - 1;
    }
    return MIN(turn, INT64_MAX - 1); /* INT64_MAX: there is no event */
}

void lull_session_slice(struct lull_session *session, uint32_t n)
{
    int64_t start_ns, end_ns, span_ns;
    uint64_t bytes = 0;
    session->slices = (struct session_slices){0};
    /* Whoever wants to know of losses wants them in order of time. */
    if (!session->may_slice || n < LEAST_STREAMS || session->order != LULL_ORDER_ADDED ||
        session->lives->len > 0 || lull_session_loss_count(session) > 0 ||
        !lull_session_range(session, &start_ns, &end_ns) ||
        __builtin_sub_overflow(end_ns, start_ns, &span_ns) ||
        span_ns > INT64_MAX / 4 / session->hosts->len) {
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        bytes += session->merged[i]->size_bytes;
        start_ns = MIN(start_ns, session->merged[i]->bound_ns);
    }
    /* Of traces that are shorter, one slice has all; the packets may say any times. */
    const double share = MIN((double)SLICE_BYTES * n / (double)MAX(bytes, 1), 1.0);
    session->slices = (struct session_slices){.length_ns = (int64_t)(share * (double)span_ns) + 1,
                                              .start_ns = start_ns,
                                              .n_hosts = session->hosts->len};
}
