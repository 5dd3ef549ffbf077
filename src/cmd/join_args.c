/* SPDX-License-Identifier: MIT */
/* The join of clocks, and the reading for waits, that verbs share. */
#include "cmd/join_args.h"

void lull_args_progress(void *progress)
{
    lull_progress_update(progress);
}

void lull_args_join(const struct lull_args *args, struct lull_session *session)
{
    if (lull_args_flag(args, "no-sync")) {
        return;
    }
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "joining clocks", false);
    lull_session_join(session, lull_args_progress, &progress);
    lull_progress_end(&progress);
}

void lull_args_read(const struct lull_args *args, struct lull_session *session,
                    struct lull_waits *waits)
{
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    lull_waits_read(waits, lull_args_progress, &progress);
    lull_progress_end(&progress);
}
