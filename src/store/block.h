/* SPDX-License-Identifier: MIT */
/* A block of intervals as bytes (format.h) and back. */
#ifndef LULL_STORE_BLOCK_H
#define LULL_STORE_BLOCK_H

#include "store/format.h"
#include "store/store.h"

enum { BLOCK_BYTES_MOST = STORE_BLOCK * (10 + 1 + 5 + 5) };

/* `bytes` has room for BLOCK_BYTES_MOST. Returns how many were used. */
uint32_t store_block_encode(const struct lull_store_interval *intervals, uint32_t count,
                            uint8_t *bytes);
/* Fills `intervals`, the first of which starts at start_ns. Returns how many there are, 1 to 64; 0
 * if the bytes are no block. */
uint32_t store_block_decode(const uint8_t *bytes, uint32_t size, int64_t start_ns,
                            struct lull_store_interval intervals[STORE_BLOCK]);

#endif
