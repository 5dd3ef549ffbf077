/* SPDX-License-Identifier: MIT */
/* Which items each of many owners has (the links of each host, the hosts of each group), as one
 * array: one list follows the other, and items of a list are in ascending order. */
#ifndef LULL_BASE_LISTS_H
#define LULL_BASE_LISTS_H

#include <glib.h>
#include <stdint.h>

/* `first` has where the list of each owner starts, and after the last owner how many items there are. */
struct lull_lists {
    size_t *first;
    uint32_t *items;
};

struct lull_list {
    const uint32_t *items; /* belongs to the lists */
    size_t count;
};

/* Item i is owners[i]'s; of no owner if that is not below n_owners. Free it with lull_lists_clear(). */
static inline struct lull_lists lull_lists_new(const uint32_t *owners, size_t n_items,
                                               uint32_t n_owners)
{
    struct lull_lists lists = {.first = g_new0(size_t, (size_t)n_owners + 1),
                               .items = g_new(uint32_t, n_items + 1)};
    g_autofree size_t *next = g_new(size_t, (size_t)n_owners + 1);
    for (size_t i = 0; i < n_items; i++) {
        if (owners[i] < n_owners) {
            lists.first[owners[i] + 1]++;
        }
    }
    for (uint32_t i = 0; i < n_owners; i++) {
        lists.first[i + 1] += lists.first[i];
        next[i] = lists.first[i];
    }
    for (size_t i = 0; i < n_items; i++) {
        if (owners[i] < n_owners) {
            lists.items[next[owners[i]]++] = (uint32_t)i;
        }
    }
    return lists;
}

static inline void lull_lists_clear(struct lull_lists *lists)
{
    g_clear_pointer(&lists->first, g_free);
    g_clear_pointer(&lists->items, g_free);
}

static inline struct lull_list lull_lists_of(const struct lull_lists *lists, uint32_t owner)
{
    const size_t first = lists->first[owner];
    return (struct lull_list){lists->items + first, lists->first[owner + 1] - first};
}

#endif
