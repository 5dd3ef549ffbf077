/* One event as one line of text for people. */
#ifndef LULL_VIEW_EVENT_TEXT_H
#define LULL_VIEW_EVENT_TEXT_H

#include <lull/session.h>

#include "base/time.h"
#include "view/line.h"

enum lull_time_style {
    LULL_TIME_CLOCK,   /* 01:22:59.432835564 */
    LULL_TIME_ISO,     /* 2026-11-21T01:22:59.432835564Z */
    LULL_TIME_SECONDS, /* 1795224979.432835564 */
    LULL_TIME_NS,      /* 1795224979432835564 */
    LULL_TIME_ELAPSED, /* +1.432835564, since origin_ns */
};

/* Set the first fields, leave the rest zero. */
struct lull_event_text {
    const struct lull_session *session;
    enum lull_time_style time_style;
    int64_t origin_ns;
    bool is_local; /* local time zone, not UTC */
    bool with_host;

    struct lull_line line; /* the result */
    bool needs_comma;
    bool in_context;
    bool in_variant; /* the next field is the variant's option */
    bool has_cache;  /* the text of a time is kept: most events share their second with the last */
    int64_t cached_second;
    char cached[LULL_TIME_TEXT_SIZE];
    uint32_t cached_length, cached_fraction; /* where its nine digits begin */
};

void lull_event_text_clear(struct lull_event_text *text);
/* Replaces text->line by the line for `event`, with the newline. False with an error if the event's
 * bytes are damaged; the line then holds what came before and says so. */
bool lull_event_text_format(struct lull_event_text *text, const struct lull_event *event,
                            GError **error);

#endif
