/* SPDX-License-Identifier: MIT */
/* The internals of the comparison of the public API (lull/why.h). */
#ifndef LULL_ANSWERS_WHY_H
#define LULL_ANSWERS_WHY_H

#include <lull/why.h>

#include "analysis/slow.h"
#include "answers/instances.h"
#include "graph/compare.h"

/* The answer for instances of one kind. */
struct lull_why_group {
    struct lull_why_kind info;
    struct lull_slow chosen;
    struct lull_comparison *comparison; /* NULL unless the two groups could be compared */
    GArray *findings;                   /* struct lull_finding */
};

struct lull_why {
    struct lull_instances *instances;
    GArray *groups; /* struct lull_why_group, in the order in which they are shown */
    uint32_t n_without_path;
};

#endif
