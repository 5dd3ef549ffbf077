/* SPDX-License-Identifier: MIT */
/* Writes events of one trace as a CTF 2 trace (CTF2-SPEC-2.0): metadata from the schema, and data
 * streams of new packets. If the events come from a CTF trace, their bytes are copied as they are:
 * the field classes keep size, byte order and alignment, and each copy starts at the same position
 * modulo the largest alignment. Else whoever has made the schema gives the bytes. */
#ifndef LULL_CTF_WRITER_H
#define LULL_CTF_WRITER_H

#include "ctf/stream/stream.h"

/* How the clock of the trace is written. */
struct lull_ctf_writer_clock {
    bool is_rewritten; /* as nanoseconds of the joined clock since offset_ns */
    int64_t offset_ns;
};

/* What is added to the environment, or takes the place of what is there. */
struct lull_ctf_writer_env {
    const char *key, *text;
};

struct lull_ctf_writer;
struct lull_ctf_out_stream;

/* Starts a trace in the directory `dir`, which exists and is empty: writes its metadata. `plan` is
 * borrowed; `env` ends with a NULL key. NULL and an error if it cannot be written. */
struct lull_ctf_writer *lull_ctf_writer_new(const char *dir, const struct lull_ctf_plan *plan,
                                            const struct lull_ctf_writer_clock *clock,
                                            const struct lull_ctf_writer_env *env, GError **error);
void lull_ctf_writer_free(struct lull_ctf_writer *writer);

/* Adds the data stream that holds events of `in`, which has been started with the limits that
 * count, and which is borrowed. The writer owns the result. */
struct lull_ctf_out_stream *lull_ctf_writer_add_stream(struct lull_ctf_writer *writer,
                                                       const struct lull_ctf_stream *in);
/* Writes the event that `in` gave last; `time_ns` is its time on the joined clock. */
bool lull_ctf_out_stream_write(struct lull_ctf_out_stream *out, int64_t time_ns, GError **error);

/* The other kind of stream: its events are given one by one. All parts of the schema's events are
 * aligned to a byte, the clock is rewritten, and times are on the joined clock. The stream's file
 * is called `name`. The writer owns the result. */
struct lull_ctf_out_stream *lull_ctf_writer_add_records(struct lull_ctf_writer *writer,
                                                        const char *name, int32_t cpu);
/* Starts an event of class `index` of the schema's only stream class. Returns where its `size`
 * bytes of contexts and payload go, all of which are to be filled, valid until the next call; NULL
 * and an error if nothing can be written. */
uint8_t *lull_ctf_out_stream_record(struct lull_ctf_out_stream *out, uint32_t index,
                                    int64_t time_ns, uint64_t size, GError **error);
/* The stream was being recorded at this time, not before that of the last event. */
void lull_ctf_out_stream_reach(struct lull_ctf_out_stream *out, int64_t time_ns);
/* Events, or packets with who knows how many events, were lost between the last event and the next
 * one. */
bool lull_ctf_out_stream_lost(struct lull_ctf_out_stream *out, int64_t start_ns, int64_t end_ns,
                              uint64_t events, uint64_t packets, GError **error);

/* Writes what is left, and what was lost after the last event. */
bool lull_ctf_out_stream_finish(struct lull_ctf_out_stream *out, GError **error);

/* ---- shared by the writer's files ---- */

/* How the packets of one stream class are laid out: headers of the writer's own, made of aligned
 * bytes in little-endian order. What fields of events refer to in the input's packet header, packet
 * context or event header, and what else the former two hold, is carried along as it was, as
 * members named `input`. */
struct lull_ctf_layout {
    const struct lull_stream_plan *stream;
    bool has_clock, has_discarded, has_cpu;
    bool carries_packet, carries_header;
    bool has_padding;    /* of variable length, in the event header */
    bool lsb_first;      /* bits of the byte that the padding ends in */
    bool pad_big_endian; /* the class of its bits, as that of the field before in the input */
    bool pad_bit_reversed;
    uint8_t id_bytes;      /* of the event class id: 2, 4 or 8 */
    uint32_t align;        /* bits, >= 8: the largest of an event's parts */
    uint32_t packet_align; /* of the packet header and context that are carried */
};

/* Offsets in the packet header and in the packet context, bytes. */
enum {
    LULL_OUT_MAGIC = 0,
    LULL_OUT_UUID = 4,
    LULL_OUT_CLASS_ID = 20,
    LULL_OUT_STREAM_ID = 28,
    LULL_OUT_HEADER_END = 36,

    LULL_OUT_PACKET_SIZE = 0,
    LULL_OUT_CONTENT_SIZE = 8,
    LULL_OUT_SEQUENCE = 16,
    LULL_OUT_OPTIONAL = 24, /* start and end: 8 each; discarded: 8; cpu: 4 */
};

#define LULL_OUT_MAGIC_VALUE 0xc1fc1fc1u

/* False and an error if the trace has something that CTF 2 cannot say. */
bool lull_ctf_layout_init(struct lull_ctf_layout *layout, const struct lull_schema *schema,
                          const struct lull_stream_plan *stream, GError **error);

/* The metadata stream, with the UUID it got, which depends on the metadata alone. */
GString *lull_ctf_writer_metadata(const struct lull_ctf_plan *plan,
                                  const struct lull_ctf_layout *layouts,
                                  const struct lull_ctf_writer_clock *clock,
                                  const struct lull_ctf_writer_env *env, uint8_t uuid[16],
                                  GError **error);

#endif
