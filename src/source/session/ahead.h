/* SPDX-License-Identifier: MIT */
/* Reading ahead: a thread of its own reads the streams of a session, merges them and copies the
 * events into blocks, from which whoever reads the session takes them. What comes out, and in which
 * order, is what reading without it gives: also of what the streams report, which is passed on
 * between the events where it was found. */
#ifndef LULL_SOURCE_SESSION_AHEAD_H
#define LULL_SOURCE_SESSION_AHEAD_H

#include "source/session/batch.h"
#include "source/session/private.h"

/* Whether the session, which has started, can be read ahead: nothing but its selected streams says
 * which events come, and nobody wants more of these than their bindings. */
bool lull_ahead_is_possible(const struct lull_session *session);
/* Reads it from where it is. Until lull_ahead_stop() nobody else touches its streams. NULL if there
 * can be no more threads. */
struct lull_ahead *lull_ahead_start(struct lull_session *session);
/* The next event, borrowed until the next call; NULL at the end. */
const struct lull_event *lull_ahead_read(struct lull_ahead *ahead);
/* All that lie together from the next event on; false at the end. */
bool lull_ahead_batch(struct lull_ahead *ahead, struct lull_batch *batch);
/* Bytes that were read of all streams, at about the event that was handed out last. */
uint64_t lull_ahead_progress(const struct lull_ahead *ahead);
/* Ends the thread, drops the events that were not handed out, passes on what was reported, and frees.
 * False if there were such events, or may have been. */
bool lull_ahead_stop(struct lull_ahead *ahead);

#endif
