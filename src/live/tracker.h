/* SPDX-License-Identifier: MIT */
/* Watches the waits of this machine with programs in the kernel, and hands out alarms. */
#ifndef LULL_LIVE_TRACKER_H
#define LULL_LIVE_TRACKER_H

#include "live/alarm.h"

struct lull_tracker;

struct lull_tracker_question {
    const struct lull_track_rule *const *rules; /* borrowed */
    uint32_t n_rules;                           /* at most LULL_TRACK_RULES */
    uint32_t
        command; /* only this task and its descendants; it must not have children yet; 0: all */
    double most_overhead; /* of the time of all CPUs */
    uint32_t stacks;      /* bits; 0: of the task in the kernel */
    bool has_histograms;  /* there are no alarms, but lull_tracker_histograms() by rule */
    bool has_sums;        /* waits are summed, for lull_sums (live/sums.h); there are no rules */
    bool has_metrics; /* besides alarms, waits are counted by length, and summed by whom they were
                             for; so is what rules are about that is no wait */
    void (*alarm)(void *user, const struct lull_track_alarm *alarm);
    void *user;
};

struct lull_tracker_counts {
    struct lull_track_counts kernel; /* of all CPUs */
    uint64_t filtered;               /* alarms that a filter of user space refused */
    uint64_t not_worst;              /* alarms that are no longer than an earlier one */
    uint64_t damaged;                /* records that are none */
    uint64_t missed;                 /* runs of programs that the kernel left out */
    double overhead;                 /* of the time of all CPUs; negative: not measured */
    bool has_no_chains;              /* they were given up, because of the overhead */
    uint64_t least_ns;               /* with sums: shorter waits are in no chain */
};

/* By measure: an event that it needs and this kernel lacks, or NULL. */
bool lull_tracker_lacks(const char *lacks[LULL_TRACK_MEASURES], GError **error);
/* Loads the programs, and starts. NULL and one line that says what this machine lacks. Ends with
 * lull_tracker_free(), and whatever way this process ends. */
struct lull_tracker *lull_tracker_new(const struct lull_tracker_question *question, GError **error);
/* Readable when there is something to take. */
int lull_tracker_fd(const struct lull_tracker *tracker);
/* Hands out the alarms there are. */
bool lull_tracker_take(struct lull_tracker *tracker, GError **error);
/* To be called several times a second: measures what all this costs, and makes it cost less; hands out
 * alarms of waits whose time-out has passed. */
void lull_tracker_govern(struct lull_tracker *tracker);
bool lull_tracker_count(struct lull_tracker *tracker, struct lull_tracker_counts *counts,
                        GError **error);
void lull_tracker_free(struct lull_tracker *tracker);

/* How many there have been since `before`, which is renewed. */
bool lull_tracker_histograms(const struct lull_tracker *tracker,
                             struct lull_track_histograms *before,
                             struct lull_track_histograms *since, GError **error);

/* For lull_sums: a map of the programs, what may be changed while they run, and all slots. */
int lull_tracker_map(const struct lull_tracker *tracker, const char *name);
volatile struct lull_track_governed *lull_tracker_governed(const struct lull_tracker *tracker);
/* NULL: neither sums nor time-outs were asked for. */
const volatile struct lull_track_slot *lull_tracker_slots(const struct lull_tracker *tracker,
                                                          uint32_t *n);
/* What slot `i` has before `spare`. False if it is free. */
bool lull_tracker_slot(const struct lull_tracker *tracker, uint32_t i,
                       struct lull_track_slot *slot);

#endif
