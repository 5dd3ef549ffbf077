/* SPDX-License-Identifier: MIT */
/* Joining clocks as the command line requests it (--no-sync), and reading, with a progress bar. */
#ifndef LULL_CMD_JOIN_ARGS_H
#define LULL_CMD_JOIN_ARGS_H

#include <lull/waits.h>

#include "cmd/progress.h"

/* Joins the clocks of the session's hosts; with --no-sync they stay as they were. */
void lull_args_join(const struct lull_args *args, struct lull_session *session);
/* Reads the session for what its tasks waited for. */
void lull_args_read(const struct lull_args *args, struct lull_session *session,
                    struct lull_waits *waits);
/* Says on standard error that requests cannot be found in such traces, if so. */
void lull_args_warn_requests(const struct lull_args *args, const struct lull_session *session);
/* Calls lull_progress_update(); for functions that take a callback. */
void lull_args_progress(void *progress);

#endif
