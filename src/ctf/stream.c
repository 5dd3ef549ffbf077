/* The hot path. One loop, compiled once for each kind of event header and each purpose, steps from
 * event to event; whatever is unusual (end of the window, of the packet, damage) leaves it. */
#include "ctf/stream.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/text.h"

/* Fits the second-level cache, and pread() is at its fastest (measured: 128 KiB to 1 MiB). */
#ifndef LULL_WINDOW_BYTES
#define LULL_WINDOW_BYTES (UINT64_C(256) << 10)
#endif
/* No event is larger. */
#define WINDOW_MAX (UINT64_C(64) << 20)
#define GRAIN_BYTES (LULL_GRAIN_BITS / 8)

static struct lull_packet *packet_at(const struct lull_ctf_stream *s, int64_t index)
{
    return &g_array_index(s->list.packets, struct lull_packet, index);
}

/* ---- damage ---- */

const char *lull_ctf_stream_where(const struct lull_ctf_stream *s, uint64_t *offset)
{
    return s->bytes->ops->where != NULL ? s->bytes->ops->where(s->bytes, offset) : s->path;
}

/* Tells, once, that the rest of the current packet is left out. */
static void damaged(struct lull_ctf_stream *s, uint64_t pos, const char *why)
{
    struct lull_packet *packet = packet_at(s, s->packet);
    if (packet->flags & (LULL_PACKET_REPORTED | LULL_PACKET_CUT))
        return;
    packet->flags |= LULL_PACKET_REPORTED;
    uint64_t byte = packet->offset;
    const char *path = lull_ctf_stream_where(s, &byte);
    lull_report_problem(s->report,
                        "%s: packet %" G_GINT64_FORMAT ", byte %" G_GUINT64_FORMAT
                        ": %s; the rest of the packet is left out",
                        path, s->packet, byte + s->window + pos / 8, why);
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    if ((packet->flags & LULL_PACKET_HAS_BEGIN) && clock < packet->begin)
        clock = packet->begin;
    uint64_t end = packet->flags & LULL_PACKET_HAS_END ? MAX(packet->end, clock) : clock;
    s->report->lost(s->report->user, s->number,
                    lull_clock_map_own(&s->map, clock) - s->map.delta_ns,
                    lull_clock_map_own(&s->map, end) - s->map.delta_ns, 0, 1);
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
    struct lull_packet *packet = packet_at(s, s->packet);
    uint64_t content = (s->content_bits + 7) / 8 - s->window;
    uint64_t want = MIN(s->capacity, content);
    while (s->filled < want) {
        const char *why = NULL;
        uint64_t n = s->bytes->ops->read(s->bytes, packet->offset + s->window + s->filled,
                                         s->buf + s->filled, want - s->filled, &why);
        if (n == 0) {
            damaged(s, s->filled * 8, why);
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

/* Makes more bytes of the packet readable behind s->pos. False if that cannot be. */
static bool refill(struct lull_ctf_stream *s)
{
    if (s->at_end)
        return false;
    uint64_t step =
        MIN(s->pos / LULL_GRAIN_BITS * GRAIN_BYTES, s->filled / GRAIN_BYTES * GRAIN_BYTES);
    if (step == 0 && s->filled == s->capacity) {
        if (s->capacity >= WINDOW_MAX)
            return false;
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
    return listed->bits == own->bits && listed->begin == own->begin && listed->end == own->end &&
           (listed->content_bits == own->content_bits || (listed->flags & LULL_PACKET_CUT));
}

static void compare_header(struct lull_ctf_stream *s, uint64_t header_bits)
{
    struct lull_packet *packet = packet_at(s, s->packet), own;
    uint64_t room = s->list.file_size - packet->offset;
    const char *why = lull_packet_fill(s->stream, s->memory, header_bits, room, &own);
    if ((why == NULL && header_agrees(packet, &own)) || (packet->flags & LULL_PACKET_REPORTED))
        return;
    packet->flags |= LULL_PACKET_REPORTED;
    uint64_t byte = packet->offset;
    const char *path = lull_ctf_stream_where(s, &byte);
    lull_report_problem(
        s->report,
        "%s: packet %" G_GINT64_FORMAT ", byte %" G_GUINT64_FORMAT ": %s; the index is believed",
        path, s->packet, byte, why != NULL ? why : "the packet header contradicts the index");
}

/* Opens the current packet. False if it is damaged, which has been told. */
static bool open_packet(struct lull_ctf_stream *s)
{
    struct lull_packet *packet = packet_at(s, s->packet);
    s->window = s->filled = s->pos = 0;
    s->content_bits = packet->content_bits;
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    if (packet->flags & LULL_PACKET_HAS_BEGIN)
        clock = packet->begin;
    lull_memory_set(s->memory, LULL_MEM_CLOCK, clock);
    fill(s);
    uint32_t stream = 0;
    const char *why = NULL;
    uint64_t bits;
    do
        bits = lull_packet_decode(s->plan, s->buf, s->limit, s->memory, &stream, &why);
    while (bits == LULL_PLAN_SHORT && refill(s));
    if (bits < LULL_PLAN_FAILED && &s->plan->streams[stream] != s->stream)
        why = "the packet is of another stream than the rest of the file";
    if (bits >= LULL_PLAN_FAILED || why != NULL) {
        damaged(s, 0, why);
        return false;
    }
    if (s->list.from_index)
        compare_header(s, bits);
    uint64_t cpu = lull_memory_get(s->memory, LULL_MEM_CPU);
    bool has_cpu = (lull_memory_get(s->memory, LULL_MEM_HAVE) & LULL_HAS_CPU) != 0;
    s->cpu = has_cpu && cpu <= INT32_MAX ? (int32_t)cpu : -1;
    s->header_bits = bits;
    s->pos = lull_align_up(bits, s->stream->event_align);
    return true;
}

static bool packet_before(const struct lull_ctf_stream *s, const struct lull_packet *packet)
{
    uint32_t both = LULL_PACKET_HAS_BEGIN | LULL_PACKET_HAS_END;
    return (packet->flags & both) == both && packet->begin <= packet->end &&
           lull_clock_map_joined(&s->map, packet->end) < s->begin_ns;
}

static bool packet_behind(const struct lull_ctf_stream *s, const struct lull_packet *packet)
{
    return (packet->flags & LULL_PACKET_HAS_BEGIN) &&
           lull_clock_map_joined(&s->map, packet->begin) >= s->end_ns;
}

static void finish(struct lull_ctf_stream *s)
{
    s->is_done = true;
    s->limit = s->pos = 0;
    s->at_end = true;
    s->packet = s->list.packets->len;
    if (s->is_open)
        s->bytes->ops->close(s->bytes);
    s->is_open = false;
    g_clear_pointer(&s->buf, g_free);
    s->capacity = 0;
}

static bool open_bytes(struct lull_ctf_stream *s)
{
    const char *why = s->bytes->ops->open(s->bytes);
    if (why != NULL) {
        lull_report_problem(s->report, "%s: %s", s->path, why);
        return false;
    }
    s->is_open = true;
    grow(s, LULL_WINDOW_BYTES);
    return true;
}

/* Goes to the next packet that may hold events in the limits. False, and done, if there is none. */
static bool next_packet(struct lull_ctf_stream *s)
{
    if (!s->is_done && !s->is_open && !open_bytes(s))
        finish(s);
    while (!s->is_done) {
        s->packet++;
        if (s->packet >= s->list.packets->len) {
            finish(s);
            break;
        }
        const struct lull_packet *packet = packet_at(s, s->packet);
        if (packet_behind(s, packet)) {
            if (!s->list.in_order)
                continue;
            finish(s);
            break;
        }
        if (!packet_before(s, packet) && open_packet(s))
            return true;
    }
    return false;
}

/* The first packet that does not end before the limits begin. */
static int64_t first_packet(const struct lull_ctf_stream *s)
{
    int64_t low = 0, high = s->list.packets->len;
    if (!s->list.in_order)
        return 0;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (packet_before(s, packet_at(s, middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- events ---- */

/* What to do when an event at s->pos cannot be decoded with what is readable: read more, or give
 * the packet up. False at the end of the stream. */
static bool recover(struct lull_ctf_stream *s, uint64_t code, const char *why)
{
    bool is_short = code < LULL_PLAN_FAILED || code == LULL_PLAN_SHORT;
    if (is_short && refill(s))
        return true;
    if (why == NULL && !is_short)
        why = lull_plan_why(code);
    if (why == NULL)
        why =
            s->at_end ? "an event passes the end of the packet's content" : "an event is too large";
    damaged(s, s->pos, why);
    return next_packet(s);
}

enum found { FOUND_EVENT, FOUND_NOTHING, FOUND_END };

/* Decodes the header at s->pos with the general plan; id and clock are in memory then. */
static enum found general_header(struct lull_ctf_stream *s, uint64_t *body)
{
    if (s->pos >= s->limit) {
        if (!s->at_end)
            return refill(s) ? FOUND_NOTHING : FOUND_END;
        return next_packet(s) ? FOUND_NOTHING : FOUND_END;
    }
    const struct lull_stream_decl *decl = s->stream->decl;
    /* Without an id there is one class, or in CTF 2 that of id 0 is meant. */
    bool is_only = !s->stream->has_id && decl->n_events == 1;
    lull_memory_set(s->memory, LULL_MEM_ID, is_only ? decl->events[0].id : 0);
    s->event_begin = s->pos;
    *body = lull_plan_run(s->stream->event_header, s->buf, s->limit, s->pos, s->memory);
    if (*body >= LULL_PLAN_FAILED)
        return recover(s, *body, NULL) ? FOUND_NOTHING : FOUND_END;
    if (!s->stream->has_id && !is_only && s->plan->schema->major < 2)
        return recover(s, LULL_PLAN_BAD_TAG, "no event class can be told from the header")
                   ? FOUND_NOTHING
                   : FOUND_END;
    return FOUND_EVENT;
}

/* The time of a clock value, never before that of the event before. */
static inline int64_t event_time(struct lull_ctf_stream *s, uint64_t clock)
{
    int64_t t = lull_clock_map_joined(&s->map, clock);
    if (G_UNLIKELY(t < s->last_ns)) {
        uint64_t byte = packet_at(s, s->packet)->offset;
        if (!s->has_warned_order)
            lull_report_problem(s->report,
                                "%s: packet %" G_GINT64_FORMAT
                                ": an event is earlier than the one before it; such events get "
                                "the time of the one before",
                                lull_ctf_stream_where(s, &byte), s->packet);
        s->has_warned_order = true;
        t = s->last_ns;
    }
    s->last_ns = t;
    return t;
}

enum purpose { TO_NEXT, TO_COUNT, TO_COUNT_TIMED, TO_MEASURE, TO_SUM, TO_SUM_TIMED };

/* Decodes an event header that straight code knows. Returns the position behind it. */
static inline __attribute__((always_inline)) uint64_t
straight_header(enum lull_header_kind kind, const struct lull_header_layout *layout,
                const uint8_t *buf, uint64_t pos, bool with_clock, uint64_t *id, uint64_t *clock)
{
    const uint8_t *p = buf + (pos >> 3);
    bool be = kind == LULL_HEADER_LARGE_BE || kind == LULL_HEADER_COMPACT_BE;
    bool is_large = kind == LULL_HEADER_LARGE_LE || kind == LULL_HEADER_LARGE_BE;
    uint32_t time = 0;
    bool is_long;
    if (is_large) {
        *id = lull_load_u16(p, be);
        is_long = *id == 0xffff;
        if (with_clock)
            time = lull_load_u32(p + (layout->time >> 3), be);
    } else {
        uint32_t word = lull_load_u32(p, be);
        *id = be ? word >> 27 : word & 31;
        is_long = *id == 31;
        time = be ? word & 0x7ffffff : word >> 5;
    }
    if (G_UNLIKELY(is_long)) {
        *id = lull_load_u32(p + (layout->long_id >> 3), be);
        *clock = lull_load_u64(p + (layout->long_time >> 3), be);
        return pos + layout->long_end;
    }
    if (with_clock)
        *clock = lull_clock_advance(*clock, time, is_large ? 32 : 27);
    return pos + layout->end;
}

/* Lays out the fields of an event before its plan fills them. */
static inline void prepare_fields(const struct lull_ctf_stream *s,
                                  const struct lull_event_plan *plan)
{
    uint8_t *fields = s->memory + s->plan->fields_offset;
    if (plan->clear_size != 0)
        memset(fields, 0, plan->clear_size);
    if (plan->has_fields)
        memcpy(fields, &plan->have, sizeof plan->have);
}

static void measure(struct lull_ctf_stream *s, uint64_t clock)
{
    struct lull_packet *packet = packet_at(s, s->packet);
    if (!(packet->flags & LULL_PACKET_HAS_BEGIN)) {
        packet->flags |= LULL_PACKET_HAS_BEGIN;
        packet->begin = clock;
    }
    if (!s->stream->end_bits || (packet->flags & LULL_PACKET_OPEN_END)) {
        packet->flags |= LULL_PACKET_HAS_END;
        packet->end = clock;
    }
}

/* Steps over events until there is one to hand out: true; or to the end of the stream: false. */
static inline __attribute__((always_inline)) bool
walk(struct lull_ctf_stream *s, enum lull_header_kind kind, enum purpose purpose, uint64_t *counts)
{
    const struct lull_stream_plan *stream = s->stream;
    struct lull_event_plan *const *by_id = stream->by_id;
    const uint32_t n_by_id = stream->n_by_id;
    const struct lull_header_layout layout = stream->layout;
    const uint64_t event_align = stream->event_align;
    uint8_t *memory = s->memory;
    const uint8_t *buf = s->buf;
    uint64_t pos = s->pos, limit = s->limit;
    uint64_t clock = lull_memory_get(memory, LULL_MEM_CLOCK);
    for (;;) {
        uint64_t id, body;
        if (kind != LULL_HEADER_GENERAL && G_LIKELY(pos + layout.long_end <= limit)) {
            body = straight_header(kind, &layout, buf, pos, purpose != TO_COUNT, &id, &clock);
        } else {
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            enum found found = general_header(s, &body);
            if (found == FOUND_END)
                return false;
            buf = s->buf;
            pos = s->pos;
            limit = s->limit;
            clock = lull_memory_get(memory, LULL_MEM_CLOCK);
            if (found == FOUND_NOTHING)
                continue;
            id = lull_memory_get(memory, LULL_MEM_ID);
        }
        const struct lull_event_plan *plan =
            G_LIKELY(id < n_by_id) ? by_id[id] : lull_stream_plan_find(stream, id);
        const char *why = NULL;
        bool wanted = purpose == TO_NEXT && plan != NULL && plan->subscription >= 0;
        struct lull_tally tally = {0, 0};
        uint64_t next;
        /* A class without wanted fields and of fixed size takes one addition. */
        if (G_UNLIKELY(plan == NULL || plan->skip == NULL)) {
            next = LULL_PLAN_BAD_TAG;
            why = "an event of a class that the metadata does not declare";
        } else if (purpose == TO_SUM || purpose == TO_SUM_TIMED) {
            next = lull_plan_sum(plan->all, buf, limit, body, memory, &tally);
        } else if ((!wanted || plan->ops == plan->skip) && plan->fixed_bits < LULL_BITS_HUGE) {
            if (wanted)
                prepare_fields(s, plan);
            next = ((body + plan->align_mask) & ~plan->align_mask) + plan->fixed_bits;
        } else {
            if (wanted)
                prepare_fields(s, plan);
            next = lull_plan_run(wanted ? plan->ops : plan->skip, buf, limit, body, memory);
        }
        if (kind == LULL_HEADER_GENERAL && next == pos) {
            next = LULL_PLAN_BAD_TAG;
            why = "an event of no size";
        }
        if (G_UNLIKELY(next > limit)) {
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            if (!recover(s, next, why))
                return false;
            buf = s->buf;
            pos = s->pos;
            limit = s->limit;
            clock = lull_memory_get(memory, LULL_MEM_CLOCK);
            continue;
        }
        pos = lull_align_up(next, event_align);
        if (purpose == TO_COUNT) {
            counts[plan->index]++;
        } else if (purpose == TO_COUNT_TIMED) {
            int64_t t = event_time(s, clock);
            counts[plan->index] += t >= s->begin_ns && t < s->end_ns;
        } else if (purpose == TO_SUM || purpose == TO_SUM_TIMED) {
            int64_t t = purpose == TO_SUM_TIMED ? event_time(s, clock) : 0;
            if (purpose == TO_SUM_TIMED && (t < s->begin_ns || t >= s->end_ns))
                continue;
            counts[plan->index]++;
            s->tally.fields += tally.fields;
            s->tally.checksum += tally.checksum;
        } else if (purpose == TO_MEASURE) {
            measure(s, clock);
        } else if (wanted) {
            int64_t t = event_time(s, clock);
            if (t < s->begin_ns)
                continue;
            if (t >= s->end_ns) {
                finish(s);
                return false;
            }
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            s->event_plan = plan;
            s->event_body = body;
            s->event_end = next;
            return true;
        }
    }
}

/* One copy of the loop for each kind of header and each purpose. */
#define WALKERS(name, purpose)                                                                     \
    static bool name##_general(struct lull_ctf_stream *s, uint64_t *counts)                        \
    {                                                                                              \
        return walk(s, LULL_HEADER_GENERAL, purpose, counts);                                      \
    }                                                                                              \
    static bool name##_large_le(struct lull_ctf_stream *s, uint64_t *counts)                       \
    {                                                                                              \
        return walk(s, LULL_HEADER_LARGE_LE, purpose, counts);                                     \
    }                                                                                              \
    static bool name##_large_be(struct lull_ctf_stream *s, uint64_t *counts)                       \
    {                                                                                              \
        return walk(s, LULL_HEADER_LARGE_BE, purpose, counts);                                     \
    }                                                                                              \
    static bool name##_compact_le(struct lull_ctf_stream *s, uint64_t *counts)                     \
    {                                                                                              \
        return walk(s, LULL_HEADER_COMPACT_LE, purpose, counts);                                   \
    }                                                                                              \
    static bool name##_compact_be(struct lull_ctf_stream *s, uint64_t *counts)                     \
    {                                                                                              \
        return walk(s, LULL_HEADER_COMPACT_BE, purpose, counts);                                   \
    }                                                                                              \
    static bool name(struct lull_ctf_stream *s, uint64_t *counts)                                  \
    {                                                                                              \
        static bool (*const walkers[])(struct lull_ctf_stream *, uint64_t *) = {                   \
            [LULL_HEADER_GENERAL] = name##_general,                                                \
            [LULL_HEADER_LARGE_LE] = name##_large_le,                                              \
            [LULL_HEADER_LARGE_BE] = name##_large_be,                                              \
            [LULL_HEADER_COMPACT_LE] = name##_compact_le,                                          \
            [LULL_HEADER_COMPACT_BE] = name##_compact_be,                                          \
        };                                                                                         \
        return walkers[s->stream->header_kind](s, counts);                                         \
    }

WALKERS(walk_next, TO_NEXT)
WALKERS(walk_count, TO_COUNT)
WALKERS(walk_count_timed, TO_COUNT_TIMED)
WALKERS(walk_measure, TO_MEASURE)
WALKERS(walk_sum, TO_SUM)
WALKERS(walk_sum_timed, TO_SUM_TIMED)

bool lull_ctf_stream_next(struct lull_ctf_stream *s, struct lull_event *event)
{
    if (G_UNLIKELY(s->is_done || (!s->is_open && !next_packet(s))) || !walk_next(s, NULL))
        return false;
    event->time_ns = s->last_ns;
    event->cpu = s->cpu;
    event->subscription = (uint32_t)s->event_plan->subscription;
    event->event_class = s->event_plan->event_class;
    event->fields = s->memory + s->plan->fields_offset;
    return true;
}

void lull_ctf_stream_count(struct lull_ctf_stream *s, uint64_t *counts)
{
    if (s->is_done || (!s->is_open && !next_packet(s)))
        return;
    if (s->begin_ns == INT64_MIN && s->end_ns == INT64_MAX)
        walk_count(s, counts);
    else
        walk_count_timed(s, counts);
}

void lull_ctf_stream_sum(struct lull_ctf_stream *s, uint64_t *counts, struct lull_tally *tally)
{
    s->tally = (struct lull_tally){0, 0};
    if (s->is_done || (!s->is_open && !next_packet(s)))
        return;
    if (s->begin_ns == INT64_MIN && s->end_ns == INT64_MAX)
        walk_sum(s, counts);
    else
        walk_sum_timed(s, counts);
    tally->fields += s->tally.fields;
    tally->checksum += s->tally.checksum;
}

void lull_ctf_stream_measure(struct lull_ctf_stream *s)
{
    if (!s->is_done && (s->is_open || next_packet(s)))
        walk_measure(s, NULL);
    lull_packet_list_check_order(&s->list);
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
    finish(s);
    return s;
}

void lull_ctf_stream_free(struct lull_ctf_stream *s)
{
    if (s == NULL)
        return;
    finish(s);
    s->bytes->ops->free(s->bytes);
    lull_packet_list_clear(&s->list);
    g_free(s->memory);
    lull_texts_free(s->texts);
    g_free(s->path);
    g_free(s);
}

void lull_ctf_stream_start(struct lull_ctf_stream *s, const struct lull_clock_map *map,
                           int64_t begin_ns, int64_t end_ns, uint32_t fields_size)
{
    finish(s);
    s->is_done = false;
    s->map = *map;
    s->begin_ns = begin_ns;
    s->end_ns = end_ns;
    g_free(s->memory);
    s->memory = g_malloc0(MAX(s->plan->fields_offset + MAX(fields_size, 16), s->plan->all_end));
    memcpy(s->memory + LULL_MEM_TEXTS, &s->texts, sizeof s->texts);
    s->last_ns = INT64_MIN;
    s->packet = first_packet(s) - 1;
    if (s->packet + 1 >= s->list.packets->len)
        finish(s);
    else if (s->list.in_order)
        s->last_ns = lull_clock_map_joined(map, packet_at(s, s->packet + 1)->begin);
}

void lull_ctf_stream_feed(struct lull_ctf_stream *s, const struct lull_ctf_plan *plan,
                          const struct lull_packet *packet, uint32_t fields_size)
{
    finish(s);
    if (plan != s->plan) {
        uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
        g_free(s->memory);
        s->memory = g_malloc0(MAX(plan->fields_offset + MAX(fields_size, 16), plan->all_end));
        memcpy(s->memory + LULL_MEM_TEXTS, &s->texts, sizeof s->texts);
        lull_memory_set(s->memory, LULL_MEM_CLOCK, clock);
        s->plan = plan;
        s->stream = &plan->streams[s->list.stream];
    }
    g_array_set_size(s->list.packets, 0);
    g_array_append_val(s->list.packets, *packet);
    s->list.file_size = packet->offset + packet->bits / 8;
    s->is_done = false;
    s->packet = -1;
}

uint64_t lull_ctf_stream_progress(const struct lull_ctf_stream *s)
{
    if (s->is_done)
        return s->list.file_size;
    if (s->packet < 0 || s->packet >= s->list.packets->len)
        return 0;
    return packet_at(s, s->packet)->offset + s->window + s->pos / 8;
}
