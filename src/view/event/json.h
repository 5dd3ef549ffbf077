/* SPDX-License-Identifier: MIT */
/* One event as one line of JSON for programs. */
#ifndef LULL_VIEW_EVENT_JSON_H
#define LULL_VIEW_EVENT_JSON_H

#include <lull/session.h>

#include "kernel/event_places.h"
#include "view/linebuf.h"

/* Set the first members, leave the rest zero. */
struct lull_event_json {
    const struct lull_session *session;
    bool has_iso_times, local_time; /* times as texts, in the local zone or UTC */

    bool shows_places;                    /* where the events happened; `place` is of the next */
    const struct lull_event_place *place; /* NULL: not known */

    struct lull_linebuf line; /* the result */
    struct lull_linebuf open; /* the closing brackets still to be written, innermost last */
    bool needs_comma;
    bool has_context, has_fields;
    GByteArray *twins; /* by number of the class: enum lull_json_twins; or NULL */
    GPtrArray *names;  /* of an event with fields of one name: those before, NULL for a bracket */
    bool has_twins;    /* the event is such a one */
};

void lull_event_json_clear(struct lull_event_json *json);
/* Appends to json->line, which the caller empties,
 * {"time_ns":…,"host":…,"cpu":…,"name":…,"context":{…},"fields":{…}} and a newline. Integers are
 * numbers; an enumeration is {"value":…,"label":…} with null where no label is known; a variant is
 * an object with the one chosen option. Fields of one object that have the same name, as the two
 * contexts of CTF may have, are "name", "name#2" and so on: keys do not repeat. False with an error if the event's bytes are damaged; the
 * line then holds what came before, is well formed and has "damaged":true.
 */
bool lull_event_json_format(struct lull_event_json *json, const struct lull_event *event,
                            GError **error);

#endif
