/* SPDX-License-Identifier: MIT */
/* How the answer of lull why is shown. As in view.h, every function writes to `file`, flushes it
 * and leaves it open. */
#ifndef LULL_VIEW_WHY_H
#define LULL_VIEW_WHY_H

#include "answers/why.h"
#include "answers/why_calls.h"
#include "view/instances/instances.h"

/* What there is to show; all is borrowed. */
struct lull_why_shown {
    struct lull_instance_paths paths; /* of the instances that were compared; none is chosen */
    const struct lull_why *why;
    const char *command;                /* "lull critpath … --instance": a number makes it whole */
    const struct lull_why_calls *calls; /* or NULL */
};

bool lull_view_why_text(const struct lull_why_shown *why, FILE *file,
                        const struct lull_view_style *style, GError **error);
bool lull_view_why_json(const struct lull_why_shown *why, FILE *file, GError **error);

/* Appends what the slow ones do more, as a sentence without its full stop: "worker/7 on web is
 * blocked on disk: vda write, in fsync". */
void lull_contribution_append(GString *out, const struct lull_why_shown *why,
                              const struct lull_contribution *contribution, bool ascii);
/* "12.3 ms more (40 %): " and that sentence with its full stop. */
void lull_contribution_append_headline(GString *out, const struct lull_why_shown *why,
                                       const struct lull_why_group *kind,
                                       const struct lull_contribution *contribution, bool ascii);
/* How large and how certain it is, and who waited for it: indented lines. */
void lull_contribution_append_evidence(GString *out, const struct lull_why_shown *why,
                                       const struct lull_why_group *kind,
                                       const struct lull_contribution *contribution, bool ascii);
/* What came out for the instances of a kind: sentences. */
void lull_why_verdict_append(GString *out, const struct lull_why_group *kind);
/* Why what was explained may be wrong; lines, or nothing. */
void lull_why_warnings_append(GString *text, const struct lull_why_shown *why,
                              const struct lull_why_group *kind);
/* Who started the task that it is about, or who had the CPU instead: "cron/1 → sh/2"; and which one
 * that is. NULL: several, or not known. Free with g_free(). */
char *lull_contribution_lineage(const struct lull_why_shown *why,
                                const struct lull_contribution *contribution, int32_t *tid);
/* How the process of that task was called; NULL likewise. */
const char *lull_contribution_command(const struct lull_why_shown *why,
                                      const struct lull_contribution *contribution);
/* Of one that is about being preempted: for how long its tasks waited for their CPUs in the sample that has most of it, and
 * how long within that another CPU was idle. False: it is not, or they did not wait for long. */
bool lull_contribution_idle(const struct lull_why_shown *why,
                            const struct lull_contribution *contribution, int64_t *waited_ns,
                            int64_t *idle_ns);
/* The slow instance whose path is that sample. */
const struct lull_instance *lull_why_instance(const struct lull_why_shown *why,
                                              const struct lull_why_group *kind, uint32_t sample);

#endif
