/* SPDX-License-Identifier: MIT */
/* What counters counted on a path, as the views of paths show it. */
#ifndef LULL_VIEW_PATH_COUNTS_H
#define LULL_VIEW_PATH_COUNTS_H

#include <json-c/json.h>

#include "analysis/path_counts.h"

/* Adds "counters" to an object, if something was counted there. */
void path_counts_add(struct json_object *object, const struct lull_path_counts *counts,
                     const struct lull_counted *counted);

#endif
