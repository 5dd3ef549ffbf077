/* SPDX-License-Identifier: MIT */
/* The blocks of memory that a process has, by address: at most 56 bytes for each that lives at the
 * same time. A zeroed one is valid and empty. */
#ifndef LULL_CALLS_BLOCKS_H
#define LULL_CALLS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No address space holds more. */
#define LULL_BLOCK_MOST_BYTES (UINT64_C(1) << 47)

struct lull_block {
    uint64_t address;
    uint64_t bytes : 48, thread : 16; /* thread: that allocated it, of its number the last bits */
    uint32_t path;
    uint32_t next; /* in its chain, or of those that are free */
};

struct lull_blocks {
    struct lull_block *items;
    uint32_t *heads; /* of chains: number + 1 */
    size_t n_items, capacity, n_heads, n_live;
    uint32_t free; /* number + 1 of the first that is free */
    uint64_t seed; /* traces cannot choose addresses that fall into one chain */
};

/* At an address that has none. False: there are too many. */
bool lull_blocks_add(struct lull_blocks *blocks, struct lull_block block);
/* Takes the block at an address out; false: there is none. */
bool lull_blocks_take(struct lull_blocks *blocks, uint64_t address, struct lull_block *taken);
/* Copies of all, with another path. `to` is empty. */
void lull_blocks_copy(struct lull_blocks *to, const struct lull_blocks *from, uint32_t path);
/* What all blocks have. */
uint64_t lull_blocks_bytes(const struct lull_blocks *blocks);
/* Frees the memory and leaves a valid empty one. */
void lull_blocks_free(struct lull_blocks *blocks);

#endif
