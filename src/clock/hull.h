/* SPDX-License-Identifier: MIT */
/* The fully incremental convex hull method for the clocks of two hosts: an estimate after every
 * message, in constant time on average, that is kept when later messages contradict it. x is the
 * clock of the reference, y that of the other host; y = alpha x + beta. Sources: A. Duda et al.
 * 1987; M. Jabbarifar, M. Dagenais, A. Shameli-Sendi: Streaming mode incremental clustering 2013.
 */
#ifndef LULL_CLOCK_HULL_H
#define LULL_CLOCK_HULL_H

#include "clock/sync.h"

/* A message, in nanoseconds from an origin of each clock; coordinates beyond +-2^61 are not
 * allowed. */
struct lull_hull_point {
    int64_t x, y;
};

/* A line through a point with slope dy / dx, dx > 0. */
struct lull_hull_line {
    struct lull_hull_point through;
    int64_t dy, dx;
};

/* The line half-way between the two is the estimate: alpha the mean of the slopes, beta that of the
 * intercepts. y = x until there is a better one. */
struct lull_hull_estimate {
    enum lull_sync_quality quality;
    bool is_set; /* there was a better one */
    struct lull_hull_line steepest, flattest;
};

struct lull_hull;

struct lull_hull *lull_hull_new(void);
void lull_hull_free(struct lull_hull *hull);
/* Adds a message: from the other host (sent at y, received at x) or to it (sent at x, received at
 * y). */
void lull_hull_add(struct lull_hull *hull, bool from_other, struct lull_hull_point point);
/* The estimate after what was added; once FAIL, the last one before the contradiction. */
const struct lull_hull_estimate *lull_hull_estimate(const struct lull_hull *hull);

#endif
