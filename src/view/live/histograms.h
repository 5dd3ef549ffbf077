/* SPDX-License-Identifier: MIT */
/* How many waits, requests and interrupts were how long: a column for each kind. */
#ifndef LULL_VIEW_LIVE_HISTOGRAMS_H
#define LULL_VIEW_LIVE_HISTOGRAMS_H

#include <json-c/json.h>

#include "live/histories.h"
#include "view/view.h"

/* At most `limit` rows (0: all): the shortest are gathered in the first. */
bool lull_histograms_text(FILE *file, const struct lull_view_style *style,
                          const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                          uint32_t limit, GError **error);
/* By kind, all buckets. */
struct json_object *
lull_histograms_json(const struct lull_track_histogram histogram[LULL_TRACK_MEASURES]);

#endif
