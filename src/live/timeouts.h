/* SPDX-License-Identifier: MIT */
/* Waits that are not over when their rule's time-out passes. */
#ifndef LULL_LIVE_TIMEOUTS_H
#define LULL_LIVE_TIMEOUTS_H

#include "live/kind.h"

struct lull_timeouts;

/* NULL: no rule has a time-out. Rules are borrowed. */
struct lull_timeouts *lull_timeouts_new(const struct lull_tracker_question *question,
                                        uint32_t n_slots);
/* Hands out one alarm for each such wait; what is over the limit is counted. */
void lull_timeouts_scan(struct lull_timeouts *timeouts, const struct lull_tracker *tracker,
                        int64_t now_ns, struct lull_tracker_counts *counts);
void lull_timeouts_free(struct lull_timeouts *timeouts);

#endif
