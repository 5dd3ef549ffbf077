/* SPDX-License-Identifier: MIT */
/* Symbols from the files of this machine, for traces that were recorded on it since it started. A
 * name that might belong to another file is worse than none: a file counts only if it is the one
 * that was mapped, and has not changed since. */
#ifndef LULL_SYMBOL_HERE_H
#define LULL_SYMBOL_HERE_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/object.h"

struct lull_debuginfod;
struct lull_symbol_table;

/* Whether this is the boot id of the running kernel. */
bool lull_here_is(const uint8_t boot_id[16]);
/* The kernel's functions, and (unless NULL) where its code starts, or 0; NULL: the user who asks may not see
 * them. */
struct lull_symbol_table *lull_here_kernel(uint64_t *start);
/* Its build-id, to be freed with g_free(), or NULL. */
char *lull_here_kernel_id(void);
/* Opens the file with this inode that was mapped at `mapped_ns` for reading: a regular file of a size
 * that programs have, by no symbolic link. -1: it is gone, or has changed. */
int lull_here_open(const char *path, uint64_t inode, int64_t mapped_ns);
/* For other rules: a descriptor by which a file can only be looked at, -1 if there is none or it is a
 * link; and one to read it, if it `is_good`, for which the first is closed. What is not good is not
 * opened, not for a moment. */
int lull_here_look(const char *path);
int lull_here_take(int place, bool is_good);
/* Reads the symbols of such a file, of files with its debug symbols, too, and closes it. NULL: it has none. */
struct lull_object *lull_here_read(int fd, const char *path);
/* Both, with any reader, and with debug symbols that servers (or NULL) have: of the file with this inode that was mapped at `mapped_ns`; NULL: it is gone, has
 * changed, or has nothing of use. */
struct lull_object *lull_here_file(const char *path, uint64_t inode, int64_t mapped_ns,
                                   lull_object_reader *reader, struct lull_debuginfod *servers);
/* The build of a file with this id (hexadecimal digits), there or where perf keeps copies (~/.debug).
 * NULL: it is gone, another build has its place (*is_other), or it has nothing of use. */
struct lull_object *lull_here_build(const char *path, const char *build_id,
                                    lull_object_reader *reader, struct lull_debuginfod *servers,
                                    bool *is_other);

#endif
