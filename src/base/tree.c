/* Removing, giving away and renaming of directories, without following links. */
#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void lull_tree_remove(const char *path, unsigned depth)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    const char *name;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (unlink(child) != 0 && depth > 0) {
            lull_tree_remove(child, depth - 1);
        }
    }
    rmdir(path);
}

void lull_tree_remove_busy(const char *path, unsigned depth)
{
    struct stat st;
    for (unsigned i = 0; i < 100 && lstat(path, &st) == 0; i++) {
        lull_tree_remove(path, depth);
    }
}

void lull_tree_give(const char *path, uid_t uid, gid_t gid, unsigned depth)
{
    struct stat st;
    bool is_directory = lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
    g_autoptr(GDir) dir = is_directory && depth > 0 ? g_dir_open(path, 0, NULL) : NULL;
    const char *name;
    while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        lull_tree_give(child, uid, gid, depth - 1);
    }
    (void)!lchown(path, uid, gid);
}

bool lull_tree_publish(const char *part, const char *path, GError **error)
{
    if (renameat2(AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0 ||
        (errno == EINVAL && rename(part, path) == 0)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "%s: cannot be made of %s: %s", path, part,
                g_strerror(errno));
    return false;
}
