/* SPDX-License-Identifier: MIT */
/* What every way to watch the machine offers. A new one is a file that implements this and a line in the
 * table of kinds.c. */
#ifndef LULL_LIVE_KIND_H
#define LULL_LIVE_KIND_H

#include "live/sums.h"

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
    void (*govern)(struct lull_tracker *tracker); /* NULL: nothing to do */
    bool (*count)(struct lull_tracker *tracker, struct lull_tracker_counts *counts, GError **error);
    /* With has_alarms. */
    bool (*histograms)(const struct lull_tracker *tracker, struct lull_track_histograms *before,
                       struct lull_track_histograms *since, GError **error);
    bool (*chains)(const struct lull_tracker *tracker, GArray *chains, GError **error);
    bool (*sum)(struct lull_tracker *tracker, struct lull_interval *interval, GError **error);
    void (*free)(struct lull_tracker *tracker);
};

/* Implementations put it first in a structure of their own. */
struct lull_tracker {
    const struct lull_live_kind *kind;
    char *why; /* why a better kind does not work here; NULL: it was asked for, or is the best */
};

/* Best first; ends with NULL. Those that are not built in are not there. */
extern const struct lull_live_kind *const lull_live_kinds[];

extern const struct lull_live_kind lull_live_bpf, lull_live_poll;

#endif
