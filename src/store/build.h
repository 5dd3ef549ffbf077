/* SPDX-License-Identifier: MIT */
/* Makes the store of a session in one pass over its facts. */
#ifndef LULL_STORE_BUILD_H
#define LULL_STORE_BUILD_H

#include <lull/session.h>

/* Reads the session, whose clocks are joined, to its end; the store will be `path`, in a directory
 * that exists. `progress` (or NULL) is called every some thousand events. */
bool lull_store_build(struct lull_session *session, const char *path, const uint8_t key[32],
                      void (*progress)(void *user), void *user, GError **error);

#endif
