/* SPDX-License-Identifier: MIT */
/* Exit statuses of verbs that run a command: those of shells. */
#ifndef LULL_CMD_STATUS_H
#define LULL_CMD_STATUS_H

#include <errno.h>
#include <sys/wait.h>

/* The command could not be executed; why: errno of execve(2). */
static inline int lull_status_of_exec(int why)
{
    return why == ENOENT ? 127 : 126;
}

/* It has ended; status: of waitpid(2). */
static inline int lull_status_of_wait(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
