/* The option --events of the verbs that go through events. */
#ifndef LULL_CMD_EVENT_ARGS_H
#define LULL_CMD_EVENT_ARGS_H

#include "cmd/verb.h"

/* The names of --events, or all: split at commas. NULL and an error of usage. Free with
 * g_strfreev(). */
char **lull_args_event_names(const struct lull_args *args, GError **error);
/* An event that no trace declares is a slip of the pen: better said than an empty answer. */
bool lull_args_check_event_names(const struct lull_session *session, char *const *names,
                                 GError **error);

#endif
