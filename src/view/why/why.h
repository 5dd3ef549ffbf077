/* SPDX-License-Identifier: MIT */
/* How the answer of lull why is shown. As in view.h, every function writes to `file`, flushes it
 * and leaves it open. */
#ifndef LULL_VIEW_WHY_H
#define LULL_VIEW_WHY_H

#include "analysis/slow.h"
#include "graph/compare.h"
#include "view/instances/instances.h"

enum lull_why_verdict {
    LULL_WHY_EXPLAINED,
    LULL_WHY_UNCLEAR,    /* the slow ones are slower, but nothing stands out */
    LULL_WHY_ALIKE,      /* they are hardly slower */
    LULL_WHY_NONE_SLOW,  /* none is as slow as requested */
    LULL_WHY_NO_TYPICAL, /* all that could be typical are slow */
    LULL_WHY_TOO_FEW,
};

/* The answer for instances of one kind. */
struct lull_why_kind {
    const char *name;     /* NULL: there is one kind */
    uint32_t n_instances; /* with a path */
    struct lull_slow chosen;
    struct lull_comparison *comparison; /* NULL unless the two groups could be compared */
    enum lull_why_verdict verdict;
};

struct lull_why {
    struct lull_instance_paths paths;
    const struct lull_why_kind *kinds; /* in the order in which they are shown */
    uint32_t n_kinds;
    uint32_t n_without_path; /* instances that did not end, or whose task is not known */
    const char *command;     /* "lull critpath … --instance": a number makes it whole */
};

bool lull_view_why_text(const struct lull_why *why, FILE *file, const struct lull_view_style *style,
                        GError **error);
bool lull_view_why_json(const struct lull_why *why, FILE *file, GError **error);

/* Appends what the slow ones do more, as a sentence without its full stop: "worker/7 on web is
 * blocked on disk: vda write, in fsync". */
void lull_contribution_append(GString *out, const struct lull_why *why,
                              const struct lull_contribution *contribution, bool ascii);
/* The slow instance whose path is that sample. */
const struct lull_instance *lull_why_instance(const struct lull_why *why,
                                              const struct lull_why_kind *kind, uint32_t sample);

#endif
