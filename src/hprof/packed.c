/* SPDX-License-Identifier: MIT */
/* Heap dumps that are packed by gzip, as `jcmd PID GC.heap_dump -gz=1` does. */
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "hprof/private.h"
#include "source/files/spool.h"

#define BLOCK_BYTES (256u << 10)

/* Of a file that was cut what is there: the records say that it is not all. */
static bool unpack(gzFile packed, struct lull_spool *spool, GError **error)
{
    g_autofree uint8_t *block = g_malloc(BLOCK_BYTES);
    int n, why;
    while ((n = gzread(packed, block, BLOCK_BYTES)) > 0) {
        if (!lull_spool_write(spool, block, (uint64_t)n, spool->used, error)) {
            return false;
        }
    }
    const char *text = gzerror(packed, &why);
    if (n < 0 && why != Z_BUF_ERROR) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                    "%s: what is packed in it is damaged after %" G_GUINT64_FORMAT " bytes: %s",
                    spool->path, spool->used, why == Z_ERRNO ? g_strerror(errno) : text);
        return false;
    }
    return true;
}

int hprof_unpack(int fd, uint64_t size, const char *path, GError **error)
{
    struct lull_spool spool;
    gzFile packed = gzdopen(fd, "rb");
    if (!packed) {
        close(fd);
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: no memory to unpack it", path);
        return -1;
    }
    const bool is_open = lull_spool_init(&spool, path, lull_spool_limit(size), error);
    const bool is_done = is_open && unpack(packed, &spool, error);
    gzclose(packed);
    if (is_open && !is_done) {
        close(spool.fd);
    }
    return is_done ? spool.fd : -1;
}
