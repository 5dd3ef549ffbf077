/* SPDX-License-Identifier: MIT */
/* The packets of one output data stream: their heads, the heads of events in them, and the file
 * that they are appended to. What the events hold comes from writer_stream.c, which copies a CTF
 * stream, or writer_records.c, which is given them one by one. */
#include "ctf/writer/private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/file.h"

#define FIRST_BYTES (UINT64_C(4) << 10)

bool lull_ctf_append_file(const char *path, const void *data, size_t size, GError **error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int why = fd >= 0 ? lull_file_write(fd, data, size) : errno;
    if (fd >= 0 && close(fd) != 0 && why == 0) {
        why = errno;
    }
    if (why != 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be written: %s", path,
                    g_strerror(why));
    }
    return why == 0;
}

struct lull_ctf_out_stream *lull_ctf_out_stream_new(struct lull_ctf_writer *writer,
                                                    const struct lull_ctf_layout *layout,
                                                    const char *input, int32_t cpu)
{
    struct lull_ctf_out_stream *out = g_new0(struct lull_ctf_out_stream, 1);
    out->writer = writer;
    out->layout = layout;
    out->path = lull_ctf_writer_file(writer, input);
    out->number = writer->streams->len;
    out->cpu = cpu;
    out->carried = g_byte_array_new();
    out->carried_packet = -1;
    out->is_reported = true;
    g_ptr_array_add(writer->streams, out);
    return out;
}

void lull_ctf_out_stream_free(gpointer data)
{
    struct lull_ctf_out_stream *out = data;
    g_byte_array_unref(out->carried);
    g_free(out->path);
    g_free(out->buf);
    g_free(out);
}

/* ---- packets of the output ---- */

static inline void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

void lull_ctf_out_reserve(struct lull_ctf_out_stream *out, uint64_t bytes)
{
    if (bytes <= out->capacity) {
        return;
    }
    uint64_t capacity = MAX(out->capacity, FIRST_BYTES);
    while (capacity < bytes) {
        capacity *= 2;
    }
    out->buf = g_realloc(out->buf, capacity);
    memset(out->buf + out->capacity, 0, capacity - out->capacity);
    out->capacity = capacity;
}

void lull_ctf_out_start_packet(struct lull_ctf_out_stream *out)
{
    const struct lull_ctf_layout *layout = out->layout;
    uint64_t header = LULL_OUT_HEADER_END * 8, input = 0;
    if (out->buf) {
        memset(out->buf, 0, (out->pos + 7) / 8);
    }
    if (layout->carries_packet) {
        header = lull_align_up(header, layout->packet_align);
    }
    out->context = header / 8;
    uint64_t bits = header + LULL_OUT_OPTIONAL * 8 + (layout->has_clock ? 128 : 0) +
                    (layout->has_discarded ? 64 : 0) + (layout->has_cpu ? 32 : 0);
    if (layout->carries_packet) {
        input = lull_align_up(bits, layout->packet_align);
        bits = input + out->carried_bits;
    }
    out->header_bits = out->pos = bits;
    lull_ctf_out_reserve(out, bits / 8 + 1);
    if (out->carried_bits > 0) {
        memcpy(out->buf + input / 8, out->carried->data, (out->carried_bits + 7) / 8);
    }
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
        put(p, out->has_start ? out->start : out->last, 8);
        put(p + 8, out->last, 8);
        p += 16;
    }
    if (layout->has_discarded) {
        put(p, out->discarded, 8);
        p += 8;
    }
    if (layout->has_cpu) {
        put(p, out->cpu < 0 ? UINT32_MAX : (uint32_t)out->cpu, 4);
    }
}

bool lull_ctf_out_flush(struct lull_ctf_out_stream *out, GError **error)
{
    uint64_t bytes = (out->pos + 7) / 8;
    put_head(out, bytes);
    bool is_ok = lull_ctf_append_file(out->path, out->buf, bytes, error);
    out->sequence++;
    out->is_reported = true;
    out->ends_soon = false;
    out->has_start = false;
    lull_ctf_out_start_packet(out);
    return is_ok;
}

/* ---- events ---- */

void lull_ctf_out_start_event(struct lull_ctf_out_stream *out, uint64_t record, uint32_t index,
                              uint64_t value, uint64_t padding)
{
    const struct lull_ctf_layout *layout = out->layout;
    out->last_event = MAX(out->last_event, value);
    out->last = MAX(out->last, out->last_event);
    if (!out->has_start || (out->n_events == 0 && out->last_event < out->start)) {
        out->start = out->last_event;
        out->has_start = true;
    }
    uint8_t *p = out->buf + record / 8;
    put(p, layout->stream->decl->events[index].id, layout->id_bytes);
    p += layout->id_bytes;
    if (layout->has_clock) {
        put(p, out->last_event, 8);
        p += 8;
    }
    if (layout->has_padding) {
        put(p, padding, 2);
    }
    out->n_events++;
}

void lull_ctf_out_reach(struct lull_ctf_out_stream *out, uint64_t value)
{
    if (!out->has_start) {
        out->start = MAX(value, out->last);
        out->has_start = true;
    }
    out->last = MAX(out->last, value);
}

uint64_t lull_ctf_out_value(const struct lull_ctf_out_stream *out, int64_t time_ns)
{
    int64_t offset_ns = out->writer->clock.offset_ns;
    return time_ns <= offset_ns ? 0 : (uint64_t)time_ns - (uint64_t)offset_ns;
}
