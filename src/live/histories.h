/* SPDX-License-Identifier: MIT */
/* The histograms of the last minute, and of the last 15: a ring of pieces of 10 s. */
#ifndef LULL_LIVE_HISTORIES_H
#define LULL_LIVE_HISTORIES_H

#include "live/sums.h"

#define LULL_HISTORY_PIECE_NS (INT64_C(10) * 1000000000)
enum { LULL_HISTORY_PIECES = 90, LULL_HISTORY_MINUTE = 6 };

struct lull_histories {
    int64_t piece; /* the number of the latest one, since the epoch of CLOCK_MONOTONIC */
    struct lull_track_histogram ring[LULL_HISTORY_PIECES][LULL_TRACK_MEASURES];
};

/* Intervals come in the order of time; a zeroed struct is empty. */
void lull_histories_add(struct lull_histories *histories, const struct lull_interval *interval);
/* The latest `n_pieces` together; the one that has just started is one of them. */
void lull_histories_sum(const struct lull_histories *histories, uint32_t n_pieces,
                        struct lull_track_histogram sum[LULL_TRACK_MEASURES]);

/* What bucket `i` starts with; INT64_MAX beyond the last. */
int64_t lull_bucket_start_ns(uint32_t i);
/* The upper end of the bucket in which the nearest rank of that share (0..1) lies; -1: it is empty. */
int64_t lull_histogram_percentile_ns(const struct lull_track_histogram *histogram, double share);

#endif
