/* SPDX-License-Identifier: MIT */
/* The fields of events in a dialect: a print program for each class, made at its first event, and
 * the walk over the event where there is none. Whoever prints puts a head of its own before. */
#ifndef LULL_VIEW_EVENT_FIELDS_H
#define LULL_VIEW_EVENT_FIELDS_H

#include "view/event/dialect.h"

struct lull_event_program;

/* What is kept of a class of events. */
struct lull_event_head {
    bool is_known;
    bool follows_scope;
    struct lull_event_program *program; /* or NULL */
    struct lull_linebuf before, after;  /* text of the head, up to the caller */
};

/* Set the first fields, leave the rest zero. */
struct lull_event_fields {
    struct lull_dialect dialect;
    bool always_walks; /* no print programs: slower, the same text (for tests) */

    struct lull_event_head *heads; /* by number of the class */
    uint32_t n_heads;
};

void lull_event_fields_clear(struct lull_event_fields *fields);
/* The head of the event's class; if it is not known yet, the caller fills it in and then calls
 * lull_event_fields_learn(). Valid until the next call. */
struct lull_event_head *lull_event_fields_head(struct lull_event_fields *fields,
                                               const struct lull_event *event);
/* Makes the print program of the class. `follows_scope`: see lull_event_writer. */
void lull_event_fields_learn(struct lull_event_fields *fields, struct lull_event_head *head,
                             const struct lull_event *event, bool follows_scope);
/* Appends the event's fields. False with an error if its bytes are damaged: what came before is in
 * the line then. */
bool lull_event_fields_add(const struct lull_event_fields *fields,
                           const struct lull_event_head *head, const struct lull_event *event,
                           struct lull_linebuf *line, GError **error);

#endif
