/* SPDX-License-Identifier: MIT */
/* Watches the waits of this machine, by one of several means (kind.h), and hands out alarms. */
#ifndef LULL_LIVE_TRACKER_H
#define LULL_LIVE_TRACKER_H

#include "live/alarm.h"

struct lull_tracker;
struct lull_interval;

struct lull_tracker_question {
    const char *backend; /* "bpf", "ftrace", "poll"; NULL: the best that works here */
    const struct lull_track_rule *const *rules; /* borrowed */
    uint32_t n_rules;                           /* at most LULL_TRACK_RULES */
    uint32_t
        command; /* only this task and its descendants; it must not have children yet; 0: all */
    double most_overhead; /* of the time of all CPUs */
    uint32_t stacks;      /* bits; 0: of the task in the kernel */
    bool has_histograms;  /* there are no alarms, but lull_tracker_histograms() by rule */
    bool has_sums;        /* waits are summed, for lull_tracker_sum() */
    bool has_metrics; /* besides alarms, waits are counted by length, and summed by whom they were
                             for; so is what rules are about that is no wait */
    bool
        has_served; /* alarms of `serve` say what the server waited for, which costs as much as waits do */
    const char *const *marks; /* files whose marks are watched, NULL at the end; or NULL */
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
    bool has_no_wakings; /* so was when tasks were woken: waits for a CPU are not known */
    bool has_no_calls;   /* so was in which system call tasks wait */
    uint64_t least_ns;   /* with sums: shorter waits are in no chain */
};

/* How it watches. */
struct lull_tracker_how {
    const char *backend; /* a word */
    const char *unseen;  /* what cannot be seen that way; or NULL */
    const char *why;     /* why it is not done in a better way; or NULL */
    bool sees_waits;     /* single ones, so that there can be alarms and histograms */
};

/* What ftrace cannot do at all. */
extern const char lull_tracker_needs_bpf[];

/* By measure: an event that it needs and this kernel lacks, or NULL. `backend` as below. `why` (or NULL) is set to
 * why the best does not work here, or NULL; free it. */
bool lull_tracker_lacks(const char *backend, const char *lacks[LULL_TRACK_MEASURES], char **why,
                        GError **error);
/* Starts. NULL and one line that says what this machine lacks. Ends with lull_tracker_free(), and
 * whatever way this process ends. */
struct lull_tracker *lull_tracker_new(const struct lull_tracker_question *question, GError **error);
/* Texts are the tracker's. */
struct lull_tracker_how lull_tracker_how(const struct lull_tracker *tracker);
/* Readable when there is something to take. */
int lull_tracker_fd(const struct lull_tracker *tracker);
/* Hands out the alarms there are. */
bool lull_tracker_take(struct lull_tracker *tracker, GError **error);
/* The same at the end: all that has happened until now. */
bool lull_tracker_finish(struct lull_tracker *tracker, GError **error);
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

/* Of has_metrics: the chains of the waits that have ended since they were asked for last (struct
 * lull_live_chain); all of each wait counts, whenever it began. */
bool lull_tracker_chains(const struct lull_tracker *tracker, GArray *chains, GError **error);
/* Of has_sums: ends the interval, and starts the next. What was in `interval` is gone. */
bool lull_tracker_sum(struct lull_tracker *tracker, struct lull_interval *interval, GError **error);

#endif
