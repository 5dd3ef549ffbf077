/* SPDX-License-Identifier: MIT */
/* Packets that wait for their other end: a queue per direction of a flow, sorted by what identifies
 * a packet, equal ones in order of arrival. Used by the matcher (match.h) only. */
#ifndef LULL_CLOCK_PENDING_H
#define LULL_CLOCK_PENDING_H

#include <stdbool.h>
#include <stdint.h>

/* The `rest` of an entry that represents bytes of payload instead of a single packet. */
#define LULL_PENDING_BYTES UINT64_MAX

struct lull_pending {
    int64_t time_ns;
    int64_t first; /* unwrapped number of the first byte (of a waiting receive: of the last); or a
                      key */
    uint64_t rest; /* second half of the key, or LULL_PENDING_BYTES */
    uint64_t skb;
    uint32_t bytes; /* payload */
    uint32_t taken; /* of a send: bytes from the front that were received */
    uint32_t host, id;
    bool is_ambiguous; /* another packet has the same key: not to be matched */
};

struct lull_pending_queue {
    struct lull_pending *items;
    uint32_t start, count, capacity;
    uint32_t longest; /* no entry has more bytes */
};

static inline struct lull_pending *lull_pending_at(const struct lull_pending_queue *queue,
                                                   uint32_t index)
{
    return &queue->items[queue->start + index];
}

void lull_pending_clear(struct lull_pending_queue *queue);
/* Index of the first entry that is not before (first, rest). */
uint32_t lull_pending_find(const struct lull_pending_queue *queue, int64_t first, uint64_t rest);
/* Inserts after all entries with the same (first, rest). */
void lull_pending_insert(struct lull_pending_queue *queue, const struct lull_pending *entry);
void lull_pending_remove(struct lull_pending_queue *queue, uint32_t index);
/* Removes the entries older than time_ns. */
void lull_pending_expire(struct lull_pending_queue *queue, int64_t time_ns);
/* Removes the older half (the entries with the smaller ids, about half). */
void lull_pending_drop_older_half(struct lull_pending_queue *queue);
/* Removes every second entry: what remains is spread over the whole time. */
void lull_pending_thin(struct lull_pending_queue *queue);

#endif
