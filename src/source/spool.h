/* Streams of CTF packets in a temporary file without a name: what an input of another format is
 * brought into, once, when it is opened, so that one reader serves all formats. Written in one
 * pass, one stream a CPU; read as the bytes of streams, as often as is wanted. */
#ifndef LULL_SOURCE_SPOOL_H
#define LULL_SOURCE_SPOOL_H

#include <lull/error.h>
#include <stdbool.h>

#include "ctf/bytes.h"

struct lull_spool;

/* A stream that is being written. */
struct lull_spool_stream {
    struct lull_spool *spool;
    int32_t cpu;  /* or -1 */
    uint8_t *buf; /* of the packet that is being filled */
    size_t used, capacity;
    uint64_t begin_time, last_time; /* of that packet; of the last event */
    uint64_t discarded;             /* events lost so far */
    uint64_t n_late; /* events that came behind one of a later time, and got its time */
    bool is_open;    /* the packet has a begin */
    GArray *extents; /* where its packets are in the file */
    uint64_t size;   /* bytes of all of them */
};

/* NULL and an error if no temporary file can be made. Free with lull_spool_unref(). */
struct lull_spool *lull_spool_new(GError **error);
void lull_spool_unref(struct lull_spool *spool);

/* Appends the TSDL of packet context and event header, whose times are of `clock`. The packet
 * header is a magic number of 32 bits, little-endian. */
void lull_spool_declare(GString *text, const char *clock);

/* The stream of a CPU, -1 for none; made if there is none yet. */
struct lull_spool_stream *lull_spool_stream_of(struct lull_spool *spool, int32_t cpu);
uint32_t lull_spool_count(const struct lull_spool *spool);
struct lull_spool_stream *lull_spool_stream_at(const struct lull_spool *spool, uint32_t index);

/* Begins an event: its header. What follows is put with lull_spool_put(). */
void lull_spool_event(struct lull_spool_stream *stream, uint32_t id, uint64_t time);
/* Notes that `events` were lost between the stream's last event and `time`. */
void lull_spool_lost(struct lull_spool_stream *stream, uint64_t time, uint64_t events);
/* Writes what is left. False and an error if something could not be written. */
bool lull_spool_finish(struct lull_spool *spool, GError **error);
/* True if something could not be written: going on is of no use. */
bool lull_spool_failed(const struct lull_spool *spool);

/* The bytes of a finished stream; holds a reference. */
struct lull_bytes *lull_spool_bytes(struct lull_spool *spool, uint32_t index);

void lull_spool_grow(struct lull_spool_stream *stream, size_t size);

/* Room for `size` bytes, which belong to the event from now on; valid until the next call. */
static inline uint8_t *lull_spool_room(struct lull_spool_stream *stream, size_t size)
{
    if (stream->capacity - stream->used < size)
        lull_spool_grow(stream, size);
    uint8_t *room = stream->buf + stream->used;
    stream->used += size;
    return room;
}

static inline void lull_spool_put(struct lull_spool_stream *stream, const void *data, size_t size)
{
    if (size > 0)
        __builtin_memcpy(lull_spool_room(stream, size), data, size);
}

#endif
