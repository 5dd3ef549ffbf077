/* SPDX-License-Identifier: MIT */
/* Rooms of some hundred KiB in huge pages that they share: each such page is one for the system to
 * make, where the rooms of its own would be hundreds. Any thread may call these. */
#ifndef LULL_BASE_PAGE_POOL_H
#define LULL_BASE_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

/* Sizes of rooms are multiples of this, and below LULL_HUGE_PAGE. */
#define LULL_POOL_GRAIN ((size_t)32 << 10)

/* Not zeroed. Never NULL. */
void *lull_pool_take(size_t size);
/* Makes a room larger where it is; false if what follows it is taken. */
bool lull_pool_extend(void *room, size_t size, size_t new_size);
/* Gives back the end of a room from byte `size` on; all of it if that is 0. */
void lull_pool_shrink(void *room, size_t old_size, size_t size);

#endif
