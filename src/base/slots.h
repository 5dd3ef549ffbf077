/* SPDX-License-Identifier: MIT */
/* A number for each of many numbered things (tasks, labels, files) of which a window of time sees
 * few: an array that grows when a number past its end is requested. Zeroed it is a valid empty
 * one, and 0 in a slot means that nothing was put there; so who keeps indices keeps index + 1. */
#ifndef LULL_BASE_SLOTS_H
#define LULL_BASE_SLOTS_H

#include <glib.h>
#include <stdint.h>
#include <string.h>

struct lull_slots {
    uint32_t *items;
    size_t count;
};

/* Used by lull_slots_at() only. The new array comes zeroed from the allocator, so that of a large
 * one only the pages in use take memory. */
static inline void lull_slots_grow(struct lull_slots *slots, uint32_t number)
{
    size_t count = MAX(MAX((size_t)number + 1, slots->count + slots->count / 2), 64);
    uint32_t *items = g_malloc0_n(count, sizeof *items);
    if (slots->count) {
        memcpy(items, slots->items, slots->count * sizeof *items);
    }
    g_free(slots->items);
    slots->items = items;
    slots->count = count;
}

/* The slot of `number`, which is a number the model gave (never LULL_NONE); valid until the next
 * call. */
static inline uint32_t *lull_slots_at(struct lull_slots *slots, uint32_t number)
{
    if (G_UNLIKELY(number >= slots->count)) {
        lull_slots_grow(slots, number);
    }
    return &slots->items[number];
}

/* Frees the memory and leaves a valid empty one. */
static inline void lull_slots_free(struct lull_slots *slots)
{
    g_free(slots->items);
    *slots = (struct lull_slots){0};
}

#endif
