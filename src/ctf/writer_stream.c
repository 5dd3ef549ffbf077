/* One output data stream: collects copies of events into packets, and carries over what the input's
 * packets say besides: how many events and packets were lost, and when. */
#include "ctf/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"

/* A packet is ended before it grows past this, unless a single event does. */
#define PACKET_BYTES (UINT64_C(256) << 10)
#define FIRST_BYTES (UINT64_C(4) << 10)

struct lull_ctf_out_stream {
    struct lull_ctf_writer *writer;
    const struct lull_ctf_layout *layout;
    const struct lull_ctf_stream *in;
    char *path;
    uint64_t number; /* of the stream within its trace */

    uint8_t *buf;                            /* the packet that is being filled */
    uint64_t capacity, header_bits, context; /* context: byte of the packet context */
    uint64_t pos;                            /* bits */
    uint64_t n_events;                       /* in the packet */
    uint64_t begin, last;                    /* clock values of the packet as written */
    uint64_t last_event;
    bool has_begin;
    int32_t cpu;

    /* The input's packets within the limits, and how far they have been accounted for. */
    int64_t first, end, next;
    uint64_t discarded; /* since the begin of the output */
    uint64_t sequence;
    bool is_told;        /* what was lost so far stands in a packet */
    bool ends_soon;      /* the next packet of the input begins a new one */
    GByteArray *carried; /* packet header and context of one of the input's packets */
    uint64_t carried_bits;
    int64_t carried_packet; /* -1: none yet */
};

bool lull_ctf_append_file(const char *path, const void *data, size_t size, GError **error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    bool is_ok = fd >= 0;
    for (size_t done = 0; is_ok && done < size;) {
        ssize_t n = write(fd, (const uint8_t *)data + done, size - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            is_ok = false;
    }
    int reason = errno;
    if (fd >= 0 && close(fd) != 0 && is_ok) {
        is_ok = false;
        reason = errno;
    }
    if (!is_ok)
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be written: %s", path,
                    g_strerror(reason));
    return is_ok;
}

void lull_ctf_out_stream_free(gpointer data)
{
    struct lull_ctf_out_stream *out = data;
    g_byte_array_unref(out->carried);
    g_free(out->path);
    g_free(out->buf);
    g_free(out);
}

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
    const struct lull_ctf_writer_clock *clock = &out->writer->clock;
    if (!clock->is_rewritten)
        return value;
    return time_ns <= clock->offset_ns ? 0 : (uint64_t)time_ns - (uint64_t)clock->offset_ns;
}

/* ---- packets of the input ---- */

static bool is_within(const struct lull_ctf_out_stream *out, const struct lull_packet *packet)
{
    const struct lull_ctf_stream *in = out->in;
    if ((packet->flags & LULL_PACKET_HAS_BEGIN) && joined(out, packet->begin) >= in->end_ns)
        return false;
    return !(packet->flags & LULL_PACKET_HAS_END) || joined(out, packet->end) >= in->begin_ns;
}

static void find_packets(struct lull_ctf_out_stream *out)
{
    int64_t n = out->in->list.packets->len;
    out->first = 0;
    out->end = n;
    while (out->first < n && !is_within(out, packet_at(out, out->first)))
        out->first++;
    while (out->end > out->first && !is_within(out, packet_at(out, out->end - 1)))
        out->end--;
    out->next = out->first;
}

/* All `size` bytes from `offset` on, or false. */
static bool read_all(struct lull_bytes *bytes, uint64_t offset, uint8_t *buf, uint64_t size)
{
    const char *why;
    for (uint64_t done = 0, n; done < size; done += n)
        if ((n = bytes->ops->read(bytes, offset + done, buf + done, size - done, &why)) == 0)
            return false;
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
    bool is_open = in->is_open || in->bytes->ops->open(in->bytes) == NULL;
    while (is_open && bits == LULL_PLAN_SHORT) {
        uint32_t stream = 0;
        const char *why = NULL;
        g_byte_array_set_size(out->carried, (guint)(size + LULL_LOAD_SLACK));
        memset(out->carried->data, 0, out->carried->len);
        if (!read_all(in->bytes, packet->offset, out->carried->data, size))
            break;
        bits = lull_packet_decode(out->writer->plan, out->carried->data, size * 8, memory, &stream,
                                  &why);
        if (size * 8 >= packet->content_bits || size >= PACKET_BYTES * 64)
            break;
        size = MIN((packet->content_bits + 7) / 8, size * 2);
    }
    if (is_open && !in->is_open)
        in->bytes->ops->close(in->bytes);
    out->carried_packet = index;
    out->carried_bits = bits;
    if (bits < LULL_PLAN_FAILED)
        return true;
    uint64_t offset = packet->offset;
    const char *path =
        in->bytes->ops->where != NULL ? in->bytes->ops->where(in->bytes, &offset) : in->path;
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "%s: byte %" G_GUINT64_FORMAT ": the packet header cannot be read again", path,
                offset);
    return false;
}

/* ---- packets of the output ---- */

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void reserve(struct lull_ctf_out_stream *out, uint64_t bytes)
{
    if (bytes <= out->capacity)
        return;
    uint64_t capacity = MAX(out->capacity, FIRST_BYTES);
    while (capacity < bytes)
        capacity *= 2;
    out->buf = g_realloc(out->buf, capacity);
    memset(out->buf + out->capacity, 0, capacity - out->capacity);
    out->capacity = capacity;
}

/* Lays out the head of an empty packet. */
static void begin_packet(struct lull_ctf_out_stream *out)
{
    const struct lull_ctf_layout *layout = out->layout;
    uint64_t header = LULL_OUT_HEADER_END * 8, input = 0;
    if (out->buf != NULL)
        memset(out->buf, 0, (out->pos + 7) / 8);
    if (layout->carries_packet)
        header = lull_align_up(header, layout->packet_align);
    out->context = header / 8;
    uint64_t bits = header + LULL_OUT_OPTIONAL * 8 + (layout->has_clock ? 128 : 0) +
                    (layout->has_discarded ? 64 : 0) + (layout->has_cpu ? 32 : 0);
    if (layout->carries_packet) {
        input = lull_align_up(bits, layout->packet_align);
        bits = input + out->carried_bits;
    }
    out->header_bits = out->pos = bits;
    reserve(out, bits / 8 + 1);
    if (out->carried_bits > 0)
        memcpy(out->buf + input / 8, out->carried->data, (out->carried_bits + 7) / 8);
    out->n_events = 0;
}

static void put_head(struct lull_ctf_out_stream *out, uint64_t bytes)
{
    const struct lull_ctf_layout *layout = out->layout;
    put(out->buf + LULL_OUT_MAGIC, LULL_OUT_MAGIC_VALUE, 4);
    memcpy(out->buf + LULL_OUT_UUID, out->writer->uuid, 16);
    put(out->buf + LULL_OUT_CLASS_ID, layout->stream->decl->id, 8);
    put(out->buf + LULL_OUT_STREAM_ID, out->number, 8);
    uint8_t *context = out->buf + out->context, *p = context + LULL_OUT_OPTIONAL;
    put(context + LULL_OUT_PACKET_SIZE, bytes * 8, 8);
    put(context + LULL_OUT_CONTENT_SIZE, out->pos, 8);
    put(context + LULL_OUT_SEQUENCE, out->sequence, 8);
    if (layout->has_clock) {
        put(p, out->has_begin ? out->begin : out->last, 8);
        put(p + 8, out->last, 8);
        p += 16;
    }
    if (layout->has_discarded) {
        put(p, out->discarded, 8);
        p += 8;
    }
    if (layout->has_cpu)
        put(p, out->cpu < 0 ? UINT32_MAX : (uint32_t)out->cpu, 4);
}

/* Writes the packet, even an empty one, and begins another. */
static bool flush(struct lull_ctf_out_stream *out, GError **error)
{
    if (out->layout->carries_packet && out->carried_packet < 0) {
        if (!load_carried(out, out->first, error))
            return false;
        begin_packet(out);
    }
    uint64_t bytes = (out->pos + 7) / 8;
    put_head(out, bytes);
    bool is_ok = lull_ctf_append_file(out->path, out->buf, bytes, error);
    out->sequence++;
    out->is_told = true;
    out->ends_soon = false;
    out->has_begin = false;
    begin_packet(out);
    return is_ok;
}

/* The packet lasts at least until `value`, a clock value of the input. */
static void reach(struct lull_ctf_out_stream *out, uint64_t value)
{
    int64_t time_ns = joined(out, value);
    if (time_ns < out->in->begin_ns || time_ns >= out->in->end_ns)
        return;
    uint64_t v = out_value(out, value, time_ns);
    if (!out->has_begin) {
        out->begin = MAX(v, out->last);
        out->has_begin = true;
    }
    out->last = MAX(out->last, v);
}

/* ---- losses ---- */

/* What could not be read of it counts as a lost packet behind it: how many events that were, nobody
 * knows. */
static bool is_damaged(const struct lull_packet *packet)
{
    return (packet->flags & (LULL_PACKET_CUT | LULL_PACKET_DAMAGED)) != 0;
}

/* Packets that are lost behind the last one that is written. */
static uint64_t lost_at_end(const struct lull_ctf_out_stream *out)
{
    const struct lull_packet_list *list = &out->in->list;
    uint64_t lost = is_damaged(packet_at(out, out->end - 1));
    if (out->end == list->packets->len && (list->missing > 0 || list->damaged_tail))
        lost += MAX(list->missing, 1);
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
    if (index == out->first)
        packets = 0; /* they are before the begin of what is written */
    if (before != NULL && index > out->first && is_damaged(before))
        packets++;
    bool is_first = index == out->first;
    bool has_news = out->n_events > 0 || !out->is_told || packets > 0;
    if ((packets > 0 || events > 0 || out->ends_soon) && !is_first && has_news) {
        if (!flush(out, error))
            return false;
        out->sequence += packets;
    }
    if (events > 0 && out->layout->has_discarded) {
        out->discarded += events;
        out->is_told = false;
        out->ends_soon = true;
    }
    if (packet->flags & LULL_PACKET_HAS_BEGIN)
        reach(out, packet->begin);
    return true;
}

/* Accounts for all packets up to `index`. */
static bool account_until(struct lull_ctf_out_stream *out, int64_t index, GError **error)
{
    for (; out->next <= index; out->next++) {
        const struct lull_packet *before =
            out->next > out->first ? packet_at(out, out->next - 1) : NULL;
        if (before != NULL && (before->flags & LULL_PACKET_HAS_END))
            reach(out, before->end);
        if (!account(out, out->next, error))
            return false;
    }
    return true;
}

/* ---- events ---- */

/* Copies bits [from, to) of the input's window to the output at a place of the same alignment
 * within a byte. What stands before in the first byte are bits of padding, zero. */
static void copy_bits(struct lull_ctf_out_stream *out, uint64_t from, uint64_t to)
{
    const uint8_t *source = out->in->buf + from / 8;
    uint8_t *target = out->buf + out->pos / 8;
    unsigned skip = from % 8;
    uint64_t bytes = (to + 7) / 8 - from / 8;
    if (bytes == 0)
        return;
    memcpy(target, source, bytes);
    if (skip != 0)
        target[0] &= (uint8_t)(out->layout->lsb_first ? 0xff << skip : 0xff >> skip);
    out->pos += to - from;
}

/* Where the copy of the event goes if its record begins at `pos`: behind the header. */
static uint64_t place(const struct lull_ctf_out_stream *out, uint64_t pos, uint64_t from,
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
    if (G_LIKELY(out->writer->clock.is_rewritten || joined(out, value) >= time_ns))
        return out_value(out, value, time_ns);
    uint64_t low = value, high = value;
    for (uint64_t step = 1; joined(out, high) < time_ns && high <= UINT64_MAX - step; step *= 2) {
        low = high;
        high += step;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (joined(out, middle) < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool lull_ctf_out_stream_write(struct lull_ctf_out_stream *out, int64_t time_ns, GError **error)
{
    const struct lull_ctf_stream *in = out->in;
    const struct lull_ctf_layout *layout = out->layout;
    if (out->next <= in->packet && !account_until(out, in->packet, error))
        return false;
    if (out->cpu != in->cpu && out->n_events > 0 && !flush(out, error))
        return false;
    out->cpu = in->cpu;
    if (layout->carries_packet && out->carried_packet != in->packet) {
        if ((out->n_events > 0 && !flush(out, error)) || !load_carried(out, in->packet, error))
            return false;
        begin_packet(out);
    }
    uint64_t from = layout->carries_header ? in->event_begin : in->event_body;
    uint64_t record, padding, to = in->event_end;
    uint64_t behind = place(out, out->pos, from, &record, &padding);
    if (out->n_events > 0 && behind + (to - from) > PACKET_BYTES * 8) {
        if (!flush(out, error))
            return false;
        behind = place(out, out->pos, from, &record, &padding);
    }
    reserve(out, (behind + (to - from)) / 8 + 2);
    out->last_event = MAX(out->last_event, event_value(out, time_ns));
    out->last = MAX(out->last, out->last_event);
    if (!out->has_begin || (out->n_events == 0 && out->last_event < out->begin)) {
        out->begin = out->last_event;
        out->has_begin = true;
    }
    uint8_t *p = out->buf + record / 8;
    uint32_t index = in->event_plan->index - layout->stream->first_class;
    put(p, layout->stream->decl->events[index].id, layout->id_bytes);
    p += layout->id_bytes;
    if (layout->has_clock) {
        put(p, out->last_event, 8);
        p += 8;
    }
    if (layout->has_padding)
        put(p, padding, 2);
    out->pos = behind;
    copy_bits(out, from, to);
    out->n_events++;
    return true;
}

struct lull_ctf_out_stream *lull_ctf_writer_add_stream(struct lull_ctf_writer *writer,
                                                       const struct lull_ctf_stream *in)
{
    struct lull_ctf_out_stream *out = g_new0(struct lull_ctf_out_stream, 1);
    out->writer = writer;
    out->layout = &writer->layouts[in->list.stream];
    out->in = in;
    out->path = lull_ctf_writer_file(writer, in->path);
    out->number = writer->streams->len;
    out->cpu = in->list.cpu;
    out->carried = g_byte_array_new();
    out->carried_packet = -1;
    out->is_told = true;
    find_packets(out);
    begin_packet(out);
    g_ptr_array_add(writer->streams, out);
    return out;
}

bool lull_ctf_out_stream_finish(struct lull_ctf_out_stream *out, GError **error)
{
    if (out->first >= out->end)
        return true;
    if (!account_until(out, out->end - 1, error))
        return false;
    const struct lull_packet *last = packet_at(out, out->end - 1);
    if (last->flags & LULL_PACKET_HAS_END)
        reach(out, last->end);
    if ((out->n_events > 0 || !out->is_told || out->has_begin) && !flush(out, error))
        return false;
    uint64_t lost = lost_at_end(out);
    out->sequence += lost;
    return lost == 0 || flush(out, error);
}
