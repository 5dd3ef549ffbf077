/* SPDX-License-Identifier: MIT */
/* The hot path. One loop, compiled once for each kind of event header and each purpose, steps from
 * event to event; whatever is unusual (end of the window, of the packet, damage) leaves it. */
#include "ctf/stream/private.h"

#include <string.h>

#include "base/bits.h"
#include "ctf/plan/straight.h"

/* What to do when an event at s->pos cannot be decoded with what is readable: read more, or give
 * the packet up. False at the end of the stream. */
static bool recover(struct lull_ctf_stream *s, uint64_t code, const char *why)
{
    bool is_short = code < LULL_PLAN_FAILED || code == LULL_PLAN_SHORT;
    if (is_short && lull_ctf_stream_refill(s)) {
        return true;
    }
    if (!why && !is_short) {
        why = lull_plan_why(code);
    }
    if (!why) {
        why = s->at_end ? "an event goes past the end of the packet's content"
                        : "an event is too large";
    }
    lull_ctf_stream_damaged(s, s->pos, why);
    return lull_ctf_stream_next_packet(s);
}

enum found { FOUND_EVENT, FOUND_NOTHING, FOUND_END };

/* Decodes the header at s->pos with the general plan; id and clock are in memory then. */
static enum found general_header(struct lull_ctf_stream *s, uint64_t *body)
{
    if (s->pos >= s->limit) {
        if (!s->at_end) {
            return lull_ctf_stream_refill(s) ? FOUND_NOTHING : FOUND_END;
        }
        return lull_ctf_stream_next_packet(s) ? FOUND_NOTHING : FOUND_END;
    }
    const struct lull_stream_decl *decl = s->stream->decl;
    /* Without an id there is one class, or in CTF 2 that of id 0 is meant. */
    bool is_only = !s->stream->has_id && decl->n_events == 1;
    lull_memory_set(s->memory, LULL_MEM_ID, is_only ? decl->events[0].id : 0);
    s->event_start = s->pos;
    *body = lull_plan_run(s->stream->event_header, s->buf, s->limit, s->pos, s->memory);
    if (*body >= LULL_PLAN_FAILED) {
        return recover(s, *body, NULL) ? FOUND_NOTHING : FOUND_END;
    }
    if (!s->stream->has_id && !is_only && s->plan->schema->major < 2) {
        return recover(s, LULL_PLAN_BAD_TAG, "the header names no event class") ? FOUND_NOTHING
                                                                                : FOUND_END;
    }
    return FOUND_EVENT;
}

/* The time of a clock value, never before that of the event before. */
static inline int64_t event_time(struct lull_ctf_stream *s, uint64_t clock)
{
    int64_t t = lull_clock_map_joined(&s->map, clock);
    if (G_UNLIKELY(t < s->last_ns)) {
        uint64_t byte = lull_ctf_stream_packet_at(s, s->packet)->offset;
        if (!s->has_warned_order) {
            lull_report_remark(s->report,
                               "%s: packet %" G_GINT64_FORMAT
                               ": an event is earlier than the one before it; such events get "
                               "the time of the one before",
                               lull_ctf_stream_where(s, &byte), s->packet);
        }
        s->has_warned_order = true;
        t = s->last_ns;
    }
    s->last_ns = t;
    return t;
}

enum purpose { TO_NEXT, TO_COUNT, TO_COUNT_TIMED, TO_MEASURE, TO_SUM, TO_SUM_TIMED };

static bool is_limited(const struct lull_ctf_stream *s)
{
    return s->start_ns != INT64_MIN || s->end_ns != INT64_MAX;
}

/* Counting does not follow the clock from event to event: true if none of the packet's events can
 * leave the valid times from here on. None has less than 32 bits or takes more than 2^32 cycles. */
static bool is_calm(const struct lull_ctf_stream *s, uint64_t clock)
{
    uint64_t since = clock - s->map.first;
    return since < s->map.count && s->content_bits / 32 < (s->map.count - since) >> 32;
}

static bool is_large(enum lull_header_kind kind)
{
    return kind == LULL_HEADER_LARGE_LE || kind == LULL_HEADER_LARGE_BE;
}

/* The usual form of an event header that straight code knows: its id, and the low bits of the clock,
 * of which it returns the number. A large one has these at byte `time_at`. */
static inline __attribute__((always_inline)) unsigned
short_header(enum lull_header_kind kind, uint32_t time_at, const uint8_t *p, bool with_clock,
             uint64_t *id, uint32_t *time)
{
    const bool be = kind == LULL_HEADER_LARGE_BE || kind == LULL_HEADER_COMPACT_BE;
    if (is_large(kind)) {
        *id = lull_load_u16(p, be);
        *time = with_clock ? lull_load_u32(p + time_at, be) : 0;
        return 32;
    }
    const uint32_t word = lull_load_u32(p, be);
    *id = be ? word >> 27 : word & 31;
    *time = be ? word & 0x7ffffff : word >> 5;
    return 27;
}

/* Decodes an event header that straight code knows. Returns the position after it. */
static inline __attribute__((always_inline)) uint64_t
straight_header(enum lull_header_kind kind, const struct lull_header_layout *layout,
                const uint8_t *buf, uint64_t pos, bool with_clock, uint64_t *id, uint64_t *clock)
{
    const uint8_t *p = buf + (pos >> 3);
    const bool be = kind == LULL_HEADER_LARGE_BE || kind == LULL_HEADER_COMPACT_BE;
    uint32_t time;
    const unsigned bits = short_header(kind, layout->time >> 3, p, with_clock, id, &time);
    if (G_UNLIKELY(*id == (is_large(kind) ? 0xffff : 31))) {
        *id = lull_load_u32(p + (layout->long_id >> 3), be);
        *clock = lull_load_u64(p + (layout->long_time >> 3), be);
        return pos + layout->long_end;
    }
    if (with_clock) {
        *clock = lull_clock_advance(*clock, time, bits);
    }
    return pos + layout->end;
}

/* Where the event after one of LULL_STRIDE_TEXTS starts; beyond the limit if it is not readable. */
static __attribute__((noinline)) uint64_t after_texts(const struct lull_ctf_stream *s, uint64_t pos,
                                                      uint64_t id)
{
    const struct lull_stream_plan *stream = s->stream;
    pos = lull_plan_skip_texts(stream->by_id[id]->skip, s->buf, s->limit, pos + stream->layout.end);
    return pos < LULL_PLAN_FAILED ? lull_align_up(pos, stream->event_align) : pos;
}

/* Steps over events of which all that matters is how long they are, and maybe when: up to the first
 * that is wanted, whose length is settled by more than its id and its texts, or that what is
 * readable does not hold. The clock does not go back on the way. */
static inline __attribute__((always_inline)) uint64_t stride_on(const struct lull_ctf_stream *s,
                                                                enum lull_header_kind kind,
                                                                enum purpose purpose,
                                                                const uint8_t *buf, uint64_t pos,
                                                                uint64_t *clock, uint64_t *counts)
{
    const struct lull_stride *strides = s->stream->strides;
    const uint32_t *unwanted = s->stream->unwanted;
    const uint64_t n_short = s->stream->n_short, limit = s->limit;
    const uint32_t time_at = s->stream->layout.time >> 3, header_bits = s->stream->layout.end;
    uint64_t now = *clock;
    if (limit < header_bits || (purpose != TO_COUNT && G_UNLIKELY(!is_calm(s, now)))) {
        return pos;
    }
    const uint64_t last = limit - header_bits;
    while (pos <= last) {
        uint64_t id;
        uint32_t time;
        const unsigned time_bits =
            short_header(kind, time_at, buf + (pos >> 3), purpose != TO_COUNT, &id, &time);
        if (G_UNLIKELY(id >= n_short)) {
            break;
        }
        const uint32_t bits = purpose == TO_NEXT ? unwanted[id] : strides[id].bits;
        uint64_t next = pos + bits;
        if (bits <= LULL_STRIDE_TEXTS) {
            if (bits == LULL_STRIDE_NONE) {
                break;
            }
            next = after_texts(s, pos, id);
        }
        if (next > limit) {
            break;
        }
        if (purpose != TO_NEXT) {
            counts[strides[id].index]++;
        }
        if (purpose != TO_COUNT) {
            now = lull_clock_advance(now, time, time_bits);
        }
        pos = next;
    }
    *clock = now;
    return pos;
}

/* Lays out the fields of an event before its plan fills them. */
static inline void prepare_fields(const struct lull_ctf_stream *s,
                                  const struct lull_event_plan *plan)
{
    uint8_t *fields = s->memory + s->plan->fields_offset;
    if (plan->clear_size != 0) {
        memset(fields, 0, plan->clear_size);
    }
    if (plan->has_fields) {
        memcpy(fields, &plan->have, sizeof plan->have);
    }
}

static void measure(struct lull_ctf_stream *s, uint64_t clock)
{
    struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet);
    if (!(packet->flags & LULL_PACKET_HAS_BEGIN)) {
        packet->flags |= LULL_PACKET_HAS_BEGIN;
        packet->start = clock;
    }
    if (!s->stream->end_bits || (packet->flags & LULL_PACKET_OPEN_END)) {
        packet->flags |= LULL_PACKET_HAS_END;
        packet->end = clock;
    }
}

/* Steps over events until there is one to hand out: true; or to the end of the stream: false. What
 * counts also stops, true, before an event whose time has to be looked at. */
static inline __attribute__((always_inline)) bool
walk(struct lull_ctf_stream *s, enum lull_header_kind kind, enum purpose purpose, uint64_t *counts)
{
    const struct lull_stream_plan *stream = s->stream;
    struct lull_event_plan *const *by_id = stream->by_id;
    const uint32_t n_by_id = stream->n_by_id;
    /* Which of them stays in registers: a walk to the next event is short. */
    const struct lull_header_layout copy = stream->layout;
    const struct lull_header_layout *layout = purpose == TO_NEXT ? &stream->layout : &copy;
    const uint64_t event_align = stream->event_align;
    uint8_t *memory = s->memory;
    const uint8_t *buf = s->buf;
    uint64_t pos = s->pos, limit = s->limit;
    uint64_t clock = lull_memory_get(memory, LULL_MEM_CLOCK), calm = ~clock;
    const bool is_whole = !is_limited(s);
    bool has_unwanted = false; /* then there mostly are more of them */
    for (;;) {
        uint64_t id, body;
        if (kind != LULL_HEADER_GENERAL &&
            ((purpose == TO_NEXT && has_unwanted) || (purpose == TO_COUNT && clock == calm))) {
            pos = stride_on(s, kind, purpose, buf, pos, &clock, counts);
        } else if (kind != LULL_HEADER_GENERAL && purpose == TO_COUNT_TIMED && is_whole &&
                   lull_clock_map_joined(&s->map, clock) >= s->last_ns) {
            const uint64_t from = pos;
            pos = stride_on(s, kind, purpose, buf, pos, &clock, counts);
            if (pos != from) {
                event_time(s, clock);
            }
        }
        if (kind != LULL_HEADER_GENERAL && G_LIKELY(pos + layout->long_end <= limit)) {
            body = straight_header(kind, layout, buf, pos, purpose != TO_COUNT, &id, &clock);
        } else {
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            enum found found = general_header(s, &body);
            if (found == FOUND_END) {
                return false;
            }
            buf = s->buf;
            pos = s->pos;
            limit = s->limit;
            clock = lull_memory_get(memory, LULL_MEM_CLOCK);
            calm = ~clock;
            if (found == FOUND_NOTHING) {
                continue;
            }
            id = lull_memory_get(memory, LULL_MEM_ID);
        }
        if (purpose == TO_COUNT && G_UNLIKELY(clock != calm)) {
            if (!is_calm(s, clock)) {
                s->pos = pos;
                lull_memory_set(memory, LULL_MEM_CLOCK, clock);
                return true;
            }
            calm = clock;
        }
        const struct lull_event_plan *plan =
            G_LIKELY(id < n_by_id) ? by_id[id] : lull_stream_plan_find(stream, id);
        const char *why = NULL;
        const bool sums = purpose == TO_SUM || purpose == TO_SUM_TIMED;
        const bool wanted = purpose == TO_NEXT && plan->subscription >= 0;
        const bool is_straight = sums     ? plan->sums != NULL
                                 : wanted ? plan->is_straight
                                          : plan->fixed_bits < LULL_BITS_HUGE;
        struct lull_tally tally = {0, 0};
        uint64_t next;
        if (wanted) {
            prepare_fields(s, plan);
        }
        if (purpose != TO_COUNT && !lull_clock_map_holds(&s->map, clock)) {
            next = LULL_PLAN_BAD_TAG;
            why = LULL_TIME_OUTSIDE;
        } else if (is_straight) {
            const uint64_t run = (body + plan->align_mask) & ~plan->align_mask;
            next = run + plan->fixed_bits;
            if (sums && G_LIKELY(next <= limit)) {
                tally.checksum = lull_sums_run(plan->sums, buf + (run >> 3));
                tally.fields = plan->all->count;
            } else if (wanted && plan->loads && G_LIKELY(next <= limit)) {
                lull_loads_run(plan->loads, buf + (run >> 3), memory);
            }
        } else if (G_UNLIKELY(!plan->skip)) {
            next = LULL_PLAN_BAD_TAG;
            why = "an event of a class that the metadata does not declare";
        } else if (sums) {
            next = lull_plan_sum(plan->all, buf, limit, body, memory, &tally);
        } else {
            next = lull_plan_run(wanted ? plan->ops : plan->skip, buf, limit, body, memory);
        }
        if (kind == LULL_HEADER_GENERAL && next == pos) {
            next = LULL_PLAN_BAD_TAG;
            why = "an event of size 0";
        }
        if (G_UNLIKELY(next > limit)) {
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            if (!recover(s, next, why)) {
                return false;
            }
            buf = s->buf;
            pos = s->pos;
            limit = s->limit;
            clock = lull_memory_get(memory, LULL_MEM_CLOCK);
            calm = ~clock;
            continue;
        }
        pos = lull_align_up(next, event_align);
        if (purpose == TO_COUNT) {
            counts[plan->index]++;
        } else if (purpose == TO_COUNT_TIMED) {
            int64_t t = event_time(s, clock);
            counts[plan->index] += t >= s->start_ns && t < s->end_ns;
        } else if (purpose == TO_SUM || purpose == TO_SUM_TIMED) {
            int64_t t = purpose == TO_SUM_TIMED ? event_time(s, clock) : 0;
            if (purpose == TO_SUM_TIMED && (t < s->start_ns || t >= s->end_ns)) {
                continue;
            }
            counts[plan->index]++;
            s->tally.fields += tally.fields;
            s->tally.checksum += tally.checksum;
        } else if (purpose == TO_MEASURE) {
            measure(s, clock);
        } else if (wanted) {
            int64_t t = event_time(s, clock);
            if (t < s->start_ns) {
                continue;
            }
            if (t >= s->end_ns) {
                lull_ctf_stream_finish(s);
                return false;
            }
            s->pos = pos;
            lull_memory_set(memory, LULL_MEM_CLOCK, clock);
            s->event_plan = plan;
            s->event_body = body;
            s->event_end = next;
            return true;
        } else {
            has_unwanted = true;
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
    if (G_UNLIKELY(s->is_done || (!s->is_open && !lull_ctf_stream_next_packet(s))) ||
        !walk_next(s, NULL)) {
        return false;
    }
    event->time_ns = s->last_ns;
    event->cpu = s->cpu;
    event->subscription = (uint32_t)s->event_plan->subscription;
    event->event_class = s->event_plan->event_class;
    event->fields = s->memory + s->plan->fields_offset;
    return true;
}

void lull_ctf_stream_count(struct lull_ctf_stream *s, uint64_t *counts)
{
    if (s->is_done || (!s->is_open && !lull_ctf_stream_next_packet(s))) {
        return;
    }
    if (is_limited(s) || walk_count(s, counts)) {
        walk_count_timed(s, counts);
    }
}

void lull_ctf_stream_sum(struct lull_ctf_stream *s, uint64_t *counts, struct lull_tally *tally)
{
    s->tally = (struct lull_tally){0, 0};
    if (s->is_done || (!s->is_open && !lull_ctf_stream_next_packet(s))) {
        return;
    }
    if (is_limited(s)) {
        walk_sum_timed(s, counts);
    } else {
        walk_sum(s, counts);
    }
    tally->fields += s->tally.fields;
    tally->checksum += s->tally.checksum;
}

int64_t lull_ctf_stream_last(struct lull_ctf_stream *s, uint64_t *counts)
{
    int64_t last_ns = INT64_MIN;
    uint32_t n = s->list.packets->len;
    /* Packets that are not in order of time may end in any one. */
    for (uint32_t first = n; first > 0 && last_ns == INT64_MIN;) {
        first = s->list.in_order ? first - 1 : 0;
        lull_ctf_stream_finish(s);
        lull_ctf_stream_limit(s, first, n);
        if (lull_ctf_stream_next_packet(s)) {
            walk_count_timed(s, counts);
        }
        last_ns = s->last_ns;
    }
    lull_ctf_stream_finish(s);
    return last_ns;
}

void lull_ctf_stream_measure(struct lull_ctf_stream *s)
{
    if (!s->is_done && (s->is_open || lull_ctf_stream_next_packet(s))) {
        walk_measure(s, NULL);
    }
    lull_packet_list_check_order(&s->list);
}
