/* SPDX-License-Identifier: MIT */
/* Reads /proc/pressure and the *.pressure files of control groups: groups at the start and at the end,
 * as there may be many; the machine also meanwhile. */
#include "record/pressure.h"

#include <stdbool.h>

#include "base/pressure.h"
#include "record/groups.h"

/* A group costs about 30 µs. */
enum { MOST_GROUPS = 1000, MOST_SAMPLES = 512 };
#define FIRST_INTERVAL_NS INT64_C(1000000000)

struct lull_pressure_log {
    struct lull_stalls start, machine;
    GHashTable *before; /* path → struct lull_pressed_group, at the start */
    GPtrArray *groups;
    GArray *samples;
    int64_t interval_ns, next_ns;
};

static void free_group(gpointer data)
{
    struct lull_pressed_group *group = data;
    g_free(group->path);
    g_free(group);
}

/* ---- reading ---- */

static struct lull_stalls read_stalls(const char *dir, const char *suffix)
{
    struct lull_stalls stalls = lull_stalls_unknown();
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        g_autofree char *name = g_strconcat(lull_pressure_names[i], suffix, NULL);
        g_autofree char *text = lull_groups_read(dir, name);
        if (text) {
            lull_pressure_parse(text, &stalls.some_us[i], &stalls.full_us[i]);
        }
    }
    return stalls;
}

static struct lull_stalls read_machine(void)
{
    return read_stalls("/proc/pressure", "");
}

static void take_group(void *user, const struct lull_group *group)
{
    GPtrArray *groups = user;
    if (group->hierarchy == 0 && groups->len < MOST_GROUPS) {
        struct lull_pressed_group *pressed = g_new(struct lull_pressed_group, 1);
        pressed->path = g_strdup(group->path);
        pressed->stalls = read_stalls(group->dir, ".pressure");
        g_ptr_array_add(groups, pressed);
    }
}

static GPtrArray *read_groups(void)
{
    GPtrArray *groups = g_ptr_array_new_with_free_func(free_group);
    lull_groups_visit(take_group, groups);
    return groups;
}

/* ---- differences ---- */

/* What both know. */
static struct lull_stalls since(struct lull_stalls now, struct lull_stalls before)
{
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        int64_t *to = lull_stall_field(&now, i);
        const int64_t from = *lull_stall_field(&before, i);
        *to = *to < 0 || from < 0 ? -1 : *to - from;
    }
    return now;
}

/* Whether each number is at least what it was: else the group was made anew under the same name. */
static bool is_later(struct lull_stalls now, struct lull_stalls before)
{
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        const int64_t number = *lull_stall_field(&now, i);
        if (number >= 0 && number < *lull_stall_field(&before, i)) {
            return false;
        }
    }
    return true;
}

static bool has_stalled(struct lull_stalls stalls)
{
    for (uint32_t i = 0; i < LULL_STALL_FIELDS; i++) {
        if (*lull_stall_field(&stalls, i) > 0) {
            return true;
        }
    }
    return false;
}

/* ---- the log ---- */

struct lull_pressure_log *lull_pressure_start(int64_t now_ns)
{
    const struct lull_stalls start = read_machine();
    if (start.some_us[LULL_PRESSURE_CPU] < 0) {
        return NULL;
    }
    struct lull_pressure_log *log = g_new0(struct lull_pressure_log, 1);
    log->start = start;
    log->before = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_group);
    GPtrArray *groups = read_groups();
    for (guint i = 0; i < groups->len; i++) {
        struct lull_pressed_group *group = groups->pdata[i];
        g_hash_table_replace(log->before, group->path, group);
    }
    g_ptr_array_set_free_func(groups, NULL);
    g_ptr_array_unref(groups);
    log->samples = g_array_new(FALSE, FALSE, sizeof(struct lull_pressure_sample));
    log->interval_ns = FIRST_INTERVAL_NS;
    log->next_ns = now_ns + log->interval_ns;
    return log;
}

void lull_pressure_free(struct lull_pressure_log *log)
{
    if (log) {
        g_hash_table_unref(log->before);
        g_clear_pointer(&log->groups, g_ptr_array_unref);
        g_array_unref(log->samples);
        g_free(log);
    }
}

static void add_sample(struct lull_pressure_log *log, int64_t now_ns)
{
    const struct lull_pressure_sample sample = {now_ns, since(read_machine(), log->start)};
    if (log->samples->len == MOST_SAMPLES) {
        for (guint i = 0; i < MOST_SAMPLES / 2; i++) {
            g_array_index(log->samples, struct lull_pressure_sample, i) =
                g_array_index(log->samples, struct lull_pressure_sample, 2 * i + 1);
        }
        g_array_set_size(log->samples, MOST_SAMPLES / 2);
        log->interval_ns *= 2;
    }
    g_array_append_val(log->samples, sample);
    log->next_ns = now_ns + log->interval_ns;
}

void lull_pressure_check(struct lull_pressure_log *log, int64_t now_ns)
{
    if (log && now_ns >= log->next_ns) {
        add_sample(log, now_ns);
    }
}

void lull_pressure_end(struct lull_pressure_log *log, int64_t now_ns)
{
    if (!log) {
        return;
    }
    add_sample(log, now_ns);
    log->machine =
        g_array_index(log->samples, struct lull_pressure_sample, log->samples->len - 1).stalls;
    log->groups = g_ptr_array_new_with_free_func(free_group);
    g_autoptr(GPtrArray) now = read_groups();
    g_ptr_array_set_free_func(now, NULL);
    for (guint i = 0; i < now->len; i++) {
        struct lull_pressed_group *group = now->pdata[i];
        const struct lull_pressed_group *before = g_hash_table_lookup(log->before, group->path);
        if (before && is_later(group->stalls, before->stalls)) {
            group->stalls = since(group->stalls, before->stalls);
        }
        if (has_stalled(group->stalls)) {
            g_ptr_array_add(log->groups, group);
        } else {
            free_group(group);
        }
    }
}

const struct lull_stalls *lull_pressure_machine(const struct lull_pressure_log *log)
{
    return &log->machine;
}

const GPtrArray *lull_pressure_groups(const struct lull_pressure_log *log)
{
    return log->groups;
}

const GArray *lull_pressure_samples(const struct lull_pressure_log *log)
{
    return log->samples;
}
