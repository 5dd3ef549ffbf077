/* SPDX-License-Identifier: MIT */
/* Copies of another machine's programs and libraries, in a directory that a user names: below it as on that
 * machine (/usr/bin/server), side by side (server), or by build-id (.build-id/). */
#ifndef LULL_SYMBOL_DIRECTORY_H
#define LULL_SYMBOL_DIRECTORY_H

#include <stdbool.h>

#include "symbol/object.h"

struct lull_debuginfod;

/* The copy of the file that was at `path`, with its debug symbols if they are there, too
 * (.build-id/ab/cdef.debug). If `build_id` (hexadecimal digits) is not NULL, it has that one; a file which has
 * another is refused (*is_other). `takes_debug`: a file of debug symbols will do by itself; it does not say which
 * bytes of the file have which addresses. `servers`, or NULL, may have its debug symbols. NULL: there is none that `reader` finds something of use in. */
struct lull_object *lull_directory_read(const char *directory, const char *path,
                                        const char *build_id, bool takes_debug,
                                        lull_object_reader *reader, struct lull_debuginfod *servers,
                                        bool *is_other);

/* Where the file of this path is, by the first "OLD=NEW" of which OLD is it or a directory above it; to be freed with
 * g_free(). NULL: by none. `maps` is NULL-terminated, or NULL. */
char *lull_path_map(const char *const *maps, const char *path);
/* The same as lull_directory_read() of the file at this path, with the debug symbols that are kept for it. */
struct lull_object *lull_directory_read_at(const char *path, const char *build_id,
                                           lull_object_reader *reader,
                                           struct lull_debuginfod *servers, bool *is_other);
/* Opens the copy of a file that is none of these, below the directory as there or side by side, for reading. -1: there
 * is none. */
int lull_directory_open(const char *directory, const char *path);

#endif
