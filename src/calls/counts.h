/* SPDX-License-Identifier: MIT */
/* What counters counted, by the call that it was counted in: what the model charges to a task between
 * two reads goes to the calls that the task was in meanwhile, by the time that they were on a CPU.
 * Nothing is lost: what was counted outside of calls, of idle CPUs, in interrupts and by who is not
 * known is kept apart, and all together is what a counter rose. */
#ifndef LULL_CALLS_COUNTS_H
#define LULL_CALLS_COUNTS_H

#include "calls/calls.h"

/* One counter of one host. */
struct lull_calls_counted {
    uint32_t host, counter;
    uint64_t counted; /* what it rose, in the time that counts */
    uint64_t by[LULL_COUNTED_UNKNOWN + 1];
};

struct lull_calls_counts;

/* Follows the counters of the model, which must have LULL_GROUP_COUNTERS, and watches the calls, both of
 * which are borrowed. What is counted before start_ns does not count. Free with lull_calls_counts_free(). */
struct lull_calls_counts *lull_calls_counts_new(struct lull_calls *calls, struct lull_model *model,
                                                int64_t start_ns);
void lull_calls_counts_free(struct lull_calls_counts *counts);

/* What was counted in a node while it was the innermost; of the root of a line: outside of its calls. */
uint64_t lull_calls_counts_of(const struct lull_calls_counts *counts, uint32_t node,
                              uint32_t counter);
/* In order of host and counter. By TASK are all tasks, also those without calls. */
const struct lull_calls_counted *lull_calls_counts_sums(const struct lull_calls_counts *counts,
                                                        size_t *count);
/* Some reads of a counter were so far apart that several calls share what was counted between them, by their
 * time. */
bool lull_calls_counts_have_shared(const struct lull_calls_counts *counts, uint32_t counter);
/* A counter did not count all of the time: what it has is scaled. */
bool lull_calls_counts_are_estimates(const struct lull_calls_counts *counts, uint32_t counter);

#endif
