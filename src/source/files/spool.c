/* SPDX-License-Identifier: MIT */
/* The spool: grows in memory up to a limit, then on disk up to another. */
#include "source/files/spool.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/files/archive.h"
#include "source/files/temporary.h"

#define BLOCK (256 << 10)

static bool write_failed(const struct lull_spool *spool, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: its contents do not fit into %s: %s",
                spool->path, spool->on_disk ? g_get_tmp_dir() : "memory", g_strerror(errno));
    return false;
}

static bool copy(const struct lull_spool *spool, int to, GError **error)
{
    g_autofree char *block = g_malloc(BLOCK);
    for (uint64_t at = 0; at < spool->used;) {
        ssize_t n = pread(spool->fd, block, MIN(BLOCK, spool->used - at), (off_t)at);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; /* a hole at the end */
        }
        if (!lull_temporary_write(to, block, (size_t)n, at)) {
            return write_failed(spool, error);
        }
        at += (uint64_t)n;
    }
    return true;
}

/* From memory to disk. */
static bool move_to_disk(struct lull_spool *spool, GError **error)
{
    int fd = lull_temporary_open(error);
    if (fd < 0) {
        return false;
    }
    spool->on_disk = true;
    if (!copy(spool, fd, error)) {
        close(fd);
        return false;
    }
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    spool->fd = fd;
    return true;
}

uint64_t lull_spool_limit(uint64_t size)
{
    if (size > LULL_ARCHIVE_MAX_BYTES / LULL_ARCHIVE_RATIO) {
        return LULL_ARCHIVE_MAX_BYTES;
    }
    return MAX(size * LULL_ARCHIVE_RATIO, LULL_ARCHIVE_FREE_BYTES);
}

bool lull_spool_init(struct lull_spool *spool, const char *path, uint64_t limit, GError **error)
{
    *spool = (struct lull_spool){
        .path = path, .limit = limit, .fd = memfd_create("lull-archive", MFD_CLOEXEC)};
    return spool->fd >= 0 || move_to_disk(spool, error);
}

bool lull_spool_fits(const struct lull_spool *spool, uint64_t end, GError **error)
{
    if (end <= spool->limit) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "%s: it unpacks to more than %" G_GUINT64_FORMAT
                " MiB, far more than its size suggests; if you trust it, unpack it and give Lull "
                "the result",
                spool->path, spool->limit >> 20);
    return false;
}

/* Makes room up to `end`. */
static bool grow(struct lull_spool *spool, uint64_t end, GError **error)
{
    return lull_spool_fits(spool, end, error) &&
           (spool->on_disk || end <= LULL_ARCHIVE_MEMORY_BYTES || move_to_disk(spool, error));
}

bool lull_spool_write(struct lull_spool *spool, const void *data, uint64_t size, uint64_t offset,
                      GError **error)
{
    uint64_t end;
    if (__builtin_add_overflow(offset, size, &end)) {
        end = UINT64_MAX;
    }
    if (!grow(spool, end, error)) {
        return false;
    }
    if (!lull_temporary_write(spool->fd, data, size, offset)) {
        return write_failed(spool, error);
    }
    spool->used = MAX(spool->used, end);
    return true;
}

bool lull_spool_finish(struct lull_spool *spool, GError **error)
{
    return ftruncate(spool->fd, (off_t)spool->used) == 0 || write_failed(spool, error);
}
