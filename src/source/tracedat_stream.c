/* Reads the events in the pages of one CPU: the format of the kernel's ring buffer (header_event in
 * tracefs, include/linux/ring_buffer.h). An event has a head of 32 bits, five of which are its kind
 * or length, the others the time since the event before. */
#include "source/tracedat_stream.h"

#include <string.h>

#define DELTA_BITS 27
#define DELTA_MASK ((UINT32_C(1) << DELTA_BITS) - 1)
#define COMMIT_MASK UINT64_C(0x7ffffff)
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
/* Time stamps have 59 bits; those above come from the time before. */
#define STAMP_BITS 59
#define STAMP_HIGH (~UINT64_C(0) << STAMP_BITS)

/* Between two times, own clock; events 0: nobody knows how many. */
struct loss {
    int64_t begin_ns, end_ns;
    uint64_t events;
};

enum kind { KIND_LONG = 0, KIND_PADDING = 29, KIND_EXTEND = 30, KIND_STAMP = 31 };

/* ---- time ---- */

/* Nanoseconds of the trace's clock. */
static inline uint64_t clock_ns(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return G_LIKELY(!s->is_converted) ? clock : lull_tracedat_nanoseconds(s->file, s->shift, clock);
}

static int64_t own_time(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return lull_clock_map_own(&s->own, clock_ns(s, clock));
}

static int64_t joined_time(const struct lull_tracedat_stream *s, uint64_t clock)
{
    return lull_clock_map_joined(&s->map, clock_ns(s, clock));
}

static void make_map(const struct lull_tracedat *file, int64_t delta_ns,
                     const struct lull_clock_transform *transform, struct lull_clock_map *map)
{
    int64_t second = 1000000000, s = file->offset_ns / second, rest = file->offset_ns % second;
    if (rest < 0) {
        rest += second;
        s--;
    }
    lull_clock_map_init(map, 1000000000, s, (uint64_t)rest, delta_ns, transform);
}

/* ---- pages ---- */

static void damaged(struct lull_tracedat_stream *s, uint64_t page, uint64_t byte, const char *why)
{
    if (s->is_opening || (s->told[page / 8] >> page % 8 & 1) != 0)
        return;
    s->told[page / 8] |= (uint8_t)(1u << page % 8);
    int64_t t = own_time(s, s->clock);
    lull_report_problem(s->report,
                        "%s: byte %" G_GUINT64_FORMAT ": page %" G_GUINT64_FORMAT
                        " of CPU %d, byte %" G_GUINT64_FORMAT ": %s",
                        s->file->path, lull_tracedat_pages_where(s->pages, page), page, s->base.cpu,
                        byte, why);
    s->report->lost(s->report->user, s->number, t, t, 0, 1);
}

/* What the head of a page says was lost before it; a number only if there was room for it. */
static void note_lost(const struct lull_tracedat_stream *s, uint64_t commit, uint64_t before)
{
    const struct lull_tracedat *file = s->file;
    struct loss loss = {.end_ns = own_time(s, s->clock)};
    if ((commit & MISSED_EVENTS) == 0 || s->losses == NULL)
        return;
    if ((commit & MISSED_STORED) != 0)
        loss.events = lull_format_integer(s->data + s->end, (uint8_t)file->commit_bytes, false,
                                          file->is_big_endian);
    loss.begin_ns = before != 0 ? MIN(own_time(s, before), loss.end_ns) : loss.end_ns;
    g_array_append_val(s->losses, loss);
}

/* Begins page s->page. False if it is damaged; it is behind then. */
static bool begin_page(struct lull_tracedat_stream *s)
{
    const struct lull_tracedat *file = s->file;
    const char *why = NULL;
    uint64_t page = s->page++, before = s->clock;
    s->pos = s->end = 0;
    s->data = lull_tracedat_pages_get(s->pages, page, &why);
    if (s->data == NULL) {
        damaged(s, page, 0, why);
        return false;
    }
    uint64_t clock = lull_load_u64(s->data, file->is_big_endian);
    uint64_t commit = lull_format_integer(s->data + file->commit_offset,
                                          (uint8_t)file->commit_bytes, false, file->is_big_endian);
    uint64_t room = lull_tracedat_pages_bytes(s->pages) - file->data_offset;
    uint64_t need = commit & COMMIT_MASK;
    if (need > room) {
        damaged(s, page, file->commit_offset, "there are more events than fit the page");
        return false;
    }
    if (need + file->commit_bytes > room)
        commit &= ~MISSED_STORED;
    s->clock = clock;
    s->pos = file->data_offset;
    s->end = file->data_offset + (uint32_t)need;
    note_lost(s, commit, before);
    return true;
}

/* ---- events ---- */

static uint64_t absolute(uint64_t stamp, uint64_t before)
{
    if ((before & STAMP_HIGH) == 0)
        return stamp;
    stamp |= before & STAMP_HIGH;
    return stamp < before ? stamp + (UINT64_C(1) << STAMP_BITS) : stamp;
}

/* Goes to the next record of the page, which is made s->record. False at its end, also where it is
 * damaged: then *why is set. */
static inline __attribute__((always_inline)) bool next_record(struct lull_tracedat_stream *s,
                                                              bool be, const char **why)
{
    while (s->end - s->pos >= 4) {
        const uint8_t *p = s->data + s->pos;
        uint32_t room = s->end - s->pos - 4, head = lull_load_u32(p, be);
        uint32_t kind = be ? head >> DELTA_BITS : head & 31, length = kind * 4;
        uint64_t delta = be ? head & DELTA_MASK : head >> 5;
        p += 4;
        if (G_UNLIKELY(kind == KIND_LONG || kind >= KIND_PADDING)) {
            if (kind == KIND_PADDING && delta == 0) /* nothing but padding from here on */
                return false;
            if (room < 4)
                break;
            uint32_t word = lull_load_u32(p, be);
            if (kind == KIND_EXTEND || kind == KIND_STAMP) {
                delta |= (uint64_t)word << DELTA_BITS;
                s->clock = kind == KIND_EXTEND ? s->clock + delta : absolute(delta, s->clock);
                s->pos += 8;
                continue;
            }
            if (word > room || word < 4)
                break;
            if (kind == KIND_PADDING) {
                s->clock += delta;
                s->pos += 4 + word;
                continue;
            }
            length = word - 4;
            p += 4;
            s->pos += 4;
            room -= 4;
        }
        if (length > room)
            break;
        s->clock += delta;
        s->pos += 4 + MIN((length + 3) & ~3u, room);
        s->record.data = p;
        s->record.size = length;
        return true;
    }
    if (s->pos != s->end)
        *why = "an event passes the end of the page";
    return false;
}

/* The class of s->record, or NULL if it has none. */
static inline const struct lull_format *find_format(struct lull_tracedat_stream *s, bool be,
                                                    const char **why)
{
    const struct lull_formats *formats = s->file->formats;
    const struct lull_format *format = NULL;
    if (G_LIKELY(s->record.size >= formats->id_offset &&
                 s->record.size - formats->id_offset >= 2)) {
        uint16_t id = lull_load_u16(s->record.data + formats->id_offset, be);
        format = lull_formats_find(formats, id);
        if (G_LIKELY(format != NULL && s->record.size >= format->least_size))
            return format;
        if (format == NULL && !s->has_told_unknown)
            lull_report_problem(s->report,
                                "%s: byte %" G_GUINT64_FORMAT ": CPU %d: an event has the number "
                                "%u, which no format describes; such events are left out",
                                s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1),
                                s->base.cpu, id);
        s->has_told_unknown |= format == NULL;
        if (format == NULL)
            return NULL;
    }
    *why = "an event is shorter than its format says";
    return NULL;
}

/* The next event, whatever its class; it is made s->format and s->record. False at the end. */
static inline __attribute__((always_inline)) bool next_event(struct lull_tracedat_stream *s,
                                                             bool be)
{
    for (;;) {
        const char *why = NULL;
        if (next_record(s, be, &why)) {
            s->format = find_format(s, be, &why);
            if (G_LIKELY(s->format != NULL))
                return true;
        } else if (why == NULL) {
            if (s->page >= lull_tracedat_pages_count(s->pages))
                return false;
            begin_page(s);
        }
        if (why != NULL) {
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
        if (!s->has_told_order)
            lull_report_problem(s->report,
                                "%s: byte %" G_GUINT64_FORMAT ": CPU %d: an event is earlier than "
                                "the one before it; such events get the time of the one before",
                                s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1),
                                s->base.cpu);
        s->has_told_order = true;
        t = s->last_ns;
    }
    s->last_ns = t;
    return t;
}

static void finish(struct lull_tracedat_stream *s)
{
    s->is_done = true;
    lull_tracedat_pages_close(s->pages);
}

/* The next event within the limits; its time to *t. */
static inline __attribute__((always_inline)) bool next_within(struct lull_tracedat_stream *s,
                                                              bool be, int64_t *t)
{
    while (!s->is_done && next_event(s, be)) {
        *t = event_time(s);
        if (G_UNLIKELY(*t >= s->end_ns))
            break;
        if (G_LIKELY(*t >= s->begin_ns))
            return true;
    }
    finish(s);
    return false;
}

/* ---- the stream ---- */

static struct lull_tracedat_stream *stream_of(struct lull_source_stream *base)
{
    return (struct lull_tracedat_stream *)base;
}

/* The last page that begins before the time, or the first. */
static uint64_t find_page(struct lull_tracedat_stream *s, int64_t time_ns)
{
    uint64_t low = 0, high = lull_tracedat_pages_count(s->pages);
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        const char *why;
        const uint8_t *data = lull_tracedat_pages_get(s->pages, middle, &why);
        if (data == NULL)
            return 0; /* read them all: the damage is told then */
        if (joined_time(s, lull_load_u64(data, s->file->is_big_endian)) < time_ns)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct lull_tracedat_stream *s = stream_of(base);
    make_map(s->file, window->delta_ns, &window->transform, &s->map);
    if (window->in_doubles)
        lull_clock_map_use_doubles(&s->map);
    s->begin_ns = window->begin_ns;
    s->end_ns = window->end_ns;
    s->last_ns = INT64_MIN;
    s->pos = s->end = 0;
    s->clock = 0;
    base->has_event = false;
    s->is_done = lull_tracedat_pages_count(s->pages) == 0 || s->begin_ns >= s->end_ns;
    base->bound_ns = s->is_done ? INT64_MAX : s->begin_ns;
    if (s->is_done)
        return;
    s->page = s->begin_ns == INT64_MIN ? 0 : find_page(s, s->begin_ns);
}

static bool stream_next(struct lull_source_stream *base)
{
    struct lull_tracedat_stream *s = stream_of(base);
    bool be = s->file->is_big_endian;
    base->has_event = false;
    do {
        if (!next_within(s, be, &base->event.time_ns))
            return false;
    } while (s->format->subscription < 0);
    base->event.event_class = &s->format->event_class;
    base->event.subscription = (uint32_t)s->format->subscription;
    lull_format_load(s->format, &s->record, s->fields);
    base->has_event = true;
    return true;
}

static inline __attribute__((always_inline)) void count_all(struct lull_tracedat_stream *s, bool be,
                                                            bool has_limits, uint64_t *counts)
{
    int64_t t;
    if (s->is_done)
        return;
    if (has_limits)
        while (next_within(s, be, &t))
            counts[s->format->event_class.index]++;
    else
        while (next_event(s, be))
            counts[s->format->event_class.index]++;
    finish(s);
}

static void stream_count(struct lull_source_stream *base, uint64_t *counts)
{
    struct lull_tracedat_stream *s = stream_of(base);
    bool has_limits = s->begin_ns != INT64_MIN || s->end_ns != INT64_MAX;
    if (s->file->is_big_endian)
        count_all(s, true, has_limits, counts);
    else
        count_all(s, false, has_limits, counts);
}

static void stream_sum(struct lull_source_stream *base, uint64_t *counts,
                       struct lull_source_tally *tally)
{
    struct lull_tracedat_stream *s = stream_of(base);
    int64_t t;
    while (next_within(s, s->file->is_big_endian, &t)) {
        counts[s->format->event_class.index]++;
        lull_format_sum(s->format, &s->record, tally);
    }
}

static void stream_set_report(struct lull_source_stream *base, const struct lull_report *report)
{
    struct lull_tracedat_stream *s = stream_of(base);
    s->report = report != NULL ? report : s->file->report;
}

static uint64_t stream_progress(const struct lull_source_stream *base)
{
    const struct lull_tracedat_stream *s = (const struct lull_tracedat_stream *)base;
    uint64_t n = lull_tracedat_pages_count(s->pages);
    return n == 0 || s->is_done
               ? base->size_bytes
               : (uint64_t)((double)base->size_bytes * (double)s->page / (double)n);
}

static bool stream_visit(const struct lull_source_stream *base, const struct lull_visitor *visitor,
                         void *user, GError **error)
{
    const struct lull_tracedat_stream *s = (const struct lull_tracedat_stream *)base;
    if (lull_format_visit(s->format, &s->record, visitor, user, error))
        return true;
    g_prefix_error(error, "%s: byte %" G_GUINT64_FORMAT ": page %" G_GUINT64_FORMAT " of CPU %d: ",
                   s->file->path, lull_tracedat_pages_where(s->pages, s->page - 1), s->page - 1,
                   base->cpu);
    return false;
}

static bool stream_visit_packet(const struct lull_source_stream *base,
                                const struct lull_visitor *visitor, void *user, GError **error)
{
    const struct lull_visit_int cpu = {
        .bits = (uint64_t)base->cpu, .base = 10, .size_bits = 32, .is_signed = false};
    visitor->begin(user, "packet", LULL_VISIT_SCOPE);
    visitor->integer(user, "cpu_id", &cpu);
    visitor->end(user, LULL_VISIT_SCOPE);
    return true;
}

static bool stream_cycles(const struct lull_source_stream *base, uint64_t *cycles)
{
    *cycles = ((const struct lull_tracedat_stream *)base)->clock;
    return true;
}

static struct lull_layout *stream_layout(const struct lull_source_stream *base, uint32_t flags)
{
    return lull_format_layout(((const struct lull_tracedat_stream *)base)->format);
}

static void stream_bytes(const struct lull_source_stream *base, struct lull_event_bytes *bytes)
{
    const struct lull_tracedat_stream *s = (const struct lull_tracedat_stream *)base;
    *bytes = (struct lull_event_bytes){
        .data = s->record.data, .end = UINT64_C(8) * s->record.size, .packet = s->page};
}

static const struct lull_format_record *stream_record(const struct lull_source_stream *base)
{
    return &((const struct lull_tracedat_stream *)base)->record;
}

static const struct lull_source_stream_ops stream_ops = {
    .start = stream_start,
    .next = stream_next,
    .count = stream_count,
    .sum = stream_sum,
    .set_report = stream_set_report,
    .progress = stream_progress,
    .visit = stream_visit,
    .visit_packet = stream_visit_packet,
    .cycles = stream_cycles,
    .layout = stream_layout,
    .bytes = stream_bytes,
    .record = stream_record,
};

/* ---- opening ---- */

/* Goes through a page, so that s->clock is the time of its last event. False if it has none. */
static bool walk_page(struct lull_tracedat_stream *s, uint64_t page)
{
    const char *why = NULL;
    bool found = false;
    s->page = page;
    if (!begin_page(s))
        return false;
    while (next_record(s, s->file->is_big_endian, &why))
        found = true;
    return found;
}

/* From the begin of the first page to the last event of the last page that has one. */
static void find_range(struct lull_tracedat_stream *s)
{
    uint64_t page = lull_tracedat_pages_count(s->pages);
    s->base.begin_ns = INT64_MAX;
    s->base.end_ns = INT64_MIN;
    s->page = 0;
    if (page > 0 && begin_page(s))
        s->base.begin_ns = s->base.end_ns = own_time(s, s->clock);
    while (page > 0 && !walk_page(s, page - 1))
        page--;
    if (page > 0)
        s->base.end_ns = MAX(s->base.end_ns, own_time(s, s->clock));
}

/* Notes what was lost before each page; damage is told when it is read. */
static void find_losses(struct lull_tracedat_stream *s)
{
    const struct lull_tracedat *file = s->file;
    uint8_t head[128];
    uint32_t size = file->commit_offset + file->commit_bytes;
    for (uint64_t page = 0; page < lull_tracedat_pages_count(s->pages); page++) {
        if (!lull_tracedat_pages_peek(s->pages, page, head, size) ||
            (lull_format_integer(head + file->commit_offset, (uint8_t)file->commit_bytes, false,
                                 file->is_big_endian) &
             MISSED_EVENTS) == 0)
            continue;
        GArray *losses = g_steal_pointer(&s->losses);
        s->clock = 0;
        if (page > 0)
            walk_page(s, page - 1);
        s->losses = losses;
        s->page = page;
        begin_page(s);
    }
}

static void tell_lost(const struct lull_tracedat_stream *s, int64_t begin_ns, int64_t end_ns,
                      uint64_t events)
{
    s->report->lost(s->report->user, s->number, begin_ns, end_ns, events, events == 0);
}

/* What the kernel counted as overwritten, the page after it says too, unless it was full: then it
 * only says that there was something. What the kernel dropped because the buffer was full no page
 * tells, and nothing when; it is told at the end of what there was room for. */
static void tell_losses(struct lull_tracedat_stream *s, const struct lull_tracedat_stat *stat)
{
    uint64_t told = 0, overwritten = stat != NULL ? stat->overwritten : 0;
    unsigned n_unknown = 0;
    for (guint i = 0; i < s->losses->len; i++) {
        uint64_t events = g_array_index(s->losses, struct loss, i).events;
        n_unknown += events == 0;
        told = events <= UINT64_MAX - told ? told + events : UINT64_MAX;
    }
    uint64_t rest = overwritten > told ? overwritten - told : 0;
    if (rest > 0 && n_unknown == 0 && s->base.begin_ns <= s->base.end_ns)
        tell_lost(s, s->base.begin_ns, s->base.begin_ns, rest);
    for (guint i = 0; i < s->losses->len; i++) {
        const struct loss *loss = &g_array_index(s->losses, struct loss, i);
        uint64_t events = loss->events == 0 && n_unknown == 1 ? rest : loss->events;
        tell_lost(s, loss->begin_ns, loss->end_ns, events);
    }
    if (stat != NULL && stat->dropped > 0 && s->base.begin_ns <= s->base.end_ns)
        tell_lost(s, s->base.end_ns, s->base.end_ns, stat->dropped);
}

static const struct lull_tracedat_stat *find_stat(const struct lull_tracedat *file,
                                                  const char *buffer, int32_t cpu)
{
    for (guint i = 0; i < file->stats->len; i++) {
        const struct lull_tracedat_stat *stat =
            &g_array_index(file->stats, struct lull_tracedat_stat, i);
        if (stat->cpu == cpu && strcmp(stat->buffer, buffer) == 0)
            return stat;
    }
    return NULL;
}

struct lull_tracedat_stream *lull_tracedat_stream_new(const struct lull_tracedat *file,
                                                      const struct lull_tracedat_buffer *buffer,
                                                      const struct lull_tracedat_cpu *cpu,
                                                      uint32_t number)
{
    static const struct lull_clock_transform identity;
    struct lull_tracedat_stream *s = g_new0(struct lull_tracedat_stream, 1);
    s->base.ops = &stream_ops;
    s->base.event.impl = &s->base;
    s->base.event.cpu = s->base.cpu = cpu->cpu;
    s->base.instance = (uint64_t)(int64_t)cpu->cpu;
    s->file = file;
    s->report = file->report;
    s->number = number;
    s->pages = lull_tracedat_pages_new(file, buffer, cpu);
    s->base.size_bytes = cpu->size;
    s->told = g_new0(uint8_t, lull_tracedat_pages_count(s->pages) / 8 + 1);
    s->shift = lull_tracedat_shift_of(file, cpu->cpu);
    s->is_converted = s->shift != NULL || file->mult != 0;
    make_map(file, 0, &identity, &s->own);
    s->is_opening = true;
    find_range(s);
    s->losses = g_array_new(FALSE, FALSE, sizeof(struct loss));
    find_losses(s);
    tell_losses(s, find_stat(file, buffer->name, cpu->cpu));
    g_clear_pointer(&s->losses, g_array_unref);
    s->is_opening = false;
    lull_tracedat_pages_close(s->pages);
    return s;
}

void lull_tracedat_stream_free(struct lull_tracedat_stream *stream)
{
    lull_tracedat_pages_free(stream->pages);
    g_free(stream->told);
    g_free(stream->fields);
    g_free(stream);
}
