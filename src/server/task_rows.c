/* SPDX-License-Identifier: MIT */
/* Which row of the store shows which task of a reading. Both number tasks in their own way; a tid
 * that was used again has a row for each life, told apart by when it was. */
#include "server/task_rows.h"

#include <lull/path.h>

/* How long the row was active between the two times; a row that never was still fits a little. */
static int64_t overlap(const struct lull_store_row *row, int64_t first_ns, int64_t last_ns)
{
    const int64_t start_ns = MAX(row->active_ns, first_ns);
    const int64_t end_ns = MIN(row->passive_ns, last_ns);
    return start_ns <= end_ns ? end_ns - start_ns + 1 : 0;
}

void server_tid_rows_init(struct server_tid_rows *rows, const struct lull_store *store)
{
    const uint32_t n_rows = lull_store_row_count(store);
    *rows = (struct server_tid_rows){.store = store, .next = g_new(uint32_t, MAX(n_rows, 1))};
    for (uint32_t row = n_rows; row-- > 0;) {
        const struct lull_store_row about = lull_store_row(store, row);
        const uint64_t key = (uint64_t)about.host << 32 | (uint32_t)about.tid;
        if (about.kind == LULL_STORE_TASK) {
            rows->next[row] = lull_map_find(&rows->first, key);
            lull_map_insert(&rows->first, key, row);
        }
    }
}

void server_tid_rows_clear(struct server_tid_rows *rows)
{
    lull_map_free(&rows->first);
    g_free(rows->next);
}

uint32_t server_tid_row(const struct server_tid_rows *rows, uint32_t host, int32_t tid,
                        int64_t first_ns, int64_t last_ns)
{
    uint32_t best = LULL_NONE;
    int64_t most = 0;
    for (uint32_t row = lull_map_find(&rows->first, (uint64_t)host << 32 | (uint32_t)tid);
         row != LULL_MAP_NONE; row = rows->next[row]) {
        const struct lull_store_row about = lull_store_row(rows->store, row);
        const int64_t found = overlap(&about, first_ns, last_ns);
        if (found > most) {
            most = found;
            best = row;
        }
    }
    return best;
}

uint32_t *server_task_rows(const struct lull_store *store, const struct lull_model *model)
{
    const uint32_t n_tasks = lull_model_task_count(model);
    uint32_t *found = g_new(uint32_t, MAX(n_tasks, 1));
    struct server_tid_rows rows;
    server_tid_rows_init(&rows, store);
    for (uint32_t i = 0; i < n_tasks; i++) {
        const struct lull_task *task = lull_model_task(model, i);
        found[i] = server_tid_row(&rows, task->host, task->tid, task->first_ns, task->last_ns);
    }
    server_tid_rows_clear(&rows);
    return found;
}
