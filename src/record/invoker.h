/* SPDX-License-Identifier: MIT */
/* The person who records. Under sudo that is who called sudo: the command runs as that user, and
 * the recording belongs to that user. */
#ifndef LULL_RECORD_INVOKER_H
#define LULL_RECORD_INVOKER_H

#include <lull/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lull_invoker {
    bool is_other; /* not the user we are */
    uid_t uid;
    gid_t gid;
    char *name, *home, *shell; /* NULL: as it is in the environment */
};

/* From SUDO_UID and SUDO_GID, if we are root. Clear it in any case. An error if they name a user
 * that is not known here. */
bool lull_invoker_init(struct lull_invoker *invoker, GError **error);
void lull_invoker_clear(struct lull_invoker *invoker);

/* This process becomes the invoker, for good: user, groups, no capability that recording needs, and
 * the environment of one who did not call sudo. It must have no threads. 0 or an errno. */
int lull_invoker_become(const struct lull_invoker *invoker);

/* This process, if it is root's, gives up all capabilities but those to look at other processes and
 * `more`, and unless `needs_root` it becomes the invoker as well. Only threads that it starts later are limited
 * too. False and an error if that fails. */
bool lull_invoker_limit(const struct lull_invoker *invoker, bool needs_root, const uint8_t *more,
                        size_t n_more, GError **error);

/* Has a child do it that has become the invoker and has no capability at all, and waits for its end, for at most
 * LULL_INVOKER_SECONDS. False: it could not become that, or it was killed. */
bool lull_invoker_do(const struct lull_invoker *invoker, void (*work)(void *user), void *user);
#define LULL_INVOKER_SECONDS 20

/* This thread makes its requests to a daemon of root's as the invoker, until it takes that back.
 * False, with errno, if it may not. */
bool lull_invoker_speak_as(const struct lull_invoker *invoker);
void lull_invoker_speak_as_self(void);

/* Directory for state of programs ($XDG_STATE_HOME, else ~/.local/state). Free with g_free(); NULL
 * if there is no home. */
char *lull_invoker_state_dir(const struct lull_invoker *invoker);

#endif
