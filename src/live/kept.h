/* SPDX-License-Identifier: MIT */
/* The last alarms, for those who look at them later. */
#ifndef LULL_LIVE_KEPT_H
#define LULL_LIVE_KEPT_H

#include "live/alarm.h"

enum { LULL_KEPT_ALARMS = 100 };

struct lull_kept;

/* The rules are borrowed. Free with lull_kept_free(). */
struct lull_kept *lull_kept_new(const struct lull_track_rule *const *rules, uint32_t n_rules);
void lull_kept_free(struct lull_kept *kept);
/* Copies what the alarm says. */
void lull_kept_add(struct lull_kept *kept, const struct lull_track_alarm *alarm);
/* How many there have been; the last LULL_KEPT_ALARMS of them are kept. */
uint64_t lull_kept_count(const struct lull_kept *kept);
/* Alarm `i`, counted from the latest, which is 0. False if it is not kept. *alarm is valid until the next
 * is added. */
bool lull_kept_get(const struct lull_kept *kept, uint32_t i, struct lull_track_alarm *alarm);

#endif
