/* SPDX-License-Identifier: MIT */
/* Temporary files that vanish with their descriptor. */
#include "source/files/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int lull_temporary_open(GError **error)
{
    const char *dir = g_get_tmp_dir();
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
    if (fd < 0) { /* not every file system can do that */
        g_autofree char *name = g_build_filename(dir, "lull-XXXXXX", NULL);
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0) {
            unlink(name);
        }
    }
    if (fd < 0) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: no temporary file can be made: %s", dir,
                    g_strerror(errno));
    }
    return fd;
}

bool lull_temporary_write(int fd, const void *data, size_t size, uint64_t offset)
{
    const char *from = data;
    while (size > 0) {
        ssize_t n = pwrite(fd, from, size, (off_t)offset);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        from += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

/* ---- reading ---- */

struct temporary_bytes {
    struct lull_bytes base;
    int fd;
};

static const char *bytes_open(struct lull_bytes *base)
{
    return NULL;
}

static uint64_t bytes_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                           const char **why)
{
    const struct temporary_bytes *bytes = (const struct temporary_bytes *)base;
    ssize_t n;
    do {
        n = pread(bytes->fd, buf, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        *why = n < 0 ? g_strerror(errno)
                     : "the temporary file became shorter while it was being "
                       "read";
    }
    return n < 0 ? 0 : (uint64_t)n;
}

static void bytes_close(struct lull_bytes *base)
{
}

static void bytes_free(struct lull_bytes *base)
{
    g_free(base);
}

static struct lull_bytes *bytes_share(const struct lull_bytes *base)
{
    return lull_temporary_bytes(((const struct temporary_bytes *)base)->fd);
}

struct lull_bytes *lull_temporary_bytes(int fd)
{
    static const struct lull_bytes_ops ops = {.open = bytes_open,
                                              .read = bytes_read,
                                              .close = bytes_close,
                                              .free = bytes_free,
                                              .share = bytes_share};
    struct temporary_bytes *bytes = g_new0(struct temporary_bytes, 1);
    bytes->base.ops = &ops;
    bytes->fd = fd;
    return &bytes->base;
}
