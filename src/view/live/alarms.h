/* SPDX-License-Identifier: MIT */
/* The last alarms as a table, the latest first, one of them chosen. */
#ifndef LULL_VIEW_LIVE_ALARMS_H
#define LULL_VIEW_LIVE_ALARMS_H

#include "live/kept.h"
#include "view/live/alarm.h"

/* At most `limit` rows (0: all); `chosen` is the number of a row, or negative. */
bool lull_alarms_table(const struct lull_alarm_view *view, const struct lull_kept *kept,
                       uint32_t limit, int64_t chosen, GError **error);
/* The last `n` alarms, those that are kept, in the order of time: as lull_alarm_text() shows each. */
void lull_alarms_text(const struct lull_alarm_view *view, const struct lull_kept *kept, uint64_t n);
/* The same, as objects in an array. */
struct json_object *lull_alarms_json(const struct lull_alarm_view *view,
                                     const struct lull_kept *kept, uint64_t n);

#endif
