/* SPDX-License-Identifier: MIT */
/* What the messages between two hosts allow: all straight lines y(x) that lie on or above the
 * points of messages from y to x (sent at y, received at x: y's clock has moved on by then) and on
 * or below those of messages from x to y. Only the convex hulls of both kinds matter; they are kept
 * exact, whatever the order of the messages. */
#ifndef LULL_CLOCK_CORRIDOR_H
#define LULL_CLOCK_CORRIDOR_H

#include <glib.h>

#include "clock/hull.h"
#include "clock/line.h"

/* A slope less 1, that is a drift, as a fraction with a positive denominator. */
struct lull_drift {
    int64_t numerator, denominator;
};

struct lull_corridor {
    bool has_origin;
    int64_t origin_x, origin_y; /* of all coordinates below */
    int64_t start_x, end_x;     /* of the exchange */
    GArray *below, *above; /* struct lull_hull_point by x: upper hull of the former kind, lower of
                              the latter */
    /* the result of lull_corridor_solve() */
    struct lull_drift least, most; /* of the possible lines */
    struct lull_line estimate;     /* of absolute times */
};

void lull_corridor_init(struct lull_corridor *corridor);
void lull_corridor_clear(struct lull_corridor *corridor);
/* The point of a message in coordinates of the corridor. False if it is more than 2^60 ns (36
 * years) from the first. */
bool lull_corridor_point(struct lull_corridor *corridor, int64_t x_ns, int64_t y_ns,
                         struct lull_hull_point *point);
void lull_corridor_add(struct lull_corridor *corridor, bool is_above, struct lull_hull_point point);
/* Finds the range of slopes with |drift| <= limit / 10^6, and the estimate: the middle of that
 * range, and at that slope the middle between both hulls. False if no line fits. Needs points of
 * both kinds. */
bool lull_corridor_solve(struct lull_corridor *corridor, int32_t limit_ppm);
/* The largest possible error of the estimate at absolute time x, in ns. After solving. */
long double lull_corridor_error(const struct lull_corridor *corridor, int64_t x_ns);

#endif
