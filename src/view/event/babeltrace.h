/* SPDX-License-Identifier: MIT */
/* One event as the line that Babeltrace 2 (2.0.4, sink.text.pretty) prints for it. */
#ifndef LULL_VIEW_EVENT_BABELTRACE_H
#define LULL_VIEW_EVENT_BABELTRACE_H

#include <lull/session.h>

#include "view/event/clock.h"
#include "view/event/fields.h"

/* What precedes the name of an event. */
enum lull_babeltrace_field {
    LULL_BABELTRACE_TRACE = 1 << 0,
    LULL_BABELTRACE_HOSTNAME = 1 << 1,
    LULL_BABELTRACE_DOMAIN = 1 << 2,
    LULL_BABELTRACE_PROCNAME = 1 << 3,
    LULL_BABELTRACE_VPID = 1 << 4,
    LULL_BABELTRACE_LOGLEVEL = 1 << 5,
    LULL_BABELTRACE_EMF = 1 << 6,
    LULL_BABELTRACE_CALLSITE = 1 << 7, /* nothing: Babeltrace 2 takes it and shows none */
    LULL_BABELTRACE_ALL_FIELDS = (1 << 8) - 1,
};

/* Which names are shown. */
enum lull_babeltrace_name {
    LULL_BABELTRACE_NAME_PAYLOAD = 1 << 0,
    LULL_BABELTRACE_NAME_CONTEXT = 1 << 1,
    LULL_BABELTRACE_NAME_SCOPE = 1 << 2,
    LULL_BABELTRACE_NAME_HEADER = 1 << 3,
    LULL_BABELTRACE_ALL_NAMES = (1 << 4) - 1,
};

/* As Babeltrace's options --fields and --names: words with commas between, "all" and "none"; `text`
 * NULL is the default. False with LULL_ERROR_USAGE. */
bool lull_babeltrace_parse_fields(const char *text, uint32_t *fields, GError **error);
bool lull_babeltrace_parse_names(const char *text, uint32_t *names, GError **error);

/* Set the first fields, leave the rest zero. */
struct lull_event_babeltrace {
    const struct lull_session *session;
    struct lull_event_clock clock; /* CLOCK, DATE, SECONDS or CYCLES */
    uint32_t shown_fields, shown_names;
    bool no_delta;
    bool always_walks;

    struct lull_linebuf line; /* the result */
    bool is_ready, has_last;
    uint64_t last; /* time, in ns or cycles, of the event before */
    struct lull_event_fields fields;
    struct lull_linebuf *packets; /* by stream: what its packet says */
    uint64_t *packet_ids;
    uint32_t n_packets;
};

void lull_event_babeltrace_clear(struct lull_event_babeltrace *text);
/* Appends the line for `event`, with its newline, to text->line; the caller empties that. Names of
 * hosts, events and fields are not escaped, as Babeltrace does. False with an error if the event's
 * bytes are damaged; the line then holds what came before. */
bool lull_event_babeltrace_format(struct lull_event_babeltrace *text,
                                  const struct lull_event *event, GError **error);

#endif
