/* SPDX-License-Identifier: MIT */
/* What is to be known of a trace.dat before it is read: when each CPU was recorded, what was lost,
 * and of which classes there are events. Damage is reported not here but by the reader. */
#include "source/tracedat/stream.h"

#include <string.h>

#define MAX_THREADS 64u

struct work {
    GPtrArray *streams; /* struct lull_tracedat_stream */
    void (*visit)(struct lull_tracedat_stream *stream);
    gint next;
};

/* From the start of the first page to the last event of the last page that has one. */
static void find_range(struct lull_tracedat_stream *s)
{
    uint64_t page = lull_tracedat_pages_count(s->pages);
    s->base.stream.start_ns = INT64_MAX;
    s->base.stream.end_ns = INT64_MIN;
    s->page = 0;
    if (page > 0 && lull_tracedat_stream_start_page(s)) {
        s->base.stream.start_ns = s->base.stream.end_ns =
            lull_tracedat_stream_own_time(s, s->clock);
    }
    while (page > 0 && !lull_tracedat_stream_walk_page(s, page - 1)) {
        page--;
    }
    if (page > 0) {
        s->base.stream.end_ns =
            MAX(s->base.stream.end_ns, lull_tracedat_stream_own_time(s, s->clock));
    }
}

/* Pages that are not packed are looked at without what lies between their heads; those before a
 * loss are gone through, as their last event is where the loss starts. */
static void find_losses(struct lull_tracedat_stream *s)
{
    const struct lull_tracedat *file = s->file;
    uint8_t head[128];
    uint32_t size = file->commit_offset + file->commit_bytes;
    for (uint64_t page = 0; page < lull_tracedat_pages_count(s->pages); page++) {
        if (!lull_tracedat_pages_peek(s->pages, page, head, size) ||
            (lull_format_integer(head + file->commit_offset, (uint8_t)file->commit_bytes, false,
                                 file->is_big_endian) &
             LULL_RING_MISSED) == 0) {
            continue;
        }
        GArray *losses = g_steal_pointer(&s->losses);
        s->clock = 0;
        if (page > 0) {
            lull_tracedat_stream_walk_page(s, page - 1);
        }
        s->losses = losses;
        s->page = page;
        lull_tracedat_stream_start_page(s);
    }
}

/* Packed pages have to be unpacked for that, which takes far longer than to count their events: so
 * that is done too, for later queries. */
static void find_losses_packed(struct lull_tracedat_stream *s)
{
    s->page = s->clock = 0;
    s->pos = s->end = 0;
    lull_tracedat_stream_count_on(s);
}

static void report_lost(const struct lull_tracedat_stream *s, int64_t start_ns, int64_t end_ns,
                        uint64_t events)
{
    s->base.report->lost(s->base.report->user, s->number, start_ns, end_ns, events, events == 0);
}

/* What the kernel counted as overwritten, the page after it says too, unless it was full: then it
 * only says that there was something. No page reports what the kernel dropped because the
 * buffer was full, and nothing says when; it is reported at the end of what there was room for. */
static void report_losses(struct lull_tracedat_stream *s, const struct lull_tracedat_stat *stat)
{
    uint64_t reported = 0, overwritten = stat ? stat->overwritten : 0;
    unsigned n_unknown = 0;
    for (guint i = 0; i < s->losses->len; i++) {
        uint64_t events = g_array_index(s->losses, struct lull_tracedat_loss, i).events;
        n_unknown += events == 0;
        reported = events <= UINT64_MAX - reported ? reported + events : UINT64_MAX;
    }
    uint64_t rest = overwritten > reported ? overwritten - reported : 0;
    if (rest > 0 && n_unknown == 0 && s->base.stream.start_ns <= s->base.stream.end_ns) {
        report_lost(s, s->base.stream.start_ns, s->base.stream.start_ns, rest);
    }
    for (guint i = 0; i < s->losses->len; i++) {
        const struct lull_tracedat_loss *loss =
            &g_array_index(s->losses, struct lull_tracedat_loss, i);
        uint64_t events = loss->events == 0 && n_unknown == 1 ? rest : loss->events;
        report_lost(s, loss->start_ns, loss->end_ns, events);
    }
    if (stat && stat->dropped > 0 && s->base.stream.start_ns <= s->base.stream.end_ns) {
        report_lost(s, s->base.stream.end_ns, s->base.stream.end_ns, stat->dropped);
    }
}

static const struct lull_tracedat_stat *find_stat(const struct lull_tracedat *file,
                                                  const char *buffer, int32_t cpu)
{
    for (guint i = 0; i < file->stats->len; i++) {
        const struct lull_tracedat_stat *stat =
            &g_array_index(file->stats, struct lull_tracedat_stat, i);
        if (stat->cpu == cpu && strcmp(stat->buffer, buffer) == 0) {
            return stat;
        }
    }
    return NULL;
}

void lull_tracedat_survey(struct lull_tracedat_stream *s)
{
    s->is_quiet = true;
    s->losses = g_array_new(FALSE, FALSE, sizeof(struct lull_tracedat_loss));
    if (lull_tracedat_pages_are_packed(s->pages)) {
        find_losses_packed(s);
    } else {
        find_losses(s);
    }
    GArray *losses = g_steal_pointer(&s->losses);
    find_range(s);
    s->losses = losses;
    s->is_quiet = false;
    lull_tracedat_pages_close(s->pages);
}

void lull_tracedat_survey_report(struct lull_tracedat_stream *s, const char *buffer)
{
    report_losses(s, find_stat(s->file, buffer, s->base.stream.cpu));
    g_clear_pointer(&s->losses, g_array_unref);
}

/* ---- all streams ---- */

static gpointer run(gpointer data)
{
    struct work *work = data;
    guint i;
    while ((i = (guint)g_atomic_int_add(&work->next, 1)) < work->streams->len) {
        work->visit(work->streams->pdata[i]);
    }
    return NULL;
}

void lull_tracedat_survey_each(GPtrArray *streams,
                               void (*visit)(struct lull_tracedat_stream *stream))
{
    struct work work = {.streams = streams, .visit = visit};
    guint n = MIN(MIN(g_get_num_processors(), streams->len), MAX_THREADS);
    GThread *threads[MAX_THREADS] = {NULL};
    for (guint i = 1; i < n; i++) { /* without it, the others do its work */
        threads[i] = g_thread_try_new("lull-survey", run, &work, NULL);
    }
    run(&work);
    for (guint i = 1; i < n; i++) {
        if (threads[i]) {
            g_thread_join(threads[i]);
        }
    }
}

void lull_tracedat_survey_count(struct lull_tracedat_stream *stream)
{
    struct lull_tracedat_stream clone;
    if (stream->counts) {
        return;
    }
    lull_tracedat_stream_make_clone(stream, &clone);
    clone.has_unreported = false;
    lull_tracedat_stream_count_on(&clone);
    lull_tracedat_pages_free(clone.pages);
    stream->counts = clone.counts;
    stream->has_unreported = clone.has_unreported;
}
