/* SPDX-License-Identifier: MIT */
/* Adds histograms to a ring over time, and asks histograms for percentiles. */
#include "live/histories.h"

#include <math.h>
#include <string.h>

static void add(struct lull_track_histogram *to, const struct lull_track_histogram *from)
{
    for (uint32_t measure = 0; measure < LULL_TRACK_MEASURES; measure++) {
        for (uint32_t i = 0; i < LULL_TRACK_BUCKETS; i++) {
            to[measure].n[i] += from[measure].n[i];
        }
        to[measure].longest[0].ns = MAX(to[measure].longest[0].ns, from[measure].longest[0].ns);
    }
}

void lull_histories_add(struct lull_histories *histories, const struct lull_interval *interval)
{
    const int64_t piece = interval->end_ns / LULL_HISTORY_PIECE_NS;
    const int64_t n_new = MIN(piece - histories->piece, LULL_HISTORY_PIECES);
    for (int64_t i = 0; i < n_new; i++) {
        memset(histories->ring[(piece - i) % LULL_HISTORY_PIECES], 0, sizeof histories->ring[0]);
    }
    histories->piece = piece;
    add(histories->ring[piece % LULL_HISTORY_PIECES], interval->histogram);
}

void lull_histories_sum(const struct lull_histories *histories, uint32_t n_pieces,
                        struct lull_track_histogram sum[LULL_TRACK_MEASURES])
{
    memset(sum, 0, sizeof *sum * LULL_TRACK_MEASURES);
    for (uint32_t i = 0; i < n_pieces && i <= histories->piece; i++) {
        add(sum, histories->ring[(histories->piece - i) % LULL_HISTORY_PIECES]);
    }
}

int64_t lull_bucket_start_ns(uint32_t i)
{
    if (i >= LULL_TRACK_BUCKETS) {
        return INT64_MAX;
    }
    return i == 0 ? 0 : INT64_C(1000) << (i - 1);
}

int64_t lull_histogram_percentile_ns(const struct lull_track_histogram *histogram, double share)
{
    uint64_t count = 0, below = 0;
    for (uint32_t i = 0; i < LULL_TRACK_BUCKETS; i++) {
        count += histogram->n[i];
    }
    const uint64_t rank = MAX((uint64_t)ceil(share * (double)count), 1);
    for (uint32_t i = 0; i < LULL_TRACK_BUCKETS && count; i++) {
        below += histogram->n[i];
        if (below >= rank) {
            return lull_bucket_start_ns(i + 1);
        }
    }
    return -1;
}
