/* SPDX-License-Identifier: MIT */
/* What lull top knows and was asked, how it is drawn, and what keys do. */
#ifndef LULL_CMD_TOP_SCREEN_H
#define LULL_CMD_TOP_SCREEN_H

#include "cmd/screen.h"
#include "view/live/top.h"

/* What is shown. */
enum lull_top_table {
    LULL_TOP_WAITS,
    LULL_TOP_CHAINS,
    LULL_TOP_HISTOGRAMS,
    LULL_TOP_ALARMS,
    LULL_TOP_TABLES
};

struct lull_top {
    int64_t duration_ns, interval_ns, rows; /* of text without a screen; 0: all */
    double most_overhead;
    bool is_json, is_once, is_batch, is_local;
    const char *color;
    struct lull_tracker *tracker;
    const char *backend;           /* NULL: the best */
    struct lull_interval interval; /* the last one */
    bool has_interval;
    int64_t next_us, end_us; /* INT64_MAX: never */
    struct lull_live_filter *filter;
    enum lull_live_order order;
    bool by_process, is_frozen, is_over;
    enum lull_top_table table;
    GPtrArray *rules;
    struct lull_kept *kept; /* NULL: there are no rules */
    struct lull_lock_waits *locks;
    uint64_t n_before; /* alarms, when the interval began */
    uint32_t pieces;   /* of the histograms; 0: the last interval */
    struct lull_histories *histories;
    struct lull_top_view view;
    struct lull_screen screen;
    GString *typed; /* a filter; NULL: nothing is being typed */
    char *message;  /* about the last one */
};

/* By enum lull_live_order; ends with NULL. */
extern const char *const lull_top_orders[];

/* The last interval: on the screen if it is open, else after what was shown before. */
bool lull_top_show(struct lull_top *top, GError **error);
/* Draws the screen again. */
bool lull_top_draw(struct lull_top *top, GError **error);
/* Does what the keys that were pressed are for. */
void lull_top_take_keys(struct lull_top *top);

#endif
