/* SPDX-License-Identifier: MIT */
/* What lull track was asked, and doing it. */
#ifndef LULL_CMD_TRACK_RUN_H
#define LULL_CMD_TRACK_RUN_H

#include "cmd/verb.h"
#include "record/command.h"
#include "trigger/flight.h"
#include "view/live/track_end.h"

struct lull_track {
    GPtrArray *rules;
    const char *const *command; /* ends with NULL; NULL: there is none */
    GPtrArray *words;
    int64_t duration_ns, most_alarms, rate; /* most_alarms -1: no limit; rate 0: none */
    double most_overhead;
    const char *backend; /* NULL: the best */
    bool is_json;
    uint32_t stacks;
    bool has_histograms;     /* instead of alarms */
    int64_t interval_ns;     /* of histograms; 0: one for all the time */
    int64_t from_ns;         /* of the next one */
    int64_t next_us, end_us; /* when it is shown, and the end; INT64_MAX: never */
    struct lull_track_histograms before;
    char **marks; /* or NULL */
    bool has_served;
    struct lull_action action;
    struct lull_invoker invoker;
    struct lull_command child;
    bool has_snapshots;
    struct lull_flight flight; /* with snapshots */
    struct lull_tracker *tracker;
    struct lull_alarm_view view;
    uint64_t n_alarms, n_hidden;
    int64_t second, shown; /* of the alarms of this second */
};

/* Tracks until it is over, and says what there was. Returns the exit status. */
int lull_track_run(struct lull_track *track, const struct lull_args *args, GError **error);

#endif
