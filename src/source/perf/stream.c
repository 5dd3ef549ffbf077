/* SPDX-License-Identifier: MIT */
/* Reads the events of one CPU, extent by extent. In nearly all recordings the records of a CPU are
 * in order, and are handed out as they lie in the window. Where they are not – several ring buffers
 * of one CPU, or a sample taken while another was – they are copied, and wait until no earlier
 * record can come; the index says when that is. */
#include "source/perf/stream.h"

#include <string.h>

#define WINDOW_BYTES UINT64_C(262144)

/* ---- time ---- */

/* From the file's times to those of the wall. */
static int64_t offset_ns(const struct perf_file *file)
{
    const struct perf_machine *machine = &file->machine;
    return machine->has_clock ? (int64_t)(machine->wall_ns - machine->clock_ns) : 0;
}

int64_t lull_perf_own_time(const struct perf_file *file, uint64_t time)
{
    struct lull_clock_map map;
    lull_format_map_init(&map, offset_ns(file), NULL);
    return lull_clock_map_own(&map, time);
}

/* What perf records about the time before gets the time of the first event. */
static uint64_t time_of(const struct lull_perf_stream *s)
{
    return s->cpu->is_state ? s->file->start : s->head.time;
}

/* ---- bytes ---- */

static const struct perf_extent *extent_at(const struct lull_perf_stream *s, uint32_t index)
{
    return &g_array_index(s->cpu->extents, struct perf_extent, index);
}

static void finish(struct lull_perf_stream *s)
{
    s->base.is_done = true;
    if (s->is_open) {
        s->bytes->ops->close(s->bytes);
    }
    s->is_open = false;
}

/* Reading is in order as a rule: extents that follow closely are read at once. */
static uint64_t window_end(const struct lull_perf_stream *s, uint32_t index)
{
    const struct perf_extent *first = extent_at(s, index);
    uint64_t end = first->offset + first->size, wanted = first->size;
    while (++index < s->cpu->extents->len) {
        const struct perf_extent *extent = extent_at(s, index);
        uint64_t next = extent->offset + extent->size, bytes = next - first->offset;
        wanted += extent->size;
        if (bytes > WINDOW_BYTES || wanted < bytes / 2) {
            break;
        }
        end = next;
    }
    return end;
}

/* Makes the bytes of an extent be in the window. */
static bool read_extent(struct lull_perf_stream *s, uint32_t index)
{
    const struct perf_extent *extent = extent_at(s, index);
    const char *why = NULL;
    if (extent->offset >= s->window_start && extent->offset + extent->size <= s->window_end) {
        return true;
    }
    uint64_t size = window_end(s, index) - extent->offset;
    if (size > s->window_capacity) {
        s->window_capacity = MAX(size, MIN(WINDOW_BYTES, s->cpu->n_bytes));
        s->window = g_realloc(s->window, s->window_capacity + LULL_LOAD_SLACK);
    }
    s->window_start = s->window_end = 0;
    if (!s->is_open) {
        why = s->bytes->ops->open(s->bytes);
        s->is_open = !why;
    }
    if (!s->is_open || !perf_bytes_read(s->bytes, extent->offset, s->window, size)) {
        int64_t t = lull_perf_own_time(s->file, s->head.time);
        lull_report_problem(s->base.report, "%s: byte %" G_GUINT64_FORMAT ": CPU %d: %s",
                            s->file->path, extent->offset, s->base.stream.cpu,
                            why ? why : "the file became shorter while it was being read");
        s->base.report->lost(s->base.report->user, s->cpu->number, t, t, 0, 1);
        return false;
    }
    s->window_start = extent->offset;
    s->window_end = extent->offset + size;
    return true;
}

/* ---- records ---- */

/* The next record of the CPU between s->pos and s->end, which are in the window. */
static inline __attribute__((always_inline)) bool next_in_extent(struct lull_perf_stream *s,
                                                                 bool be)
{
    while (s->end - s->pos >= 8 && s->pos < s->end) {
        const uint8_t *record = s->window + (s->pos - s->window_start);
        uint32_t size = lull_load_u16(record + 6, be);
        if (G_UNLIKELY(size < 8 || size > s->end - s->pos)) {
            break; /* the file has changed */
        }
        s->pos += size;
        if (G_LIKELY(perf_judge(s->file, be, record, size, &s->head) == PERF_EVENT)) {
            bool is_state = s->head.time == 0 && lull_load_u32(record, be) != PERF_SAMPLE;
            if (is_state == s->cpu->is_state && (is_state || s->head.cpu == s->cpu->cpu)) {
                s->record = record;
                s->size = size;
                return true;
            }
        } else if (lull_load_u32(record, be) >= PERF_KERNEL_RECORDS) {
            uint64_t behind = perf_size_behind(s->file, record, size);
            s->pos += MIN(behind, s->end - s->pos);
        }
    }
    s->pos = s->end;
    return false;
}

static int compare(gconstpointer a, gconstpointer b)
{
    const struct perf_waiting *x = a, *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Forgets copies that were handed out, if they are most of them. */
static void drop_handed_out(struct lull_perf_stream *s)
{
    const struct perf_waiting *order = (const struct perf_waiting *)(void *)s->order->data;
    if (s->next_waiting < s->order->len / 2 + 1) {
        return;
    }
    GByteArray *rest = g_byte_array_new();
    for (guint i = s->next_waiting; i < s->order->len; i++) {
        struct perf_waiting *waiting = &g_array_index(s->order, struct perf_waiting, i);
        guint offset = rest->len;
        g_byte_array_append(rest, s->waiting->data + order[i].offset, order[i].size);
        waiting->offset = offset;
    }
    g_byte_array_unref(s->waiting);
    s->waiting = rest;
    g_array_remove_range(s->order, 0, s->next_waiting);
    s->next_waiting = 0;
}

/* Copies the records of the extent in the window, to be handed out in order. */
static void put_in_order(struct lull_perf_stream *s)
{
    bool be = s->file->is_big_endian;
    drop_handed_out(s);
    while (next_in_extent(s, be)) {
        struct perf_waiting waiting = {s->head.time, s->n_waited++, s->waiting->len, s->size};
        if (G_MAXUINT - s->waiting->len < s->size + LULL_LOAD_SLACK) {
            break;
        }
        g_byte_array_append(s->waiting, s->record, s->size);
        g_array_append_val(s->order, waiting);
    }
    guint n = s->order->len - s->next_waiting;
    if (n > 0) {
        qsort(&g_array_index(s->order, struct perf_waiting, s->next_waiting), n,
              sizeof(struct perf_waiting), compare);
    }
}

/* Goes to the next extent. False if there is none. */
static bool start_extent(struct lull_perf_stream *s)
{
    const struct perf_extent *extent;
    uint32_t n = s->cpu->extents->len;
    if (s->extent >= n || !read_extent(s, s->extent)) {
        s->extent = n;
        if (s->limit == UINT64_MAX) {
            return false;
        }
        s->limit = UINT64_MAX; /* what waits comes now */
        return true;
    }
    extent = extent_at(s, s->extent++);
    s->limit = s->extent < n ? extent_at(s, s->extent)->later : UINT64_MAX;
    s->pos = extent->offset;
    s->end = extent->offset + extent->size;
    bool waits = s->next_waiting < s->order->len;
    if (waits || !extent->is_sorted || extent->last > s->limit) {
        put_in_order(s);
    }
    return true;
}

/* The next record, whatever its class: s->record and s->head. False at the end. */
static inline __attribute__((always_inline)) bool next_record(struct lull_perf_stream *s, bool be)
{
    for (;;) {
        if (G_LIKELY(s->pos < s->end) && next_in_extent(s, be)) {
            return true;
        }
        if (G_UNLIKELY(s->next_waiting < s->order->len)) {
            const struct perf_waiting *waiting =
                &g_array_index(s->order, struct perf_waiting, s->next_waiting);
            if (waiting->time <= s->limit) {
                s->next_waiting++;
                s->record = s->waiting->data + waiting->offset;
                s->size = waiting->size;
                return perf_judge(s->file, be, s->record, s->size, &s->head) == PERF_EVENT;
            }
        }
        if (!start_extent(s)) {
            return false;
        }
    }
}

/* The next record within the limits; its time to *t. */
static inline __attribute__((always_inline)) bool next_within(struct lull_perf_stream *s, bool be,
                                                              int64_t *t)
{
    while (!s->base.is_done && next_record(s, be)) {
        *t = lull_clock_map_joined(&s->base.map, time_of(s));
        if (G_UNLIKELY(*t >= s->base.end_ns)) {
            break;
        }
        if (G_LIKELY(*t >= s->base.start_ns)) {
            s->base.format = s->file->slots->pdata[s->head.slot];
            return true;
        }
    }
    finish(s);
    return false;
}

/* ---- what a record holds ---- */

static void swap_callchain(struct lull_perf_stream *s)
{
    struct lull_text *chain = &s->sample.callchain;
    g_byte_array_set_size(s->swapped, chain->length);
    for (uint32_t i = 0; i + 8 <= chain->length; i += 8) {
        uint64_t address = perf_u64(s->file, (const uint8_t *)chain->data + i);
        memcpy(s->swapped->data + i, &address, sizeof address);
    }
    chain->data = (const char *)s->swapped->data;
}

/* What registers they are is known of the event only. */
static void complete_registers(struct lull_perf_stream *s)
{
    struct lull_text *regs = &s->sample.user_regs;
    const uint32_t n = regs->length / 8;
    for (uint32_t i = 0; i < n; i++) {
        s->user_regs[i == 0 ? 0 : i + 1] = perf_u64(s->file, (const uint8_t *)regs->data + 8 * i);
    }
    s->user_regs[1] = s->head.attr->regs_user;
    *regs = (struct lull_text){(const char *)s->user_regs, 8 * (n + 1)};
}

/* Fills s->sample and s->base.record from s->record, which has been found whole. */
static void parse(struct lull_perf_stream *s)
{
    const struct perf_file *file = s->file;
    struct perf_sample *sample = &s->sample;
    if (s->head.slot >= PERF_OWN_SLOTS) {
        perf_sample_parse(file, s->head.attr, s->record, s->size, sample);
        if (file->is_big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) &&
            sample->callchain.length > 0) {
            swap_callchain(s);
        }
        if (G_UNLIKELY(sample->user_regs.length > 0)) {
            complete_registers(s);
        }
    } else {
        uint32_t behind = s->head.attr->has_trailer ? s->head.attr->trailer_size : 0;
        perf_trailer_parse(file, s->head.attr, s->record, s->size, sample);
        perf_own_parse(file, s->head.slot, s->record, s->size - behind, sample);
    }
    s->base.record = (struct lull_format_record){
        .data = sample->raw_data, .size = sample->raw_size, .aside = sample};
}

/* ---- the stream ---- */

static struct lull_perf_stream *stream_of(struct lull_source_stream *base)
{
    return (struct lull_perf_stream *)base;
}

static void stream_start(struct lull_source_stream *base, const struct lull_source_window *window)
{
    struct lull_perf_stream *s = stream_of(base);
    lull_format_stream_start(&s->base, offset_ns(s->file), s->cpu->extents->len == 0, window);
    s->bytes->is_brief = window->is_brief;
    s->extent = 0;
    s->pos = s->end = s->limit = 0;
    s->n_waited = s->next_waiting = 0;
    g_byte_array_set_size(s->waiting, 0);
    g_array_set_size(s->order, 0);
    while (s->base.start_ns != INT64_MIN && !s->base.is_done && !s->cpu->is_state &&
           s->extent < s->cpu->extents->len &&
           lull_clock_map_joined(&s->base.map, extent_at(s, s->extent)->last) < s->base.start_ns) {
        s->extent++;
    }
}

static bool stream_next(struct lull_source_stream *base)
{
    struct lull_perf_stream *s = stream_of(base);
    base->has_event = false;
    do {
        if (!next_within(s, s->file->is_big_endian, &base->event.time_ns)) {
            return false;
        }
    } while (s->base.format->subscription < 0);
    parse(s);
    lull_format_stream_hand_out(&s->base);
    return true;
}

static void stream_count(struct lull_source_stream *base, uint64_t *counts)
{
    struct lull_perf_stream *s = stream_of(base);
    bool has_limits = s->base.start_ns != INT64_MIN || s->base.end_ns != INT64_MAX;
    int64_t t;
    if (has_limits || s->base.is_done || s->extent > 0) {
        while (next_within(s, s->file->is_big_endian, &t)) {
            counts[s->base.format->event_class.index]++;
        }
        return;
    }
    for (uint32_t slot = 0; slot < s->cpu->n_totals; slot++) {
        if (s->cpu->totals[slot] > 0) { /* the first pass has counted */
            counts[((const struct lull_format *)s->file->slots->pdata[slot])->event_class.index] +=
                s->cpu->totals[slot];
        }
    }
    finish(s);
}

static void stream_sum(struct lull_source_stream *base, uint64_t *counts,
                       struct lull_source_tally *tally)
{
    struct lull_perf_stream *s = stream_of(base);
    int64_t t;
    while (next_within(s, s->file->is_big_endian, &t)) {
        counts[s->base.format->event_class.index]++;
        parse(s);
        lull_format_sum(s->base.format, &s->base.record, tally);
    }
}

static uint64_t stream_progress(const struct lull_source_stream *base)
{
    const struct lull_perf_stream *s = (const struct lull_perf_stream *)base;
    return lull_format_stream_progress(&s->base, s->extent, s->cpu->extents->len);
}

static bool stream_visit(const struct lull_source_stream *base, const struct lull_visitor *visitor,
                         void *user, GError **error)
{
    const struct lull_perf_stream *s = (const struct lull_perf_stream *)base;
    if (lull_format_visit(s->base.format, &s->base.record, visitor, user, error)) {
        return true;
    }
    g_prefix_error(error, "%s: CPU %d: ", s->file->path, base->cpu);
    return false;
}

static bool stream_cycles(const struct lull_source_stream *base, uint64_t *cycles)
{
    *cycles = time_of((const struct lull_perf_stream *)base);
    return true;
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
    .bytes = lull_format_stream_bytes,
    .record = lull_format_stream_record,
};

struct lull_perf_stream *lull_perf_stream_new(const struct perf_file *file,
                                              const struct perf_cpu *cpu)
{
    struct lull_perf_stream *s = g_new0(struct lull_perf_stream, 1);
    lull_format_stream_init(&s->base, &stream_ops, cpu->cpu, cpu->n_bytes, file->report);
    s->base.may_lack_cpu = true;
    s->base.stream.class_id = cpu->is_state;
    s->base.stream.start_ns = INT64_MAX;
    s->base.stream.end_ns = INT64_MIN;
    s->file = file;
    s->cpu = cpu;
    if (cpu->n_events > 0 && file->start <= file->end) {
        s->base.stream.start_ns =
            lull_perf_own_time(file, cpu->is_state ? file->start : cpu->first);
        s->base.stream.end_ns = lull_perf_own_time(file, cpu->is_state ? file->start : cpu->last);
    }
    s->bytes = file->records->ops->share(file->records);
    s->waiting = g_byte_array_new();
    s->order = g_array_new(FALSE, FALSE, sizeof(struct perf_waiting));
    s->swapped = g_byte_array_new();
    return s;
}

void lull_perf_stream_free(struct lull_perf_stream *s)
{
    finish(s);
    s->bytes->ops->free(s->bytes);
    g_byte_array_unref(s->waiting);
    g_array_unref(s->order);
    g_byte_array_unref(s->swapped);
    g_free(s->window);
    g_free(s->base.fields);
    g_free(s);
}
