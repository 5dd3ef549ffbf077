/* SPDX-License-Identifier: MIT */
/* Keeps every table that an analysis gives to so many rows. Histograms and values over time stay whole:
 * their rows are one picture. */
#ifndef LULL_ANALYSIS_LIMIT_H
#define LULL_ANALYSIS_LIMIT_H

#include "analysis/result.h"

struct lull_limit {
    struct lull_sink sink, *to;
    uint64_t most;
};

/* The sink to give tables to, so that `to` gets at most so many rows of each; 0: all. Of *limit, which
 * outlives its use. */
struct lull_sink *lull_limit_rows(struct lull_limit *limit, struct lull_sink *to, uint64_t most);

#endif
