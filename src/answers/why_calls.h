/* SPDX-License-Identifier: MIT */
/* In which functions slow instances spent more time than typical ones, where calls were recorded. */
#ifndef LULL_ANSWERS_WHY_CALLS_H
#define LULL_ANSWERS_WHY_CALLS_H

#include "answers/why.h"

/* Means over all slow and over all typical instances of a kind, of what their paths were in one function in one
 * state; those of all functions together are the durations. */
struct lull_why_function {
    const char *name; /* NULL: in no call that was recorded */
    const char *kind; /* "native", "python", "recording", "syscall", "kernel"; NULL likewise */
    enum lull_state state;
    enum lull_cause cause;
    double slow_ns, typical_ns, difference_ns;
};

struct lull_why_calls;

/* Reads the session for the calls of all that was compared. All is borrowed until it returns. Free with
 * lull_why_calls_free(). */
struct lull_why_calls *lull_why_calls_read(const struct lull_why *why, struct lull_session *session,
                                           void (*progress)(void *user), void *user);
void lull_why_calls_free(struct lull_why_calls *calls);

/* Whether any of what was compared was in a call. */
bool lull_why_calls_are_any(const struct lull_why_calls *calls);
/* Of a kind, by its place: a GArray of struct lull_why_function, what the slow ones do most more first. Empty if
 * the kind was not compared. Borrowed. */
const GArray *lull_why_calls_of(const struct lull_why_calls *calls, uint32_t kind);

#endif
