/* SPDX-License-Identifier: MIT */
/* Live sessions: recordings that a relay (lttng-relayd) hands on while they are made. A live
 * session is one connection and any number of traces, each a source, which come, grow and end while
 * they are read. */
#ifndef LULL_SOURCE_LIVE_H
#define LULL_SOURCE_LIVE_H

#include "source/live/url.h"
#include "source/source.h"

struct lull_live;

struct lull_live_hooks {
    /* Before waiting, and ten times a second while it lasts; false: stop reading. May be NULL. */
    bool (*wait)(void *user);
    /* There are traces to take, or a trace has got more streams or classes. */
    void (*news)(void *user);
    /* Something is wrong that is not worth an end; one line. */
    void (*problem)(void *user, const char *text);
    void *user;
};

/* Attaches to all recordings of the URL's name, and waits until one has a trace. `from_start`: to
 * all that the relay still has of them, not only to what comes from now on. NULL and an error if
 * that cannot be. If the wait was stopped the session is there and has ended. */
struct lull_live *lull_live_open(const char *url, bool from_start,
                                 const struct lull_live_hooks *hooks, GError **error);
/* Detaches. The sources that were taken die with it, their `free` does nothing. */
void lull_live_free(struct lull_live *live);

/* The next trace that nobody has taken yet, or NULL. `report` is borrowed. */
struct lull_source *lull_live_take(struct lull_live *live, const struct lull_report *report);

/* When no stream has anything to read any more: waits a moment, and looks for new ones. False at
 * the end of the recording. */
bool lull_live_follow(struct lull_live *live);

/* Why reading ended before the recording did, or NULL. */
const GError *lull_live_error(const struct lull_live *live);

/* A recording that a relay lists; those of one machine and name are one. */
struct lull_live_recording {
    char *url;
    char *host, *name;
    uint64_t streams;
    uint32_t timer_us, clients;
};

/* What a relay has, or what of it the URL names: struct lull_live_recording *, with the array's
 * free function. */
GPtrArray *lull_live_list(const char *url, const struct lull_live_hooks *hooks, GError **error);

#endif
