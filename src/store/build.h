/* SPDX-License-Identifier: MIT */
/* Makes the store of a session in one pass over its facts. */
#ifndef LULL_STORE_BUILD_H
#define LULL_STORE_BUILD_H

#include <lull/session.h>

#include "store/store.h"

/* Who looks while it is made. Both are called by the thread that makes it. */
struct lull_store_watch {
    /* Every some thousand events; false: stop, nothing is made. */
    bool (*progress)(void *user);
    /* A store of what is finished, which becomes the property of who is called; rows keep their
     * numbers. The whole will end at end_ns. NULL: no parts are made. */
    void (*show)(void *user, struct lull_store *part, int64_t end_ns);
    void *user;
};

struct lull_states;

/* Reads the session, whose clocks are joined, to its end; the store will be `path`, in a directory
 * that exists. `states`: what users declare; or NULL. */
bool lull_store_build(struct lull_session *session, const struct lull_states *states,
                      const char *path, const uint8_t key[32], const struct lull_store_watch *watch,
                      GError **error);

#endif
