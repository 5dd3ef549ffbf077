/* SPDX-License-Identifier: MIT */
/* Slow samples against typical ones: what the slow ones' paths are about more. Means are compared,
 * because they add up: the differences of all things sum to the difference of the durations. */
#ifndef LULL_GRAPH_COMPARE_H
#define LULL_GRAPH_COMPARE_H

#include "graph/portions.h"

/* What of a contribution is one portion. */
struct lull_detail {
    uint32_t portion;
    double difference_ns;
    int32_t tid; /* of its task, as in struct lull_part, in the slow samples that stand out */
    bool is_met; /* in one of these */
    const char *inside; /* as in struct lull_part, in the sample `most` */
};

/* One thing that the slow ones do more: a task's wait for a lock, whatever the path did meanwhile;
 * a task's being preempted, interrupted, or waiting for disks; or any other portion. */
struct lull_contribution {
    uint32_t lock;               /* or LULL_NONE */
    uint32_t portion;            /* that most of the difference is */
    struct lull_detail *details; /* the portions of it that are more, largest difference first */
    uint32_t n_details;
    double slow_ns, typical_ns; /* means over all slow and all typical samples */
    double difference_ns;       /* > 0 */
    double low_ns, high_ns;     /* 95 % interval of the difference, from the samples' spread */
    uint32_t n_outstanding;     /* slow samples that have more of it than any typical one */
    uint32_t most;              /* the slow sample that has most of it */
    int32_t tid, other_tid;     /* as in struct lull_part, of `portion` in the slow samples */
    const char *through;        /* as in struct lull_part, in the sample `most` */
};

struct lull_comparison {
    uint32_t n_slow, n_typical;
    double slow_ns, typical_ns, difference_ns; /* means of the durations */
    double less_ns;    /* > 0: what the slow ones do less of other things, in all */
    double unknown_ns; /* waits of unknown cause in a slow one's path, mean */
    uint64_t lost_events, lost_packets; /* in the slow ones */
    /* Those that can be distinguished from chance, largest difference first. */
    struct lull_contribution *contributions;
    uint32_t n_contributions;
};

/* Compares the samples (numbers), of which there is at least one of both. `most` contributions at
 * most, each at least `least` (0..1) of the difference. The result depends on nothing but the
 * samples. Free with lull_comparison_free(). */
struct lull_comparison *lull_compare(const struct lull_portions *portions, const uint32_t *slow,
                                     uint32_t n_slow, const uint32_t *typical, uint32_t n_typical,
                                     uint32_t most, double least);
void lull_comparison_free(struct lull_comparison *comparison);

#endif
