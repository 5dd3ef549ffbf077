/* SPDX-License-Identifier: MIT */
/* From the command line to the question that is put to an analysis. */
#ifndef LULL_CMD_ANALYSIS_ARGS_H
#define LULL_CMD_ANALYSIS_ARGS_H

#include "answers/query.h"
#include "cmd/analysis_verb.h"

/* The question that the options ask: their texts. Free with lull_query_free(). */
struct lull_query *lull_args_query(const struct lull_args *args);
/* Parses the periods of the query, which need no session; the first to be parsed. False with
 * LULL_ERROR_USAGE. */
bool lull_args_query_periods(const struct lull_args *args, struct lull_query *query,
                             GError **error);
/* Parses the rest; the session is for --host and the time range. False with LULL_ERROR_USAGE or
 * _QUESTION. */
bool lull_args_query_rest(const struct lull_args *args, struct lull_query *query,
                          struct lull_session *session, GError **error);

/* The duration that an option says: a number of `bare_unit_ns`, or with a unit. Left as it is if
 * the option was not given. */
bool lull_args_duration(const struct lull_args *args, const char *name, double bare_unit_ns,
                        int64_t *value_ns, GError **error);

#endif
