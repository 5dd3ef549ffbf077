/* SPDX-License-Identifier: MIT */
/* Which sockets a process has. */
#ifndef LULL_TRIGGER_PROCESS_SOCKETS_H
#define LULL_TRIGGER_PROCESS_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>

/* Calls for the inode of each socket of a process, as long as that returns true. Needs CAP_SYS_PTRACE for processes of others. */
void lull_process_sockets(int64_t pid, bool (*each)(void *user, uint64_t inode), void *user);

#endif
