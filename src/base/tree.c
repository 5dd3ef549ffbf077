/* SPDX-License-Identifier: MIT */
/* Removing and renaming of directories, without following links. */
#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int lull_tree_open(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool lull_tree_is(int at, const char *name, const struct stat *made)
{
    struct stat now;
    return fstatat(at, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&now, made);
}

/* Takes the descriptor. */
static void empty(int fd, unsigned depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *entry;
    if (!dir) {
        close(fd);
        return;
    }
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(fd, entry->d_name, 0) != 0 && depth > 0) {
            lull_tree_remove_at(fd, entry->d_name, depth - 1);
        }
    }
    closedir(dir);
}

void lull_tree_remove_at(int at, const char *name, unsigned depth)
{
    struct stat above, st;
    const int fd = lull_tree_open(at, name);
    if (fd < 0) {
        return;
    }
    if (fstat(fd, &st) == 0 && fstat(at, &above) == 0 && st.st_dev == above.st_dev) {
        empty(fd, depth);
        if (lull_tree_is(at, name, &st)) {
            unlinkat(at, name, AT_REMOVEDIR);
        }
    } else {
        close(fd);
    }
}

/* For file systems that cannot rename without replacing: the name is taken by a directory of ours,
 * and only an empty directory can be replaced by another. */
static bool rename_over_own(int at, const char *part, const char *name)
{
    if (mkdirat(at, name, 0700) != 0) {
        return false;
    }
    if (renameat(at, part, at, name) == 0) {
        return true;
    }
    const int why = errno;
    unlinkat(at, name, AT_REMOVEDIR);
    errno = why;
    return false;
}

bool lull_tree_publish_at(int at, const char *part, const char *name, const struct stat *made)
{
    errno = ESTALE;
    if (!lull_tree_is(at, part, made)) {
        return false;
    }
    if (renameat2(at, part, at, name, RENAME_NOREPLACE) != 0 &&
        (errno != EINVAL || !rename_over_own(at, part, name))) {
        return false;
    }
    errno = ESTALE;
    return lull_tree_is(at, name, made);
}

/* Who may write to a directory may rename what is in it; in one with the sticky bit only what is
 * theirs. */
static bool is_closed(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) &&
           ((st->st_mode & 022) == 0 || (st->st_mode & S_ISVTX) != 0);
}

bool lull_tree_is_beyond_others(int dir)
{
    int fd = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat st, above;
    bool is_good = fd >= 0 && fstat(fd, &st) == 0 && is_closed(&st), is_top = false;
    while (is_good && !is_top) {
        const int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
        is_good = fd >= 0 && fstat(fd, &above) == 0 && is_closed(&above);
        is_top = is_good && is_same(&st, &above);
        st = above;
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_good;
}

/* ---- by path ---- */

static int open_parent(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    return open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

bool lull_tree_path_is_beyond_others(const char *path)
{
    bool is_good = *path == '/';
    for (const char *end = path; is_good && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        g_autofree char *part = g_strndup(path, (gsize)(end - path));
        const int fd = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
        is_good = fd >= 0 && lull_tree_is_beyond_others(fd);
        if (fd >= 0) {
            close(fd);
        }
    }
    return is_good;
}

void lull_tree_remove(const char *path, unsigned depth)
{
    g_autofree char *name = g_path_get_basename(path);
    const int at = open_parent(path);
    if (at >= 0) {
        lull_tree_remove_at(at, name, depth);
        close(at);
    }
}

void lull_tree_remove_busy(const char *path, unsigned depth)
{
    struct stat st;
    for (unsigned i = 0; i < 100 && lstat(path, &st) == 0; i++) {
        lull_tree_remove(path, depth);
    }
}

bool lull_tree_publish(const char *part, const char *path, GError **error)
{
    g_autofree char *from = g_path_get_basename(part), *to = g_path_get_basename(path);
    struct stat st;
    const int at = open_parent(path);
    const bool is_done = at >= 0 && fstatat(at, from, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                         lull_tree_publish_at(at, from, to, &st);
    if (!is_done) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be made of %s: %s", path, part,
                    g_strerror(errno));
    }
    if (at >= 0) {
        close(at);
    }
    return is_done;
}
