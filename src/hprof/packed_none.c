/* SPDX-License-Identifier: MIT */
/* Built without zlib: packed heap dumps are refused. */
#include <unistd.h>

#include "hprof/private.h"

int hprof_unpack(int fd, uint64_t size, const char *path, GError **error)
{
    close(fd);
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "%s is packed by gzip, and this Lull was built without zlib: unpack it first",
                path);
    return -1;
}
