/* SPDX-License-Identifier: MIT */
/* The options that say which events a verb goes through. */
#ifndef LULL_CMD_EVENT_ARGS_H
#define LULL_CMD_EVENT_ARGS_H

#include "cmd/verb.h"
#include "kernel/running_filter.h"

/* The names of --events, or all: split at commas. NULL and an error of usage. Free with
 * g_strfreev(). */
char **lull_args_event_names(const struct lull_args *args, GError **error);
/* An event that no trace declares is a slip of the pen: better said than an empty answer. */
bool lull_args_check_event_names(const struct lull_session *session, char *const *names,
                                 GError **error);
/* Limits the session to what the options ask for, and to events of these names; subscribes to them.
 * NULL and an error if it cannot be. That no process is that of --pid is found out here only if all must
 * be read for it. Free with lull_running_filter_free(). */
struct lull_running_filter *lull_args_select_events(const struct lull_args *args,
                                                    struct lull_session *session,
                                                    char *const *names, GError **error);
/* After no event was found, or none of something that was asked for: false and an error if --tid, --pid or --comm name
 * what no task had; else it may say that nothing was found. */
bool lull_args_explain_nothing(const struct lull_args *args, struct lull_session *session,
                               bool is_said, GError **error);

#endif
