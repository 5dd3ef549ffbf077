/* SPDX-License-Identifier: MIT */
/* The command that is recorded: started before the recording, it waits until that has started, and
 * then becomes the command, as the user who called. */
#ifndef LULL_RECORD_COMMAND_H
#define LULL_RECORD_COMMAND_H

#include <signal.h>

#include "record/invoker.h"

struct lull_command {
    pid_t pid;    /* -1: there is none */
    int go, fate; /* pipes: to let it go; from it, why it could not become the command */
    int exec_errno;
    bool has_ended;
    int wait_status; /* when it has ended */
};

/* Forks it, so it has to come before threads. `argv` ends with NULL, as `environment` does ("NAME=VALUE",
 * besides what is inherited; NULL: nothing). */
bool lull_command_start(struct lull_command *command, const char *const *argv,
                        char *const *environment, const struct lull_invoker *invoker,
                        GError **error);
/* Lets it go; false if it cannot be executed, then exec_errno says why. */
bool lull_command_release(struct lull_command *command, const char *name, GError **error);
/* Whether it has ended; with `waits` not before it has. */
bool lull_command_has_ended(struct lull_command *command, bool waits);
/* If it was not released, it never runs. */
void lull_command_end(struct lull_command *command);

#endif
