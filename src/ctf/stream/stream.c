/* SPDX-License-Identifier: MIT */
/* The packets of one stream: which is next, its header, and the window through which its bytes are
 * read. What happens within a packet is in stream_walk.c. */
#include "ctf/stream/private.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/schema/text.h"

/* Fits the second-level cache, and pread() is at its fastest (measured: 128 KiB to 1 MiB). */
#ifndef LULL_WINDOW_BYTES
#define LULL_WINDOW_BYTES (UINT64_C(256) << 10)
#endif
/* A few thousand streams that are merged get windows of this size. */
#define LEAST_WINDOW_BYTES (UINT64_C(16) << 10)
/* No event is larger. */
#define WINDOW_MAX (UINT64_C(64) << 20)
#define GRAIN_BYTES (LULL_GRAIN_BITS / 8)

/* ---- damage ---- */

const char *lull_ctf_stream_where(const struct lull_ctf_stream *s, uint64_t *offset)
{
    return s->bytes->ops->where ? s->bytes->ops->where(s->bytes, offset) : s->path;
}

void lull_ctf_stream_damaged(struct lull_ctf_stream *s, uint64_t pos, const char *why)
{
    struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet);
    packet->flags |= LULL_PACKET_DAMAGED;
    if (packet->flags & (LULL_PACKET_REPORTED | LULL_PACKET_CUT)) {
        return;
    }
    packet->flags |= LULL_PACKET_REPORTED;
    uint64_t byte = packet->offset;
    const char *path = lull_ctf_stream_where(s, &byte);
    lull_report_problem(s->report,
                        "%s: packet %" G_GINT64_FORMAT ", byte %" G_GUINT64_FORMAT
                        ": %s; the rest of the packet is left out",
                        path, s->packet, byte + s->window + pos / 8, why);
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    if ((packet->flags & LULL_PACKET_HAS_BEGIN) && clock < packet->start) {
        clock = packet->start;
    }
    uint64_t end = packet->flags & LULL_PACKET_HAS_END ? MAX(packet->end, clock) : clock;
    s->report->lost(s->report->user, s->number, lull_clock_map_own(&s->map, clock),
                    lull_clock_map_own(&s->map, end), 0, 1);
}

/* ---- the window ---- */

static void set_limit(struct lull_ctf_stream *s)
{
    uint64_t left = s->content_bits - s->window * 8;
    s->limit = MIN(s->filled * 8, left);
    s->at_end = s->limit == left;
    memset(s->buf + s->filled, 0, LULL_LOAD_SLACK);
}

/* Fills the window. */
static void fill(struct lull_ctf_stream *s)
{
    struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet);
    uint64_t content = (s->content_bits + 7) / 8 - s->window;
    uint64_t want = MIN(s->capacity, content);
    while (s->filled < want) {
        const char *why = NULL;
        uint64_t n = s->bytes->ops->read(s->bytes, packet->offset + s->window + s->filled,
                                         s->buf + s->filled, want - s->filled, &why);
        if (n == 0) {
            lull_ctf_stream_damaged(s, s->filled * 8, why);
            packet->flags |= LULL_PACKET_CUT;
            s->content_bits = (s->window + s->filled) * 8;
            break;
        }
        s->filled += n;
    }
    set_limit(s);
}

static void grow(struct lull_ctf_stream *s, uint64_t capacity)
{
    s->capacity = capacity;
    s->buf = g_realloc(s->buf, capacity + LULL_LOAD_SLACK);
}

bool lull_ctf_stream_refill(struct lull_ctf_stream *s)
{
    if (s->at_end) {
        return false;
    }
    uint64_t step =
        MIN(s->pos / LULL_GRAIN_BITS * GRAIN_BYTES, s->filled / GRAIN_BYTES * GRAIN_BYTES);
    if (step == 0 && s->filled == s->capacity) {
        if (s->capacity >= WINDOW_MAX) {
            return false;
        }
        grow(s, s->capacity * 2);
    }
    memmove(s->buf, s->buf + step, s->filled - step);
    s->window += step;
    s->filled -= step;
    s->pos -= step * 8;
    fill(s);
    return true;
}

/* ---- packets ---- */

/* Index and packet header say the same of what matters for reading. */
static bool header_agrees(const struct lull_packet *listed, const struct lull_packet *own)
{
    return listed->bits == own->bits && listed->start == own->start && listed->end == own->end &&
           (listed->content_bits == own->content_bits || (listed->flags & LULL_PACKET_CUT));
}

static void compare_header(struct lull_ctf_stream *s, uint64_t header_bits)
{
    struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet), own;
    uint64_t room = s->list.file_size - packet->offset;
    const char *why = lull_packet_fill(s->stream, s->memory, header_bits, room, &own);
    if ((!why && header_agrees(packet, &own)) || (packet->flags & LULL_PACKET_REPORTED)) {
        return;
    }
    packet->flags |= LULL_PACKET_REPORTED;
    uint64_t byte = packet->offset;
    const char *path = lull_ctf_stream_where(s, &byte);
    lull_report_problem(
        s->report,
        "%s: packet %" G_GINT64_FORMAT ", byte %" G_GUINT64_FORMAT ": %s; Lull trusts the index",
        path, s->packet, byte, why ? why : "the packet header contradicts the index");
}

/* The clock where a packet ends whose last event was at `clock`. */
static uint64_t end_of(const struct lull_packet *packet, uint64_t clock)
{
    bool has_end = (packet->flags & LULL_PACKET_HAS_END) && !(packet->flags & LULL_PACKET_OPEN_END);
    return has_end ? MAX(packet->end, clock) : clock;
}

/* Opens the current packet. False if it is damaged, which has been reported. */
static bool open_packet(struct lull_ctf_stream *s)
{
    struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet);
    s->window = s->filled = s->pos = 0;
    s->content_bits = packet->content_bits;
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    if (packet->flags & LULL_PACKET_HAS_BEGIN) {
        clock = packet->start;
    } else if (s->packet > 0) { /* it starts no earlier than where the one before ended */
        clock = end_of(packet - 1, clock);
    }
    lull_memory_set(s->memory, LULL_MEM_CLOCK, clock);
    fill(s);
    uint32_t stream = 0;
    const char *why;
    uint64_t bits;
    do {
        why = NULL; /* what did not fit the window may fit a larger one */
        bits = lull_packet_decode(s->plan, s->buf, s->limit, s->memory, &stream, &why);
    } while (bits == LULL_PLAN_SHORT && lull_ctf_stream_refill(s));
    if (bits < LULL_PLAN_FAILED && &s->plan->streams[stream] != s->stream) {
        why = "the packet is of another stream than the rest of the file";
    }
    if (bits >= LULL_PLAN_FAILED || why) {
        lull_ctf_stream_damaged(s, 0, why);
        return false;
    }
    if (s->list.from_index) {
        compare_header(s, bits);
    }
    uint64_t cpu = lull_memory_get(s->memory, LULL_MEM_CPU);
    bool has_cpu = (lull_memory_get(s->memory, LULL_MEM_HAVE) & LULL_HAS_CPU) != 0;
    s->cpu = has_cpu && cpu <= INT32_MAX ? (int32_t)cpu : -1;
    s->header_bits = bits;
    s->pos = lull_align_up(bits, s->stream->event_align);
    return true;
}

/* Nothing is left to read. */
static void rest(struct lull_ctf_stream *s)
{
    s->is_done = true;
    s->limit = s->pos = 0;
    s->at_end = true;
    s->packet = s->list.packets->len;
}

void lull_ctf_stream_finish(struct lull_ctf_stream *s)
{
    rest(s);
    s->is_part = false;
    if (s->is_open) {
        s->bytes->ops->close(s->bytes);
    }
    s->is_open = false;
    g_clear_pointer(&s->buf, g_free);
    s->capacity = 0;
}

static bool open_bytes(struct lull_ctf_stream *s)
{
    const char *why = s->bytes->ops->open(s->bytes);
    if (why) {
        lull_report_problem(s->report, "%s: %s", s->path, why);
        return false;
    }
    s->is_open = true;
    uint64_t size = LULL_WINDOW_BYTES;
    while (s->most_bytes > 0 && size > s->most_bytes && size > LEAST_WINDOW_BYTES) {
        size /= 2;
    }
    grow(s, size);
    return true;
}

bool lull_ctf_stream_next_packet(struct lull_ctf_stream *s)
{
    if (!s->is_done && !s->is_open && !open_bytes(s)) {
        lull_ctf_stream_finish(s);
    }
    while (!s->is_done) {
        s->packet++;
        if (s->packet >= s->end_packet) {
            if (s->is_part) {
                rest(s);
            } else {
                lull_ctf_stream_finish(s);
            }
            break;
        }
        if (lull_ctf_stream_is_behind(s)) {
            if (!s->list.in_order) {
                continue;
            }
            lull_ctf_stream_finish(s);
            break;
        }
        if (open_packet(s)) {
            return true;
        }
    }
    return false;
}

/* ---- life ---- */

struct lull_ctf_stream *lull_ctf_stream_new(const struct lull_ctf_plan *plan, const char *path,
                                            struct lull_packet_list *list, uint32_t number,
                                            const struct lull_report *report)
{
    return lull_ctf_stream_new_from(plan, lull_bytes_of_file(path), path, list, number, report);
}

struct lull_ctf_stream *lull_ctf_stream_new_from(const struct lull_ctf_plan *plan,
                                                 struct lull_bytes *bytes, const char *name,
                                                 struct lull_packet_list *list, uint32_t number,
                                                 const struct lull_report *report)
{
    struct lull_ctf_stream *s = g_new0(struct lull_ctf_stream, 1);
    s->plan = plan;
    s->stream = &plan->streams[list->stream];
    s->report = report;
    s->list = *list;
    s->path = g_strdup(name);
    s->bytes = bytes;
    s->number = number;
    s->cpu = list->cpu;
    s->texts = lull_texts_new();
    lull_ctf_stream_finish(s);
    return s;
}

void lull_ctf_stream_free(struct lull_ctf_stream *s)
{
    if (!s) {
        return;
    }
    lull_ctf_stream_finish(s);
    s->bytes->ops->free(s->bytes);
    lull_packet_list_clear(&s->list);
    g_free(s->memory);
    lull_texts_free(s->texts);
    g_free(s->path);
    g_free(s);
}

static void make_memory(struct lull_ctf_stream *s, uint32_t fields_size)
{
    g_free(s->memory);
    s->memory = g_malloc0(MAX(s->plan->fields_offset + MAX(fields_size, 16), s->plan->all_end));
    memcpy(s->memory + LULL_MEM_TEXTS, &s->texts, sizeof s->texts);
}

void lull_ctf_stream_start(struct lull_ctf_stream *s, const struct lull_clock_map *map,
                           int64_t start_ns, int64_t end_ns, uint32_t fields_size)
{
    lull_ctf_stream_finish(s);
    s->is_done = false;
    s->map = *map;
    s->start_ns = start_ns;
    s->end_ns = end_ns;
    make_memory(s, fields_size);
    lull_ctf_stream_seek(s);
    s->end_packet = s->list.packets->len;
    if (s->end_packet == 0) {
        lull_ctf_stream_finish(s);
    }
}

void lull_ctf_stream_feed(struct lull_ctf_stream *s, const struct lull_ctf_plan *plan,
                          const struct lull_packet *packet, uint32_t fields_size)
{
    lull_ctf_stream_finish(s);
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    if (plan != s->plan) {
        s->plan = plan;
        s->stream = &plan->streams[s->list.stream];
        make_memory(s, fields_size);
    }
    if (s->list.packets->len > 0) {
        clock = end_of(lull_ctf_stream_packet_at(s, 0), clock);
    }
    lull_memory_set(s->memory, LULL_MEM_CLOCK, clock);
    g_array_set_size(s->list.packets, 0);
    g_array_append_val(s->list.packets, *packet);
    s->list.file_size = packet->offset + packet->bits / 8;
    s->is_done = false;
    s->packet = -1;
    s->end_packet = 1;
}

uint64_t lull_ctf_stream_progress(const struct lull_ctf_stream *s)
{
    if (s->is_done) {
        return s->list.file_size;
    }
    if (s->packet < 0 || s->packet >= s->list.packets->len) {
        return 0;
    }
    return lull_ctf_stream_packet_at(s, s->packet)->offset + s->window + s->pos / 8;
}
