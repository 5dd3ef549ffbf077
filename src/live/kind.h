/* SPDX-License-Identifier: MIT */
/* What every way to watch the machine offers. A new one is a file that implements this and a line in the
 * table of kinds.c. */
#ifndef LULL_LIVE_KIND_H
#define LULL_LIVE_KIND_H

#include "live/sums.h"

/* How a kind keeps what it knows of each task, for sums and time-outs. */
struct lull_live_slots {
    /* How many there are. */
    uint32_t (*count)(const struct lull_tracker *tracker);
    /* What slot `i` has before `irq`. False if it is free. */
    bool (*get)(const struct lull_tracker *tracker, uint32_t i, struct lull_track_slot *slot);
    /* Chains belong to the next interval from now on, which is the time that it returns. */
    uint64_t (*turn)(struct lull_tracker *tracker);
    /* Hands out the tasks that have ended since it was asked last, by process. */
    bool (*ended)(struct lull_tracker *tracker,
                  void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                  void *user, GError **error);
};

struct lull_live_kind {
    const char *name;   /* of --backend */
    const char *unseen; /* what it cannot see, in words; NULL: nothing that Lull asks for */
    bool has_alarms;    /* it sees single waits, for rules and histograms */
    /* With has_alarms: by measure, an event that it needs and this kernel lacks, or NULL. */
    bool (*lacks)(const char *lacks[LULL_TRACK_MEASURES], GError **error);
    /* NULL and one line that says what this machine lacks: then nothing is left over. */
    struct lull_tracker *(*start)(const struct lull_tracker_question *question, GError **error);
    int (*fd)(const struct lull_tracker *tracker);
    bool (*take)(struct lull_tracker *tracker, GError **error);
    bool (*finish)(struct lull_tracker *tracker, GError **error); /* NULL: as take() */
    void (*govern)(struct lull_tracker *tracker);                 /* NULL: nothing to do */
    bool (*count)(struct lull_tracker *tracker, struct lull_tracker_counts *counts, GError **error);
    /* With has_alarms. */
    /* All since the start, but the longest since they were asked for last. */
    bool (*histograms)(const struct lull_tracker *tracker, struct lull_track_histograms *all,
                       GError **error);
    bool (*chains)(const struct lull_tracker *tracker, GArray *chains, GError **error);
    bool (*sum)(struct lull_tracker *tracker, struct lull_interval *interval, GError **error);
    const struct lull_live_slots *slots; /* with has_alarms */
    void (*free)(struct lull_tracker *tracker);
};

/* Implementations put it first in a structure of their own. */
struct lull_tracker {
    const struct lull_live_kind *kind;
    char *why; /* why a better kind does not work here; NULL: it was asked for, or is the best */
};

/* ---- sums.c ---- */

struct lull_sums;

/* The tracker, whose kind has slots, is borrowed. The first interval starts now. */
struct lull_sums *lull_sums_new(struct lull_tracker *tracker);
/* Ends the interval, and starts the next. */
bool lull_sums_take(struct lull_sums *sums, struct lull_interval *interval, GError **error);
/* Now and then: makes room for tasks that end, where the tracker has little of it. */
void lull_sums_gather(struct lull_sums *sums);
void lull_sums_free(struct lull_sums *sums);

/* Best first; ends with NULL. Those that are not built in are not there. */
extern const struct lull_live_kind *const lull_live_kinds[];

extern const struct lull_live_kind lull_live_bpf, lull_live_ftrace, lull_live_poll;

#endif
