/* SPDX-License-Identifier: MIT */
/* Makes pyramids: intervals go into the finest level; a bin that is over is added, to the ns, to the
 * bin above it that it is half of. */
#include "store/pyramid.h"

enum { NARROW = 55 /* 255 times 2^this fits into 64 bits */ };

static uint64_t bins_of(int64_t start_ns, int64_t end_ns, unsigned shift, int64_t *first)
{
    *first = start_ns >> shift;
    return (uint64_t)(((end_ns - 1) >> shift) - *first) + 1;
}

uint64_t pyramid_bins(const struct store_row *row, unsigned shift, int64_t *first)
{
    return bins_of(row->active_ns, row->passive_ns, shift, first);
}

void pyramid_plan(struct store_row *row)
{
    int64_t first;
    row->shift = row->levels = 0;
    if (row->n_intervals < STORE_PYRAMID_MIN || row->passive_ns <= row->active_ns ||
        (row->kind > LULL_STORE_FREQUENCY && row->kind < LULL_STORE_VCPU)) {
        return;
    }
    const uint64_t length = (uint64_t)(row->passive_ns - row->active_ns);
    while (row->shift < 62 && (length >> row->shift) > row->n_intervals / STORE_PER_BIN) {
        row->shift++;
    }
    /* Around time 0 two bins would never become one. */
    while (row->shift + row->levels < 63 &&
           pyramid_bins(row, row->shift + row->levels, &first) > 1) {
        row->levels++;
    }
    row->levels += row->shift + row->levels < 63;
}

void pyramid_shares(const int64_t ns[STORE_STATES], unsigned shift, uint8_t shares[STORE_STATES])
{
    const uint64_t width = UINT64_C(1) << shift;
    memset(shares, 0, STORE_STATES);
    for (unsigned s = 0; s < STORE_STATES; s++) {
        if (ns[s] <= 0) {
            continue;
        }
        const uint8_t share =
            shift < NARROW ? (uint8_t)(((uint64_t)ns[s] * 255 + width / 2) >> shift)
                           : (uint8_t)(((unsigned __int128)ns[s] * 255 + width / 2) >> shift);
        shares[s] = share == 0 ? 1 : share;
    }
}

void pyramid_start(struct pyramid *pyramid, const struct store_row *row)
{
    pyramid->row = row;
    for (unsigned l = 0; l < row->levels; l++) {
        struct pyramid_level *level = &pyramid->levels[l];
        const uint64_t count = pyramid_bins(row, row->shift + l, &level->bin);
        memset(level->ns, 0, sizeof level->ns);
        if (l > 0) { /* of the finest level the caller takes what is there */
            lull_vec_reserve(&level->shares, count * STORE_STATES);
        }
    }
    /* What a bin lacks because the finer level has no bin there. */
    for (unsigned l = 1; l < row->levels; l++) {
        if (pyramid->levels[l - 1].bin & 1) {
            pyramid->levels[l].ns[row->before] += INT64_C(1) << (row->shift + l - 1);
        }
    }
}

static void close_bin(struct pyramid *pyramid, unsigned l)
{
    for (; l < pyramid->row->levels; l++) {
        struct pyramid_level *level = &pyramid->levels[l];
        const bool is_pair = level->bin & 1;
        lull_vec_reserve(&level->shares, STORE_STATES);
        pyramid_shares(level->ns, pyramid->row->shift + l,
                       &level->shares.items[level->shares.count]);
        level->shares.count += STORE_STATES;
        level->bin++;
        for (unsigned s = 0; l + 1u < pyramid->row->levels && s < STORE_STATES; s++) {
            pyramid->levels[l + 1].ns[s] += level->ns[s];
        }
        memset(level->ns, 0, sizeof level->ns);
        if (!is_pair) {
            break;
        }
    }
}

void pyramid_add(struct pyramid *pyramid, const struct lull_store_interval *interval)
{
    const struct store_row *row = pyramid->row;
    struct pyramid_level *level = &pyramid->levels[0];
    int64_t first;
    const int64_t stop = (int64_t)pyramid_bins(row, row->shift, &first) + first;
    int64_t start_ns = MAX(interval->start_ns, first * (INT64_C(1) << row->shift));
    while (start_ns < interval->end_ns && level->bin < stop) {
        const int64_t edge_ns = (int64_t)((uint64_t)(level->bin + 1) << row->shift);
        const int64_t end_ns = MIN(edge_ns, interval->end_ns);
        level->ns[interval->state] += end_ns - start_ns;
        start_ns = end_ns;
        if (end_ns == edge_ns) {
            close_bin(pyramid, 0);
        }
    }
}

void pyramid_end(struct pyramid *pyramid)
{
    const struct store_row *row = pyramid->row;
    for (unsigned l = 0; l < row->levels; l++) {
        struct pyramid_level *level = &pyramid->levels[l];
        int64_t first, missing = INT64_C(1) << (row->shift + l);
        const uint64_t count = pyramid_bins(row, row->shift + l, &first);
        if ((uint64_t)(level->bin - first) < count) {
            for (unsigned s = 0; s < STORE_STATES; s++) {
                missing -= level->ns[s];
            }
            level->ns[row->after] += MAX(missing, 0);
            close_bin(pyramid, l);
        }
    }
}

void pyramid_free(struct pyramid *pyramid)
{
    for (unsigned l = 0; l < PYRAMID_LEVELS_MOST; l++) {
        lull_vec_free(&pyramid->levels[l].shares);
    }
}
