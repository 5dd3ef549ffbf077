/* The join of clocks that all verbs share. */
#include "cmd/join_args.h"

#include "source/session/event_filter.h"

void lull_args_progress(void *progress)
{
    lull_progress_update(progress);
}

struct lull_sync *lull_args_join(const struct lull_args *args, struct lull_session *session)
{
    if (lull_args_flag(args, "no-sync")) {
        return NULL;
    }
    /* All packets count for the clocks, whatever --filter wants. */
    struct lull_event_filter *filter = lull_session_take_filter(session);
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "joining clocks", false);
    struct lull_sync *sync = lull_join_clocks(session, lull_args_progress, &progress);
    lull_progress_end(&progress);
    lull_session_set_filter(session, filter);
    return sync;
}
