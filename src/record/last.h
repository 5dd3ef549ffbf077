/* SPDX-License-Identifier: MIT */
/* The last recording of a user: its path, in a file of the user's state directory. */
#ifndef LULL_RECORD_LAST_H
#define LULL_RECORD_LAST_H

#include "record/invoker.h"

/* Remembers it, as far as that is possible: it is a convenience. To be called as the invoker. */
void lull_last_set(const struct lull_invoker *invoker, const char *path);
/* The last recording, if it is there still. Free with g_free(); NULL: none. */
char *lull_last_get(void);

#endif
