/* SPDX-License-Identifier: MIT */
/* Files that the user named for writing. The contents of a regular file are kept in memory until
 * they are whole; then they go into a new file beside it that takes its name. Where that would lose
 * something, such as an owner that we may not give, other names or access lists of the file, or
 * where we may write the file but not its directory, it is written in place, as a shell does. */
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"

struct lull_output {
    const char *name;
    FILE *file;
    char *data; /* of a regular file */
    size_t size;
    bool is_regular;
};

static bool fail(const char *name, int reason, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot write “%s”: %s", name,
                g_strerror(reason));
    return false;
}

/* ---- opening ---- */

/* The kernel follows links, and refuses those of others in directories like /tmp. With O_CREAT it
 * also refuses files and pipes of others there. */
static int open_name(const char *name, int more)
{
    return open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | more, 0666);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Nothing of this name is there: this only checks whether there could be, so that the work before
 * it is not in vain, and nothing is left if the program is ended. */
static bool can_create(const char *name)
{
    struct stat st;
    g_autofree char *dir = g_path_get_dirname(name);
    return lstat(name, &st) == 0 || access(dir, W_OK | X_OK) == 0;
}

/* What is there: *fd is open for writing unless it is a regular file or nothing. */
static bool look(const char *name, int *fd, GError **error)
{
    struct stat st, out;
    *fd = -1;
    if (stat(name, &st) != 0) {
        return (errno == ENOENT && can_create(name)) || fail(name, errno, error);
    }
    *fd = open_name(name, 0);
    if (*fd < 0 || fstat(*fd, &st) != 0) {
        return fail(name, errno, error);
    }
    if (fstat(STDOUT_FILENO, &out) == 0 && is_same(&st, &out)) {
        close(*fd);
        *fd = STDOUT_FILENO;
    } else if (S_ISREG(st.st_mode)) {
        close(*fd);
        *fd = -1;
    }
    return true;
}

struct lull_output *lull_output_new(const char *name, GError **error)
{
    int fd = STDOUT_FILENO;
    if (strcmp(name, "-") != 0 && !look(name, &fd, error)) {
        return NULL;
    }
    struct lull_output *output = g_new0(struct lull_output, 1);
    output->name = name;
    output->is_regular = fd < 0;
    output->file = fd == STDOUT_FILENO ? stdout
                   : fd < 0            ? open_memstream(&output->data, &output->size)
                                       : fdopen(fd, "w");
    if (!output->file) {
        fail(name, errno, error);
        g_free(output);
        return NULL;
    }
    return output;
}

FILE *lull_output_file(const struct lull_output *output)
{
    return output->file;
}

/* ---- regular files ---- */

/* The place of an open file, links followed: its directory, opened, and its name there. Or -1. */
static int find_place(int fd, const struct stat *st, char **base)
{
    struct stat found;
    g_autofree char *proc = g_strdup_printf("/proc/self/fd/%d", fd);
    g_autofree char *path = g_file_read_link(proc, NULL);
    g_autofree char *dir = path ? g_path_get_dirname(path) : NULL;
    int dir_fd = dir ? open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    *base = path ? g_path_get_basename(path) : NULL;
    if (dir_fd >= 0 &&
        (fstatat(dir_fd, *base, &found, AT_SYMLINK_NOFOLLOW) != 0 || !is_same(&found, st))) {
        close(dir_fd);
        dir_fd = -1;
    }
    return dir_fd;
}

enum outcome { DONE, FAILED, CANNOT };

/* A new file with the owner and mode of the old one, or CANNOT. */
static enum outcome make_draft(int dir, const char *draft, const struct stat *st, int *fd)
{
    struct stat made;
    *fd = openat(dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0) {
        return CANNOT;
    }
    bool is_ours = fstat(*fd, &made) == 0 && made.st_uid == st->st_uid && made.st_gid == st->st_gid;
    if ((is_ours || fchown(*fd, st->st_uid, st->st_gid) == 0) &&
        fchmod(*fd, st->st_mode & 07777) == 0) {
        return DONE;
    }
    unlinkat(dir, draft, 0);
    close(*fd);
    return CANNOT;
}

static enum outcome replace(const struct lull_output *output, int old, const struct stat *st)
{
    g_autofree char *base = NULL;
    if (st->st_nlink != 1 || fgetxattr(old, "system.posix_acl_access", NULL, 0) > 0) {
        return CANNOT;
    }
    int fd, dir = find_place(old, st, &base);
    g_autofree char *draft = g_strdup_printf(".lull-%08x%08x", g_random_int(), g_random_int());
    enum outcome outcome = dir >= 0 ? make_draft(dir, draft, st, &fd) : CANNOT;
    if (outcome == DONE) {
        bool is_written = lull_file_write(fd, output->data, output->size) == 0;
        int reason = errno;
        if (close(fd) != 0 && is_written) {
            is_written = false;
            reason = errno;
        }
        if (!is_written || renameat(dir, draft, dir, base) != 0) {
            reason = is_written ? errno : reason;
            unlinkat(dir, draft, 0);
            errno = reason;
            outcome = FAILED;
        }
    }
    if (dir >= 0) {
        int reason = errno;
        close(dir);
        errno = reason;
    }
    return outcome;
}

/* Removes the file again that open_name() has just made. */
static void remove_created(int fd, const struct stat *st)
{
    g_autofree char *base = NULL;
    int dir = find_place(fd, st, &base);
    if (dir >= 0) {
        unlinkat(dir, base, 0);
        close(dir);
    }
}

static bool publish(const struct lull_output *output, GError **error)
{
    struct stat st;
    bool is_new = stat(output->name, &st) != 0 && errno == ENOENT;
    int fd = open_name(output->name, O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        return fail(output->name, errno, error);
    }
    enum outcome outcome = CANNOT;
    int reason = EEXIST; /* it has become a device or pipe meanwhile */
    if (S_ISREG(st.st_mode)) {
        outcome = replace(output, fd, &st);
        if (outcome == CANNOT) {
            outcome = ftruncate(fd, 0) == 0 && lull_file_write(fd, output->data, output->size) == 0
                          ? DONE
                          : FAILED;
        }
        reason = errno;
        if (outcome != DONE && is_new) {
            remove_created(fd, &st);
        }
    }
    close(fd);
    return outcome == DONE || fail(output->name, reason, error);
}

/* ---- the end ---- */

static void output_free(struct lull_output *output)
{
    free(output->data);
    g_free(output);
}

bool lull_output_finish(struct lull_output *output, GError **error)
{
    /* What failed before was seen by who wrote it. */
    bool is_written = ferror(output->file) || fflush(output->file) == 0;
    int reason = errno;
    if (output->file != stdout && fclose(output->file) != 0 && is_written) {
        is_written = false;
        reason = errno;
    }
    bool is_done = is_written ? !output->is_regular || publish(output, error)
                              : reason == EPIPE || fail(output->name, reason, error);
    output_free(output);
    return is_done;
}

void lull_output_discard(struct lull_output *output)
{
    if (output->file != stdout) {
        fclose(output->file);
    }
    output_free(output);
}
