/* SPDX-License-Identifier: MIT */
/* What is open under each number of a table of descriptors. A fork gives the child the same slots:
 * they lie in pages that tables share until one of them changes something, so that it costs neither
 * time nor memory for each descriptor. */
#ifndef LULL_KERNEL_FD_SLOTS_H
#define LULL_KERNEL_FD_SLOTS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct fd_slot {
    uint32_t file;  /* lull_model_file(), LULL_NONE: closed */
    uint32_t owner; /* the table that has made `file`; to others it is their parent's, and each
                       makes one of its own when it uses it */
    bool is_cloexec;
};

struct fd_page;

struct fd_page_ref {
    uint32_t number;
    struct fd_page *page;
};

/* Zeroed it is empty. */
struct fd_slots {
    LULL_VEC(struct fd_page_ref) pages; /* by number */
    uint32_t owner;                     /* number of the table, which no other ever had */
};

/* The slot of an open descriptor, or NULL. */
const struct fd_slot *fd_slots_find(const struct fd_slots *slots, int32_t fd);
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
