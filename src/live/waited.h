/* SPDX-License-Identifier: MIT */
/* Who has waited for what since the start, for metrics: programs by name, and what their waits came down to.
 * Those that wait most have a count of their own, and all others one together. */
#ifndef LULL_LIVE_WAITED_H
#define LULL_LIVE_WAITED_H

#include "live/rows.h"

enum { LULL_WAITED_NAMED = 50 };

/* Its members are of 8 bytes, or whole multiples: it is copied between processes by words. */
struct lull_waited_pair {
    char comm[LULL_TRACK_COMM];
    uint64_t end; /* enum lull_live_end */
    uint64_t ns;  /* since the pair was named: never less than before while it is */
};

struct lull_waited_sums {
    uint64_t n;
    struct lull_waited_pair named[LULL_WAITED_NAMED];
    uint64_t other_ns; /* never less than before */
};

/* Adds the chains of an interval up. */
struct lull_waited;
struct lull_waited *lull_waited_new(void);
/* Waits that a program ended by a timer of its own are left out, as `lull top` does, and sleeps of threads
 * of the kernel's. */
void lull_waited_add(struct lull_waited *waited, const struct lull_interval *interval);
/* Valid until the next change. */
const struct lull_waited_sums *lull_waited_sums(const struct lull_waited *waited);
void lull_waited_free(struct lull_waited *waited);

#endif
