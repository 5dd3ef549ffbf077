/* SPDX-License-Identifier: MIT */
/* The internals of the instances of the public API (lull/instances.h). */
#ifndef LULL_ANSWERS_INSTANCES_H
#define LULL_ANSWERS_INSTANCES_H

#include "analysis/instances.h"
#include "answers/waits.h"

/* As lull_waits_instances(), of the definition of this number; LULL_NO_PERIOD: the requests, also of a
 * reading that follows periods. */
struct lull_instances *lull_waits_instances_of(const struct lull_waits *waits, uint32_t period,
                                               const char *const *group_by, GError **error);
/* The number of the sample that its path is in instances->portions, which is found if it was not;
 * LULL_NONE: it has no path. */
uint32_t lull_instances_sample(struct lull_instances *instances,
                               const struct lull_instance *instance);

#endif
