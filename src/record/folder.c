/* SPDX-License-Identifier: MIT */
/* Making the directory of a recording, and giving it its name. */
#include "record/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"

#define DEPTH 4
#define MOST_OF_NAME 40

/* What a recording tells is for its owner: the directory is closed to others.
 *
 * The mark says that the directory is a recording in work, as long as somebody holds its lock. */
static const char mark[] = ".lull-recording";

/* "lull-make-20261121-145500", of the basename of a command. */
static char *make_name(const char *command)
{
    g_autoptr(GDateTime) now = g_date_time_new_now_local();
    g_autofree char *when = g_date_time_format(now, "%Y%m%d-%H%M%S");
    g_autofree char *base = command ? g_path_get_basename(command) : g_strdup("");
    for (char *p = base; *p; p++) {
        if (!g_ascii_isalnum(*p) && !strchr("._+-", *p)) {
            *p = '_';
        }
    }
    if (strlen(base) > MOST_OF_NAME) {
        base[MOST_OF_NAME] = '\0';
    }
    return g_strdup_printf("lull-%s%s%s", base, *base ? "-" : "", when);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static int lock_mark(const char *part, int flags)
{
    g_autofree char *path = g_build_filename(part, mark, NULL);
    const int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Removes a recording in work whose recorder, and whose guard, were killed. */
static void remove_left(const char *part)
{
    const int fd = lock_mark(part, O_RDWR);
    if (fd >= 0) {
        lull_tree_remove(part, DEPTH);
        close(fd);
    }
}

static bool fail(const char *path, const char *why, GError **error)
{
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION, "%s: %s", path, why);
    return false;
}

static void set_paths(struct lull_folder *folder, const char *name)
{
    g_free(folder->path);
    g_free(folder->part);
    folder->path = g_canonicalize_filename(name, NULL);
    folder->part = g_strconcat(folder->path, ".part", NULL);
}

static void choose_paths(struct lull_folder *folder, const char *command)
{
    g_autofree char *name = make_name(command);
    set_paths(folder, name);
    for (unsigned n = 2; n < 100 && (is_there(folder->path) || is_there(folder->part)); n++) {
        g_autofree char *numbered = g_strdup_printf("%s-%u", name, n);
        set_paths(folder, numbered);
    }
}

void lull_folder_init(struct lull_folder *folder, const char *output, const char *command)
{
    *folder = (struct lull_folder){.lock = -1};
    if (output) {
        set_paths(folder, output);
    } else {
        choose_paths(folder, command);
    }
}

bool lull_folder_make(struct lull_folder *folder, GError **error)
{
    remove_left(folder->part);
    if (is_there(folder->path)) {
        return fail(folder->path, "is there already; name a directory that is to be made", error);
    }
    if (mkdir(folder->part, 0700) != 0) {
        return fail(folder->part,
                    errno == EEXIST ? "is there already: another recording is at work, or somebody "
                                      "else made it; remove it if none is"
                                    : g_strerror(errno),
                    error);
    }
    folder->is_made = true;
    return true;
}

bool lull_folder_mark(struct lull_folder *folder, GError **error)
{
    folder->lock = lock_mark(folder->part, O_RDWR | O_CREAT | O_EXCL);
    return folder->lock >= 0 || fail(folder->part, g_strerror(errno), error);
}

bool lull_folder_publish(struct lull_folder *folder, const struct lull_invoker *invoker,
                         GError **error)
{
    g_autofree char *path = g_build_filename(folder->part, mark, NULL);
    unlink(path);
    if (invoker->is_other) {
        lull_tree_give(folder->part, invoker->uid, invoker->gid, DEPTH);
    }
    folder->is_made = !lull_tree_publish(folder->part, folder->path, error);
    return !folder->is_made;
}

void lull_folder_clear(struct lull_folder *folder, bool is_failed)
{
    if (folder->is_made && is_failed) {
        lull_tree_remove_busy(folder->part, DEPTH);
    }
    if (folder->part && folder->lock >= 0) {
        close(folder->lock);
    }
    folder->lock = -1;
    folder->is_made = false;
}
