/* SPDX-License-Identifier: MIT */
/* Whether traces of perf miss what CPUs do while they are idle. */
#ifndef LULL_ANALYSIS_HIDDEN_IDLE_H
#define LULL_ANALYSIS_HIDDEN_IDLE_H

#include <lull/session.h>

/* By host, see lull_model_hides_idle(); reads the session, if a trace is of perf. NULL: none is.
 * Free with g_free(). */
bool *lull_hidden_idle(struct lull_session *session);

#endif
