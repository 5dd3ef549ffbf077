/* SPDX-License-Identifier: MIT */
/* Reads the events in the pages of one CPU. */
#include "source/tracedat/stream.h"

#include <string.h>

/* ---- time ---- */

/* Nanoseconds of the trace's clock. */
static inline uint64_t clock_ns(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return G_LIKELY(!s->is_converted) ? clock : lull_tracedat_nanoseconds(s->file, s->shift, clock);
}

int64_t lull_tracedat_stream_own_time(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return lull_clock_map_own(&s->own, clock_ns(s, clock));
}

static inline bool is_valid(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return lull_clock_map_holds(&s->own, clock_ns(s, clock));
}

static int64_t joined_time(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return lull_clock_map_joined(&s->base.map, clock_ns(s, clock));
}

/* ---- pages ---- */

static void damaged(struct lull_tracedat_stream *s, uint64_t page, uint64_t byte, const char *why)
{
    s->has_unreported |= s->is_quiet;
    if (s->is_quiet || (s->reported[page / 8] >> page % 8 & 1) != 0) {
        return;
    }
    s->reported[page / 8] |= (uint8_t)(1u << page % 8);
    int64_t t = lull_tracedat_stream_own_time(s, s->clock);
    lull_report_problem(s->base.report,
                        "%s: byte %" G_GUINT64_FORMAT ": page %" G_GUINT64_FORMAT
                        " of CPU %d, byte %" G_GUINT64_FORMAT ": %s",
                        s->file->path, lull_tracedat_pages_where(s->pages, page), page,
                        s->base.stream.cpu, byte, why);
    s->base.report->lost(s->base.report->user, s->number, t, t, 0, 1);
}

/* What the head of a page says was lost before it; a number only if there was room for it. */
static void note_lost(const struct lull_tracedat_stream *s, uint64_t commit, uint64_t before)
{
    const struct lull_tracedat *file = s->file;
    struct lull_tracedat_loss loss = {.end_ns = lull_tracedat_stream_own_time(s, s->clock)};
    if ((commit & LULL_RING_MISSED) == 0 || !s->losses) {
        return;
    }
    if ((commit & LULL_RING_MISSED_STORED) != 0) {
        loss.events = lull_format_integer(s->data + s->end, (uint8_t)file->commit_bytes, false,
                                          file->is_big_endian);
    }
    loss.start_ns =
        before != 0 ? MIN(lull_tracedat_stream_own_time(s, before), loss.end_ns) : loss.end_ns;
    g_array_append_val(s->losses, loss);
}

bool lull_tracedat_stream_start_page(struct lull_tracedat_stream *s)
{
    const struct lull_tracedat *file = s->file;
    const char *why = NULL;
    uint64_t page = s->page++, before = s->clock;
    s->pos = s->end = 0;
    s->data = lull_tracedat_pages_get(s->pages, page, &why);
    if (!s->data) {
        damaged(s, page, 0, why);
        return false;
    }
    uint64_t clock = lull_load_u64(s->data, file->is_big_endian);
    uint64_t commit = lull_format_integer(s->data + file->commit_offset,
                                          (uint8_t)file->commit_bytes, false, file->is_big_endian);
    uint64_t room = lull_tracedat_pages_bytes(s->pages) - file->data_offset;
    uint64_t need = commit & LULL_RING_COMMIT;
    if (need > room) {
        damaged(s, page, file->commit_offset, "the page has more events than fit into it");
        return false;
    }
    if (need + file->commit_bytes > room) {
        commit &= ~LULL_RING_MISSED_STORED;
    }
    if (!is_valid(s, clock)) {
        damaged(s, page, 0, LULL_TIME_OUTSIDE);
        return false;
    }
    s->clock = clock;
    s->pos = file->data_offset;
    s->end = file->data_offset + (uint32_t)need;
    note_lost(s, commit, before);
    return true;
}

/* ---- events ---- */

/* Goes to the next record of the page, which is made s->base.record. False at its end, also where
 * it is damaged: then *why is set, and the clock is that of the record before. */
static inline __attribute__((always_inline)) bool next_record(struct lull_tracedat_stream *s,
                                                              bool be, const char **why)
{
    const uint64_t before = s->clock;
    if (!lull_ring_next(s->data, &s->pos, s->end, &s->clock, be, &s->base.record, why)) {
        s->clock = *why ? before : s->clock;
        return false;
    }
    if (G_UNLIKELY(!is_valid(s, s->clock))) {
        s->pos = (uint32_t)(s->base.record.data - s->data) - 4;
        s->clock = before;
        *why = LULL_TIME_OUTSIDE;
        return false;
    }
    return true;
}

/* The class of s->base.record, or NULL if it has none. */
/* An event of a class whose fields are not known is shown by its name; that is a loss. */
static void report_undecoded(struct lull_tracedat_stream *s, const struct lull_format *format)
{
    if (s->is_quiet) {
        s->has_unreported = true;
    } else if (format != s->undecoded) {
        s->undecoded = format;
        lull_report_remark(s->base.report, "%s: events '%s' are shown without their fields: %s",
                           s->file->path, format->event_class.name, format->undecoded);
    }
}

static inline const struct lull_format *find_format(struct lull_tracedat_stream *s, bool be,
                                                    const char **why)
{
    const struct lull_formats *formats = s->file->formats;
    const struct lull_format *format = NULL;
    if (G_LIKELY(s->base.record.size >= formats->id_offset &&
                 s->base.record.size - formats->id_offset >= 2)) {
        uint16_t id = lull_load_u16(s->base.record.data + formats->id_offset, be);
        format = lull_formats_find(formats, id);
        if (G_LIKELY(format && s->base.record.size >= format->least_size)) {
            if (G_UNLIKELY(format->undecoded)) {
                report_undecoded(s, format);
            }
            return format;
        }
        if (!format && s->is_quiet) {
            s->has_unreported = true;
        } else if (!format && !s->has_reported_unknown) {
            lull_report_problem(s->base.report,
                                "%s: byte %" G_GUINT64_FORMAT ": CPU %d: an event has the number "
                                "%u, which no format describes; such events are left out",
                                s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1),
                                s->base.stream.cpu, id);
        }
        s->has_reported_unknown |= !format && !s->is_quiet;
        if (!format) {
            return NULL;
        }
    }
    *why = "an event is shorter than its format says";
    return NULL;
}

/* The next event, whatever its class; it is made s->base.format and s->base.record. False at the
 * end. */
static inline __attribute__((always_inline)) bool next_event(struct lull_tracedat_stream *s,
                                                             bool be)
{
    for (;;) {
        const char *why = NULL;
        if (next_record(s, be, &why)) {
            s->base.format = find_format(s, be, &why);
            if (G_LIKELY(s->base.format)) {
                return true;
            }
        } else if (!why) {
            if (s->page >= lull_tracedat_pages_count(s->pages)) {
                return false;
            }
            lull_tracedat_stream_start_page(s);
        }
        if (why) {
            damaged(s, s->page - 1, s->pos, why);
            s->pos = s->end;
        }
    }
}

/* Its time on the joined clock, never before that of the event before. */
static inline int64_t event_time(struct lull_tracedat_stream *s)
{
    int64_t t = joined_time(s, s->clock);
    if (G_UNLIKELY(t < s->last_ns)) {
        if (!s->has_reported_order) {
            lull_report_remark(s->base.report,
                               "%s: byte %" G_GUINT64_FORMAT ": CPU %d: an event is earlier than "
                               "the one before it; such events get the time of the one before",
                               s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1),
                               s->base.stream.cpu);
        }
        s->has_reported_order = true;
        t = s->last_ns;
    }
    s->last_ns = t;
    return t;
}

static void finish(struct lull_tracedat_stream *s)
{
    s->base.is_done = true;
    lull_tracedat_pages_close(s->pages);
}

/* The next event within the limits; its time to *t. */
static inline __attribute__((always_inline)) bool next_within(struct lull_tracedat_stream *s,
                                                              bool be, int64_t *t)
{
    while (!s->base.is_done && next_event(s, be)) {
        *t = event_time(s);
        if (G_UNLIKELY(*t >= s->base.end_ns)) {
            break;
        }
        if (G_LIKELY(*t >= s->base.start_ns)) {
            return true;
        }
    }
    finish(s);
    return false;
}

/* ---- the stream ---- */

static struct lull_tracedat_stream *stream_of(struct lull_source_stream *base)
{
    return (struct lull_tracedat_stream *)base;
}

/* The last page that starts before the time, or the first. */
static uint64_t find_page(struct lull_tracedat_stream *s, int64_t time_ns)
{
    uint64_t low = 0, high = lull_tracedat_pages_count(s->pages);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        const char *why;
        const uint8_t *data = lull_tracedat_pages_get(s->pages, middle, &why);
        if (!data) {
            return 0; /* read them all: the damage is reported then */
        }
        if (joined_time(s, lull_load_u64(data, s->file->is_big_endian)) < time_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct lull_tracedat_stream *s = stream_of(base);
    lull_format_stream_start(&s->base, s->file->offset_ns, lull_tracedat_pages_count(s->pages) == 0,
                             window);
    lull_tracedat_pages_set_brief(s->pages, window->is_brief);
    s->last_ns = INT64_MIN;
    s->pos = s->end = 0;
    s->clock = 0;
    if (s->base.is_done) {
        return;
    }
    s->is_at_start = s->base.start_ns == INT64_MIN;
    s->page = s->is_at_start ? 0 : find_page(s, s->base.start_ns);
}

static bool stream_next(struct lull_source_stream *base)
{
    struct lull_tracedat_stream *s = stream_of(base);
    bool be = s->file->is_big_endian;
    base->has_event = false;
    s->is_at_start = false;
    do {
        if (!next_within(s, be, &base->event.time_ns)) {
            return false;
        }
    } while (s->base.format->subscription < 0);
    lull_format_stream_hand_out(&s->base);
    return true;
}

void lull_tracedat_stream_count_on(struct lull_tracedat_stream *s)
{
    guint n = s->file->formats->all->len;
    g_autofree uint64_t *counts = g_new0(uint64_t, MAX(n, 1));
    if (s->file->is_big_endian) {
        while (next_event(s, true)) {
            counts[s->base.format->event_class.index]++;
        }
    } else {
        while (next_event(s, false)) {
            counts[s->base.format->event_class.index]++;
        }
    }
    finish(s);
    g_clear_pointer(&s->counts, g_array_unref);
    s->counts = g_array_new(FALSE, FALSE, sizeof(struct lull_tracedat_count));
    for (guint i = 0; i < n; i++) {
        const struct lull_tracedat_count count = {i, counts[i]};
        if (counts[i] > 0) {
            g_array_append_val(s->counts, count);
        }
    }
}

/* Of all events, kept for later queries. */
static void count_whole(struct lull_tracedat_stream *s, uint64_t *counts)
{
    if (!s->counts || s->has_unreported) { /* what is damaged is reported now */
        s->has_unreported = false;
        lull_tracedat_stream_count_on(s);
    }
    for (guint i = 0; i < s->counts->len; i++) {
        const struct lull_tracedat_count *count =
            &g_array_index(s->counts, struct lull_tracedat_count, i);
        counts[count->class_index] += count->n;
    }
    finish(s);
}

static void stream_count(struct lull_source_stream *base, uint64_t *counts)
{
    struct lull_tracedat_stream *s = stream_of(base);
    int64_t t;
    if (s->base.is_done) {
        return;
    }
    if (s->is_at_start && s->base.start_ns == INT64_MIN && s->base.end_ns == INT64_MAX) {
        count_whole(s, counts);
    } else {
        while (next_within(s, s->file->is_big_endian, &t)) {
            counts[s->base.format->event_class.index]++;
        }
    }
}

static void stream_sum(struct lull_source_stream *base, uint64_t *counts,
                       struct lull_source_tally *tally)
{
    struct lull_tracedat_stream *s = stream_of(base);
    int64_t t;
    while (next_within(s, s->file->is_big_endian, &t)) {
        counts[s->base.format->event_class.index]++;
        lull_format_sum(s->base.format, &s->base.record, tally);
    }
}

static uint64_t stream_progress(const struct lull_source_stream *base)
{
    const struct lull_tracedat_stream *s = (const struct lull_tracedat_stream *)base;
    return lull_format_stream_progress(&s->base, s->page, lull_tracedat_pages_count(s->pages));
}

static bool stream_visit(const struct lull_source_stream *base, const struct lull_visitor *visitor,
                         void *user, GError **error)
{
    const struct lull_tracedat_stream *s = (const struct lull_tracedat_stream *)base;
    if (lull_format_visit(s->base.format, &s->base.record, visitor, user, error)) {
        return true;
    }
    g_prefix_error(error, "%s: byte %" G_GUINT64_FORMAT ": page %" G_GUINT64_FORMAT " of CPU %d: ",
                   s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1), s->page - 1,
                   base->cpu);
    return false;
}

static bool stream_cycles(const struct lull_source_stream *base, uint64_t *cycles)
{
    *cycles = ((const struct lull_tracedat_stream *)base)->clock;
    return true;
}

static void stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    lull_format_stream_bytes(base, bytes);
    bytes->packet = ((const struct lull_tracedat_stream *)base)->page;
}

static const struct lull_source_stream_ops stream_ops = {
    .start = stream_start,
    .next = stream_next,
    .count = stream_count,
    .sum = stream_sum,
    .set_report = lull_format_stream_set_report,
    .progress = stream_progress,
    .visit = stream_visit,
    .visit_packet = lull_format_stream_visit_packet,
    .cycles = stream_cycles,
    .layout = lull_format_stream_layout,
    .bytes = stream_bytes,
    .record = lull_format_stream_record,
};

/* ---- opening ---- */

bool lull_tracedat_stream_walk_page(struct lull_tracedat_stream *s, uint64_t page)
{
    const char *why = NULL;
    bool found = false;
    s->page = page;
    if (!lull_tracedat_stream_start_page(s)) {
        return false;
    }
    while (next_record(s, s->file->is_big_endian, &why)) {
        found = true;
    }
    return found;
}

struct lull_tracedat_stream *lull_tracedat_stream_new(const struct lull_tracedat *file,
                                                      const struct lull_tracedat_buffer *buffer,
                                                      const struct lull_tracedat_cpu *cpu,
                                                      uint32_t number)
{
    struct lull_tracedat_stream *s = g_new0(struct lull_tracedat_stream, 1);
    lull_format_stream_init(&s->base, &stream_ops, cpu->cpu, cpu->size, file->report);
    s->file = file;
    s->number = number;
    s->pages = lull_tracedat_pages_new(file, buffer, cpu);
    s->reported = g_new0(uint8_t, lull_tracedat_pages_count(s->pages) / 8 + 1);
    s->shift = lull_tracedat_shift_of(file, cpu->cpu);
    s->is_converted = s->shift || file->mult != 0;
    lull_format_map_init(&s->own, file->offset_ns, NULL);
    return s;
}

void lull_tracedat_stream_make_clone(const struct lull_tracedat_stream *stream,
                                     struct lull_tracedat_stream *clone)
{
    *clone = *stream;
    clone->pages = lull_tracedat_pages_share(stream->pages);
    clone->is_quiet = true;
    clone->counts = NULL;
    clone->page = clone->clock = 0;
    clone->pos = clone->end = 0;
    clone->base.is_done = false;
}

void lull_tracedat_stream_free(struct lull_tracedat_stream *stream)
{
    lull_tracedat_pages_free(stream->pages);
    g_free(stream->reported);
    g_free(stream->base.fields);
    g_clear_pointer(&stream->counts, g_array_unref);
    g_clear_pointer(&stream->losses, g_array_unref);
    g_free(stream);
}
