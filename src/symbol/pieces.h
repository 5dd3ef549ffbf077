/* SPDX-License-Identifier: MIT */
/* Ranges of addresses, some within others, cut into pieces, so that the innermost range of an address is found by
 * one binary search. */
#ifndef LULL_SYMBOL_PIECES_H
#define LULL_SYMBOL_PIECES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define LULL_NO_RANGE UINT32_MAX

struct lull_range {
    uint64_t start, end;
};

/* From `start` to the start of the next piece. */
struct lull_piece {
    uint64_t start;
    uint32_t range; /* number of the innermost, or LULL_NO_RANGE */
};

struct lull_pieces {
    LULL_VEC(struct lull_piece) all;
};

/* Of ranges by start; of one start, those around others come first. Of ranges that cross, the later one has what
 * both have. */
void lull_pieces_cut(struct lull_pieces *pieces, const struct lull_range *ranges, size_t n);
void lull_pieces_free(struct lull_pieces *pieces);
/* The number of the innermost range that has the address, or LULL_NO_RANGE. */
uint32_t lull_pieces_find(const struct lull_pieces *pieces, uint64_t address);

#endif
