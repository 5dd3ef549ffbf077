/* SPDX-License-Identifier: MIT */
/* One output data stream that copies events of a CTF stream, bit by bit, and carries over what the
 * input's packets say besides: how many events and packets were lost, and when. */
#include "ctf/writer/private.h"

#include <string.h>

#include "base/bits.h"
#include "base/search.h"

static const struct lull_packet *packet_at(const struct lull_ctf_out_stream *out, int64_t index)
{
    return &g_array_index(out->in->list.packets, struct lull_packet, index);
}

static int64_t joined(const struct lull_ctf_out_stream *out, uint64_t value)
{
    return lull_clock_map_joined(&out->in->map, value);
}

/* The value that is written for a time. */
static uint64_t out_value(const struct lull_ctf_out_stream *out, uint64_t value, int64_t time_ns)
{
    return out->writer->clock.is_rewritten ? lull_ctf_out_value(out, time_ns) : value;
}

/* ---- packets of the input ---- */

static bool is_within(const struct lull_ctf_out_stream *out, const struct lull_packet *packet)
{
    const struct lull_ctf_stream *in = out->in;
    if ((packet->flags & LULL_PACKET_HAS_BEGIN) && joined(out, packet->start) >= in->end_ns) {
        return false;
    }
    return !(packet->flags & LULL_PACKET_HAS_END) || joined(out, packet->end) >= in->start_ns;
}

static void find_packets(struct lull_ctf_out_stream *out)
{
    int64_t n = out->in->list.packets->len;
    out->first = 0;
    out->end = n;
    while (out->first < n && !is_within(out, packet_at(out, out->first))) {
        out->first++;
    }
    while (out->end > out->first && !is_within(out, packet_at(out, out->end - 1))) {
        out->end--;
    }
    out->next = out->first;
}

/* All `size` bytes from `offset` on, or false. */
static bool read_all(struct lull_bytes *bytes, uint64_t offset, uint8_t *buf, uint64_t size)
{
    const char *why;
    for (uint64_t done = 0, n; done < size; done += n) {
        if ((n = bytes->ops->read(bytes, offset + done, buf + done, size - done, &why)) == 0) {
            return false;
        }
    }
    return true;
}

/* The bytes of the packet header and context of packet `index`, read anew: the window of the input
 * may have moved on. */
static bool load_carried(struct lull_ctf_out_stream *out, int64_t index, GError **error)
{
    const struct lull_ctf_stream *in = out->in;
    const struct lull_packet *packet = packet_at(out, index);
    uint64_t size = MIN((packet->content_bits + 7) / 8, 4096);
    uint64_t bits = LULL_PLAN_SHORT;
    g_autofree uint8_t *memory = g_malloc0(out->writer->plan->fields_offset);
    bool is_open = in->is_open || !in->bytes->ops->open(in->bytes);
    while (is_open && bits == LULL_PLAN_SHORT) {
        uint32_t stream = 0;
        const char *why = NULL;
        g_byte_array_set_size(out->carried, (guint)(size + LULL_LOAD_SLACK));
        memset(out->carried->data, 0, out->carried->len);
        if (!read_all(in->bytes, packet->offset, out->carried->data, size)) {
            break;
        }
        bits = lull_packet_decode(out->writer->plan, out->carried->data, size * 8, memory, &stream,
                                  &why);
        if (size * 8 >= packet->content_bits || size >= LULL_OUT_PACKET_BYTES * 64) {
            break;
        }
        size = MIN((packet->content_bits + 7) / 8, size * 2);
    }
    if (is_open && !in->is_open) {
        in->bytes->ops->close(in->bytes);
    }
    out->carried_packet = index;
    out->carried_bits = bits;
    if (bits < LULL_PLAN_FAILED) {
        return true;
    }
    uint64_t offset = packet->offset;
    const char *path = in->bytes->ops->where ? in->bytes->ops->where(in->bytes, &offset) : in->path;
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "%s: byte %" G_GUINT64_FORMAT ": the packet header cannot be read a second time",
                path, offset);
    return false;
}

/* Writes the packet, even an empty one, and starts another. */
static bool flush(struct lull_ctf_out_stream *out, GError **error)
{
    if (out->layout->carries_packet && out->carried_packet < 0) {
        if (!load_carried(out, out->first, error)) {
            return false;
        }
        lull_ctf_out_start_packet(out);
    }
    return lull_ctf_out_flush(out, error);
}

/* The packet lasts at least until `value`, a clock value of the input. */
static void reach(struct lull_ctf_out_stream *out, uint64_t value)
{
    int64_t time_ns = joined(out, value);
    if (time_ns < out->in->start_ns || time_ns >= out->in->end_ns) {
        return;
    }
    lull_ctf_out_reach(out, out_value(out, value, time_ns));
}

/* ---- losses ---- */

/* What could not be read of it counts as a lost packet after it: how many events that were, nobody
 * knows. */
static bool is_damaged(const struct lull_packet *packet)
{
    return (packet->flags & (LULL_PACKET_CUT | LULL_PACKET_DAMAGED)) != 0;
}

/* Packets that are lost after the last one that is written. */
static uint64_t lost_at_end(const struct lull_ctf_out_stream *out)
{
    const struct lull_packet_list *list = &out->in->list;
    uint64_t lost = is_damaged(packet_at(out, out->end - 1));
    if (out->end == list->packets->len && (list->missing > 0 || list->damaged_tail)) {
        lost += MAX(list->missing, 1);
    }
    return lost;
}

/* Steps over one packet of the input: what was lost with it gets packets of its own in the output,
 * so that the times between which it was lost are kept. */
static bool account(struct lull_ctf_out_stream *out, int64_t index, GError **error)
{
    const struct lull_packet *packet = packet_at(out, index);
    const struct lull_packet *before = index > 0 ? packet - 1 : NULL;
    uint64_t events, packets;
    lull_packet_lost(out->layout->stream, before, packet, &events, &packets);
    if (index == out->first) {
        packets = 0; /* they are before the start of what is written */
    }
    if (before && index > out->first && is_damaged(before)) {
        packets++;
    }
    bool is_first = index == out->first;
    bool has_news = out->n_events > 0 || !out->is_reported || packets > 0;
    if ((packets > 0 || events > 0 || out->ends_soon) && !is_first && has_news) {
        if (!flush(out, error)) {
            return false;
        }
        out->sequence += packets;
    }
    if (events > 0 && out->layout->has_discarded) {
        out->discarded += events;
        out->is_reported = false;
        out->ends_soon = true;
    }
    if (packet->flags & LULL_PACKET_HAS_BEGIN) {
        reach(out, packet->start);
    }
    return true;
}

/* Accounts for all packets up to `index`. */
static bool account_until(struct lull_ctf_out_stream *out, int64_t index, GError **error)
{
    for (; out->next <= index; out->next++) {
        const struct lull_packet *before =
            out->next > out->first ? packet_at(out, out->next - 1) : NULL;
        if (before && (before->flags & LULL_PACKET_HAS_END)) {
            reach(out, before->end);
        }
        if (!account(out, out->next, error)) {
            return false;
        }
    }
    return true;
}

/* ---- events ---- */

/* Copies bits [from, to) of the input's window to the output at a position of the same
 * alignment within a byte. The bits before it in the first byte are padding, zero. */
static void copy_bits(struct lull_ctf_out_stream *out, uint64_t from, uint64_t to)
{
    const uint8_t *source = out->in->buf + from / 8;
    uint8_t *target = out->buf + out->pos / 8;
    unsigned skip = from % 8;
    uint64_t bytes = (to + 7) / 8 - from / 8;
    if (bytes == 0) {
        return;
    }
    memcpy(target, source, bytes);
    if (skip != 0) {
        target[0] &= (uint8_t)(out->layout->lsb_first ? 0xff << skip : 0xff >> skip);
    }
    out->pos += to - from;
}

/* Where the copy of the event goes if its record starts at `pos`: after the header. */
static uint64_t position(const struct lull_ctf_out_stream *out, uint64_t pos, uint64_t from,
                         uint64_t *record, uint64_t *padding)
{
    const struct lull_ctf_layout *layout = out->layout;
    uint64_t align = layout->carries_header ? MAX(layout->stream->event_align, 8) : 8;
    *record = lull_align_up(pos, align);
    uint64_t behind = *record + layout->id_bytes * 8u + (layout->has_clock ? 64 : 0) +
                      (layout->has_padding ? 16 : 0);
    *padding = layout->has_padding ? (from - behind) & (layout->align - 1) : 0;
    return behind + *padding;
}

/* The clock value of the event. The reader gives an event that is earlier than the one before it
 * the time of that; this is then the first value with that time. */
static uint64_t event_value(const struct lull_ctf_out_stream *out, int64_t time_ns)
{
    uint64_t value = lull_memory_get(out->in->memory, LULL_MEM_CLOCK);
    if (G_LIKELY(out->writer->clock.is_rewritten || joined(out, value) >= time_ns)) {
        return out_value(out, value, time_ns);
    }
    uint64_t low = value, high = value;
    for (uint64_t step = 1; joined(out, high) < time_ns && high <= UINT64_MAX - step; step *= 2) {
        low = high;
        high += step;
    }
    return low + LULL_LOWER_BOUND(i, high - low, joined(out, low + i) < time_ns);
}

bool lull_ctf_out_stream_write(struct lull_ctf_out_stream *out, int64_t time_ns, GError **error)
{
    const struct lull_ctf_stream *in = out->in;
    const struct lull_ctf_layout *layout = out->layout;
    if (out->next <= in->packet && !account_until(out, in->packet, error)) {
        return false;
    }
    if (out->cpu != in->cpu && out->n_events > 0 && !flush(out, error)) {
        return false;
    }
    out->cpu = in->cpu;
    if (layout->carries_packet && out->carried_packet != in->packet) {
        if ((out->n_events > 0 && !flush(out, error)) || !load_carried(out, in->packet, error)) {
            return false;
        }
        lull_ctf_out_start_packet(out);
    }
    uint64_t from = layout->carries_header ? in->event_start : in->event_body;
    uint64_t record, padding, to = in->event_end;
    uint64_t behind = position(out, out->pos, from, &record, &padding);
    if (out->n_events > 0 && behind + (to - from) > LULL_OUT_PACKET_BYTES * 8) {
        if (!flush(out, error)) {
            return false;
        }
        behind = position(out, out->pos, from, &record, &padding);
    }
    lull_ctf_out_reserve(out, (behind + (to - from)) / 8 + 2);
    uint32_t index = in->event_plan->index - layout->stream->first_class;
    lull_ctf_out_start_event(out, record, index, event_value(out, time_ns), padding);
    out->pos = behind;
    copy_bits(out, from, to);
    return true;
}

struct lull_ctf_out_stream *lull_ctf_writer_add_stream(struct lull_ctf_writer *writer,
                                                       const struct lull_ctf_stream *in)
{
    struct lull_ctf_out_stream *out =
        lull_ctf_out_stream_new(writer, &writer->layouts[in->list.stream], in->path, in->list.cpu);
    out->in = in;
    find_packets(out);
    lull_ctf_out_start_packet(out);
    return out;
}

bool lull_ctf_out_stream_finish(struct lull_ctf_out_stream *out, GError **error)
{
    if (!out->in) {
        return lull_ctf_out_end_records(out, error);
    }
    if (out->first >= out->end) {
        return true;
    }
    if (!account_until(out, out->end - 1, error)) {
        return false;
    }
    const struct lull_packet *last = packet_at(out, out->end - 1);
    if (last->flags & LULL_PACKET_HAS_END) {
        reach(out, last->end);
    }
    if ((out->n_events > 0 || !out->is_reported || out->has_start) && !flush(out, error)) {
        return false;
    }
    uint64_t lost = lost_at_end(out);
    out->sequence += lost;
    return lost == 0 || flush(out, error);
}
