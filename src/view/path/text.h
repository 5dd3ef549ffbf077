/* SPDX-License-Identifier: MIT */
/* What the parts of the text view of a path share: the summary (summary.c), all else (text.c). */
#ifndef LULL_VIEW_PATH_TEXT_H
#define LULL_VIEW_PATH_TEXT_H

#include "view/out.h"
#include "view/view.h"

struct text_view {
    struct lull_out out;
    const struct lull_path *path;
    const struct lull_view_style *style;
    bool shows_hosts; /* the path touches several */
};

/* By state, by program or task, by host. */
bool lull_text_print_summary(struct text_view *view, GError **error);
/* Which program in which state for which reason. */
bool lull_text_print_causes(struct text_view *view, GError **error);
/* The rows of that: a GArray of struct lull_cause_share, longest first, with what preempted a
 * program summed up unless `full`. Texts of its own are put into `texts`. */
GArray *lull_causes_shown(const struct lull_path *path, bool full, GStringChunk *texts);

/* ---- the table of the summary ---- */

struct lull_table;

void text_add_heading(const struct text_view *view, struct lull_table *table, const char *title);
void text_add_share(const struct text_view *view, struct lull_table *table, const char *what,
                    int64_t duration_ns, const char *ansi);

/* ---- notes.c ---- */

void text_print_notes(struct text_view *view);

/* ---- counts.c ---- */

/* What counters counted, by task, if the style has it. */
bool text_print_counts(struct text_view *view, GError **error);

/* ---- calls.c: the calls of the path, if the style has them ---- */

/* Adds to the summary in which functions the time was spent. */
void text_add_functions(const struct text_view *view, struct lull_table *table);
/* The stacks on which most of `count` segments from `first` on was spent, a text each. */
GPtrArray *text_stacks(const struct text_view *view, uint32_t first, uint32_t count);

#endif
