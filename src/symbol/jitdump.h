/* SPDX-License-Identifier: MIT */
/* The code that a program made while it ran, as it wrote it to jit-PID.dump: each piece with its bytes, its name, the
 * time since which it was at its address, and lines of its source (tools/perf/Documentation/jitdump-specification.txt
 * of Linux). A place in such code is where its bytes are in that file, so it stays the same when the address is used
 * again. */
#ifndef LULL_SYMBOL_JITDUMP_H
#define LULL_SYMBOL_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/lines.h"

struct lull_jitdump;
struct lull_object;

/* Whether the file of this path would be one; *pid (or NULL) is the number in its name. */
bool lull_jitdump_is_name(const char *path, int *pid);
/* Opens the file where it was, if it is our own or root's, and has this inode (0: any). -1: it is not there. */
int lull_jitdump_open(const char *path, uint64_t inode);
/* What it is called in a recording; to be freed with g_free(). */
char *lull_jitdump_saved_name(int pid, uint64_t inode);
/* Reads an open file of the process with this number, and closes it. NULL: it is none, or has no code. */
struct lull_jitdump *lull_jitdump_read(int fd, int pid);
/* The same of bytes, which are copied as far as they are needed. */
struct lull_jitdump *lull_jitdump_parse(const void *bytes, size_t size, int pid);
void lull_jitdump_free(struct lull_jitdump *dump);

/* Where in the file the byte is that was at `address` at `time`, in ns on the program's clock; times may not go back.
 * False: no code was there. */
bool lull_jitdump_place(struct lull_jitdump *dump, uint64_t address, uint64_t time,
                        uint64_t *offset);
/* Its functions, by their places in the file; the caller's from then on. */
struct lull_object *lull_jitdump_take_object(struct lull_jitdump *dump);
/* The line of source code of a place in the file. */
struct lull_source_line lull_jitdump_line(const struct lull_jitdump *dump, uint64_t offset);

#endif
