/* SPDX-License-Identifier: MIT */
/* Sorted queues of waiting packets. Nearly all traffic is inserted at the end and removed at the
 * front, both without moving anything; retransmissions and reordering move the shorter side. */
#include "clock/pending.h"

#include <glib.h>
#include <string.h>

#include "base/search.h"

enum { FIRST_CAPACITY = 4 };

void lull_pending_clear(struct lull_pending_queue *queue)
{
    g_free(queue->items);
    memset(queue, 0, sizeof *queue);
}

static bool is_before(const struct lull_pending *entry, int64_t first, uint64_t rest)
{
    return entry->first < first || (entry->first == first && entry->rest < rest);
}

uint32_t lull_pending_find(const struct lull_pending_queue *queue, int64_t first, uint64_t rest)
{
    return LULL_LOWER_BOUND(i, queue->count, is_before(lull_pending_at(queue, i), first, rest));
}

static void make_room(struct lull_pending_queue *queue)
{
    if (queue->start + queue->count < queue->capacity) {
        return;
    }
    if (queue->start > queue->capacity / 2) {
        memmove(queue->items, queue->items + queue->start, queue->count * sizeof *queue->items);
        queue->start = 0;
        return;
    }
    queue->capacity = queue->capacity ? queue->capacity * 2 : FIRST_CAPACITY;
    queue->items = g_renew(struct lull_pending, queue->items, queue->capacity);
}

void lull_pending_insert(struct lull_pending_queue *queue, const struct lull_pending *entry)
{
    uint32_t at = queue->count;

    if (at && !is_before(lull_pending_at(queue, at - 1), entry->first, entry->rest)) {
        at = lull_pending_find(queue, entry->first, entry->rest);
        while (at < queue->count && lull_pending_at(queue, at)->first == entry->first &&
               lull_pending_at(queue, at)->rest == entry->rest) {
            at++;
        }
    }
    if (at < queue->count / 2 && queue->start) {
        queue->start--;
        memmove(lull_pending_at(queue, 0), lull_pending_at(queue, 1), at * sizeof *entry);
    } else {
        make_room(queue);
        memmove(lull_pending_at(queue, at + 1), lull_pending_at(queue, at),
                (queue->count - at) * sizeof *entry);
    }
    *lull_pending_at(queue, at) = *entry;
    queue->count++;
    queue->longest = MAX(queue->longest, entry->bytes);
}

void lull_pending_remove(struct lull_pending_queue *queue, uint32_t index)
{
    if (index < queue->count / 2) {
        memmove(lull_pending_at(queue, 1), lull_pending_at(queue, 0), index * sizeof *queue->items);
        queue->start++;
    } else {
        memmove(lull_pending_at(queue, index), lull_pending_at(queue, index + 1),
                (queue->count - index - 1) * sizeof *queue->items);
    }
    if (--queue->count == 0) {
        queue->start = 0;
        queue->longest = 0;
    } else if (queue->count == 1 && index == 0) {
        queue->longest = lull_pending_at(queue, 0)->bytes;
    }
}

/* Keeps the entries from `time_ns` and from `id` on. */
static void keep(struct lull_pending_queue *queue, int64_t time_ns, uint32_t id)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < queue->count; i++) {
        const struct lull_pending *entry = lull_pending_at(queue, i);

        if (entry->time_ns >= time_ns && entry->id >= id) {
            *lull_pending_at(queue, kept++) = *entry;
        }
    }
    queue->count = kept;
}

void lull_pending_expire(struct lull_pending_queue *queue, int64_t time_ns)
{
    keep(queue, time_ns, 0);
}

void lull_pending_drop_older_half(struct lull_pending_queue *queue)
{
    uint32_t low = UINT32_MAX, high = 0;

    /* Ids ascend with arrival, but not evenly for one flow: halve the range of ids until it is
     * enough. */
    for (uint32_t i = 0; i < queue->count; i++) {
        low = MIN(low, lull_pending_at(queue, i)->id);
        high = MAX(high, lull_pending_at(queue, i)->id);
    }
    for (uint32_t goal = queue->count / 2; queue->count > goal && low < high;) {
        low += (high - low + 1) / 2;
        keep(queue, INT64_MIN, low);
    }
}

void lull_pending_thin(struct lull_pending_queue *queue)
{
    uint32_t kept = 0;

    for (uint32_t i = 1; i < queue->count; i += 2) {
        *lull_pending_at(queue, kept++) = *lull_pending_at(queue, i);
    }
    queue->count = kept;
}
