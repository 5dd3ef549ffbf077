/* SPDX-License-Identifier: MIT */
/* Joining clocks as the command line says (--no-sync), with a progress bar. */
#ifndef LULL_CMD_JOIN_ARGS_H
#define LULL_CMD_JOIN_ARGS_H

#include "cmd/progress.h"

/* Joins the clocks of the session's hosts; with --no-sync they stay as they were. */
void lull_args_join(const struct lull_args *args, struct lull_session *session);
/* Calls lull_progress_update(); for functions that take a callback. */
void lull_args_progress(void *progress);

#endif
