/* SPDX-License-Identifier: MIT */
/* Which row of the store shows which task of a reading. Both number tasks in their own way; a tid
 * that was used again has a row for each life, told apart by when it was. */
#include "server/paths.h"

#include "base/map.h"

/* How long the row was active while the task lived; a row that never was still fits a little. */
static int64_t overlap(const struct lull_store_row *row, const struct lull_task *task)
{
    const int64_t start_ns = MAX(row->active_ns, task->first_ns);
    const int64_t end_ns = MIN(row->passive_ns, task->last_ns);
    return start_ns <= end_ns ? end_ns - start_ns + 1 : 0;
}

uint32_t *server_task_rows(const struct lull_store *store, const struct lull_waits *waits)
{
    const uint32_t n_rows = lull_store_row_count(store), n_tasks = lull_waits_task_count(waits);
    uint32_t *rows = g_new(uint32_t, MAX(n_tasks, 1));
    uint32_t *next = g_new(uint32_t, MAX(n_rows, 1)); /* of the same host and tid */
    struct lull_map first = {0};
    for (uint32_t row = n_rows; row-- > 0;) {
        const struct lull_store_row about = lull_store_row(store, row);
        const uint64_t key = (uint64_t)about.host << 32 | (uint32_t)about.tid;
        if (about.kind == LULL_STORE_TASK) {
            next[row] = lull_map_find(&first, key);
            lull_map_insert(&first, key, row);
        }
    }
    for (uint32_t i = 0; i < n_tasks; i++) {
        const struct lull_task *task = lull_waits_task(waits, i);
        int64_t most = 0;
        rows[i] = LULL_NONE;
        for (uint32_t row = lull_map_find(&first, (uint64_t)task->host << 32 | (uint32_t)task->tid);
             row != LULL_MAP_NONE; row = next[row]) {
            const struct lull_store_row about = lull_store_row(store, row);
            const int64_t found = overlap(&about, task);
            if (found > most) {
                most = found;
                rows[i] = row;
            }
        }
    }
    lull_map_free(&first);
    g_free(next);
    return rows;
}
