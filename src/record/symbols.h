/* SPDX-License-Identifier: MIT */
/* Takes the names of functions from files that recorded programs have mapped, for the keeper. Such
 * files are hostile: another process reads each of them, and may take a limited time. */
#ifndef LULL_RECORD_SYMBOLS_H
#define LULL_RECORD_SYMBOLS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Appends what symbol/saved.h has of the file that was mapped with this inode at `mapped_ns`, with how its functions
 * call each other if it `wants_frames`; LULL_VDSO and 0 are of the kernel of this machine. False:
 * it is not there any more, it has no symbols, too many, or it takes too long. */
bool lull_symbols_take(GString *to, const char *path, uint64_t inode, int64_t mapped_ns,
                       bool wants_frames);

/* The same of the functions that a process makes while it runs, as it lists them in
 * /tmp/perf-PID.map: a file of who records, written since `since_ns`, when the process had started. */
bool lull_symbols_take_map(GString *to, int pid, int64_t since_ns);

#endif
