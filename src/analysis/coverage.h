/* SPDX-License-Identifier: MIT */
/* The time that the events of a session cover. */
#ifndef LULL_ANALYSIS_COVERAGE_H
#define LULL_ANALYSIS_COVERAGE_H

#include <lull/session.h>

/* Times of the first and the last event of any name; first_ns > last_ns if there is none. */
struct lull_coverage {
    int64_t first_ns, last_ns;
};

/* Coverage of each host, or of the one with number only_host (< 0: all). Packets may start long
 * before their first event and end after their last, so lull_session_range() covers more. Reads the
 * first event and the last packets of each host. Afterwards the session has no subscriptions and no
 * limits, and reads all CPUs of only_host. Free with g_free(). */
struct lull_coverage *lull_coverage_find(struct lull_session *session, int32_t only_host);

#endif
