/* SPDX-License-Identifier: MIT */
/* In which container each thread was at each time, for those who read events without a model. */
#ifndef LULL_KERNEL_CONTAINER_HISTORY_H
#define LULL_KERNEL_CONTAINER_HISTORY_H

#include <lull/session.h>

struct lull_container_history;

/* As in struct lull_container; "" is not known. */
struct lull_container_place {
    const char *name, *path, *pod;
};

/* Reads the whole session, and leaves its subscriptions, limits and watch as they were; rewinds. NULL:
 * it is live, and read once only. */
struct lull_container_history *lull_container_history_read(struct lull_session *session);
void lull_container_history_free(struct lull_container_history *history);
/* Where the thread was that had this tid then, as far as it had run or was recorded; NULL: not known. */
const struct lull_container_place *
lull_container_history_at(const struct lull_container_history *history, uint32_t host, int64_t tid,
                          int64_t time_ns);

#endif
