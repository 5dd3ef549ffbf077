/* SPDX-License-Identifier: MIT */
/* Who had a CPU lately, one turn after the other: who kept a task that was ready to run from it. */
#ifndef LULL_ANALYSIS_TURNS_H
#define LULL_ANALYSIS_TURNS_H

#include <stdint.h>

#include "kernel/facts.h"

/* Who had a CPU longest in some time, and for how long. */
struct lull_kept {
    int64_t ns;
    uint32_t task; /* LULL_NONE: nobody is known to */
};

struct lull_turns;

struct lull_turns *lull_turns_new(void);
void lull_turns_free(struct lull_turns *turns);
void lull_turns_switched(struct lull_turns *turns, const struct lull_switch_fact *fact);
/* Who had the CPU longest from start_ns to end_ns, but for the task itself; of a time with very many turns, in the last of them. */
struct lull_kept lull_turns_longest(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                                    uint32_t task, int64_t start_ns, int64_t end_ns);
/* For how long of that time nobody is known to have had the CPU. */
int64_t lull_turns_free_ns(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                           int64_t start_ns, int64_t end_ns);

/* For how long of that time another CPU of the host is known to have been idle, but not this one; of a long time, in the last part of it. */
int64_t lull_turns_idle_elsewhere_ns(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                                     int64_t start_ns, int64_t end_ns);

#endif
