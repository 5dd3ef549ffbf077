/* SPDX-License-Identifier: MIT */
/* Joining the clocks of a session: a first reading of packets only. */
#ifndef LULL_CLOCK_JOIN_H
#define LULL_CLOCK_JOIN_H

#include "clock/sync.h"

/* Reads all packets of the session in the hosts' own times, estimates how the clocks relate, and
 * sets the clocks of the session so that whatever is read from then on is in joined time.
 * Subscriptions, limits and selection are undone. Free the result with lull_sync_free(). A session
 * of a single host is left as it is. lull_session_join() does this for users. */
struct lull_sync *lull_join_clocks(struct lull_session *session, void (*progress)(void *user),
                                   void *user);

#endif
