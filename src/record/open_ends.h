/* SPDX-License-Identifier: MIT */
/* Who waits for a process now, and for which: for a child to end, or for what has the other end of a pipe or of a socket. Of a
 * wait that has not ended when a recording does no event says that. */
#ifndef LULL_RECORD_OPEN_ENDS_H
#define LULL_RECORD_OPEN_ENDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/state/state.h"

struct lull_open_ends;

/* until_us: of g_get_monotonic_time(); what is not found by then is left out. */
struct lull_open_ends *lull_open_ends_new(gint64 until_us);
void lull_open_ends_free(struct lull_open_ends *ends);

/* A thread sleeps in this system call; no effect if that waits for neither. */
void lull_open_ends_add(struct lull_open_ends *ends, int32_t pid, int32_t tid,
                        const struct lull_state_call *call);

/* Adds who waits for a process alone (struct lull_lock_holder, lock_holders.h). Where several could end a wait, it is for the one
 * among them that waits for no other of them, if there is one such: of a pipeline the first command, of a shell and the
 * command for which it waits, which both have the pipe, the command. */
void lull_open_ends_find(struct lull_open_ends *ends, GArray *found);

#endif
