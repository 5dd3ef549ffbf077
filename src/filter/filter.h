/* SPDX-License-Identifier: MIT */
/* Filters: a small language that says which events are wanted, as in
 *   name == "sched_switch" && next_comm =~ "postgres*"
 * docs/FILTER.md describes it. A filter is compiled for each event class: classes that cannot match
 * are not even subscribed to, its times limit what is read, and only the fields it
 * mentions are decoded. */
#ifndef LULL_FILTER_H
#define LULL_FILTER_H

#include <lull/session.h>

struct lull_filter;

/* Parses an expression. Times without zone are local if `local`, else UTC. NULL and
 * LULL_ERROR_USAGE if it is wrong: the message gives column and reason, then the expression with a
 * caret below the place. Free with lull_filter_free(), or give it to a session. */
struct lull_filter *lull_filter_parse(const char *text, bool local, GError **error);
/* The same, of events of these names only: each may end with '*', and may be one that all tracers'
 * events of a system call have in common. `text` may be NULL: all that are called so. */
struct lull_filter *lull_filter_parse_named(const char *text, const char *const *names, bool local,
                                            GError **error);
void lull_filter_free(struct lull_filter *filter);

/* That the traces declare the fields and events that the filter names. Where nothing can pass without
 * one that none declares, false and LULL_ERROR_QUESTION, with what may be meant; of others a line each
 * is appended to `warnings`. Not for sessions that are live: what they declare is not known yet. */
bool lull_filter_check(const struct lull_filter *filter, const struct lull_session *session,
                       GString *warnings, GError **error);

/* That the traces declare events of these names; the error says of which none does. */
bool lull_filter_check_names(const char *const *names, const struct lull_session *session,
                             GError **error);

/* From now on the session hands out and counts only what passes. The session owns the filter. */
void lull_filter_attach(struct lull_filter *filter, struct lull_session *session);

#endif
