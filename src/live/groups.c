/* SPDX-License-Identifier: MIT */
/* Paths and numbers of control groups: the number of a group is that of its directory, which is also all
 * that a file handle of its hierarchy has (cgroups(7), open_by_handle_at(2), and the kernel's
 * fs/kernfs/mount.c). */
#include "live/groups.h"

#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/groups.h"
#include "record/state/state.h"

/* FILEID_KERNFS of the kernel's include/linux/exportfs.h. */
#define HANDLE_TYPE 0xfe

/* Of a hierarchy, that are kept. */
#define MOST_PATHS 4096

struct handle {
    unsigned int bytes;
    int type;
    uint64_t id;
};

struct lull_groups {
    char *mount[LULL_TRACK_HIERARCHIES]; /* NULL: it is not there */
    int fd[LULL_TRACK_HIERARCHIES];
    GHashTable *paths[LULL_TRACK_HIERARCHIES]; /* number → path */
    char text[16384];                          /* of /proc */
};

/* By enum lull_track_hierarchy; version 2 has none. */
static const char *const controllers[] = {"", "cpu", "memory"};

static void take_mount(void *user, const struct lull_group_mount *mount)
{
    struct lull_groups *groups = user;
    for (uint32_t i = 0; i < LULL_TRACK_HIERARCHIES; i++) {
        const bool is_meant =
            mount->controllers
                ? i != LULL_TRACK_UNIFIED && g_strv_contains(mount->controllers, controllers[i])
                : i == LULL_TRACK_UNIFIED;
        if (is_meant && !groups->mount[i]) {
            groups->mount[i] = g_strdup(mount->place);
            groups->fd[i] = open(mount->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        }
    }
}

struct lull_groups *lull_groups_new(void)
{
    struct lull_groups *groups = g_new0(struct lull_groups, 1);
    for (uint32_t i = 0; i < LULL_TRACK_HIERARCHIES; i++) {
        groups->fd[i] = -1;
        groups->paths[i] = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    }
    lull_group_mounts(take_mount, groups);
    return groups;
}

void lull_groups_free(struct lull_groups *groups)
{
    for (uint32_t i = 0; groups && i < LULL_TRACK_HIERARCHIES; i++) {
        g_free(groups->mount[i]);
        g_hash_table_unref(groups->paths[i]);
        if (groups->fd[i] >= 0) {
            close(groups->fd[i]);
        }
    }
    g_free(groups);
}

void lull_groups_find(const struct lull_groups *groups, const char *path,
                      uint64_t ids[LULL_TRACK_HIERARCHIES])
{
    for (uint32_t i = 0; i < LULL_TRACK_HIERARCHIES; i++) {
        struct stat st;
        g_autofree char *dir = groups->mount[i] ? g_strconcat(groups->mount[i], path, NULL) : NULL;
        ids[i] = dir && *path == '/' && stat(dir, &st) == 0 && S_ISDIR(st.st_mode) ? st.st_ino : 0;
    }
}

/* The path of a group below its mount, while it is there; NULL: it is not. Free with g_free(). */
static char *ask(const struct lull_groups *groups, uint32_t hierarchy, uint64_t id)
{
    struct handle handle = {.bytes = sizeof handle.id, .type = HANDLE_TYPE, .id = id};
    const char *mount = groups->mount[hierarchy];
    if (!mount || groups->fd[hierarchy] < 0) {
        return NULL;
    }
    const int fd =
        open_by_handle_at(groups->fd[hierarchy], (struct file_handle *)&handle, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    g_autofree char *path = g_file_read_link(link, NULL);
    close(fd);
    if (!path || !g_str_has_prefix(path, mount)) {
        return NULL;
    }
    const char *below = path + strlen(mount);
    return g_strdup(*below ? below : "/");
}

/* A number is never used again, so what was found once holds when the group is gone. */
static const char *find_path(struct lull_groups *groups, uint32_t hierarchy, uint64_t id)
{
    GHashTable *known = groups->paths[hierarchy];
    const char *path = id ? g_hash_table_lookup(known, &id) : NULL;
    char *asked = id && !path ? ask(groups, hierarchy, id) : NULL;
    if (asked) {
        if (g_hash_table_size(known) >= MOST_PATHS) {
            g_hash_table_remove_all(known);
        }
        g_hash_table_insert(known, g_memdup2(&id, sizeof id), asked);
    }
    return path ? path : asked;
}

/* As /proc/PID/cgroup would say it. */
const char *lull_groups_path(struct lull_groups *groups, const uint64_t ids[LULL_TRACK_HIERARCHIES])
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < LULL_TRACK_HIERARCHIES; i++) {
        const char *path = find_path(groups, i, ids[i]);
        if (!path && groups->mount[i]) { /* it may be the one that counts */
            return NULL;
        }
        if (path) {
            g_string_append_printf(text, "%u:%s:%s\n", i, controllers[i], path);
        }
    }
    g_strlcpy(groups->text, text->str, sizeof groups->text);
    return lull_state_group(groups->text);
}

const char *lull_groups_of_task(struct lull_groups *groups, uint32_t tid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%u/cgroup", tid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, groups->text, sizeof groups->text - 1);
    if (fd >= 0) {
        close(fd);
    }
    groups->text[n > 0 ? n : 0] = '\0';
    return lull_state_group(groups->text);
}
