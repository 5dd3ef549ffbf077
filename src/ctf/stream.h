/* A cursor over one stream: reads its packets through a window of fixed size and decodes what is
 * subscribed to, in a single pass. Memory does not depend on the size of the stream. The packets
 * are those of a file, known beforehand, or are fed one by one as they come from a relay. */
#ifndef LULL_CTF_STREAM_H
#define LULL_CTF_STREAM_H

#include "base/clock.h"
#include "ctf/bytes.h"
#include "ctf/packet.h"

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
    uint64_t window;       /* byte of the packet at buf[0], a multiple of the grain */
    uint64_t filled;       /* bytes in buf */
    uint64_t pos, limit;   /* bits from buf[0]: of the next event; of the readable content */
    uint64_t content_bits; /* of the packet */
    bool at_end;           /* the content ends at `limit` */
    bool is_done, is_open, has_warned_order;
    int64_t packet; /* index of the current one */
    int32_t cpu;
    uint8_t *memory;

    struct lull_clock_map map;
    int64_t begin_ns, end_ns; /* joined clock; events outside are left out */
    int64_t last_ns;          /* of the event before, or a lower bound */

    /* The event that was last handed out, for visiting it. */
    const struct lull_event_plan *event_plan;
    uint64_t event_body, event_end; /* bits in the window: behind the header, and behind all */
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

/* Goes before the first event of begin_ns <= time < end_ns (joined clock). `fields_size` is the
 * largest of all subscriptions. */
void lull_ctf_stream_start(struct lull_ctf_stream *stream, const struct lull_clock_map *map,
                           int64_t begin_ns, int64_t end_ns, uint32_t fields_size);
/* Lower bound of the next event's time. */
static inline int64_t lull_ctf_stream_bound(const struct lull_ctf_stream *stream)
{
    return stream->last_ns;
}

/* Next subscribed event; false at the end. Fills all of *event but host, trace and stream. */
bool lull_ctf_stream_next(struct lull_ctf_stream *stream, struct lull_event *event);
/* Goes on with `packet`, the only one of the list from now on, whose event classes `plan` knows:
 * the same plan as before, or one that knows more of the same trace. Call when there is no next
 * event. Times do not go back. */
void lull_ctf_stream_feed(struct lull_ctf_stream *stream, const struct lull_ctf_plan *plan,
                          const struct lull_packet *packet, uint32_t fields_size);
/* Counts the rest of the events: adds to counts[class index]. */
void lull_ctf_stream_count(struct lull_ctf_stream *stream, uint64_t *counts);
/* Finds the times of packets whose context has none, by reading all of the stream. */
void lull_ctf_stream_measure(struct lull_ctf_stream *stream);

/* Bytes read since the begin of the file. */
uint64_t lull_ctf_stream_progress(const struct lull_ctf_stream *stream);

/* Walks the event that lull_ctf_stream_next() gave last. */
bool lull_ctf_stream_visit(const struct lull_ctf_stream *stream, const struct lull_visitor *visitor,
                           void *user, GError **error);

#endif
