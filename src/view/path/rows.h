/* SPDX-License-Identifier: MIT */
/* The rows of the text view of a path: segments that belong together in one row, how deep the path
 * is in the tasks it visits, and which rows a limit leaves out. */
#ifndef LULL_VIEW_PATH_ROWS_H
#define LULL_VIEW_PATH_ROWS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/path.h"

/* The steps of a loop are no more. */
#define LULL_MAX_PERIOD 6

struct lull_path_row {
    int64_t start_ns, end_ns;
    uint32_t first, count; /* segments of the path */
    uint32_t segment;      /* the one that gives the row its state: the longest of it */
    uint32_t
        named; /* one whose task has the name that it had for most of the row, if it executed a program meanwhile */
    int64_t named_ns; /* how much longer than all others together */
    /* Of a row that is called running: what else is in it. */
    uint32_t interrupts, preemptions;
    int64_t interrupted_ns, preempted_ns;
    uint32_t depth; /* 0 in the first task; one more in each task the path goes into until it comes
                       back */
    /* Of a row that is called running: what took more than half of it, "in write"; or NULL. */
    const char *mostly;
    int64_t mostly_ns;
    bool is_hidden;
    bool is_mix; /* the first of hidden ones that are so long that what repeats in them is listed */
    /* A loop: `repeats` times the steps whose states are those of these segments. */
    uint32_t repeats, period; /* 0: it is none */
    uint32_t steps[LULL_MAX_PERIOD];
};

/* The rows of `path` in time order as a GArray of struct lull_path_row; they cover the path. Unless
 * `full`, segments of one task that follow each other and are running, interrupted, or preempted
 * for a short time make one row; it is called preempted if they were so for more than
 * half of it. If `limit` is not 0 and there are more rows, those that repeat the same steps make one,
 * and all but the `limit` longest rows are hidden (the earlier of equal ones stays), or all but
 * those that are enough to cover 99 % of the path. If what stays covers less than 90 %, so that no
 * row is outstanding, all that are shorter than 2 % of the path are hidden, and the longest of the
 * gaps are mixes, or are shown if they are short and the limit has room for them. Free with
 * g_array_unref(). */
GArray *lull_path_rows_new(const struct lull_path *path, bool full, uint32_t limit);

/* What repeats in a mix: of `count` segments from `first` on by program, state, cause and
 * subject, or coarser if there are too many of them; longest first, those that cover 94 % of it.
 * A GArray of struct lull_cause_share, whose program is "" for several, and host LULL_NONE. Free
 * with g_array_unref(). */
GArray *lull_path_mix(const struct lull_path *path, uint32_t first, uint32_t count);

#endif
