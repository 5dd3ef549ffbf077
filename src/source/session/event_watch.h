/* SPDX-License-Identifier: MIT */
/* A watch sees the events of a session before they are handed out, whoever subscribed to them, or
 * nobody: so that periods can start and end while the model reads. It says of each event class
 * whether it wants its events, and which fields; they follow those of the subscriber and of the
 * session's filter. What the filter rejects a watch sees too. */
#ifndef LULL_SOURCE_SESSION_EVENT_WATCH_H
#define LULL_SOURCE_SESSION_EVENT_WATCH_H

#include "source/source.h"

/* What the watch wants of a class; kept with it while the watch is set. */
struct lull_class_watch {
    const void *program;      /* what compile() gave; NULL: nothing is wanted */
    bool is_hidden;           /* nobody else wants its events */
    struct lull_fields extra; /* the filter's fields, then the watch's */
};

struct lull_event_watch;

struct lull_event_watch_ops {
    /* Compiles for one class; what it gives lives until the next forget(). NULL if its events are
     * of no interest. At the call, fields->n_bindings bits of the presence mask and fields->size
     * bytes (0, or with the mask) are taken; it leaves there its own bindings, to be read after
     * them, and the size with them. */
    const void *(*compile)(struct lull_event_watch *watch, const struct lull_source *source,
                           uint32_t class_index, const char *host, struct lull_fields *fields);
    void (*forget)(struct lull_event_watch *watch);
    /* `fields` starts with the presence mask of all the extra fields. */
    void (*see)(struct lull_event_watch *watch, const void *program, const struct lull_event *event,
                const uint8_t *fields);
};

/* Watches put it first in a structure of their own. */
struct lull_event_watch {
    const struct lull_event_watch_ops *ops;
};

/* From now on `watch` sees what is read; rewinds. It is borrowed, and must be taken off (NULL)
 * before it or the session is freed. Counting does not concern it. */
void lull_session_set_watch(struct lull_session *session, struct lull_event_watch *watch);

#endif
