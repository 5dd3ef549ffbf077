/* SPDX-License-Identifier: MIT */
/* How this machine is watched, and what that costs and cannot show. */
#ifndef LULL_VIEW_LIVE_HOW_H
#define LULL_VIEW_LIVE_HOW_H

#include <json-c/json.h>

#include "live/tracker.h"
#include "view/view.h"

/* Lines about it, unless it is the best way: what it cannot see, and why it is used. */
void lull_how_text(FILE *file, const struct lull_view_style *style,
                   const struct lull_tracker_how *how);
/* All of that, and what was given up to cost less. */
void lull_how_json(struct json_object *object, const struct lull_tracker_how *how,
                   const struct lull_tracker_counts *counts);

#endif
