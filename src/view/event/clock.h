/* SPDX-License-Identifier: MIT */
/* The times of events as text. */
#ifndef LULL_VIEW_EVENT_CLOCK_H
#define LULL_VIEW_EVENT_CLOCK_H

#include <lull/event.h>

#include "base/time.h"
#include "view/linebuf.h"

enum lull_time_style {
    LULL_TIME_CLOCK,   /* 01:22:59.432835564 */
    LULL_TIME_DATE,    /* 2026-11-21 01:22:59.432835564 */
    LULL_TIME_ISO,     /* 2026-11-21T01:22:59.432835564Z */
    LULL_TIME_SECONDS, /* 1795224979.432835564 */
    LULL_TIME_NS,      /* 1795224979432835564 */
    LULL_TIME_ELAPSED, /* +1.432835564, since origin_ns */
    LULL_TIME_CYCLES,  /* 00000000123456789012: the trace's own clock */
};

/* Set the first fields, leave the rest zero. */
struct lull_event_clock {
    enum lull_time_style style;
    int64_t origin_ns;
    bool is_local; /* local time zone, not UTC */

    bool has_cache; /* the text of a time is kept: most events share their second with the last */
    int64_t cached_second;
    char cached[LULL_TIME_TEXT_SIZE];
    uint32_t cached_length, cached_fraction; /* where its nine digits start */
};

/* Appends the time of the event. */
void lull_event_clock_add(struct lull_event_clock *clock, struct lull_linebuf *line,
                          const struct lull_event *event);
/* Appends a duration or time as seconds with nine decimals. */
void lull_event_clock_add_seconds(struct lull_linebuf *line, int64_t time_ns);
/* Appends at least `width` digits. */
void lull_event_clock_add_cycles(struct lull_linebuf *line, uint64_t cycles, uint32_t width);

#endif
