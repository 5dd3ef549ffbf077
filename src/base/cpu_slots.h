/* SPDX-License-Identifier: MIT */
/* A number for each CPU of each host that events come from. Zeroed it is a valid empty one; 0 in a slot means that nothing was put
 * there, as in lull_slots. */
#ifndef LULL_BASE_CPU_SLOTS_H
#define LULL_BASE_CPU_SLOTS_H

#include "base/slots.h"
#include "base/vec.h"

struct lull_cpu_slots {
    LULL_VEC(struct lull_slots) hosts; /* numbers of their CPUs */
};

/* The slot of a CPU; NULL: it is none. More CPUs than Linux can be built for are not believed. */
static inline uint32_t *lull_cpu_slots_at(struct lull_cpu_slots *slots, uint32_t host, int32_t cpu)
{
    enum { MOST_CPUS = 65536 };
    if (cpu < 0 || cpu >= MOST_CPUS) {
        return NULL;
    }
    while (host >= slots->hosts.count) { /* live sessions may get more hosts */
        lull_vec_push(&slots->hosts, (struct lull_slots){0});
    }
    return lull_slots_at(&slots->hosts.items[host], (uint32_t)cpu);
}

static inline void lull_cpu_slots_free(struct lull_cpu_slots *slots)
{
    for (size_t host = 0; host < slots->hosts.count; host++) {
        lull_slots_free(&slots->hosts.items[host]);
    }
    lull_vec_free(&slots->hosts);
}

#endif
