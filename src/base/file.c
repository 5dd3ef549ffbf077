/* SPDX-License-Identifier: MIT */
/* Opening the files of a trace. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_of_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "it is a directory"
           : S_ISFIFO(mode) ? "it is a pipe, not a regular file"
           : S_ISSOCK(mode) ? "it is a socket, not a regular file"
                            : "it is a device, not a regular file";
}

static enum lull_open_status check(const struct stat *st, const char **why)
{
    if (S_ISREG(st->st_mode)) {
        return LULL_OPEN_DONE;
    }
    *why = name_of_kind(st->st_mode);
    return S_ISDIR(st->st_mode) ? LULL_OPEN_DIRECTORY : LULL_OPEN_REFUSED;
}

static enum lull_open_status failed(const char **why)
{
    *why = errno == EMFILE || errno == ENFILE
               ? "no more files may be open: raise the limit (ulimit -n)"
               : g_strerror(errno);
    return errno == ENOENT || errno == ENOTDIR ? LULL_OPEN_ABSENT : LULL_OPEN_REFUSED;
}

enum lull_open_status lull_file_open(const char *path, int *fd, uint64_t *size, const char **why)
{
    struct stat st;
    *fd = -1;
    if (stat(path, &st) != 0) {
        return failed(why);
    }
    /* Looked at first, because opening a device alone may do something. */
    enum lull_open_status status = check(&st, why);
    if (status != LULL_OPEN_DONE) {
        return status;
    }
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) {
        return failed(why);
    }
    status = fstat(*fd, &st) == 0 ? check(&st, why) : failed(why);
    if (status != LULL_OPEN_DONE) {
        close(*fd);
        *fd = -1;
    } else if (size) {
        *size = (uint64_t)st.st_size;
    }
    return status;
}

bool lull_file_check_size(const char *path, uint64_t size, uint64_t most_bytes, GError **error)
{
    if (size <= most_bytes) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_FORMAT,
                "%s: its %" G_GUINT64_FORMAT
                " bytes are more than such a file can have (%" G_GUINT64_FORMAT ")",
                path, size, most_bytes);
    return false;
}

static bool fail(const char *path, const char *why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", path, why);
    return false;
}

static bool read_open(int fd, const char *path, uint64_t size, char **data, gsize *length,
                      GError **error)
{
    g_autofree char *bytes = g_try_malloc(size + 1);
    gsize done = 0;
    ssize_t n = 1;
    if (!bytes) {
        return fail(path, g_strerror(ENOMEM), error);
    }
    while (done < size && n != 0) {
        n = read(fd, bytes + done, size - done);
        if (n < 0 && errno != EINTR) {
            return fail(path, g_strerror(errno), error);
        }
        done += n > 0 ? (gsize)n : 0;
    }
    bytes[done] = '\0';
    *data = g_steal_pointer(&bytes);
    *length = done;
    return true;
}

bool lull_file_read(const char *path, uint64_t most_bytes, char **data, gsize *size, GError **error)
{
    int fd;
    uint64_t length;
    const char *why;
    if (lull_file_open(path, &fd, &length, &why) != LULL_OPEN_DONE) {
        return fail(path, why, error);
    }
    bool done = lull_file_check_size(path, length, most_bytes, error) &&
                read_open(fd, path, length, data, size, error);
    close(fd);
    return done;
}

int lull_file_write(int fd, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        const ssize_t n = write(fd, at, size);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            return n == 0 ? (errno = EIO) : errno;
        }
    }
    return 0;
}

FILE *lull_file_open_lines(int directory, const char *path)
{
    const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0) {
        close(fd);
    }
    return file;
}
