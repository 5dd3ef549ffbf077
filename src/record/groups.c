/* SPDX-License-Identifier: MIT */
/* Walks through the hierarchies of control groups, as they are mounted. */
#include "record/groups.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Directories below each other, and in all. */
enum { DEEPEST = 32, MOST_GROUPS = 10000 };

char *lull_groups_read(const char *dir, const char *name)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);
    char *text = NULL;
    g_file_get_contents(path, &text, NULL, NULL);
    return text;
}

/* ---- where groups are ---- */

/* "cpu	1	12	1": the number of the hierarchy of version 1 that limits CPU time; -1: not known. */
static int64_t number_of_cpu(void)
{
    long long number = -1;
    g_autofree char *text = lull_groups_read("/proc", "cgroups");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        sscanf(lines[i], "cpu %lld", &number);
    }
    return number;
}

/* "31 24 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct" */
static void take_mount(const char *line,
                       void (*visit)(void *user, const struct lull_group_mount *mount), void *user)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    const guint n = g_strv_length(words);
    guint i = 6;
    while (i < n && strcmp(words[i], "-") != 0) {
        i++;
    }
    if (i + 3 >= n || !g_str_has_prefix(words[i + 1], "cgroup")) {
        return;
    }
    const bool is_second = strcmp(words[i + 1], "cgroup2") == 0;
    g_auto(GStrv) controllers = g_strsplit(words[i + 3], ",", -1);
    g_autofree char *place = g_strcompress(words[4]), *root = g_strcompress(words[3]);
    const char *const *of_first = (const char *const *)controllers;
    visit(user, &(struct lull_group_mount){place, strcmp(root, "/") == 0 ? "" : root,
                                           is_second ? NULL : of_first});
}

void lull_group_mounts(void (*visit)(void *user, const struct lull_group_mount *mount), void *user)
{
    g_autofree char *text = lull_groups_read("/proc/self", "mountinfo");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        take_mount(lines[i], visit, user);
    }
}

/* Not within a container's. Kernels before 4.6 do not say. */
static bool is_in_first_namespace(void)
{
    enum { FIRST_CGROUP_NAMESPACE = 0xeffffffb }; /* PROC_CGROUP_INIT_INO of linux/proc_ns.h */
    struct stat st;
    return stat("/proc/self/ns/cgroup", &st) == 0 && st.st_ino == FIRST_CGROUP_NAMESPACE;
}

/* ---- all of them ---- */

struct walk {
    const struct lull_group_mount *mount;
    int64_t cpu_hierarchy; /* number_of_cpu() */
    int64_t hierarchy;     /* as in struct lull_group */
    uint32_t n_groups;     /* of the hierarchy */
    bool is_whole; /* that which can limit CPU time was mounted with all its groups, and … */
    bool is_cut;   /* some were left out */
    void (*visit)(void *user, const struct lull_group *group);
    void *user;
};

static void take_group(const struct walk *walk, const char *dir)
{
    g_autofree char *path = g_strconcat(walk->mount->root, dir + strlen(walk->mount->place), NULL);
    walk->visit(walk->user, &(struct lull_group){dir, path, walk->hierarchy});
}

static void take_below(struct walk *walk, const char *path, int depth)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    walk->is_cut |= !dir && errno != ENOENT; /* that was removed meanwhile */
    while (dir && (entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') {
            continue;
        }
        if (depth == DEEPEST || walk->n_groups == MOST_GROUPS) {
            walk->is_cut = true;
            continue;
        }
        g_autofree char *below = g_build_filename(path, entry->d_name, NULL);
        walk->n_groups++;
        take_group(walk, below);
        take_below(walk, below, depth + 1);
    }
    if (dir) {
        closedir(dir);
    }
}

static void take_hierarchy(void *user, const struct lull_group_mount *mount)
{
    struct walk *walk = user;
    if (!mount->controllers || g_strv_contains(mount->controllers, "cpu")) {
        walk->mount = mount;
        walk->hierarchy = mount->controllers ? walk->cpu_hierarchy : 0;
        walk->is_whole |= !*mount->root && walk->hierarchy == MAX(walk->cpu_hierarchy, 0);
        walk->n_groups = 0;
        take_below(walk, mount->place, 0);
    }
}

bool lull_groups_visit(void (*visit)(void *user, const struct lull_group *group), void *user)
{
    struct walk walk = {.cpu_hierarchy = number_of_cpu(), .visit = visit, .user = user};
    lull_group_mounts(take_hierarchy, &walk);
    return walk.is_whole && !walk.is_cut && is_in_first_namespace();
}
