/* SPDX-License-Identifier: MIT */
/* The file "lull/last" of the state directory: one line, the path of the last recording. */
#include "record/last.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/tree.h"

#define MOST_BYTES 65536
#define FOLDER "lull"
#define FILE_NAME "last"

/* ---- writing ---- */

/* Root follows no links, which others may have made. */
static int open_directory(const char *path)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = geteuid() == 0 ? RESOLVE_NO_SYMLINKS : 0};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Directories of the path that are not there are made, and belong to us. Root makes none where
 * others could lead it elsewhere. -1: it cannot be had. */
static int open_state(const char *path)
{
    int at = -1;
    g_autofree char *there = g_strdup(path);
    while ((at = open_directory(there)) < 0 && errno == ENOENT) {
        char *above = g_path_get_dirname(there);
        g_free(there);
        there = above;
    }
    if (at >= 0 && geteuid() == 0 && !lull_tree_is_beyond_others(at)) {
        close(at);
        return -1;
    }
    g_auto(GStrv) missing = g_strsplit(path + strlen(there), "/", -1);
    for (uint32_t i = 0; at >= 0 && missing[i]; i++) {
        if (*missing[i]) {
            const int below =
                mkdirat(at, missing[i], 0700) == 0 ? lull_tree_open(at, missing[i]) : -1;
            close(at);
            at = below;
        }
    }
    return at;
}

/* Ours, whatever was there before. */
static int open_folder(int state)
{
    struct stat st;
    (void)!mkdirat(state, FOLDER, 0700);
    const int fd = lull_tree_open(state, FOLDER);
    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

static void write_line(int folder, const char *line)
{
    g_autofree char *early = g_strdup_printf(FILE_NAME ".%08x", g_random_int());
    const int fd =
        openat(folder, early, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    const size_t size = strlen(line);
    const bool is_written = write(fd, line, size) == (ssize_t)size;
    if (close(fd) != 0 || !is_written || renameat(folder, early, folder, FILE_NAME) != 0) {
        unlinkat(folder, early, 0);
    }
}

void lull_last_set(const struct lull_invoker *invoker, const char *path)
{
    g_autofree char *dir = lull_invoker_state_dir(invoker);
    g_autofree char *line = g_strconcat(path, "\n", NULL);
    const int state = dir ? open_state(dir) : -1;
    const int folder = state >= 0 ? open_folder(state) : -1;
    if (folder >= 0) {
        write_line(folder, line);
        close(folder);
    }
    if (state >= 0) {
        close(state);
    }
}

/* ---- reading ---- */

/* Root reads it for who called sudo, who may have put anything there. The line without its end;
 * NULL: there is none. Free with g_free(). */
static char *read_line(const char *path)
{
    g_autofree char *text = g_malloc(MOST_BYTES);
    struct stat st;
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t n = -1;
    if (fd >= 0) {
        n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, text, MOST_BYTES) : -1;
        close(fd);
    }
    return n > 1 && n < MOST_BYTES && text[n - 1] == '\n' ? g_strndup(text, (gsize)n - 1) : NULL;
}

char *lull_last_get(void)
{
    struct lull_invoker invoker;
    char *path = NULL;
    if (lull_invoker_init(&invoker, NULL)) {
        g_autofree char *dir = lull_invoker_state_dir(&invoker);
        g_autofree char *file = dir ? g_build_filename(dir, FOLDER, FILE_NAME, NULL) : NULL;
        path = file ? read_line(file) : NULL;
        g_autofree char *description = path ? g_build_filename(path, "recording.json", NULL) : NULL;
        if (description && !g_file_test(description, G_FILE_TEST_IS_REGULAR)) {
            g_clear_pointer(&path, g_free);
        }
    }
    lull_invoker_clear(&invoker);
    return path;
}
