/* SPDX-License-Identifier: MIT */
/* One event as one line of text for people. */
#ifndef LULL_VIEW_EVENT_TEXT_H
#define LULL_VIEW_EVENT_TEXT_H

#include <lull/session.h>

#include "kernel/event_places.h"
#include "view/event/clock.h"
#include "view/event/fields.h"

/* Set the first fields, `fields.dialect` to lull_dialect_plain, leave the rest zero. */
struct lull_event_text {
    const struct lull_session *session;
    struct lull_event_clock clock;
    struct lull_event_fields fields;
    bool with_host;
    const struct lull_event_place
        *place; /* where the next event happened; NULL: not known, or not wanted */

    struct lull_linebuf line; /* the result */
};

void lull_event_text_clear(struct lull_event_text *text);
/* Appends the line for `event`, with its newline, to text->line; the caller empties that. False
 * with an error if the event's bytes are damaged; the line then holds what came before and says so.
 */
bool lull_event_text_format(struct lull_event_text *text, const struct lull_event *event,
                            GError **error);

#endif
