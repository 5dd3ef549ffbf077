/* SPDX-License-Identifier: MIT */
/* Who runs on each CPU, as sched_switch events report it, for those who read no more than that. */
#ifndef LULL_KERNEL_RUNNING_H
#define LULL_KERNEL_RUNNING_H

#include <lull/event.h>

#include "base/cpu_slots.h"
#include "source/session/missing.h"

/* The kernel keeps no more of a name. */
#define LULL_COMM_LENGTH 15

struct lull_running {
    bool is_known;
    int64_t tid;
    char comm[LULL_COMM_LENGTH + 1];
};

struct lull_running_table {
    LULL_VEC(struct lull_running) cpus;
    struct lull_cpu_slots numbers; /* → index in `cpus` + 1 */
    struct lull_missing missing;
};

/* With a session, of which the events come in their order, the table forgets who ran where events are missing; it may
 * rewind that now. NULL: whoever uses the table calls lull_running_forget(). */
void lull_running_table_init(struct lull_running_table *table, struct lull_session *session);
void lull_running_table_clear(struct lull_running_table *table);

/* The entry for where the next event happened, or NULL if that is no CPU. Borrowed until the next call. */
struct lull_running *lull_running_on(struct lull_running_table *table,
                                     const struct lull_event *event);
/* Nothing is known of a CPU of the host, or of all (-1): what it did was not recorded. */
void lull_running_forget(struct lull_running_table *table, uint32_t host, int32_t cpu);
void lull_running_set(struct lull_running *running, int64_t tid, struct lull_text comm);

#endif
