/* SPDX-License-Identifier: MIT */
/* Questions about declared states: what `lull states` and the public API check alike. */
#ifndef LULL_ANSWERS_STATES_QUERY_H
#define LULL_ANSWERS_STATES_QUERY_H

#include "analysis/states.h"
#include "answers/query.h"

/* False with LULL_ERROR_QUESTION if the file has no such group; NULL: none is asked for. */
bool lull_states_check_group(const struct lull_states *states, const char *name, GError **error);
/* Sets slice_ns from what was given for "refresh", or NULL; after the time range. False with an error if it
 * is no duration, or there would be too many slices. */
bool lull_states_set_slices(const struct lull_session *session, const char *given,
                            struct lull_states_question *question, GError **error);

/* Answers a query to the analysis "states". Lines about the file that its reader should know come in
 * `warnings`, before anything else is handed out. */
bool lull_states_query_run(const struct lull_query *query, struct lull_session *session,
                           struct lull_sink *sink, GString *warnings, void (*progress)(void *user),
                           void *user, GError **error);

#endif
