/* SPDX-License-Identifier: MIT */
/* Who watches while archives are unpacked, and pipes read, as traces are added to a session. */
#ifndef LULL_SOURCE_SESSION_UNPACKING_H
#define LULL_SOURCE_SESSION_UNPACKING_H

#include <lull/session.h>

/* `progress` hears how many bytes of the file have been read, and how many it has (0: not known,
 * of a pipe). NULL: nobody. */
void lull_session_watch_unpacking(struct lull_session *session,
                                  void (*progress)(void *user, const char *path, uint64_t done,
                                                   uint64_t size),
                                  void *user);

#endif
