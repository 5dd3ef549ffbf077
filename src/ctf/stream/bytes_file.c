/* SPDX-License-Identifier: MIT */
/* Bytes of a stream file, read in order with pread(). */
#include "ctf/stream/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "base/file.h"

struct file_bytes {
    struct lull_bytes base;
    char *path;
    int fd;
};

static void file_close(struct lull_bytes *base)
{
    struct file_bytes *file = (struct file_bytes *)base;
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}

static const char *open_now(struct file_bytes *file)
{
    const char *why;
    if (lull_file_open(file->path, &file->fd, NULL, &why) != LULL_OPEN_DONE) {
        return why;
    }
    posix_fadvise(file->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return NULL;
}

static const char *file_open(struct lull_bytes *base)
{
    const char *why = open_now((struct file_bytes *)base);
    if (base->is_brief) {
        file_close(base);
    }
    return why;
}

static uint64_t file_read(struct lull_bytes *base, uint64_t offset, uint8_t *buf, uint64_t size,
                          const char **why)
{
    struct file_bytes *file = (struct file_bytes *)base;
    if (file->fd < 0 && (*why = open_now(file))) {
        return 0;
    }
    ssize_t n;
    do {
        n = pread(file->fd, buf, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        *why = n < 0 ? g_strerror(errno) : "the file has become shorter";
    }
    if (base->is_brief) {
        file_close(base);
    }
    return n < 0 ? 0 : (uint64_t)n;
}

static void file_free(struct lull_bytes *base)
{
    struct file_bytes *file = (struct file_bytes *)base;
    g_free(file->path);
    g_free(file);
}

static struct lull_bytes *file_share(const struct lull_bytes *base)
{
    return lull_bytes_of_file(((const struct file_bytes *)base)->path);
}

struct lull_bytes *lull_bytes_of_file(const char *path)
{
    static const struct lull_bytes_ops ops = {.open = file_open,
                                              .read = file_read,
                                              .close = file_close,
                                              .free = file_free,
                                              .share = file_share};
    struct file_bytes *file = g_new0(struct file_bytes, 1);
    file->base.ops = &ops;
    file->path = g_strdup(path);
    file->fd = -1;
    return &file->base;
}
