/* SPDX-License-Identifier: MIT */
/* Keeps the events that happened while a certain task ran on the CPU. */
#ifndef LULL_KERNEL_RUNNING_FILTER_H
#define LULL_KERNEL_RUNNING_FILTER_H

#include <lull/session.h>

#include "base/numbers.h"

/* What is wanted. */
struct lull_running_query {
    struct lull_numbers tids; /* of which one is wanted; none: any */
    struct lull_numbers pids;
    GHashTable *threads;      /* int64_t of lull_running_task(): those that have it, where contexts
                                 do not say; NULL: they do everywhere; the filter owns it */
    bool only_threads;        /* only `threads` are wanted, whatever contexts say */
    const char *comm;         /* NULL: any; for lull_comm_matches() */
    int64_t start_ns, end_ns; /* INT64_MIN, INT64_MAX: no limit */
    bool is_live;             /* the session can be read once only */
    bool wants_places;        /* lull_running_filter_spot() will be asked */
};

struct lull_running_filter;

/* For lull_running_query.threads. */
static inline int64_t lull_running_task(uint32_t host, int64_t tid)
{
    return (int64_t)host << 32 | (uint32_t)tid;
}

/* Whether contexts say of every event which process it is of. */
bool lull_running_shows_pid(const struct lull_session *session);

/* Subscribes to what the query wants and to what is needed to know who runs, limits and rewinds the
 * session. The query's comm and numbers must live as long as the session. Free with
 * lull_running_filter_free(). */
struct lull_running_filter *lull_running_filter_new(struct lull_session *session,
                                                    const struct lull_running_query *query);
void lull_running_filter_free(struct lull_running_filter *filter);

/* Feeds the next event of the session; true if the query wants it. */
bool lull_running_filter_passes(struct lull_running_filter *filter, const struct lull_event *event);
/* Whether each item of its lists of tids, pids and names was that of an event that passed. */
bool lull_running_filter_saw_all(const struct lull_running_filter *filter);
/* The address at which the event happened, as it says, and of which process (-1: not known); false: it does not. */
bool lull_running_filter_spot(const struct lull_running_filter *filter,
                              const struct lull_event *event, uint64_t *address, int32_t *pid);

#endif
