/* SPDX-License-Identifier: MIT */
/* Replays what the kernel does with the CPU quota of a control group (Documentation/scheduler/
 * sched-bwc.rst, and kernel/sched/fair.c): each CPU takes slices of a pool, the timer of the period
 * fills the pool, what a CPU has left it keeps or gives back. So it is known when a group's tasks may
 * not run, and when they only wait for their turn. */
#ifndef LULL_GRAPH_BANDWIDTH_H
#define LULL_GRAPH_BANDWIDTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

enum lull_bandwidth_step {
    LULL_BANDWIDTH_STOP,   /* a task of the group leaves the CPU, and could go on */
    LULL_BANDWIDTH_SLEEP,  /* it leaves it, as it waits for something, or ended */
    LULL_BANDWIDTH_TICK,   /* the CPU looks at its time */
    LULL_BANDWIDTH_HIDDEN, /* the CPU was with somebody unknown, for ns */
    LULL_BANDWIDTH_REFILL, /* a period starts */
    LULL_BANDWIDTH_WAKE, /* a task that slept is runnable again, or one that waited is moved, there */
    LULL_BANDWIDTH_START, /* a task of the group gets the CPU */
};

struct lull_bandwidth_event {
    int64_t time_ns;
    int64_t ns;    /* HIDDEN: how long, until now */
    uint32_t cpu;  /* not of REFILL */
    uint32_t task; /* not of TICK, HIDDEN, REFILL */
    enum lull_bandwidth_step step;
    bool is_last; /* STOP: the CPU is idle then */
};

/* What shows that the group could not run, the best first. */
enum lull_bandwidth_doubt {
    LULL_BANDWIDTH_SURE,  /* its quota was used up, and more than that its last task left the CPU */
    LULL_BANDWIDTH_SHORT, /* its tasks only ran for a moment before, as they do from 6.18 on */
    LULL_BANDWIDTH_LIKELY, /* its quota was nearly used up, and it got the CPU as soon as a period started */
    LULL_BANDWIDTH_MAYBE, /* its quota was nearly used up, and it got the CPU some time after that */
};

/* Tasks of the group that were on that CPU last could not run there. */
struct lull_bandwidth_pause {
    int64_t start_ns, end_ns;
    int64_t counted_ns; /* since when the kernel counts it, at the earliest */
    uint32_t cpu;
    enum lull_bandwidth_doubt doubt;
};

struct lull_bandwidth_pauses {
    LULL_VEC(struct lull_bandwidth_pause) all; /* by end */
};

/* The events in order of time, those of the same time in that of enum lull_bandwidth_step. Appends to
 * the pauses. `kernel_ns`: how long the group was throttled by the kernel's count, summed over CPUs; of
 * more than that, what is most in doubt is left out, the shortest first. */
void lull_bandwidth_replay(const struct lull_bandwidth_event *events, size_t count,
                           int64_t quota_ns, int64_t kernel_ns,
                           struct lull_bandwidth_pauses *pauses);

#endif
