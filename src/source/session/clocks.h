/* SPDX-License-Identifier: MIT */
/* How the clocks of a session's hosts were joined. Who joins them lies to the right of this room
 * (src/clock); the session only keeps what was found out. */
#ifndef LULL_SOURCE_SESSION_CLOCKS_H
#define LULL_SOURCE_SESSION_CLOCKS_H

#include <lull/session.h>

struct lull_sync;

/* The session takes `sync` over, until another one comes or a clock is set. */
void lull_session_keep_sync(struct lull_session *session, struct lull_sync *sync,
                            void (*free_sync)(struct lull_sync *sync));
/* NULL: the clocks were not joined. */
struct lull_sync *lull_session_sync(const struct lull_session *session);
/* The UUID of the host's clock: the boot id of its kernel. False: its traces do not say. */
bool lull_session_clock_uuid(const struct lull_session *session, uint32_t host, uint8_t uuid[16]);

#endif
