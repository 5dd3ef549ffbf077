/* What tasks were called, by time: perf tells of new names in records of their own, and the events
 * of one CPU are written before those of another. */
#include "source/perf.h"

#include <string.h>

#define NAME_BYTES 16u

struct name {
    uint64_t time;
    char text[NAME_BYTES]; /* not terminated if it fills all */
};

struct perf_names {
    GHashTable *tasks; /* tid to GArray of struct name, by time */
};

static void free_task(gpointer task)
{
    g_array_unref(task);
}

struct perf_names *perf_names_new(void)
{
    struct perf_names *names = g_new0(struct perf_names, 1);
    names->tasks = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, free_task);
    return names;
}

void perf_names_free(struct perf_names *names)
{
    if (names == NULL)
        return;
    g_hash_table_unref(names->tasks);
    g_free(names);
}

/* Drops names that no event can be of any more: all but the last of those before `settled`. */
static void forget(GArray *task, uint64_t settled)
{
    guint n = 0;
    while (n + 1 < task->len && g_array_index(task, struct name, n + 1).time <= settled)
        n++;
    if (n > 0)
        g_array_remove_range(task, 0, n);
}

void perf_names_set(struct perf_names *names, uint32_t tid, uint64_t time, const char *text,
                    uint64_t settled)
{
    GArray *task = g_hash_table_lookup(names->tasks, GUINT_TO_POINTER(tid));
    struct name name = {.time = time};
    memcpy(name.text, text, strnlen(text, NAME_BYTES));
    if (task == NULL) {
        task = g_array_new(FALSE, FALSE, sizeof(struct name));
        g_hash_table_insert(names->tasks, GUINT_TO_POINTER(tid), task);
    }
    forget(task, settled);
    g_array_append_val(task, name);
}

const char *perf_names_find(const struct perf_names *names, uint32_t tid, uint64_t time)
{
    static const char none[NAME_BYTES], idle[NAME_BYTES] = "swapper";
    const GArray *task = g_hash_table_lookup(names->tasks, GUINT_TO_POINTER(tid));
    if (task == NULL)
        return tid == 0 ? idle : none;
    const struct name *list = (const struct name *)(const void *)task->data;
    guint i = task->len - 1;
    while (i > 0 && list[i].time > time)
        i--;
    return list[i].text;
}

void perf_names_fork(struct perf_names *names, uint32_t parent, uint32_t child, uint64_t time,
                     uint64_t settled)
{
    char text[NAME_BYTES + 1] = "";
    memcpy(text, perf_names_find(names, parent, time), NAME_BYTES);
    if (text[0] != '\0')
        perf_names_set(names, child, time, text, settled);
}
