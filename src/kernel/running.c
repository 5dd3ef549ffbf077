/* SPDX-License-Identifier: MIT */
/* Who runs on each CPU: a table by host and CPU. */
#include "kernel/running.h"

#include <string.h>

void lull_running_table_init(struct lull_running_table *table, struct lull_session *session)
{
    *table = (struct lull_running_table){0};
    lull_missing_init(&table->missing, session);
}

void lull_running_table_clear(struct lull_running_table *table)
{
    lull_cpu_slots_free(&table->numbers);
    lull_vec_free(&table->cpus);
    lull_missing_clear(&table->missing);
}

static __attribute__((noinline)) void forget_before(struct lull_running_table *table,
                                                    int64_t time_ns)
{
    struct lull_missing_place place;
    while (lull_missing_take(&table->missing, time_ns, &place)) {
        lull_running_forget(table, place.host, place.cpu);
    }
}

struct lull_running *lull_running_on(struct lull_running_table *table,
                                     const struct lull_event *event)
{
    if (lull_missing_is_due(&table->missing, event->time_ns)) {
        forget_before(table, event->time_ns);
    }
    uint32_t *slot = lull_cpu_slots_at(&table->numbers, event->host, event->cpu);
    if (!slot) {
        return NULL;
    }
    if (*slot == 0) {
        lull_vec_push(&table->cpus, (struct lull_running){.is_known = false});
        *slot = (uint32_t)table->cpus.count;
    }
    return &table->cpus.items[*slot - 1];
}

void lull_running_forget(struct lull_running_table *table, uint32_t host, int32_t cpu)
{
    if (host >= table->numbers.hosts.count) {
        return;
    }
    const struct lull_slots *numbers = &table->numbers.hosts.items[host];
    uint32_t number = cpu < 0 ? 0 : (uint32_t)cpu;
    while (lull_slots_next(numbers, &number) && (cpu < 0 || number == (uint32_t)cpu)) {
        table->cpus.items[lull_slots_get(numbers, number) - 1].is_known = false;
        number++;
    }
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
