/* Following live sessions from the command line: what was printed is handed on before reading
 * waits, and Ctrl-C ends the reading, not the program. */
#ifndef LULL_CMD_FOLLOW_H
#define LULL_CMD_FOLLOW_H

#include "cmd/verb.h"

struct lull_follow {
    bool is_live; /* some TRACE is a live session */
    bool is_stopped;
    int fd; /* tells of signals */
};

/* Without a live session nothing changes. */
void lull_follow_begin(struct lull_follow *follow, const struct lull_args *args);
void lull_follow_end(struct lull_follow *follow);

/* For lull_session_on_wait(), with the struct lull_follow. */
bool lull_follow_wait(void *follow);

/* True if the user wants to end. */
bool lull_follow_is_stopped(struct lull_follow *follow);

/* lull_args_open_traces(), with live sessions allowed. */
struct lull_session *lull_follow_open(struct lull_follow *follow, const struct lull_args *args,
                                      GError **error);

#endif
