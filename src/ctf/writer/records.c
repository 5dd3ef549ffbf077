/* SPDX-License-Identifier: MIT */
/* One output data stream whose events are given one by one, by a source that is not CTF. */
#include "base/bits.h"
#include "ctf/writer/private.h"

struct lull_ctf_out_stream *lull_ctf_writer_add_records(struct lull_ctf_writer *writer,
                                                        const char *name, int32_t cpu)
{
    struct lull_ctf_out_stream *out =
        lull_ctf_out_stream_new(writer, &writer->layouts[0], name, cpu);
    lull_ctf_out_start_packet(out);
    return out;
}

uint8_t *lull_ctf_out_stream_record(struct lull_ctf_out_stream *out, uint32_t index,
                                    int64_t time_ns, uint64_t size, GError **error)
{
    uint64_t head = out->layout->id_bytes + 8u;
    uint64_t record = lull_align_up(out->pos, 8);
    if (out->n_events > 0 && record / 8 + head + size > LULL_OUT_PACKET_BYTES) {
        if (!lull_ctf_out_flush(out, error)) {
            return NULL;
        }
        record = lull_align_up(out->pos, 8);
    }
    lull_ctf_out_reserve(out, record / 8 + head + size);
    /* Packets do not overlap, whatever a damaged page said about its start. */
    uint64_t value = MAX(lull_ctf_out_value(out, time_ns), out->last);
    lull_ctf_out_start_event(out, record, index, value, 0);
    out->pos = record + (head + size) * 8;
    return out->buf + record / 8 + head;
}

void lull_ctf_out_stream_reach(struct lull_ctf_out_stream *out, int64_t time_ns)
{
    lull_ctf_out_reach(out, lull_ctf_out_value(out, time_ns));
}

/* A reader takes packets that are missing for lost between the packets around the gap, and events
 * between the end of the packet before and the end of the one that counts them: with an empty
 * packet that counts them, and is as short as the loss, their times come out as they were. */
bool lull_ctf_out_stream_lost(struct lull_ctf_out_stream *out, int64_t start_ns, int64_t end_ns,
                              uint64_t events, uint64_t packets, GError **error)
{
    lull_ctf_out_stream_reach(out, start_ns);
    if (!lull_ctf_out_flush(out, error)) {
        return false;
    }
    out->sequence += packets;
    lull_ctf_out_stream_reach(out, end_ns);
    out->discarded += events;
    return events == 0 || lull_ctf_out_flush(out, error);
}

bool lull_ctf_out_end_records(struct lull_ctf_out_stream *out, GError **error)
{
    return !out->has_start || lull_ctf_out_flush(out, error);
}
