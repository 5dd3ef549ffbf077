/* SPDX-License-Identifier: MIT */
/* The session that events are read with: who uses it has the lock. */
#ifndef LULL_SERVER_EVENTS_PRIVATE_H
#define LULL_SERVER_EVENTS_PRIVATE_H

#include <lull/session.h>

#include "base/map.h"
#include "server/events.h"
#include "view/event/fields.h"

enum { EVENT_BINS = 1 << 16 };

/* How many events there are before each of many equal spans of time. */
struct event_counts {
    int64_t start_ns, width_ns; /* of the first one, which also has what is before it */
    uint64_t before[EVENT_BINS + 1];
};

struct server_events {
    const struct served_about *about;
    GMutex lock;
    struct lull_session *session; /* NULL: not opened yet */
    char *filter;                 /* that it has; NULL: none */
    struct event_counts *counts;  /* NULL: not counted yet; does not change then */
    struct lull_event_fields fields;
    struct lull_linebuf line;
};

/* The session with this filter; NULL: none. */
bool server_events_open(struct server_events *events, const char *filter, GError **error);
/* The event's fields into events->line; and from there as plain text. */
void server_events_format(struct server_events *events, const struct lull_event *event);
void server_events_fields(const struct lull_linebuf *line, GString *text);

/* The rows of what was on each CPU; and of who was on the event's: before a switch, who leaves. -1:
 * nobody, or not known. */
void server_event_cpus(const struct served *served, struct lull_map *cpus);
int64_t server_event_row(const struct served *served, const struct lull_map *cpus,
                         const struct lull_event *event);

/* Counts the events if that was not done. Takes the lock. NULL and an error. */
const struct event_counts *server_event_counts(const struct served *served, GError **error);

#endif
