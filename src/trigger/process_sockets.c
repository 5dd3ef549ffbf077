/* SPDX-License-Identifier: MIT */
/* /proc/PID/fd names the sockets of a process by their inodes. */
#include "trigger/process_sockets.h"

#include <dirent.h>
#include <glib.h>
#include <unistd.h>

/* The inode of a link such as "socket:[4711]"; 0: it is no socket. */
static uint64_t inode_of(int dir, const char *name)
{
    char text[64];
    const ssize_t n = readlinkat(dir, name, text, sizeof text - 1);
    text[MAX(n, 0)] = '\0';
    return g_str_has_prefix(text, "socket:[") ? g_ascii_strtoull(text + 8, NULL, 10) : 0;
}

void lull_process_sockets(int64_t pid, bool (*each)(void *user, uint64_t inode), void *user)
{
    char path[64];
    g_snprintf(path, sizeof path, "/proc/%" G_GINT64_FORMAT "/fd", pid);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const uint64_t inode = inode_of(dirfd(dir), entry->d_name);
        if (inode > 0 && !each(user, inode)) {
            break;
        }
    }
    if (dir) {
        closedir(dir);
    }
}
