/* SPDX-License-Identifier: MIT */
/* The recordings of a relay, as `lull info` and `lull print` list them. */
#ifndef LULL_CMD_LIVE_LIST_H
#define LULL_CMD_LIVE_LIST_H

#include "cmd/verb.h"

/* True if the traces of the command line are relays, or sessions of relays when `with_sessions`. */
bool lull_live_list_is_requested(const struct lull_args *args, bool with_sessions);
/* Prints them; the verb's exit status. */
int lull_live_list_print(const struct lull_args *args, GError **error);

#endif
