/* SPDX-License-Identifier: MIT */
/* Puts aside what a session is to be read for, so that it can be read for something else in between. */
#ifndef LULL_SOURCE_SESSION_ASIDE_H
#define LULL_SOURCE_SESSION_ASIDE_H

#include <lull/session.h>

struct lull_event_filter;
struct lull_event_watch;

struct lull_session_aside {
    GArray *subscriptions;
    GPtrArray *converted;
    struct lull_event_filter *filter;
    struct lull_event_watch *watch;
    int64_t start_ns, end_ns;
    int32_t only_host;
    GArray *only_cpus;
    enum lull_order order;
    bool is_intersected, has_exempt;
};

/* From now on nothing is subscribed, nothing watches, and all of the recordings is read, from the
 * start. False: a session is live, which is read once only; nothing has changed then. */
bool lull_session_put_aside(struct lull_session *session, struct lull_session_aside *aside);
/* All is again as it was put aside; rewinds. */
void lull_session_take_up(struct lull_session *session, const struct lull_session_aside *aside);

#endif
