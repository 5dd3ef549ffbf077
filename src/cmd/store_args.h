/* SPDX-License-Identifier: MIT */
/* The store of the traces on the command line, for the verbs that need it. */
#ifndef LULL_CMD_STORE_ARGS_H
#define LULL_CMD_STORE_ARGS_H

#include "cmd/verb.h"
#include "store/build.h"
#include "store/place.h"

/* Where it is; cleared with lull_store_place_clear(). False and an error without a trace. */
bool lull_args_store_place(const struct lull_args *args, struct lull_store_place *place,
                           GError **error);
/* Makes the store. `show` (or NULL) and its `user` as in struct lull_store_watch; *is_stopped (atomic,
 * or NULL) ends it when it becomes true. *status (0 before) is 1 if parts of the traces are damaged,
 * which is reported. */
struct lull_store_making {
    void (*show)(void *user, struct lull_store *part, int64_t end_ns);
    void *user;
    const gint *is_stopped;
};
bool lull_args_store_make(const struct lull_args *args, const struct lull_store_place *place,
                          const struct lull_store_making *making, int *status, GError **error);
/* Opens the store, or makes it. *status (0 before) is 1 if parts of the traces are damaged, which is
 * reported. *is_new, or NULL: whether it was made. */
struct lull_store *lull_args_store(const struct lull_args *args,
                                   const struct lull_store_place *place, bool *is_new, int *status,
                                   GError **error);

#endif
