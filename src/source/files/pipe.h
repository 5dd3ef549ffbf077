/* SPDX-License-Identifier: MIT */
/* Standard input and other pipes that the program was started with. */
#ifndef LULL_SOURCE_FILES_PIPE_H
#define LULL_SOURCE_FILES_PIPE_H

#include <sys/stat.h>

#include "source/files/archive.h"

/* The descriptor that `path` names (/dev/stdin, /dev/fd/N), if it is a pipe or a socket; or -1. */
int lull_pipe_inherited(const char *path, const struct stat *st);
/* What comes through it, to the end, as the only member of an archive, called as the last part of
 * the path. */
struct lull_archive *lull_archive_of_pipe(const char *path, int fd,
                                          const struct lull_unpack_watch *watch, GError **error);

#endif
