/* SPDX-License-Identifier: MIT */
/* How waits for locks of files are shown that are not over: they are in no row of `lull top`, however long they are. */
#ifndef LULL_VIEW_LIVE_LOCKS_H
#define LULL_VIEW_LIVE_LOCKS_H

#include <glib.h>
#include <stdio.h>

#include "view/view.h"

struct json_object;

/* Those that have lasted longest, a line each; how many lines there are. `locks`: struct lull_lock_wait, or NULL. */
uint32_t lull_locks_text(FILE *file, const struct lull_view_style *style, const GArray *locks);
/* All. */
struct json_object *lull_locks_json(const GArray *locks);

#endif
