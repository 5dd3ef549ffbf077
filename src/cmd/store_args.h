/* SPDX-License-Identifier: MIT */
/* The store of the traces on the command line, for the verbs that need it. */
#ifndef LULL_CMD_STORE_ARGS_H
#define LULL_CMD_STORE_ARGS_H

#include "cmd/states_args.h"
#include "store/build.h"
#include "store/place.h"

/* For a verb's table of options. */
#define LULL_OPTION_STORE_STATES                                                                   \
    LULL_OPTION_STATES("rows of the states that this file declares, too (docs/STATES.md)")

/* Where it is; cleared with lull_store_place_clear(). *states is what --states declares, or NULL; free with
 * lull_states_free(). False and an error without a trace, or if the file has mistakes. */
bool lull_args_store_place(const struct lull_args *args, struct lull_states **states,
                           struct lull_store_place *place, GError **error);
/* Makes the store. `show` (or NULL) and its `user` as in struct lull_store_watch; *is_stopped (atomic,
 * or NULL) ends it when it becomes true. *status (0 before) is 1 if parts of the traces are damaged,
 * which is reported. */
struct lull_store_making {
    const struct lull_states *states; /* or NULL */
    void (*show)(void *user, struct lull_store *part, int64_t end_ns);
    void *user;
    const gint *is_stopped;
};
bool lull_args_store_make(const struct lull_args *args, const struct lull_store_place *place,
                          const struct lull_store_making *making, int *status, GError **error);
/* Opens the store, or makes it. *status (0 before) is 1 if parts of the traces are damaged, which is
 * reported. *is_new, or NULL: whether it was made. */
struct lull_store *lull_args_store(const struct lull_args *args, const struct lull_states *states,
                                   const struct lull_store_place *place, bool *is_new, int *status,
                                   GError **error);

#endif
