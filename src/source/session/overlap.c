/* SPDX-License-Identifier: MIT */
/* Recordings of one machine that overlap in time: snapshots of a daemon one after the other, or of two daemons beside each
 * other. What two of them hold would happen twice; each moment of a CPU is read from one of them, and the next goes on
 * where it ends. That is done only for recordings that say that they are of one boot and recorded the same events of all tasks. */
#include <string.h>

#include "source/session/private.h"

void lull_session_note_record(struct session_trace *trace,
                              const struct lull_recording_file *recording)
{
    const bool is_state =
        strcmp(trace->source->info.tracer, "lull") == 0; /* of tasks, not of CPUs */
    if (recording->has_boot_id && recording->events && !recording->info.is_filtered && !is_state) {
        g_autofree char *events = g_strjoinv(" ", (char **)recording->events);
        trace->record = g_strconcat(trace->source->info.tracer, " ", trace->source->info.clock_name,
                                    " ", events, NULL);
    }
}

/* On the clock of the host's first trace. */
static int64_t start_of(const struct lull_session *session, const struct lull_source_stream *stream)
{
    return stream->start_ns + lull_session_trace_at(session, stream->event.trace)->delta_ns;
}

static int64_t end_of(const struct lull_session *session, const struct lull_source_stream *stream)
{
    return stream->end_ns + lull_session_trace_at(session, stream->event.trace)->delta_ns;
}

/* Whose records of which CPU it is part of. */
static int compare_records(const struct lull_session *session, const struct lull_source_stream *a,
                           const struct lull_source_stream *b)
{
    const int order = strcmp(lull_session_trace_at(session, a->event.trace)->record,
                             lull_session_trace_at(session, b->event.trace)->record);
    return order != 0 ? order : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static gint compare_streams(gconstpointer left, gconstpointer right, gpointer data)
{
    const struct lull_source_stream *a = *(struct lull_source_stream *const *)left;
    const struct lull_source_stream *b = *(struct lull_source_stream *const *)right;
    const int order = compare_records(data, a, b);
    const int64_t x = start_of(data, a), y = start_of(data, b);
    return order != 0 ? order : (x > y) - (x < y);
}

static GPtrArray *list_streams(const struct lull_session *session, const struct session_host *host)
{
    GPtrArray *streams = g_ptr_array_new();
    for (guint t = 0; t < host->traces->len; t++) {
        const struct session_trace *trace =
            lull_session_trace_at(session, g_array_index(host->traces, uint32_t, t));
        for (uint32_t i = 0; trace->record && i < trace->source->n_streams; i++) {
            struct lull_source_stream *stream = trace->source->streams[i];
            if (stream->cpu >= 0 && stream->start_ns <= stream->end_ns) {
                g_ptr_array_add(streams, stream);
            }
        }
    }
    g_ptr_array_sort_with_data(streams, compare_streams, (gpointer)session);
    return streams;
}

static void remark(struct lull_session *session, const struct session_host *host,
                   const struct lull_source_stream *one, const struct lull_source_stream *other)
{
    g_autofree char *text = g_strdup_printf(
        "%s and %s were recorded on one machine, “%s”, at the same time: Lull reads what both hold "
        "only once",
        lull_session_trace(session, one->event.trace)->path,
        lull_session_trace(session, other->event.trace)->path, host->info.name);
    lull_session_note_remark(session, text);
}

void lull_session_part_records(struct lull_session *session, struct session_host *host)
{
    g_autoptr(GPtrArray) streams = list_streams(session, host);
    const struct lull_source_stream *last = NULL; /* of those so far, the one that ends last */
    for (guint i = 0; i < streams->len; i++) {
        struct lull_source_stream *stream = streams->pdata[i];
        const bool goes_on = last && compare_records(session, last, stream) == 0;
        stream->is_clipped = goes_on && start_of(session, stream) <= end_of(session, last);
        if (stream->is_clipped) {
            stream->from_ns = end_of(session, last) + 1 -
                              lull_session_trace_at(session, stream->event.trace)->delta_ns;
            if (!host->has_overlap) {
                remark(session, host, last, stream);
                host->has_overlap = true;
            }
        }
        last = !goes_on || end_of(session, stream) > end_of(session, last) ? stream : last;
    }
}
