/* SPDX-License-Identifier: MIT */
/* What the tasks that rows are about did in each state, from the facts of the model. */
#ifndef LULL_ANALYSIS_STATES_KERNEL_H
#define LULL_ANALYSIS_STATES_KERNEL_H

#include "analysis/states_private.h"

struct states_kernel;

struct states_kernel *states_kernel_new(struct lull_session *session);
void states_kernel_free(struct states_kernel *kernel);
/* What this thread does is kept from now on. */
void states_kernel_want(struct states_kernel *kernel, uint32_t host, int64_t tid);
/* Reads the session to its end. */
void states_kernel_read(struct states_kernel *kernel, void (*progress)(void *user), void *user);
void states_kernel_add(struct states_kernel *kernel, const struct states_interval *interval);
/* The table of a group, after reading. */
void states_kernel_show(struct states_kernel *kernel, struct states_table *table, uint32_t group,
                        struct lull_sink *sink);
/* Intervals of which too many were to be kept. */
uint64_t states_kernel_refused(const struct states_kernel *kernel);

extern const struct lull_result_class states_kernel_class;

#endif
