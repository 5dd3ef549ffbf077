/* SPDX-License-Identifier: MIT */
/* What both sides of a recorder's socket know. */
#ifndef LULL_RECORD_CONTROL_PRIVATE_H
#define LULL_RECORD_CONTROL_PRIVATE_H

#include "record/control.h"

#define LULL_CONTROL_SOCKET "socket"
/* Of a message: a path and a letter. */
#define LULL_CONTROL_MOST_BYTES 8192u

/* What a message begins with. */
enum { LULL_CONTROL_ASKS = 's', LULL_CONTROL_IS_DONE = 'd', LULL_CONTROL_FAILS = 'f' };

/* Below it the recorders of that user have their directories. Free with g_free(). */
char *lull_control_root(uid_t uid);
/* Whether nobody but the user can have put something there. */
bool lull_control_is_safe(const char *path, uid_t uid);
/* The socket in the directory of a recorder; -1, with errno. */
int lull_control_connect(const char *dir);

#endif
