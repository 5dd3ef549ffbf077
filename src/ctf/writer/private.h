/* SPDX-License-Identifier: MIT */
/* What the files of the CTF 2 writer share. */
#ifndef LULL_CTF_WRITER_PRIVATE_H
#define LULL_CTF_WRITER_PRIVATE_H

#include "ctf/writer/writer.h"

struct lull_ctf_writer {
    char *dir;
    const struct lull_ctf_plan *plan;
    struct lull_ctf_writer_clock clock;
    struct lull_ctf_layout *layouts; /* as plan->streams */
    uint8_t uuid[16];
    GHashTable *names; /* of stream files */
    GPtrArray *streams;
};

/* A packet is ended before it grows past this, unless a single event does. */
#define LULL_OUT_PACKET_BYTES (UINT64_C(256) << 10)

struct lull_ctf_out_stream {
    struct lull_ctf_writer *writer;
    const struct lull_ctf_layout *layout;
    const struct lull_ctf_stream *in; /* NULL: records are given */
    char *path;
    uint64_t number; /* of the stream within its trace */

    uint8_t *buf;                            /* the packet that is being filled */
    uint64_t capacity, header_bits, context; /* context: byte of the packet context */
    uint64_t pos;                            /* bits */
    uint64_t n_events;                       /* in the packet */
    uint64_t start, last;                    /* clock values of the packet as written */
    uint64_t last_event;
    bool has_start;
    int32_t cpu;
    uint64_t discarded; /* since the start of the output */
    uint64_t sequence;
    bool is_reported; /* a packet reports what was lost so far */
    bool ends_soon;   /* the next packet of the input starts a new one */

    /* The input's packets within the limits, and how far they have been accounted for. */
    int64_t first, end, next;
    GByteArray *carried; /* packet header and context of one of the input's packets */
    uint64_t carried_bits;
    int64_t carried_packet; /* -1: none yet */
};

/* ---- writer_packets.c ---- */

/* A stream without a packet, for a file named as `input`; the writer owns it. */
struct lull_ctf_out_stream *lull_ctf_out_stream_new(struct lull_ctf_writer *writer,
                                                    const struct lull_ctf_layout *layout,
                                                    const char *input, int32_t cpu);
void lull_ctf_out_stream_free(gpointer data);
/* Makes room for so many bytes of the packet. */
void lull_ctf_out_reserve(struct lull_ctf_out_stream *out, uint64_t bytes);
/* Lays out the head of an empty packet. */
void lull_ctf_out_start_packet(struct lull_ctf_out_stream *out);
/* Writes the packet, even an empty one, and starts another. */
bool lull_ctf_out_flush(struct lull_ctf_out_stream *out, GError **error);
/* Writes the header of an event whose record starts at bit `record`, for which there is room;
 * `value` is of the clock. */
void lull_ctf_out_start_event(struct lull_ctf_out_stream *out, uint64_t record, uint32_t index,
                              uint64_t value, uint64_t padding);
/* The packet lasts at least until the clock value `value`. */
void lull_ctf_out_reach(struct lull_ctf_out_stream *out, uint64_t value);
/* The value of a clock that is rewritten. */
uint64_t lull_ctf_out_value(const struct lull_ctf_out_stream *out, int64_t time_ns);

/* ---- writer_records.c ---- */

bool lull_ctf_out_end_records(struct lull_ctf_out_stream *out, GError **error);

/* ---- writer.c ---- */

/* The path of a new stream file, named as the one at `input`. Free with g_free(). */
char *lull_ctf_writer_file(struct lull_ctf_writer *writer, const char *input);
/* Appends to a file, which is made if it is not there. */
bool lull_ctf_append_file(const char *path, const void *data, size_t size, GError **error);

#endif
