/* SPDX-License-Identifier: MIT */
/* Where in programs tasks waited longest: in which function, where calls were recorded, and by which
 * chains of calls, where these were recorded when tasks stopped running. A short answer for a
 * report. */
#ifndef LULL_ANALYSIS_HOT_WAITS_H
#define LULL_ANALYSIS_HOT_WAITS_H

#include "analysis/analysis.h"

struct lull_hot_waits;

/* Reads the session, from start_ns to end_ns, for the waits of the tasks that params want, on the
 * host or, -1, on all. NULL: neither calls nor chains were recorded, or nobody waited there. The
 * session is borrowed; free with lull_hot_waits_free(). */
struct lull_hot_waits *lull_hot_waits_read(struct lull_session *session,
                                           const struct lull_question_params *params, int32_t host,
                                           int64_t start_ns, int64_t end_ns,
                                           void (*progress)(void *user), void *user);
void lull_hot_waits_free(struct lull_hot_waits *hot);

/* Shows what was read before, params->hot_waits. */
extern const struct lull_analysis_class lull_analysis_hot_waits;

#endif
