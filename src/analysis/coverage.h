/* The time that the events of a session cover. */
#ifndef LULL_ANALYSIS_COVERAGE_H
#define LULL_ANALYSIS_COVERAGE_H

#include <lull/session.h>

/* Times of the first and the last event of any name that the selection of the session leaves; false
 * if there is none. Packets may begin before their first event and end after their last, so
 * lull_session_range() may tell more. Reads the first event and the last packets. Afterwards the
 * session has no subscriptions and no limits. */
bool lull_coverage_find(struct lull_session *session, int64_t *first_ns, int64_t *last_ns);

#endif
