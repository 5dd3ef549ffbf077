/* SPDX-License-Identifier: MIT */
/* The packets of a stream file: found with the index file that LTTng writes beside it, else by
 * stepping from packet header to packet header. */
#ifndef LULL_CTF_STREAM_PACKET_H
#define LULL_CTF_STREAM_PACKET_H

#include "base/clock.h"
#include "base/report.h"
#include "ctf/stream/bytes.h"
#include "ctf/plan/plan.h"

enum lull_packet_flags {
    LULL_PACKET_HAS_BEGIN = 1 << 0,
    LULL_PACKET_HAS_END = 1 << 1,
    LULL_PACKET_HAS_DISCARDED = 1 << 2,
    LULL_PACKET_HAS_SEQUENCE = 1 << 3,
    LULL_PACKET_CUT = 1 << 4,      /* the file ends before the packet does */
    LULL_PACKET_WHOLE = 1 << 9,    /* it is cut, but all its events are there */
    LULL_PACKET_GAP = 1 << 5,      /* damaged bytes lie before it */
    LULL_PACKET_REPORTED = 1 << 6, /* its damage has been reported */
    LULL_PACKET_DAMAGED = 1 << 8,  /* reading it came to an end before its content did */
    LULL_PACKET_OPEN_END = 1 << 7, /* the tracer died before it wrote the end; that is the last
                                      event's time */
};

struct lull_packet {
    uint64_t offset;       /* byte in the file */
    uint64_t bits;         /* from one packet to the next */
    uint64_t content_bits; /* with header; what is in the file if it is cut */
    uint64_t start, end;   /* clock values */
    uint64_t discarded;    /* cumulative */
    uint64_t sequence;
    uint32_t flags;
};

struct lull_packet_list {
    GArray *packets;      /* struct lull_packet, in order of the file */
    uint32_t stream;      /* index of the stream class in the schema */
    int32_t cpu;          /* of the first packet; -1: not given */
    uint64_t instance;    /* of the stream, in the first packet; UINT64_MAX: not given */
    uint64_t file_size;   /* bytes */
    uint64_t missing;     /* packets that the index promises after the end of the file */
    uint64_t missing_end; /* clock value at their end */
    bool from_index;
    bool damaged_tail; /* the file's last bytes are not a packet */
    bool in_order;     /* each packet has start and end, and none starts before the previous ends */
};

/* Decodes packet header and context at the start of `buf` (`limit` readable bits, LULL_LOAD_SLACK
 * bytes after them). Returns their size in bits with memory filled and *stream set, or
 * LULL_PLAN_SHORT, or LULL_PLAN_BAD_TAG with *why set. */
uint64_t lull_packet_decode(const struct lull_ctf_plan *plan, const uint8_t *buf, uint64_t limit,
                            uint8_t *memory, uint32_t *stream, const char **why);

/* Whether the header that was decoded last has another UUID than the metadata. CTF 1.8 names that as
 * a way to tell traces apart (5.1), but tracers exist that have it wrong, and Babeltrace 2 does not
 * look: such a packet is read. In CTF 2 it cannot be decoded. */
bool lull_packet_is_foreign(const struct lull_ctf_plan *plan, const uint8_t *memory);

/* Fills *packet from memory after lull_packet_decode(); `room` is what is left of the file in
 * bytes. NULL, or why the sizes or times cannot be. */
const char *lull_packet_fill(const struct lull_stream_plan *stream, const uint8_t *memory,
                             uint64_t header_bits, uint64_t room, struct lull_packet *packet);

/* A stream file and its index. */
struct lull_packet_file {
    struct lull_bytes *bytes; /* open */
    uint64_t size;
    const char *path, *index_path; /* for messages */
    const char *index;             /* contents of the index file, or NULL */
    size_t index_size;
};

/* Finds the packets of a file. False and an error if nothing in it can be read as a stream of this
 * trace. Free with lull_packet_list_clear(). */
bool lull_packet_list_find(struct lull_packet_list *list, const struct lull_ctf_plan *plan,
                           const struct lull_packet_file *file, const struct lull_report *report,
                           GError **error);
/* What was lost by the tracer between the packet before it (NULL: it is the first of its file) and
 * the end of `packet`, as their counters say: events, and whole packets in between. */
void lull_packet_lost(const struct lull_stream_plan *stream, const struct lull_packet *before,
                      const struct lull_packet *packet, uint64_t *events, uint64_t *packets);
/* Takes from the packet times that its trace's clock cannot show, as if it had none. True if there
 * was one, which is damage. */
bool lull_packet_check_times(struct lull_packet *packet, const struct lull_clock_map *map);
/* Sets in_order again after times have been filled in. */
void lull_packet_list_check_order(struct lull_packet_list *list);
void lull_packet_list_clear(struct lull_packet_list *list);

#endif
