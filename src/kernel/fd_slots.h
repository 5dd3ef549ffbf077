/* SPDX-License-Identifier: MIT */
/* What is open under each number of a table of descriptors. A fork gives the child the same slots:
 * they lie in pages that tables share until one of them changes something, so that it costs neither
 * time nor memory for each descriptor. */
#ifndef LULL_KERNEL_FD_SLOTS_H
#define LULL_KERNEL_FD_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "kernel/model.h"

struct fd_slot {
    uint32_t file;  /* lull_model_file(), LULL_NONE: closed */
    uint32_t owner; /* the table that has made `file`; to others it is their parent's, and each
                       makes one of its own when it uses it */
    bool is_cloexec;
};

enum { FD_PAGE = 32 };

struct fd_page {
    uint32_t users;
    uint32_t owner;             /* the table that changed it last: only its slots may be its own */
    struct fd_page *after_exec; /* what is left of it to a table that does not own it; or NULL */
    struct fd_slot slots[FD_PAGE];
};

struct fd_page_ref {
    uint32_t number;
    struct fd_page *page;
};

/* Zeroed it is empty. */
struct fd_slots {
    LULL_VEC(struct fd_page_ref) pages; /* by number */
    uint32_t owner;                     /* number of the table, which no other ever had */
};

/* The index of the page of this number, or where it would be, found by bisection. */
size_t fd_slots_bisect(const struct fd_slots *slots, uint32_t number);

static inline size_t fd_slots_position(const struct fd_slots *slots, uint32_t number)
{
    if (number < slots->pages.count && slots->pages.items[number].number == number) {
        return number; /* mostly there are no gaps */
    }
    return fd_slots_bisect(slots, number);
}

static inline bool fd_slots_has_page(const struct fd_slots *slots, size_t at, uint32_t number)
{
    return at < slots->pages.count && slots->pages.items[at].number == number;
}

/* The slot of a descriptor, open or closed, if its page is found at once, as it mostly is; or NULL. */
static inline const struct fd_slot *fd_slots_at_once(const struct fd_slots *slots, int32_t fd)
{
    const uint32_t number = (uint32_t)fd / FD_PAGE;
    return fd_slots_has_page(slots, number, number)
               ? &slots->pages.items[number].page->slots[(uint32_t)fd % FD_PAGE]
               : NULL;
}

/* The slot of an open descriptor, or NULL. */
static inline const struct fd_slot *fd_slots_find(const struct fd_slots *slots, int32_t fd)
{
    const uint32_t number = (uint32_t)fd / FD_PAGE;
    const size_t at = fd_slots_position(slots, number);
    if (!fd_slots_has_page(slots, at, number)) {
        return NULL;
    }
    const struct fd_slot *slot = &slots->pages.items[at].page->slots[(uint32_t)fd % FD_PAGE];
    return slot->file != LULL_NONE ? slot : NULL;
}

/* The slot of any descriptor, to be changed; until the next call for the same table. */
struct fd_slot *fd_slots_change(struct fd_slots *slots, int32_t fd);
/* The first open descriptor from *fd on, whose number *fd becomes; or NULL. */
const struct fd_slot *fd_slots_next(const struct fd_slots *slots, int64_t *fd);
bool fd_slots_is_empty(const struct fd_slots *slots);
/* `to` is empty. */
void fd_slots_share(struct fd_slots *to, const struct fd_slots *from);
/* Closes what is inherited from `first` to `last`, and what of it is to be closed by exec. */
void fd_slots_drop_range(struct fd_slots *slots, int32_t first, int32_t last);
void fd_slots_drop_cloexec(struct fd_slots *slots);
void fd_slots_clear(struct fd_slots *slots);

#endif
