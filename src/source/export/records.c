/* SPDX-License-Identifier: MIT */
/* Streams of an export whose events are records in the kernel's own layout. */
#include "source/export/records.h"

#include <string.h>

#include "source/format/ctf.h"
#include "source/session/streams.h"

/* A stream of the session. One whose events name their CPU becomes a stream for each CPU. */
struct record_stream {
    struct lull_ctf_writer *writer; /* NULL: not written */
    int64_t start_ns, end_ns;       /* what is written of it, joined clock */
    int64_t first_ns, last_ns;      /* in which it was recorded; first_ns > last_ns: not known */
    GPtrArray *outs;                /* struct lull_ctf_out_stream; or NULL */
    GHashTable *by_cpu;             /* the same */
    GArray *losses;                 /* struct lull_loss, in order */
    uint32_t n_reported;            /* of them */
    bool has_reported_cut;
};

struct lull_export_records {
    struct lull_session *session;
    uint64_t *counts;             /* by number of the class */
    struct lull_format_ctf **ctf; /* by trace */
    struct record_stream *streams;
    uint32_t n_streams;
    uint32_t n_losses; /* of the session that have been dealt out */
};

/* ---- classes ---- */

static void note_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                       uint64_t count)
{
    struct lull_export_records *r = user;
    r->counts[event_class->number] = count;
}

static bool has_formats(const struct lull_source *source)
{
    return source->ops->formats != NULL;
}

struct lull_export_records *lull_export_records_new(struct lull_session *session)
{
    struct lull_export_records *r = g_new0(struct lull_export_records, 1);
    bool any = false;
    r->session = session;
    r->counts = g_new0(uint64_t, MAX(session->n_classes, 1));
    r->ctf = g_new0(struct lull_format_ctf *, MAX(session->traces->len, 1));
    r->n_streams = session->streams->len;
    r->streams = g_new0(struct record_stream, MAX(r->n_streams, 1));
    for (uint32_t i = 0; i < session->traces->len; i++) {
        any |= lull_session_trace_at(session, i)->source->ops->find_used != NULL;
    }
    if (any) {
        lull_session_count(session, note_count, r);
    }
    return r;
}

void lull_export_records_free(struct lull_export_records *r)
{
    for (uint32_t i = 0; i < r->session->traces->len; i++) {
        lull_format_ctf_free(r->ctf[i]);
    }
    for (uint32_t i = 0; i < r->n_streams; i++) {
        g_clear_pointer(&r->streams[i].outs, g_ptr_array_unref);
        g_clear_pointer(&r->streams[i].by_cpu, g_hash_table_unref);
        g_clear_pointer(&r->streams[i].losses, g_array_unref);
    }
    g_free(r->streams);
    g_free(r->ctf);
    g_free(r->counts);
    g_free(r);
}

const struct lull_ctf_plan *lull_export_records_plan(struct lull_export_records *r, uint32_t trace,
                                                     GError **error)
{
    const struct lull_source *source = lull_session_trace_at(r->session, trace)->source;
    if (!has_formats(source)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "%s: %s cannot be exported as CTF 2",
                    source->info.path, source->info.format);
        return NULL;
    }
    g_autofree uint64_t *counts = g_new0(uint64_t, MAX(source->n_classes, 1));
    for (uint32_t i = 0; i < source->n_classes; i++) {
        counts[i] = source->ops->find_used ? r->counts[source->classes[i]->number] : 1;
    }
    r->ctf[trace] = lull_format_ctf_new(source, source->ops->formats(source), counts, error);
    return r->ctf[trace] ? lull_format_ctf_plan(r->ctf[trace]) : NULL;
}

/* ---- streams ---- */

/* Within what is written. */
static void reach(const struct record_stream *s, struct lull_ctf_out_stream *out, int64_t time_ns)
{
    if (time_ns >= s->start_ns && time_ns < s->end_ns) {
        lull_ctf_out_stream_reach(out, time_ns);
    }
}

/* Files are read in the order of their names, which decides what comes first of equal times: it is
 * that of the streams. */
static char *file_name(const struct lull_export_records *r, uint32_t stream, int32_t cpu)
{
    const struct lull_source_stream *base = r->session->streams->pdata[stream];
    const struct session_trace *trace = lull_session_trace_at(r->session, base->event.trace);
    int digits = 1;
    for (uint32_t n = trace->n_streams; n > 10; n = (n + 9) / 10) {
        digits++;
    }
    uint32_t number = stream - trace->first_stream;
    return cpu < 0 ? g_strdup_printf("channel%0*u", digits, number)
                   : g_strdup_printf("channel%0*u_%d", digits, number, cpu);
}

static struct lull_ctf_out_stream *out_of(struct lull_export_records *r, uint32_t stream,
                                          int32_t cpu)
{
    struct record_stream *s = &r->streams[stream];
    struct lull_ctf_out_stream *out = g_hash_table_lookup(s->by_cpu, GINT_TO_POINTER(cpu));
    if (out) {
        return out;
    }
    g_autofree char *name = file_name(r, stream, cpu);
    out = lull_ctf_writer_add_records(s->writer, name, cpu);
    if (s->first_ns <= s->last_ns) {
        reach(s, out, s->first_ns);
    }
    g_hash_table_insert(s->by_cpu, GINT_TO_POINTER(cpu), out);
    g_ptr_array_add(s->outs, out);
    return out;
}

void lull_export_records_start(struct lull_export_records *r, uint32_t stream,
                               struct lull_ctf_writer *writer)
{
    const struct lull_source_stream *base = r->session->streams->pdata[stream];
    struct record_stream *s = &r->streams[stream];
    struct lull_source_window window = lull_session_window(r->session, base);
    s->writer = writer;
    s->start_ns = window.start_ns;
    s->end_ns = window.end_ns;
    s->first_ns = INT64_MAX;
    s->last_ns = INT64_MIN;
    if (base->start_ns <= base->end_ns) {
        s->first_ns = lull_clock_join(&window.transform, base->start_ns, window.delta_ns);
        s->last_ns = lull_clock_join(&window.transform, base->end_ns, window.delta_ns);
    }
    s->outs = g_ptr_array_new();
    s->by_cpu = g_hash_table_new(NULL, NULL);
    s->losses = g_array_new(FALSE, FALSE, sizeof(struct lull_loss));
    if (base->cpu != LULL_CPU_LATER) {
        out_of(r, stream, base->cpu);
    }
}

/* ---- losses ---- */

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct lull_loss *x = a, *y = b;
    if (x->end_ns != y->end_ns) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* What the session has found since the last call goes to its streams. */
static void deal_losses(struct lull_export_records *r)
{
    uint32_t n = lull_session_loss_count(r->session);
    for (; r->n_losses < n; r->n_losses++) {
        struct lull_loss loss = lull_session_found_loss(r->session, r->n_losses);
        struct record_stream *s = loss.stream < r->n_streams ? &r->streams[loss.stream] : NULL;
        if (!s || !s->writer || loss.end_ns < s->start_ns || loss.start_ns >= s->end_ns) {
            continue;
        }
        loss.start_ns = MAX(loss.start_ns, s->start_ns);
        loss.end_ns = MIN(loss.end_ns, s->end_ns - 1);
        g_array_append_val(s->losses, loss);
        for (guint i = s->losses->len - 1; i > s->n_reported; i--) { /* nearly always the last */
            struct lull_loss *at = &g_array_index(s->losses, struct lull_loss, i);
            if (by_time(at - 1, at) <= 0) {
                break;
            }
            struct lull_loss later = at[-1];
            at[-1] = at[0];
            at[0] = later;
        }
    }
}

/* Writes what was lost before the time; of a stream of several CPUs it may have been any of them.
 */
static bool report_losses(struct lull_export_records *r, uint32_t stream, int64_t time_ns,
                          GError **error)
{
    struct record_stream *s = &r->streams[stream];
    for (; s->n_reported < s->losses->len; s->n_reported++) {
        const struct lull_loss *loss = &g_array_index(s->losses, struct lull_loss, s->n_reported);
        if (loss->end_ns > time_ns) {
            break;
        }
        struct lull_ctf_out_stream *out =
            s->outs->len > 0 ? s->outs->pdata[0] : out_of(r, stream, -1);
        if (!lull_ctf_out_stream_lost(out, loss->start_ns, loss->end_ns, loss->events,
                                      loss->packets, error)) {
            return false;
        }
    }
    return true;
}

/* ---- events ---- */

static void report_cut(struct lull_export_records *r, struct record_stream *s,
                       const struct lull_event *event)
{
    if (s->has_reported_cut) {
        return;
    }
    s->has_reported_cut = true;
    g_autofree char *text = g_strdup_printf(
        "%s: CPU %d: an event '%s' has a field whose bytes lie outside the event; such fields are "
        "exported empty",
        lull_session_trace_at(r->session, event->trace)->source->info.path, event->cpu,
        event->event_class->name);
    lull_session_note_problem(r->session, text);
}

bool lull_export_records_event(struct lull_export_records *r, const struct lull_event *event,
                               GError **error)
{
    const struct lull_source_stream *base = event->impl;
    struct record_stream *s = &r->streams[event->stream];
    bool is_cut = false;
    deal_losses(r);
    if (!report_losses(r, event->stream, event->time_ns, error) ||
        !lull_format_ctf_write(r->ctf[event->trace], out_of(r, event->stream, event->cpu),
                               event->event_class->index, event->time_ns, base->ops->record(base),
                               &is_cut, error)) {
        return false;
    }
    if (is_cut) {
        report_cut(r, s, event);
    }
    return true;
}

bool lull_export_records_finish(struct lull_export_records *r, uint32_t stream, GError **error)
{
    struct record_stream *s = &r->streams[stream];
    if (!s->writer) {
        return true;
    }
    deal_losses(r);
    if (!report_losses(r, stream, INT64_MAX, error)) {
        return false;
    }
    for (guint i = 0; i < s->outs->len; i++) {
        if (s->first_ns <= s->last_ns) {
            reach(s, s->outs->pdata[i], s->last_ns);
        }
        if (!lull_ctf_out_stream_finish(s->outs->pdata[i], error)) {
            return false;
        }
    }
    return true;
}
