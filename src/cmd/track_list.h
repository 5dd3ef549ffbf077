/* SPDX-License-Identifier: MIT */
/* lull track --list: the kinds of waits. */
#ifndef LULL_CMD_TRACK_LIST_H
#define LULL_CMD_TRACK_LIST_H

#include "cmd/verb.h"

/* What each measures, and what this kernel lacks for it. Returns the exit status. */
int lull_track_list(const struct lull_args *args, GError **error);

#endif
