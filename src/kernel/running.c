/* SPDX-License-Identifier: MIT */
/* Who runs on each CPU: a table by host and CPU. */
#include "kernel/running.h"

#include <string.h>

/* More CPUs than Linux can be built for are not believed. */
#define MOST_CPUS 65536

void lull_running_table_init(struct lull_running_table *table)
{
    table->cpus = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
}

void lull_running_table_clear(struct lull_running_table *table)
{
    g_clear_pointer(&table->cpus, g_ptr_array_unref);
}

struct lull_running *lull_running_on(struct lull_running_table *table,
                                     const struct lull_event *event)
{
    if (event->cpu < 0 || event->cpu >= MOST_CPUS) {
        return NULL;
    }
    while (event->host >= table->cpus->len) { /* live sessions may get more hosts */
        g_ptr_array_add(table->cpus, g_array_new(FALSE, TRUE, sizeof(struct lull_running)));
    }
    GArray *cpus = table->cpus->pdata[event->host];
    if (cpus->len <= (uint32_t)event->cpu) {
        g_array_set_size(cpus, (uint32_t)event->cpu + 1);
    }
    return &g_array_index(cpus, struct lull_running, event->cpu);
}

void lull_running_set(struct lull_running *running, int64_t tid, struct lull_text comm)
{
    const uint32_t length = MIN(comm.length, LULL_COMM_LENGTH);
    running->is_known = true;
    running->tid = tid;
    if (length > 0) {
        memcpy(running->comm, comm.data, length);
    }
    running->comm[length] = '\0';
}
