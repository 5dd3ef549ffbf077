/* SPDX-License-Identifier: MIT */
/* The priorities that a task had, with how often each was reported: "[1, 20 (3 times)]". */
#ifndef LULL_ANALYSIS_PRIORITIES_H
#define LULL_ANALYSIS_PRIORITIES_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct lull_priority_count {
    int32_t prio;
    uint32_t count;
};

/* A zeroed one is a valid empty one. */
struct lull_priorities {
    LULL_VEC(struct lull_priority_count) items; /* ascending */
};

/* `prio` as in facts (the kernel's, -1..139); LULL_NO_PRIO is not counted. */
void lull_priorities_add(struct lull_priorities *priorities, int32_t prio);
void lull_priorities_clear(struct lull_priorities *priorities);
/* Replaces `text` by the list. Priorities are shown as top and LTTng do: 20 is nice 0, real-time
 * ones are negative. */
void lull_priorities_format(const struct lull_priorities *priorities, bool is_lami, GString *text);

/* What is shown for one of the kernel's. */
static inline int32_t lull_priority_shown(int32_t prio)
{
    return prio - 100;
}

#endif
