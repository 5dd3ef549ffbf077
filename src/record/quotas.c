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
    g_free(quota->dir);
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

/* ---- while a recording lasts ---- */

/* How long it may take to look for groups, and at those that are known, as one part each in so many, and how often new ones are looked
 * for at most. */
enum { COST_SHARE = 500, LOOK_US = 500000 };

struct lull_quota_log {
    GHashTable *met; /* struct lull_quota as it was last, each once */
    int64_t due_us;  /* when to look for new groups, */
    int64_t next_us; /* and, not before, at those that are known */
    bool is_partial; /* there may be groups that were not looked at */
};

/* One that was made anew under the same name has counted less. */
static bool is_later(const struct lull_quota *quota, const struct lull_quota_counts *before)
{
    return before->periods <= quota->periods &&
           before->throttled_periods <= quota->throttled_periods &&
           before->throttled_ns <= quota->throttled_ns;
}

static void take_group(void *user, const struct lull_group *group)
{
    struct lull_quota_log *log = user;
    struct lull_quota limit = {0};
    if (!read_limit(group->dir, &limit)) {
        return;
    }
    struct lull_quota *quota = g_memdup2(&limit, sizeof limit);
    quota->dir = g_strdup(group->dir);
    quota->path = g_strdup(group->path);
    quota->hierarchy = group->hierarchy;
    quota->pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    read_counters(group->dir, quota);
    read_pids(group->dir, quota->pids);
    const struct lull_quota *known = g_hash_table_lookup(log->met, quota);
    if (known) {
        add_missing(quota->pids, known->pids);
        quota->before = known->before;
    }
    g_hash_table_replace(log->met, quota, quota);
}

static void look(struct lull_quota_log *log)
{
    const int64_t start_us = g_get_monotonic_time();
    log->is_partial |= !lull_groups_visit(take_group, log);
    const int64_t end_us = g_get_monotonic_time();
    log->due_us = end_us + MAX(LOOK_US, (end_us - start_us) * COST_SHARE);
}

/* Those that are known; a group that is gone keeps what it had. */
static void follow(struct lull_quota_log *log)
{
    const int64_t start_us = g_get_monotonic_time();
    GHashTableIter all;
    gpointer key;
    g_hash_table_iter_init(&all, log->met);
    while (g_hash_table_iter_next(&all, &key, NULL)) {
        struct lull_quota *quota = key, now = {0};
        if (quota->is_gone || !read_limit(quota->dir, &now)) {
            quota->is_gone = true;
            continue;
        }
        g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        quota->quota_us = now.quota_us;
        quota->period_us = now.period_us;
        read_counters(quota->dir, quota);
        read_pids(quota->dir, pids);
        add_missing(quota->pids, pids);
    }
    const int64_t end_us = g_get_monotonic_time();
    log->next_us = end_us + (end_us - start_us) * COST_SHARE;
}

struct lull_quota_log *lull_quota_log_start(void)
{
    struct lull_quota_log *log = g_new0(struct lull_quota_log, 1);
    GHashTableIter all;
    gpointer key;
    log->met = g_hash_table_new_full(hash_quota, equal_quotas, free_quota, NULL);
    look(log);
    g_hash_table_iter_init(&all, log->met);
    while (g_hash_table_iter_next(&all, &key, NULL)) {
        struct lull_quota *quota = key;
        quota->before = (struct lull_quota_counts){quota->periods, quota->throttled_periods,
                                                   quota->throttled_ns};
    }
    return log;
}

void lull_quota_log_check(struct lull_quota_log *log)
{
    const int64_t now_us = g_get_monotonic_time();
    if (log && now_us >= log->due_us) {
        look(log);
    } else if (log && now_us >= log->next_us) {
        follow(log);
    }
}

static gint by_path(gconstpointer a, gconstpointer b)
{
    const struct lull_quota *x = *(const struct lull_quota *const *)a;
    const struct lull_quota *y = *(const struct lull_quota *const *)b;
    const int order = strcmp(x->path, y->path);
    return order ? order : (x->hierarchy > y->hierarchy) - (x->hierarchy < y->hierarchy);
}

GPtrArray *lull_quota_log_end(struct lull_quota_log *log, bool *is_all)
{
    GPtrArray *quotas = g_ptr_array_new_with_free_func(free_quota);
    GHashTableIter all;
    gpointer key;
    look(log);
    follow(log);
    g_hash_table_iter_init(&all, log->met);
    while (g_hash_table_iter_next(&all, &key, NULL)) {
        struct lull_quota *quota = key;
        if (is_later(quota, &quota->before)) {
            quota->periods -= quota->before.periods;
            quota->throttled_periods -= quota->before.throttled_periods;
            quota->throttled_ns -= quota->before.throttled_ns;
        }
        g_ptr_array_add(quotas, quota);
        g_hash_table_iter_steal(&all);
    }
    g_ptr_array_sort(quotas, by_path);
    *is_all = !log->is_partial;
    lull_quota_log_free(log);
    return quotas;
}

void lull_quota_log_free(struct lull_quota_log *log)
{
    if (log) {
        g_hash_table_unref(log->met);
        g_free(log);
    }
}
