/* SPDX-License-Identifier: MIT */
/* The threads of a process, from /proc. */
#ifndef LULL_RECORD_TASKS_H
#define LULL_RECORD_TASKS_H

#include <lull/error.h>
#include <stdbool.h>
#include <sys/types.h>

/* Thread ids (pid_t) of the process now. NULL and an error if there is no such process. */
GArray *lull_tasks_of(pid_t pid, GError **error);

/* Whether process ids mean here what they mean in the kernel and so in traces, which is not so in a
 * container with a pid namespace of its own. */
bool lull_tasks_are_global(void);

#endif
