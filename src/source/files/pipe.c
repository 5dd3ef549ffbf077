/* SPDX-License-Identifier: MIT */
/* What comes through a pipe that the program was started with: `perf record -o - | lull …`. It is
 * read to its end first, because traces are not read in one go. Other pipes are not opened: nobody
 * may ever write to them. */
#include "source/files/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/files/private.h"
#include "source/files/spool.h"

#define BLOCK (256 << 10)

int lull_pipe_inherited(const char *path, const struct stat *st)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!S_ISFIFO(st->st_mode) && !S_ISSOCK(st->st_mode)) {
        return -1;
    }
    if (strcmp(path, "/dev/stdin") == 0) {
        return STDIN_FILENO;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        guint64 fd;
        if (g_str_has_prefix(path, folders[i]) &&
            g_ascii_string_to_unsigned(path + strlen(folders[i]), 10, 0, INT_MAX, &fd, NULL)) {
            return (int)fd;
        }
    }
    return -1;
}

static bool read_all(struct lull_spool *spool, int fd, const struct lull_unpack_watch *watch,
                     GError **error)
{
    g_autofree uint8_t *block = g_malloc(BLOCK);
    for (;;) {
        ssize_t n = read(fd, block, BLOCK);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: %s", spool->path, g_strerror(errno));
            return false;
        }
        if (n == 0) {
            return true;
        }
        if (!lull_spool_write(spool, block, (uint64_t)n, spool->used, error)) {
            return false;
        }
        lull_unpack_progress(watch, spool->path, spool->used, 0);
    }
}

struct lull_archive *lull_archive_of_pipe(const char *path, int fd,
                                          const struct lull_unpack_watch *watch, GError **error)
{
    struct lull_spool spool;
    if (!lull_spool_init(&spool, path, LULL_ARCHIVE_MAX_BYTES, error)) {
        return NULL;
    }
    struct lull_archive *archive = lull_archive_new();
    bool done = read_all(&spool, fd, watch, error);
    archive->fd = spool.fd;
    if (!done) {
        lull_archive_unref(archive);
        return NULL;
    }
    const struct lull_archive_member member = {.name = g_path_get_basename(path),
                                               .size = spool.used};
    g_array_append_val(archive->members, member);
    return archive;
}
