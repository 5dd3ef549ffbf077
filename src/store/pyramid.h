/* SPDX-License-Identifier: MIT */
/* The shares of states in bins of time at every zoom, made from intervals in order in one pass. */
#ifndef LULL_STORE_PYRAMID_H
#define LULL_STORE_PYRAMID_H

#include "base/vec.h"
#include "store/format.h"
#include "store/store.h"

enum { PYRAMID_LEVELS_MOST = 64 };

struct pyramid_level {
    int64_t bin; /* the one that is being filled */
    int64_t ns[STORE_STATES];
    LULL_VEC(uint8_t) shares;
};

struct pyramid {
    const struct store_row *row;
    struct pyramid_level levels[PYRAMID_LEVELS_MOST];
};

/* Shift and number of levels for so many intervals within active_ns … passive_ns; no levels if there
 * are too few. */
void pyramid_plan(struct store_row *row);
/* Bins of 2^shift ns that touch active_ns … passive_ns; the number of the first. */
uint64_t pyramid_bins(const struct store_row *row, unsigned shift, int64_t *first);
/* 16 shares of what lasted 2^shift ns in all. */
void pyramid_shares(const int64_t ns[STORE_STATES], unsigned shift, uint8_t shares[STORE_STATES]);

/* `row` is borrowed, planned, and has levels. */
void pyramid_start(struct pyramid *pyramid, const struct store_row *row);
/* The next interval; the first one starts anywhere up to active_ns. */
void pyramid_add(struct pyramid *pyramid, const struct lull_store_interval *interval);
/* Fills up the last bins. Then the shares of each level are whole, but for those of the finest level
 * that were taken before. */
void pyramid_end(struct pyramid *pyramid);
void pyramid_free(struct pyramid *pyramid);

#endif
