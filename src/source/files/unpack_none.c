/* SPDX-License-Identifier: MIT */
/* In place of unpack.c in a build without libarchive. */
#include "source/files/archive.h"

struct lull_archive *lull_archive_open(const char *path,
                                       void (*problem)(void *user, const char *text), void *user,
                                       GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                "%s: not a directory (a CTF trace is a directory with a file 'metadata'); this "
                "build of Lull cannot read archives, unpack it first",
                path);
    return NULL;
}
