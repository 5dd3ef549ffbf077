/* SPDX-License-Identifier: MIT */
/* A number for each CPU of each host that events come from. Zeroed it is a valid empty one; 0 in a slot means that nothing was put
 * there, as in lull_slots. */
#ifndef LULL_BASE_CPU_SLOTS_H
#define LULL_BASE_CPU_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slots.h"
#include "base/vec.h"

/* More CPUs than Linux can be built for are not believed. */
#define LULL_MAX_CPUS 65536

static inline bool lull_is_cpu(int64_t number)
{
    return number >= 0 && number < LULL_MAX_CPUS;
}

struct lull_cpu_slots {
    LULL_VEC(struct lull_slots) hosts; /* numbers of their CPUs */
};

/* The slot of a CPU; NULL: it is none. */
static inline uint32_t *lull_cpu_slots_at(struct lull_cpu_slots *slots, uint32_t host, int32_t cpu)
{
    if (!lull_is_cpu(cpu)) {
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
