/* SPDX-License-Identifier: MIT */
/* Which row of the store shows which task of a reading. */
#ifndef LULL_SERVER_TASK_ROWS_H
#define LULL_SERVER_TASK_ROWS_H

#include "base/map.h"
#include "kernel/model.h"
#include "store/store.h"

/* Rows of tasks by host and tid. */
struct server_tid_rows {
    const struct lull_store *store;
    struct lull_map first;
    uint32_t *next; /* by row: the next of the same host and tid, or LULL_MAP_NONE */
};

/* The store is borrowed. */
void server_tid_rows_init(struct server_tid_rows *rows, const struct lull_store *store);
void server_tid_rows_clear(struct server_tid_rows *rows);
/* The one that was active longest between the two times, or LULL_NONE. */
uint32_t server_tid_row(const struct server_tid_rows *rows, uint32_t host, int32_t tid,
                        int64_t first_ns, int64_t last_ns);

/* The row of each task of the model, or LULL_NONE; to be freed with g_free(). */
uint32_t *server_task_rows(const struct lull_store *store, const struct lull_model *model);

#endif
