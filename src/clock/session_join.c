/* SPDX-License-Identifier: MIT */
/* The join of clocks as the public API offers it: the session keeps what was found out. */
#include "clock/join.h"

#include "source/session/clocks.h"
#include "source/session/event_filter.h"

void lull_session_join(struct lull_session *session, void (*progress)(void *user), void *user)
{
    /* All packets count for the clocks, whatever the filter wants. */
    struct lull_event_filter *filter = lull_session_take_filter(session);
    struct lull_sync *sync = lull_join_clocks(session, progress, user);
    lull_session_set_filter(session, filter);
    lull_session_keep_sync(session, sync, lull_sync_free);
}

const struct lull_host_clock *lull_session_host_clock(const struct lull_session *session,
                                                      uint32_t host)
{
    static const struct lull_host_clock only = {.is_joined = true, .is_reference = true};
    const struct lull_sync *sync = lull_session_sync(session);
    /* A live session may have got hosts since. */
    if (!sync || host >= lull_sync_host_count(sync)) {
        return NULL;
    }
    return lull_session_host_count(session) == 1 ? &only : &lull_sync_hosts(sync)[host];
}
