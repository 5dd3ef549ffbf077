/* SPDX-License-Identifier: MIT */
/* CPU quotas, and when tasks of their groups ran. */
#ifndef LULL_GRAPH_QUOTAS_PRIVATE_H
#define LULL_GRAPH_QUOTAS_PRIVATE_H

#include <lull/recording.h>

#include "graph/bandwidth.h"
#include "graph/execgraph_private.h"

enum { PHASE_PART = 10 }; /* tasks run again within that part of the period */

/* The tasks of the group that are on CPUs from a moment on, and their CPU time until then. */
struct use_step {
    int64_t time_ns, used_ns;
    int32_t running; /* while steps are collected: what changes */
};

/* When a task of the group was on a CPU. */
struct cpu_use {
    int64_t start_ns, end_ns;
    uint32_t task;
    bool sleeps;  /* after it */
    bool is_last; /* then the CPU is idle */
};

struct cpu_uses {
    LULL_VEC(struct cpu_use) all; /* in time order */
};

struct quota {
    const struct lull_cpu_quota *info;
    uint32_t host;
    uint32_t within;  /* the next one around it, or LULL_NONE */
    int64_t phase_ns; /* periods start at times that leave this remainder; -1: not known */
    LULL_VEC(struct use_step) use;
    LULL_VEC(struct cpu_uses) cpus;
    LULL_VEC(int64_t) refills;           /* when periods start; empty: only phase_ns is known */
    struct lull_bandwidth_pauses pauses; /* where they are known */
};

/* One quota in the life of a task. */
struct membership {
    uint32_t quota; /* or LULL_NONE */
    int64_t since_ns, until_ns;
};

struct lull_quotas {
    LULL_VEC(struct quota) all;
    LULL_VEC(struct membership) members; /* by task */
    GHashTable *by_path;                 /* "host hierarchy path" → number + 1 */
};

static inline int64_t quota_period_ns(const struct quota *quota)
{
    return quota->info->period_us * 1000;
}

/* Finds when the periods of each quota start, and what the kernel did with it then. Frees what is known of
 * the use of quotas that kept nobody off a CPU in that rhythm. */
void quotas_find_periods(const struct lull_execgraph *eg, struct lull_quotas *quotas);

#endif
