/* SPDX-License-Identifier: MIT */
/* Reads cpu.max (cpu.cfs_quota_us) and cpu.stat of all control groups that limit CPU time. */
#include "record/quotas.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Directories below each other, and in all. */
enum { DEEPEST = 32, MOST_GROUPS = 10000 };

struct hierarchy {
    char *mount;    /* where it is mounted */
    char *root;     /* the group that is mounted there */
    int64_t number; /* 0: version 2 */
};

static void free_quota(gpointer data)
{
    struct lull_quota *quota = data;
    g_array_unref(quota->pids);
    g_free(quota->path);
    g_free(quota);
}

static char *read_file(const char *dir, const char *name)
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
    g_autofree char *text = read_file("/proc", "cgroups");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        sscanf(lines[i], "cpu %lld", &number);
    }
    return number;
}

/* "31 24 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct" */
static bool parse_mount(const char *line, struct hierarchy *hierarchy)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    const guint n = g_strv_length(words);
    guint i = 6;
    while (i < n && strcmp(words[i], "-") != 0) {
        i++;
    }
    if (i + 3 >= n || !g_str_has_prefix(words[i + 1], "cgroup")) {
        return false;
    }
    const bool is_second = strcmp(words[i + 1], "cgroup2") == 0;
    g_auto(GStrv) controllers = g_strsplit(words[i + 3], ",", -1);
    if (!is_second && !g_strv_contains((const char *const *)controllers, "cpu")) {
        return false;
    }
    hierarchy->mount = g_strcompress(words[4]);
    hierarchy->root = strcmp(words[3], "/") == 0 ? g_strdup("") : g_strcompress(words[3]);
    hierarchy->number = is_second ? 0 : number_of_cpu();
    return true;
}

/* ---- one group ---- */

static bool read_limit(const char *dir, struct lull_quota *quota)
{
    g_autofree char *text = read_file(dir, "cpu.max");
    if (text) {
        return sscanf(text, "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &quota->quota_us,
                      &quota->period_us) == 2;
    }
    g_autofree char *limit = read_file(dir, "cpu.cfs_quota_us");
    g_autofree char *period = read_file(dir, "cpu.cfs_period_us");
    quota->quota_us = limit ? strtoll(limit, NULL, 10) : 0;
    quota->period_us = period ? strtoll(period, NULL, 10) : 0;
    return quota->quota_us > 0 && quota->period_us > 0;
}

static void read_counters(const char *dir, struct lull_quota *quota)
{
    const struct {
        const char *name;
        int64_t *to;
        int64_t unit;
    } counters[] = {
        {"nr_periods", &quota->periods, 1},
        {"nr_throttled", &quota->throttled_periods, 1},
        {"throttled_time", &quota->throttled_ns, 1},
        {"throttled_usec", &quota->throttled_ns, 1000},
    };
    g_autofree char *text = read_file(dir, "cpu.stat");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        const char *space = strchr(lines[i], ' ');
        for (size_t k = 0; space && k < G_N_ELEMENTS(counters); k++) {
            if (strncmp(lines[i], counters[k].name, space - lines[i]) == 0 &&
                counters[k].name[space - lines[i]] == '\0') {
                *counters[k].to = strtoll(space, NULL, 10) * counters[k].unit;
            }
        }
    }
}

static void read_pids(const char *dir, GArray *pids)
{
    g_autofree char *text = read_file(dir, "cgroup.procs");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        const pid_t pid = (pid_t)strtol(lines[i], NULL, 10);
        if (pid > 0) { /* 0: in another namespace */
            g_array_append_val(pids, pid);
        }
    }
}

/* ---- all of them ---- */

struct walk {
    const struct hierarchy *hierarchy;
    GPtrArray *quotas;
    uint32_t n_groups;
};

static void take_group(struct walk *walk, const char *dir)
{
    struct lull_quota limit = {0};
    if (!read_limit(dir, &limit)) {
        return;
    }
    struct lull_quota *quota = g_memdup2(&limit, sizeof limit);
    quota->path = g_strconcat(walk->hierarchy->root, dir + strlen(walk->hierarchy->mount), NULL);
    quota->hierarchy = walk->hierarchy->number;
    quota->pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    read_counters(dir, quota);
    read_pids(dir, quota->pids);
    g_ptr_array_add(walk->quotas, quota);
}

static void take_below(struct walk *walk, const char *path, int depth)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || depth == DEEPEST ||
            walk->n_groups == MOST_GROUPS) {
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

GPtrArray *lull_quotas_read(void)
{
    GPtrArray *quotas = g_ptr_array_new_with_free_func(free_quota);
    g_autofree char *text = read_file("/proc/self", "mountinfo");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        struct hierarchy hierarchy;
        if (parse_mount(lines[i], &hierarchy)) {
            struct walk walk = {&hierarchy, quotas, 0};
            take_below(&walk, hierarchy.mount, 0);
            g_free(hierarchy.mount);
            g_free(hierarchy.root);
        }
    }
    return quotas;
}

uint64_t lull_quotas_timer(void)
{
    char line[512], name[256];
    unsigned long long address = 0;
    bool is_found = false;
    FILE *file = fopen("/proc/kallsyms", "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        is_found = sscanf(line, "%llx %*c %255s", &address, name) == 2 &&
                   strcmp(name, "sched_cfs_period_timer") == 0;
    }
    if (file) {
        fclose(file);
    }
    return is_found ? address : 0;
}

static guint hash_quota(gconstpointer key)
{
    const struct lull_quota *quota = key;
    return g_str_hash(quota->path) * 31 + (guint)quota->hierarchy;
}

static gboolean equal_quotas(gconstpointer a, gconstpointer b)
{
    const struct lull_quota *x = a, *y = b;
    return x->hierarchy == y->hierarchy && strcmp(x->path, y->path) == 0;
}

static void add_missing(GArray *pids, const GArray *more)
{
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    for (guint i = 0; i < pids->len; i++) {
        g_hash_table_add(known, GINT_TO_POINTER(g_array_index(pids, pid_t, i)));
    }
    for (guint i = 0; i < more->len; i++) {
        const pid_t pid = g_array_index(more, pid_t, i);
        if (g_hash_table_add(known, GINT_TO_POINTER(pid))) {
            g_array_append_val(pids, pid);
        }
    }
}

void lull_quotas_subtract(GPtrArray *now, const GPtrArray *before)
{
    g_autoptr(GHashTable) known = g_hash_table_new(hash_quota, equal_quotas);
    for (guint i = 0; i < before->len; i++) {
        g_hash_table_add(known, before->pdata[i]);
    }
    for (guint i = 0; i < now->len; i++) {
        struct lull_quota *quota = now->pdata[i];
        const struct lull_quota *old = g_hash_table_lookup(known, quota);
        /* One that was made anew under the same name has counted less. */
        if (old && old->periods <= quota->periods && old->throttled_ns <= quota->throttled_ns) {
            quota->periods -= old->periods;
            quota->throttled_periods -= old->throttled_periods;
            quota->throttled_ns -= old->throttled_ns;
            add_missing(quota->pids, old->pids);
        }
    }
}
