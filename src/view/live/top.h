/* SPDX-License-Identifier: MIT */
/* How `lull top` shows an interval: a heading, a table of waits, what was lost; or one line of JSON. */
#ifndef LULL_VIEW_LIVE_TOP_H
#define LULL_VIEW_LIVE_TOP_H

#include "live/histories.h"
#include "live/lock_waits.h"
#include "live/names.h"
#include "live/rows.h"
#include "view/live/alarms.h"

struct lull_top_view {
    FILE *file;
    struct lull_view_style style;
    struct lull_machine_names *names;
    struct lull_tracker_how how;
    int64_t epoch_ns;             /* what CLOCK_MONOTONIC is to be added to */
    bool is_screen;               /* it is drawn again and again: alarms have one of their own */
    bool shows_chains;            /* each wait with all of its chain in one text */
    bool shows_bars;              /* in histograms, instead of numbers */
    bool shows_idle;              /* also waits for a timer that a task set itself */
    uint32_t limit;               /* rows; 0: all */
    bool has_chosen;              /* one of the rows is marked: */
    uint32_t chosen;              /* its number among those that are shown */
    const struct lull_kept *kept; /* the alarms; NULL: there are no rules */
    uint64_t n_alarms;            /* of them in the interval */
    const GArray *locks;          /* struct lull_lock_wait: that are waited for still */
};

/* The chosen row, or NULL if there are not so many. */
const struct lull_live_row *lull_top_chosen(const struct lull_top_view *view,
                                            const struct lull_live_rows *rows);
bool lull_top_text(const struct lull_top_view *view, const struct lull_interval *interval,
                   const struct lull_live_rows *rows, GError **error);
/* The same heading, then the last alarms. */
bool lull_top_alarms(const struct lull_top_view *view, const struct lull_interval *interval,
                     GError **error);
/* The same heading, then histograms of these spans, instead of waits. `span` says which, in words. */
bool lull_top_histograms(const struct lull_top_view *view, const struct lull_interval *interval,
                         const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                         const char *span, GError **error);
/* One object on one line. The rows are those of single processes. */
void lull_top_json(const struct lull_top_view *view, const struct lull_interval *interval,
                   const struct lull_live_rows *rows);

#endif
