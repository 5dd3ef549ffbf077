/* SPDX-License-Identifier: MIT */
/* What tracking saw, what it lost, and what it cost. */
#ifndef LULL_VIEW_LIVE_TRACK_END_H
#define LULL_VIEW_LIVE_TRACK_END_H

#include "view/live/alarm.h"

/* "; lost: nothing", or what. */
void lull_track_losses_append(GString *out, const struct lull_tracker_counts *counts);
void lull_track_losses_json(struct json_object *object, const struct lull_tracker_counts *counts);

/* The last line: what was seen, lost, and what it cost. */
void lull_alarm_end_text(const struct lull_alarm_view *view,
                         const struct lull_tracker_counts *counts, uint64_t n_alarms,
                         uint64_t n_hidden);
void lull_alarm_end_json(const struct lull_alarm_view *view,
                         const struct lull_tracker_counts *counts, uint64_t n_alarms);

#endif
