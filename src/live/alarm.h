/* SPDX-License-Identifier: MIT */
/* An alarm as people and programs see it, from the record that came from the kernel. A record is not
 * trusted: what does not fit together is refused. */
#ifndef LULL_LIVE_ALARM_H
#define LULL_LIVE_ALARM_H

#include "live/rule.h"
#include "live/served.h"

/* One part of a wait, and who it was for. */
struct lull_track_part {
    const struct lull_track_hop *hop;
    int64_t start_ns, end_ns;
};

struct lull_track_alarm {
    const struct lull_track_record *record;
    const struct lull_track_rule *rule;
    const struct lull_track_hop *object; /* what it happened to, if not to the task; else NULL */
    int64_t start_ns, end_ns;            /* what the rule measures, CLOCK_MONOTONIC */
    int64_t cpu_from_ns; /* from then on it waited for a CPU; INT64_MAX: not known */
    const char *call;    /* or NULL */
    const char *group;   /* the task's control group; NULL: not known, or nobody has asked */
    const struct lull_served
        *served;  /* of `serve`: what the server did meanwhile; NULL: not known */
    bool is_open; /* it is not over: the rule's time-out has passed */
    bool is_wait; /* of a task, which was in record->state */
    struct lull_track_part part[LULL_TRACK_HOPS]; /* latest first */
    uint32_t n_parts;
    bool is_cut; /* the chain is longer than is kept, or who came before is not known */
    uint32_t n_kernel, n_waker, n_user; /* frames of the stacks */
};

/* Fills `alarm`, which points into `data`. False if it is no record of one of these rules. */
bool lull_track_alarm_read(const void *data, size_t size,
                           const struct lull_track_rule *const *rules, uint32_t n_rules,
                           struct lull_track_alarm *alarm);
/* Whether the rule's filter holds for it. Who calls it has set `group`. */
bool lull_track_alarm_is_wanted(const struct lull_track_alarm *alarm);
/* "S", "D", "R", … as ps has it. */
char lull_track_state_letter(uint32_t state);

#endif
