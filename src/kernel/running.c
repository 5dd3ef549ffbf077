/* Who runs on each CPU: a table by host and CPU. */
#include "kernel/running.h"

#include <string.h>

/* More CPUs than Linux can be built for are not believed. */
#define MOST_CPUS 65536

void lull_running_table_init(struct lull_running_table *table, uint32_t n_hosts)
{
    table->n_hosts = n_hosts;
    table->cpus = g_new0(GArray *, MAX(n_hosts, 1));
    for (uint32_t i = 0; i < n_hosts; i++)
        table->cpus[i] = g_array_new(FALSE, TRUE, sizeof(struct lull_running));
}

void lull_running_table_clear(struct lull_running_table *table)
{
    for (uint32_t i = 0; i < table->n_hosts; i++)
        g_array_unref(table->cpus[i]);
    g_clear_pointer(&table->cpus, g_free);
    table->n_hosts = 0;
}

struct lull_running *lull_running_on(struct lull_running_table *table,
                                     const struct lull_event *event)
{
    if (event->cpu < 0 || event->cpu >= MOST_CPUS || event->host >= table->n_hosts)
        return NULL;
    GArray *cpus = table->cpus[event->host];
    if (cpus->len <= (uint32_t)event->cpu)
        g_array_set_size(cpus, (uint32_t)event->cpu + 1);
    return &g_array_index(cpus, struct lull_running, event->cpu);
}

void lull_running_set(struct lull_running *running, int64_t tid, struct lull_text comm)
{
    const uint32_t length = MIN(comm.length, LULL_COMM_LENGTH);
    running->is_known = true;
    running->tid = tid;
    if (length > 0)
        memcpy(running->comm, comm.data, length);
    running->comm[length] = '\0';
}
