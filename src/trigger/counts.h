/* SPDX-License-Identifier: MIT */
/* What the daemon counts, in memory that the process which listens can read, and as OpenMetrics. */
#ifndef LULL_TRIGGER_COUNTS_H
#define LULL_TRIGGER_COUNTS_H

#include "live/waited.h"
#include "trigger/spread.h"

/* Of alarms that are remembered. */
#define LULL_TRIGGER_LAST 64
/* Of the path of a snapshot, with its NUL; longer ones are not remembered. */
#define LULL_TRIGGER_PATH 256

enum lull_command_result {
    LULL_COMMAND_DONE,
    LULL_COMMAND_FAILED, /* it could not be started, or its exit status is not 0 */
    LULL_COMMAND_KILLED, /* it took too long */
    LULL_COMMAND_BUSY,   /* it was not started: the one before still ran */
    LULL_COMMAND_RESULTS
};

/* Something that was too slow. Its members are of 8 bytes, or whole multiples, as those of the counts are. */
struct lull_trigger_alarm {
    char rule[LULL_TRIGGER_NAME];
    char comm[LULL_TRACK_COMM];   /* "": nobody said */
    char path[LULL_TRIGGER_PATH]; /* the snapshot that shows it; "": there is none */
    int64_t pid, tid;             /* -1: nobody said */
    int64_t start_ns, end_ns;     /* since the epoch */
    uint64_t verdict;             /* enum lull_trigger_verdict */
};

/* Every member is 8 bytes, written and read as a whole. */
struct lull_trigger_counts {
    uint64_t alarms[LULL_TRIGGER_RULES]; /* waits and requests that were too slow, of each rule */
    uint64_t results[LULL_TRIGGER_VERDICTS]; /* what was done about them */
    uint64_t removed;                        /* snapshots, to make room */
    uint64_t lost_alarms;                    /* waits that the tracker saw and did not report */
    uint64_t untracked;                      /* waits of tasks that it had no room for */
    uint64_t unseen;                         /* waits that the kernel did not show the end of */
    uint64_t missed;                         /* events that the kernel left out */
    char backend[8];                         /* how it watches; "": it does not */
    uint64_t unwatched;                      /* bits: rules that cannot be watched that way */
    uint64_t has_no_calls, has_no_chains;    /* they were given up, because of the overhead */
    uint64_t overhead_ppm;                   /* of the tracker, in millionths of all CPUs' time */
    uint64_t has_overhead;
    uint64_t unnamed;    /* waits that are in no sum, for want of room */
    uint64_t history_ns; /* how far back the last snapshot reached; 0: there is none yet */
    uint64_t has_waits;  /* the next two are there */
    struct lull_track_histograms lengths;
    struct lull_waited_sums waited;
    uint64_t
        n_alarms; /* how many there ever were; the last of them are next, the latest at n_alarms - 1 */
    struct lull_trigger_alarm last[LULL_TRIGGER_LAST];
    uint64_t version;   /* odd while waits and alarms are written */
    uint64_t questions; /* of other machines */
    uint64_t
        outcomes[LULL_TRIGGER_VERDICTS]; /* of questions to them; LULL_TRIGGER_FAST: no answer */
    /* Of the process that listens. */
    uint64_t hooks, damaged_hooks, dropped_hooks;
    struct lull_spread_counts datagrams;
    /* Of the process that runs commands. */
    uint64_t commands[LULL_COMMAND_RESULTS];
};

/* Writes what waits came to, whatever is read meanwhile. */
void lull_trigger_counts_set_waits(struct lull_trigger_counts *counts,
                                   const struct lull_track_histograms *lengths,
                                   const struct lull_waited_sums *waited);
void lull_trigger_counts_add_alarm(struct lull_trigger_counts *counts,
                                   const struct lull_trigger_alarm *alarm);
/* A copy that belongs together. False if `from` is written all the time. */
bool lull_trigger_counts_copy(const struct lull_trigger_counts *from,
                              struct lull_trigger_counts *to);
/* The text of /metrics: OpenMetrics 1.0, with "# EOF". */
void lull_trigger_metrics(GString *out, const struct lull_trigger_config *config,
                          const struct lull_trigger_counts *counts);

#endif
