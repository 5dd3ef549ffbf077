/* SPDX-License-Identifier: MIT */
/* Print programs: the layout of a class of events compiled with a dialect to a list of "copy this
 * piece of text, then that field as decimal". Text and order are those of
 * lull_event_writer_visit(); only the work that is the same for all events of the class is done
 * once. */
#ifndef LULL_VIEW_EVENT_PROGRAM_H
#define LULL_VIEW_EVENT_PROGRAM_H

#include "source/event_layout.h"
#include "view/event/dialect.h"

struct lull_event_program;

/* The program for the class of `event`; NULL if it has no layout. `follows_scope`: see
 * lull_event_writer. The dialect and the event's session must outlive it. */
struct lull_event_program *lull_event_program_new(const struct lull_event *event,
                                                  const struct lull_dialect *dialect,
                                                  bool follows_scope);
void lull_event_program_free(struct lull_event_program *program);
/* Appends the fields of an event of the class. False if its bytes are damaged: the line is as it
 * was then, and lull_event_writer_visit() reports what is wrong. */
bool lull_event_program_run(const struct lull_event_program *program,
                            const struct lull_event *event, struct lull_linebuf *line);

#endif
