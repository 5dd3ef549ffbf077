/* SPDX-License-Identifier: MIT */
/* What stands at the top of the page of lull stats: the critical path of what took longest, and why slow
 * instances are slow. */
#ifndef LULL_CMD_STATS_TOP_H
#define LULL_CMD_STATS_TOP_H

#include "cmd/verb.h"

struct lull_query;
struct lull_result_report;

/* Reads the session for it; leaves it without limits and subscriptions. Without requests, instances of
 * --period or a recorded command there is nothing. */
void lull_stats_add_top(const struct lull_args *args, struct lull_session *session,
                        const struct lull_query *query, struct lull_result_report *report);

#endif
