/* SPDX-License-Identifier: MIT */
/* A cursor over one stream: reads its packets through a window of fixed size and decodes what is
 * subscribed to, in a single pass. Memory does not depend on the size of the stream. The packets
 * are those of a file, known beforehand, or are fed one by one as they come from a relay. */
#ifndef LULL_CTF_STREAM_H
#define LULL_CTF_STREAM_H

#include "base/clock.h"
#include "ctf/stream/bytes.h"
#include "ctf/stream/packet.h"

struct lull_ctf_stream {
    const struct lull_ctf_plan *plan;
    const struct lull_stream_plan *stream;
    const struct lull_report *report;
    struct lull_packet_list list;
    char *path;      /* or another name for messages */
    uint32_t number; /* within the trace */
    struct lull_bytes *bytes;

    uint8_t *buf; /* the window; LULL_LOAD_SLACK bytes more than `capacity` */
    uint64_t capacity;
    uint64_t most_bytes;   /* of the window, unless an event needs more; 0: as it is fastest */
    uint64_t window;       /* byte of the packet at buf[0], a multiple of the grain */
    uint64_t filled;       /* bytes in buf */
    uint64_t pos, limit;   /* bits from buf[0]: of the next event; of the readable content */
    uint64_t content_bits; /* of the packet */
    uint64_t header_bits;  /* of its header and context */
    bool at_end;           /* the content ends at `limit` */
    bool is_done, is_open, has_warned_order;
    /* Only some packets are read, and others perhaps after them: at the end the file stays open. */
    bool is_part;
    int64_t packet;     /* index of the current one */
    int64_t end_packet; /* of those that are read: after the last */
    int32_t cpu;
    uint8_t *memory;
    struct lull_tally tally;
    struct lull_texts *texts; /* converted ones of the current event */

    struct lull_clock_map map;
    int64_t start_ns, end_ns; /* joined clock; events outside are left out */
    int64_t last_ns;          /* of the event before, or a lower bound */

    /* The event that was last handed out, for visiting it. */
    const struct lull_event_plan *event_plan;
    /* bits in the window: after its header, and after all; where the record starts is known only
     * for headers without straight code, such as those that lengths or tags of events refer to */
    uint64_t event_start, event_body, event_end;
};

/* Takes `list`. `plan` and `report` must outlive the stream. */
struct lull_ctf_stream *lull_ctf_stream_new(const struct lull_ctf_plan *plan, const char *path,
                                            struct lull_packet_list *list, uint32_t number,
                                            const struct lull_report *report);
/* The same with the bytes of `bytes`, which it takes; `name` is for messages. */
struct lull_ctf_stream *lull_ctf_stream_new_from(const struct lull_ctf_plan *plan,
                                                 struct lull_bytes *bytes, const char *name,
                                                 struct lull_packet_list *list, uint32_t number,
                                                 const struct lull_report *report);
void lull_ctf_stream_free(struct lull_ctf_stream *stream);

/* Goes before the first event of start_ns <= time < end_ns (joined clock). `fields_size` is the
 * largest of all subscriptions. */
void lull_ctf_stream_start(struct lull_ctf_stream *stream, const struct lull_clock_map *map,
                           int64_t start_ns, int64_t end_ns, uint32_t fields_size);
/* Lower bound of the next event's time. */
static inline int64_t lull_ctf_stream_bound(const struct lull_ctf_stream *stream)
{
    return stream->last_ns;
}

/* Next subscribed event; false at the end. Fills all of *event but host, trace and stream. */
bool lull_ctf_stream_next(struct lull_ctf_stream *stream, struct lull_event *event);
/* Ends the reading: the stream keeps no file open and no window until it is started again. */
void lull_ctf_stream_finish(struct lull_ctf_stream *stream);
/* Goes on with `packet`, the only one of the list from now on, whose event classes `plan` knows:
 * the same plan as before, or one that knows more of the same trace. Call when there is no next
 * event. Times do not go back. */
void lull_ctf_stream_feed(struct lull_ctf_stream *stream, const struct lull_ctf_plan *plan,
                          const struct lull_packet *packet, uint32_t fields_size);
/* Counts the rest of the events: adds to counts[class index]. */
void lull_ctf_stream_count(struct lull_ctf_stream *stream, uint64_t *counts);
/* The same, and decodes every field of them. The plan has all its fields loaded
 * (lull_ctf_plan_load_all()). */
void lull_ctf_stream_sum(struct lull_ctf_stream *stream, uint64_t *counts,
                         struct lull_tally *tally);
/* After its start over all times: when its last event is, whatever its class; INT64_MIN: it has none.
 * Reads no more packets than it must; the stream is at its end then. `counts`, by class index, is
 * written to without a meaning. */
int64_t lull_ctf_stream_last(struct lull_ctf_stream *stream, uint64_t *counts);
/* Finds the times of packets whose context has none, by reading all of the stream. */
void lull_ctf_stream_measure(struct lull_ctf_stream *stream);

/* Several threads may count or sum one stream, each with a copy of it and packets of its own:
 * packets first … end - 1, where end is what this returns for a part of at least `bytes`, if there
 * are so many. 0 if `stream`, which has been started, is read as a whole only: because something is
 * carried over from packet to packet, or its bytes cannot be shared. */
uint32_t lull_ctf_stream_part_end(const struct lull_ctf_stream *stream, uint32_t first,
                                  uint64_t bytes);
/* A copy has the packets of `stream`, which must outlive it, but state and bytes of its own. It is
 * freed like any other. Not thread-safe; to start, limit and read it is. */
struct lull_ctf_stream *lull_ctf_stream_clone(const struct lull_ctf_stream *stream);
/* After its start, and again for each further part: these packets are read next. */
void lull_ctf_stream_limit(struct lull_ctf_stream *clone, uint32_t first, uint32_t end);

/* Bytes read since the start of the file. */
uint64_t lull_ctf_stream_progress(const struct lull_ctf_stream *stream);

/* The file of a byte of the stream, and *offset in it; for messages. */
const char *lull_ctf_stream_where(const struct lull_ctf_stream *stream, uint64_t *offset);

/* Walks the event that lull_ctf_stream_next() gave last. */
bool lull_ctf_stream_visit(const struct lull_ctf_stream *stream, const struct lull_visitor *visitor,
                           void *user, GError **error);
/* What the packet of that event says, see lull_event_visit_packet(). */
bool lull_ctf_stream_visit_packet(const struct lull_ctf_stream *stream,
                                  const struct lull_visitor *visitor, void *user, GError **error);

#endif
