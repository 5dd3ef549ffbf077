/* SPDX-License-Identifier: MIT */
/* What all tasks of this machine did in an interval, and what they waited for, in sums: for `lull top`. */
#ifndef LULL_LIVE_SUMS_H
#define LULL_LIVE_SUMS_H

#include "live/poll_proc.h"
#include "live/tracker.h"

struct lull_live_process {
    uint32_t pid;
    char comm[LULL_TRACK_COMM]; /* empty: not known */
    uint32_t n_tasks;           /* that live at the end of the interval */
    uint32_t n_asleep;          /* of them those that slept all the time */
    int64_t ran_ns, blocked_ns, runnable_ns,
        unknown_ns; /* of the others, and of those that ended */
};

struct lull_live_chain {
    struct lull_track_chain key; /* checked */
    struct lull_track_chain_sum sum;
    const char *function; /* of the kernel, in which it waited; NULL: not known. The tracker's */
};

/* Of what only samples were taken. */
struct lull_live_samples {
    int64_t every_ns;  /* 0: waits were not sampled, but seen */
    int64_t busy_ns;   /* of all CPUs: also what tasks did that lived for a moment */
    uint32_t n_hidden; /* tasks of others, whose calls may not be known */
    uint64_t
        n_ended; /* since the start: tasks that ended, so that nobody knows what they did last */
    double pressure
        [LULL_PRESSURES]; /* share of the time in which some task waited for it; < 0: not known */
};

struct lull_interval {
    int64_t start_ns, end_ns;          /* CLOCK_MONOTONIC */
    GArray *processes;                 /* struct lull_live_process, by pid */
    GArray *chains;                    /* struct lull_live_chain, of processes but our own */
    struct lull_tracker_counts counts; /* since the start */
    uint64_t n_switches;
    struct lull_track_histogram histogram[LULL_TRACK_MEASURES]; /* empty if waits were sampled */
    struct lull_live_samples samples;
};

void lull_interval_init(struct lull_interval *interval);
void lull_interval_clear(struct lull_interval *interval);

/* Whether what came from the kernel can be a chain. */
bool lull_live_chain_is_sound(const struct lull_live_chain *chain);
/* When the task that is off the CPU was woken; 0: not yet. */
uint64_t lull_slot_woken(const struct lull_track_slot *slot);
/* What a task did until `now`, what it does then included; `slot` is a copy. */
struct lull_track_sums lull_sums_of_slot(const struct lull_track_slot *slot, uint64_t now);

#endif
