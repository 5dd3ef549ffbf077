/* SPDX-License-Identifier: MIT */
/* Events of the traces for the page, some at a time: from a place on, or up to it. Only the packets
 * are read in which they lie. Any thread may call these. */
#ifndef LULL_SERVER_EVENTS_H
#define LULL_SERVER_EVENTS_H

#include <json-c/json.h>

#include "server/served.h"

struct server_events;

/* `about` is borrowed. */
struct server_events *server_events_new(const struct served_about *about);
void server_events_free(struct server_events *events);

/* How many there are; 0 until they were counted, which the histogram does. */
uint64_t server_event_total(const struct served *served);

/* {"rows":[[time, index, host, cpu, name, fields, row], …], "reached": time, "is_end"}. A place is a time
 * and the index of an event among those of equal time that pass the filter. `params`: "time" and "index" (0), the place;
 * "count", negative: of those before it; "start" and "end", outside of which there are none; "filter"; and
 * "find", a text: then only the next event in which it occurs. A question takes no longer than some
 * tenths of a second: who wants more asks once more from "reached" on, until "is_end". */
bool server_events_page(const struct served *served, struct json_object *params, GString *out,
                        GError **error);

#endif
