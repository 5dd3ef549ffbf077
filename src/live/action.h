/* SPDX-License-Identifier: MIT */
/* The command that alarms run: one at a time, as the user who called. */
#ifndef LULL_LIVE_ACTION_H
#define LULL_LIVE_ACTION_H

#include "record/invoker.h"

struct lull_action {
    const char *command; /* of the shell; NULL: there is none */
    const struct lull_invoker *invoker;
    pid_t pid; /* of the one that runs; 0: none */
    uint64_t n_run;
    uint64_t n_failed;   /* of them */
    uint64_t n_left_out; /* alarms that came while one ran */
};

/* Runs it, with these variables ("NAME=VALUE", ends with NULL) and its output on stderr, unless one runs.
 * One that cannot be started has failed. */
void lull_action_run(struct lull_action *action, const char *const *variables);
/* Takes note of its end; with `waits` not before it has ended. */
void lull_action_reap(struct lull_action *action, bool waits);

#endif
