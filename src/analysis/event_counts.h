/* SPDX-License-Identifier: MIT */
/* How many events of each name every host recorded. */
#ifndef LULL_ANALYSIS_EVENT_COUNTS_H
#define LULL_ANALYSIS_EVENT_COUNTS_H

#include <lull/session.h>

struct lull_event_count {
    uint32_t host;
    const char *name; /* of the session */
    uint64_t count;   /* > 0 */
};

/* Counts within the session's limits and selection: a GArray of struct lull_event_count, largest
 * count first, equal ones by name, then host. Free with g_array_unref(). */
GArray *lull_event_counts(struct lull_session *session);

#endif
