/* SPDX-License-Identifier: MIT */
/* Where reading starts and ends. Packet headers say between which times a packet's events lie, but
 * an event may lie before its packet's start or after its end. All that holds is that times do not
 * go back, so the first event of a packet decides where the header alone could hide one. */
#include "ctf/stream/private.h"

#include <string.h>

#include "base/bits.h"
#include "base/search.h"

/* So much of a packet is read first, and so much at most, to see its first event's header. */
#define FIRST_BYTES 4096u
#define FIRST_MAX (1u << 20)

/* Decodes up to the header of the packet's first event. */
static uint64_t decode_first(struct lull_ctf_stream *s, const uint8_t *buf, uint64_t limit)
{
    uint32_t stream = 0;
    const char *why = NULL;
    uint64_t pos = lull_packet_decode(s->plan, buf, limit, s->memory, &stream, &why);
    if (pos >= LULL_PLAN_FAILED) {
        return pos;
    }
    pos = lull_align_up(pos, s->stream->event_align);
    if (&s->plan->streams[stream] != s->stream) {
        return LULL_PLAN_BAD_TAG;
    }
    if (pos >= limit) {
        return LULL_PLAN_SHORT;
    }
    return lull_plan_run(s->stream->event_header, buf, limit, pos, s->memory);
}

bool lull_ctf_stream_first_event(struct lull_ctf_stream *s, int64_t index, int64_t *time_ns)
{
    const struct lull_packet *packet = lull_ctf_stream_packet_at(s, index);
    uint64_t content = (packet->content_bits + 7) / 8, got = 0, bits = LULL_PLAN_SHORT;
    uint64_t clock = lull_memory_get(s->memory, LULL_MEM_CLOCK);
    g_autofree uint8_t *buf = NULL;
    for (uint64_t want = FIRST_BYTES; bits == LULL_PLAN_SHORT && want <= FIRST_MAX; want *= 16) {
        const char *why;
        uint64_t n = 1, room = MIN(want, content);
        if (got == content) {
            break;
        }
        buf = g_realloc(buf, room + LULL_LOAD_SLACK);
        for (; got < room && n > 0; got += n) {
            n = s->bytes->ops->read(s->bytes, packet->offset + got, buf + got, room - got, &why);
        }
        memset(buf + got, 0, LULL_LOAD_SLACK);
        lull_memory_set(s->memory, LULL_MEM_CLOCK, packet->start);
        bits = decode_first(s, buf, MIN(got * 8, packet->content_bits));
    }
    *time_ns = lull_clock_map_joined(&s->map, lull_memory_get(s->memory, LULL_MEM_CLOCK));
    lull_memory_set(s->memory, LULL_MEM_CLOCK, clock);
    return bits < LULL_PLAN_FAILED;
}

/* The first packet that, by its header, does not end before the limits start. */
static int64_t by_headers(const struct lull_ctf_stream *s)
{
    return LULL_LOWER_BOUND(i, (int64_t)s->list.packets->len,
                            lull_clock_map_joined(&s->map, lull_ctf_stream_packet_at(s, i)->end) <
                                s->start_ns);
}

void lull_ctf_stream_seek(struct lull_ctf_stream *s)
{
    int64_t first = s->list.in_order ? by_headers(s) : 0, time_ns;
    s->last_ns = INT64_MIN;
    s->packet = -1;
    if (!s->list.in_order || s->list.packets->len == 0 || s->bytes->ops->open(s->bytes)) {
        return;
    }
    /* Before a packet that starts before the limits there are no events within them. */
    bool is_before = false;
    while (first > 0 && !is_before) {
        first--;
        is_before = lull_ctf_stream_first_event(s, first, &time_ns) && time_ns < s->start_ns;
    }
    s->last_ns = lull_clock_map_joined(&s->map, lull_ctf_stream_packet_at(s, first)->start);
    if (lull_ctf_stream_first_event(s, first, &time_ns)) {
        s->last_ns = MIN(s->last_ns, time_ns);
    }
    s->bytes->ops->close(s->bytes);
    s->packet = first - 1;
}

bool lull_ctf_stream_is_behind(struct lull_ctf_stream *s)
{
    const struct lull_packet *packet = lull_ctf_stream_packet_at(s, s->packet);
    int64_t time_ns;
    return (packet->flags & LULL_PACKET_HAS_BEGIN) &&
           lull_clock_map_joined(&s->map, packet->start) >= s->end_ns &&
           !(lull_ctf_stream_first_event(s, s->packet, &time_ns) && time_ns < s->end_ns);
}
