/* SPDX-License-Identifier: MIT */
/* Reads cpu.max (cpu.cfs_quota_us) and cpu.stat of all control groups that limit CPU time. */
#include "record/quotas.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/groups.h"

static void free_quota(gpointer data)
{
    struct lull_quota *quota = data;
    g_array_unref(quota->pids);
    g_free(quota->path);
    g_free(quota);
}

/* ---- one group ---- */

static bool read_limit(const char *dir, struct lull_quota *quota)
{
    g_autofree char *text = lull_groups_read(dir, "cpu.max");
    if (text) {
        return sscanf(text, "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &quota->quota_us,
                      &quota->period_us) == 2;
    }
    g_autofree char *limit = lull_groups_read(dir, "cpu.cfs_quota_us");
    g_autofree char *period = lull_groups_read(dir, "cpu.cfs_period_us");
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
    g_autofree char *text = lull_groups_read(dir, "cpu.stat");
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
    g_autofree char *text = lull_groups_read(dir, "cgroup.procs");
    g_auto(GStrv) lines = g_strsplit(text ? text : "", "\n", -1);
    for (uint32_t i = 0; lines[i]; i++) {
        const pid_t pid = (pid_t)strtol(lines[i], NULL, 10);
        if (pid > 0) { /* 0: in another namespace */
            g_array_append_val(pids, pid);
        }
    }
}

/* ---- all of them ---- */

static void take_group(void *user, const struct lull_group *group)
{
    GPtrArray *quotas = user;
    struct lull_quota limit = {0};
    if (!read_limit(group->dir, &limit)) {
        return;
    }
    struct lull_quota *quota = g_memdup2(&limit, sizeof limit);
    quota->path = g_strdup(group->path);
    quota->hierarchy = group->hierarchy;
    quota->pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    read_counters(group->dir, quota);
    read_pids(group->dir, quota->pids);
    g_ptr_array_add(quotas, quota);
}

GPtrArray *lull_quotas_read(void)
{
    GPtrArray *quotas = g_ptr_array_new_with_free_func(free_quota);
    lull_groups_visit(take_group, quotas);
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
