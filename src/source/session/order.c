/* SPDX-License-Identifier: MIT */
/* The order of streams for events of equal time: as added, or as Babeltrace 2 has it. */
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
