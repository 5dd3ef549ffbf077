/* SPDX-License-Identifier: MIT */
/* A server in a container calls its processes and threads by the numbers that they have there. */
#ifndef LULL_TRIGGER_INSIDE_H
#define LULL_TRIGGER_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes numbers of a process and its thread (0 or less: none) what this machine calls them, if `sender`, the process
 * that named them, as this machine calls it, is in a pid namespace below ours (pid_namespaces(7)). What it names and
 * does not have is -1 then. Does nothing if the sender is not known (0), or has ended.
 * False if a number could not be found. */
bool lull_inside_translate(int32_t sender, int64_t *pid, int64_t *tid);

#endif
