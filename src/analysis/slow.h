/* SPDX-License-Identifier: MIT */
/* Which of many instances are slow, and which are typical. */
#ifndef LULL_ANALYSIS_SLOW_H
#define LULL_ANALYSIS_SLOW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Fewer instances are not compared. */
#define LULL_FEWEST_INSTANCES 4

struct lull_slow_rule {
    double slowest;         /* percent of the instances, at least one of them; < 0: see below */
    int64_t slower_than_ns; /* instead: all that took longer; INT64_MIN: not requested */
    double typical[2];      /* percentiles of the duration between which the typical ones lie */
    uint64_t n_slowest;     /* instead of percent: so many; 0: not requested */
};

struct lull_timed {
    uint32_t position;
    int64_t took_ns;
};

struct lull_slow {
    GArray *slow, *typical; /* struct lull_timed, quickest first; none is in both */
};

/* Chooses from `all` (struct lull_timed, in any order). Without a number (rule->slowest < 0) the
 * slow ones are the slowest 10 %, but if some of these lie beyond the upper fence (Tukey 1977: the
 * third quartile and 1.5 times the distance of the quartiles), only those. Both arrays are empty if
 * there are too few instances; one of them may be empty. Clear with lull_slow_clear(). */
struct lull_slow lull_slow_choose(const GArray *all, const struct lull_slow_rule *rule);
void lull_slow_clear(struct lull_slow *slow);

#endif
