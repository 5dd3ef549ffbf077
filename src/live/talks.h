/* SPDX-License-Identifier: MIT */
/* Which processes have lately talked to whom, over connected sockets of TCP and UDP and unix sockets, also such that are closed and
 * processes that have ended. The kernel keeps the latest LULL_TALKS of them. */
#ifndef LULL_LIVE_TALKS_H
#define LULL_LIVE_TALKS_H

#include <glib.h>
#include <lull/error.h>
#include <stdbool.h>

#include "live/records.h"

struct lull_talks;

/* Starts to watch the machine. NULL and one line that says what it lacks; it needs Linux 6.3, and what lull_tracker_new()
 * needs. Ends with lull_talks_free(), and whatever way this process ends. */
struct lull_talks *lull_talks_new(GError **error);
/* Appends all that there are (struct lull_talk), in no order. `talks` may be NULL: then there are none. */
void lull_talks_list(const struct lull_talks *talks, GArray *list);
void lull_talks_free(struct lull_talks *talks);

#endif
