/* SPDX-License-Identifier: MIT */
/* A number for each of many numbered things (tasks, labels, files, CPUs) of which a window of time
 * sees few, and these may be far apart: pages, which are made when the first of their numbers is
 * requested. Zeroed it is a valid empty one, and 0 in a slot means that nothing was put there; so
 * who keeps indices keeps index + 1. */
#ifndef LULL_BASE_SLOTS_H
#define LULL_BASE_SLOTS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LULL_SLOTS_PAGE = 64 };

struct lull_slots {
    uint32_t **pages; /* of LULL_SLOTS_PAGE slots; NULL: not made */
    size_t count;
};

/* Used by lull_slots_at() only. */
static inline uint32_t *lull_slots_add_page(struct lull_slots *slots, size_t page)
{
    if (page >= slots->count) {
        const size_t count = MAX(page + 1, slots->count + slots->count / 2);
        slots->pages = g_renew(uint32_t *, slots->pages, count);
        memset(slots->pages + slots->count, 0, (count - slots->count) * sizeof *slots->pages);
        slots->count = count;
    }
    return slots->pages[page] = g_new0(uint32_t, LULL_SLOTS_PAGE);
}

/* The slot of `number`, which is a number the model gave (never LULL_NONE). */
static inline uint32_t *lull_slots_at(struct lull_slots *slots, uint32_t number)
{
    const size_t page = number / LULL_SLOTS_PAGE;
    uint32_t *items = G_LIKELY(page < slots->count) ? slots->pages[page] : NULL;
    if (G_UNLIKELY(!items)) {
        items = lull_slots_add_page(slots, page);
    }
    return &items[number % LULL_SLOTS_PAGE];
}

/* What is in a slot. */
static inline uint32_t lull_slots_get(const struct lull_slots *slots, uint32_t number)
{
    const size_t page = number / LULL_SLOTS_PAGE;
    const uint32_t *items = G_LIKELY(page < slots->count) ? slots->pages[page] : NULL;
    return G_LIKELY(items) ? items[number % LULL_SLOTS_PAGE] : 0;
}

/* Makes *number, or the next one after it, one in whose slot something is; false if there is none.
 * Pages that were not made cost nothing. */
static inline bool lull_slots_next(const struct lull_slots *slots, uint32_t *number)
{
    for (size_t page = *number / LULL_SLOTS_PAGE; page < slots->count; page++) {
        const size_t first = page * LULL_SLOTS_PAGE;
        for (size_t i = MAX(*number, first) - first; slots->pages[page] && i < LULL_SLOTS_PAGE;
             i++) {
            if (slots->pages[page][i]) {
                *number = (uint32_t)(first + i);
                return true;
            }
        }
    }
    return false;
}

/* Frees the memory and leaves a valid empty one. */
static inline void lull_slots_free(struct lull_slots *slots)
{
    for (size_t page = 0; page < slots->count; page++) {
        g_free(slots->pages[page]);
    }
    g_free(slots->pages);
    *slots = (struct lull_slots){0};
}

#endif
