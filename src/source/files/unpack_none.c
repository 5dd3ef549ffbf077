/* SPDX-License-Identifier: MIT */
/* In place of unpack.c in a build without libarchive. */
#include "source/files/archive.h"

struct lull_archive *lull_archive_open(const char *path, const struct lull_unpack_watch *watch,
                                       GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                "%s: not a directory (a CTF trace is a directory with a file 'metadata'); this "
                "build of Lull cannot read archives or compressed files, unpack it first",
                path);
    return NULL;
}

struct lull_archive *lull_archive_open_inner(const struct lull_archive *outer, const char *path,
                                             const struct lull_unpack_watch *watch, GError **error)
{
    return lull_archive_open(path, watch, error);
}
