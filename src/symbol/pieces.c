/* SPDX-License-Identifier: MIT */
/* Cuts ranges into pieces: one walk by address, with a stack of the ranges that are open. */
#include "symbol/pieces.h"

#include "base/search.h"

static void add_piece(struct lull_pieces *pieces, uint64_t start, uint32_t range)
{
    const size_t n = pieces->all.count;
    if (n > 0 && pieces->all.items[n - 1].start == start) {
        pieces->all.items[n - 1].range = range;
    } else {
        lull_vec_push(&pieces->all, (struct lull_piece){start, range});
    }
}

/* Where a range ends, the one around it goes on. */
void lull_pieces_cut(struct lull_pieces *pieces, const struct lull_range *ranges, size_t n)
{
    LULL_VEC(uint32_t) open = {0};
    for (size_t i = 0; i <= n; i++) {
        const uint64_t start = i < n ? ranges[i].start : UINT64_MAX;
        while (open.count > 0 && ranges[open.items[open.count - 1]].end <= start) {
            const uint64_t end = ranges[lull_vec_pop(&open)].end;
            while (open.count > 0 && ranges[open.items[open.count - 1]].end <= end) {
                open.count--;
            }
            add_piece(pieces, end, open.count > 0 ? open.items[open.count - 1] : LULL_NO_RANGE);
        }
        if (i < n) {
            add_piece(pieces, start, (uint32_t)i);
            lull_vec_push(&open, (uint32_t)i);
        }
    }
    lull_vec_free(&open);
}

void lull_pieces_free(struct lull_pieces *pieces)
{
    lull_vec_free(&pieces->all);
}

uint32_t lull_pieces_find(const struct lull_pieces *pieces, uint64_t address)
{
    const size_t after =
        LULL_LOWER_BOUND(i, pieces->all.count, pieces->all.items[i].start <= address);
    return after > 0 ? pieces->all.items[after - 1].range : LULL_NO_RANGE;
}
