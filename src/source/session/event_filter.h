/* SPDX-License-Identifier: MIT */
/* What a session needs from an event filter. Filters themselves lie to the right of this room
 * (src/filter); here is only what both sides must know: a filter says of each event class whether
 * its events pass, never pass, or have to be tested, and which fields the test needs. */
#ifndef LULL_SOURCE_SESSION_EVENT_FILTER_H
#define LULL_SOURCE_SESSION_EVENT_FILTER_H

#include "source/source.h"

enum lull_verdict { LULL_VERDICT_PASS, LULL_VERDICT_REJECT, LULL_VERDICT_TEST };

/* The verdict on a class; kept with it while a filter is set. */
struct lull_class_filter {
    enum lull_verdict verdict;
    const void *program;      /* of the filter, for TEST */
    struct lull_fields extra; /* what the program reads */
};

struct lull_event_filter;

struct lull_event_filter_ops {
    void (*free)(struct lull_event_filter *filter);
    /* Before reading: what "+1s" counts from is known. Sets start_ns and end_ns. */
    void (*start)(struct lull_event_filter *filter, int64_t base_ns);
    /* Compiles for one class; what it gives lives until the next forget(). */
    void (*compile)(struct lull_event_filter *filter, const struct lull_source *source,
                    uint32_t class_index, const char *host, struct lull_class_filter *out);
    void (*forget)(struct lull_event_filter *filter);
    /* Whether what it compiles for a class of one source holds for that of another, which was declared in the same
     * words. */
    bool (*is_common)(const struct lull_event_filter *filter, const struct lull_source *a,
                      const struct lull_source *b);
    /* False if no event of the class on this CPU can pass. */
    bool (*may_pass)(const struct lull_event_filter *filter, const struct lull_source *source,
                     uint32_t class_index, const char *host, int32_t cpu);
    /* `fields` are the extra ones. Allocates nothing and changes nothing. */
    bool (*test)(const void *program, const struct lull_event *event, const uint8_t *fields);
};

/* Filters put it first in a structure of their own. */
struct lull_event_filter {
    const struct lull_event_filter_ops *ops;
    int64_t start_ns, end_ns; /* no event outside passes; joined clock */
    bool has_times;           /* start() needs base_ns */
    bool uses_cpu;            /* may_pass() can be false for some CPU */
};

/* From now on only what passes is handed out and counted; rewinds. NULL: everything passes. The
 * session owns the filter; an older one is freed. */
void lull_session_set_filter(struct lull_session *session, struct lull_event_filter *filter);
/* Gives the filter back, or NULL, and goes on without; rewinds. */
struct lull_event_filter *lull_session_take_filter(struct lull_session *session);
bool lull_session_has_filter(const struct lull_session *session);
/* Whether not all is read: there is a filter, or a limit of time or CPUs. */
bool lull_session_is_part(const struct lull_session *session);
/* Events of this subscription are handed out though the filter rejects them, and time and CPUs do
 * not limit what is read for them: for those who must know what else happened. */
void lull_session_exempt(struct lull_session *session, uint32_t subscription);
/* Whether the event that was handed out last passes; only of interest if it is exempt. */
bool lull_session_passes(const struct lull_session *session, const struct lull_event *event);

#endif
