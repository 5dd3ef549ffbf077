/* SPDX-License-Identifier: MIT */
/* How alarms of `lull track` are shown, one after the other: lines for people, or JSON. */
#ifndef LULL_VIEW_LIVE_ALARM_H
#define LULL_VIEW_LIVE_ALARM_H

#include <json-c/json.h>

#include "live/action.h"
#include "live/names.h"
#include "live/tracker.h"
#include "live/user_names.h"
#include "view/view.h"

struct lull_alarm_view {
    FILE *file;
    struct lull_view_style style;
    struct lull_machine_names *names;
    struct lull_user_names *user_names;
    bool has_histograms;              /* there are no alarms */
    const struct lull_action *action; /* what alarms run, or NULL */
    struct lull_tracker_how how;      /* of the last line */
    int64_t epoch_ns;                 /* what CLOCK_MONOTONIC is to be added to */
};

/* What the flight recorder made of an alarm. */
struct lull_alarm_snapshot {
    const char *result; /* "written", "coalesced", "limited", "failed" */
    const char *path;   /* NULL: nothing shows it */
    const char *why;    /* NULL: there is a path */
    int64_t
        late_ns; /* if it was written: from the end of the wait to when the buffers stood still */
};

/* By enum lull_track_hop_kind, as programs read them. */
extern const char *const lull_track_hop_kinds[LULL_TRACK_HOP_KINDS];

/* Two or three lines: what waited how long, for whom, where in the kernel. */
void lull_alarm_text(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm);
/* What a command that the alarm runs finds in its environment: "LULL_…=…", ends with NULL. */
GStrv lull_alarm_variables(const struct lull_alarm_view *view,
                           const struct lull_track_alarm *alarm);
/* Whom it was for, in a few words: "postgres ← xz ← a timer"; or what it happened to. Free with g_free(). */
char *lull_alarm_cause(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm);
/* A line more: the directory, and what to do next. */
void lull_alarm_snapshot_text(const struct lull_alarm_view *view,
                              const struct lull_alarm_snapshot *snapshot);
/* As programs read it; to be put. `snapshot`: or NULL. */
struct json_object *lull_alarm_object(const struct lull_alarm_view *view,
                                      const struct lull_track_alarm *alarm,
                                      const struct lull_alarm_snapshot *snapshot);
/* That object on one line. */
void lull_alarm_json(const struct lull_alarm_view *view, const struct lull_track_alarm *alarm,
                     const struct lull_alarm_snapshot *snapshot);
/* How many of what each rule is about were how long: a table, or one object on one line. */
bool lull_rule_histograms(const struct lull_alarm_view *view,
                          const struct lull_track_rule *const *rules, uint32_t n_rules,
                          const struct lull_track_histogram *histogram, int64_t start_ns,
                          int64_t end_ns, bool is_json, GError **error);
#endif
