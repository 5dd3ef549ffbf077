/* SPDX-License-Identifier: MIT */
/* What the programs in the kernel cost. The kernel counts, for a moment now and then, how long they run. That leaves out
 * what it takes to enter one, and has the reading of the clock, which happens only while it counts: both are
 * measured once, on this machine. */
#ifndef LULL_LIVE_BPF_COST_H
#define LULL_LIVE_BPF_COST_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct lull_bpf_cost;

/* `fds` are those of the programs, which stay open longer. */
struct lull_bpf_cost *lull_bpf_cost_new(const int *fds, uint32_t n);
/* NULL is ignored. */
void lull_bpf_cost_free(struct lull_bpf_cost *cost);

/* Measures what it takes to enter a program, with an empty one that is loaded, at the event itimer_state. Takes some ten
 * milliseconds; attached programs do not matter. Without it a usual value holds. */
void lull_bpf_cost_calibrate(struct lull_bpf_cost *cost, const struct bpf_program *empty);

/* To be called often. Starts and stops the counting; true if there is a new figure: what share of the time of all
 * CPUs the programs took. */
bool lull_bpf_cost_look(struct lull_bpf_cost *cost, int64_t now_ns, double *share);
/* Counting costs, so it happens now and then; how often tasks are switched is known all the time. Where the cost would be
 * above `most_share` by how many there have been since the start, it is counted at once. */
bool lull_bpf_cost_is_due(const struct lull_bpf_cost *cost, int64_t now_ns);
void lull_bpf_cost_expect(struct lull_bpf_cost *cost, int64_t now_ns, uint64_t switches,
                          double most_share);
/* It is counted again at once. */
void lull_bpf_cost_hurry(struct lull_bpf_cost *cost);

/* How often a program was left out, because the kernel was in it. */
uint64_t lull_bpf_cost_missed(const struct lull_bpf_cost *cost);

#endif
