/* SPDX-License-Identifier: MIT */
/* What both sides of a recorder's socket know. */
#ifndef LULL_RECORD_CONTROL_PRIVATE_H
#define LULL_RECORD_CONTROL_PRIVATE_H

#include <dirent.h>
#include <sys/stat.h>

#include "record/control.h"

#define LULL_CONTROL_SOCKET "socket"
/* Of a message: a path and a letter. */
#define LULL_CONTROL_MOST_BYTES 8192u

/* What a message starts with. */
enum { LULL_CONTROL_REQUEST = 's', LULL_CONTROL_IS_DONE = 'd', LULL_CONTROL_FAILS = 'f' };

/* Below it the recorders of that user have their directories. Free with g_free(). */
char *lull_control_root(uid_t uid);
/* The directory, if nobody but the user can have put something there; NULL, with errno. */
DIR *lull_control_open_root(const char *path, uid_t uid);
/* A recorder of that user, by the name of its directory; `st` is that of its socket. -1, with errno.
 */
int lull_control_connect(int root, const char *name, uid_t uid, struct stat *st);
/* Whether a recorder may have a directory of that name. */
bool lull_control_is_name(const char *name, pid_t *pid);

#endif
