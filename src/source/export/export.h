/* SPDX-License-Identifier: MIT */
/* Writes what a session reads as CTF 2 traces again: a directory with one trace for each input
 * trace. It appears under its name only when it is whole. Clock values are kept as they were
 * recorded, unless the clock of the trace's host was joined to that of others: then the joined
 * times are written, and the environment entry LULL_ENV_JOINED_CLOCK says so. */
#ifndef LULL_SOURCE_EXPORT_H
#define LULL_SOURCE_EXPORT_H

#include <lull/session.h>

struct lull_export;

/* Starts to write `path`, which must not exist, as path.part. The session's subscriptions, limits,
 * selection and clocks must be set, and nothing read. NULL and an error if it cannot be. Free with
 * lull_export_free(). */
struct lull_export *lull_export_new(struct lull_session *session, const char *path, GError **error);
/* Writes the event that the session handed out last. */
bool lull_export_event(struct lull_export *e, const struct lull_event *event, GError **error);
/* Ends all streams and gives the directory its name. Call when the session is at its end. */
bool lull_export_finish(struct lull_export *e, GError **error);
/* Removes what was written unless it was finished. */
void lull_export_free(struct lull_export *e);
/* Removes what an export to `path` has written so far, which then fails: for another thread that is
 * about to end the program. */
void lull_export_remove_part(const char *path);

#endif
