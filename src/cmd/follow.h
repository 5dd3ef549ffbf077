/* SPDX-License-Identifier: MIT */
/* Following live sessions from the command line: what was printed is handed on before reading
 * waits, and Ctrl-C ends the reading, not the program. */
#ifndef LULL_CMD_FOLLOW_H
#define LULL_CMD_FOLLOW_H

#include "cmd/verb.h"

struct lull_follow {
    bool is_live; /* some TRACE is a live session */
    bool is_stopped;
    int fd; /* readable after a signal */
    uint32_t ticks;
    bool (*flush)(void *user); /* or NULL */
    void *user;
};

/* Without a live session nothing changes. */
void lull_follow_start(struct lull_follow *follow, const struct lull_args *args);
void lull_follow_end(struct lull_follow *follow);

/* lull_args_open_traces(), with live sessions allowed. */
struct lull_session *lull_follow_open(struct lull_follow *follow, const struct lull_args *args,
                                      GError **error);
/* From now on `flush` is called before reading waits; false from it ends the reading. NULL: for
 * nothing. */
void lull_follow_flush(struct lull_follow *follow, bool (*flush)(void *user), void *user);

/* True if the user wants to end; reads pending signals. */
bool lull_follow_is_stopped(struct lull_follow *follow);

/* The same, to be called for each event: reads signals seldom. */
static inline bool lull_follow_tick(struct lull_follow *follow)
{
    return G_UNLIKELY(follow->is_live) && follow->ticks++ % 1024 == 0 &&
           lull_follow_is_stopped(follow);
}

#endif
