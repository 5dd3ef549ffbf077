/* SPDX-License-Identifier: MIT */
/* Shares of a critical path: how much of it each state, task and host takes; and the path as the
 * public API shows it. */
#include "graph/path.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

static int compare_longest_first(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

static int compare_ascending(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_states(const void *a, const void *b)
{
    const struct lull_state_share *x = a, *y = b;
    int order = compare_longest_first(x->duration_ns, y->duration_ns);
    if (order == 0) {
        order = compare_ascending(x->state, y->state);
    }
    return order != 0 ? order : compare_ascending(x->cause, y->cause);
}

static int compare_tasks(const void *a, const void *b)
{
    const struct lull_task_share *x = a, *y = b;
    int order = compare_longest_first(x->duration_ns, y->duration_ns);
    if (order == 0) {
        order = compare_ascending(x->host, y->host);
    }
    if (order == 0) {
        order = compare_ascending(x->tid, y->tid);
    }
    return order != 0 ? order : compare_ascending(x->task, y->task);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct lull_host_share *x = a, *y = b;
    int order = compare_longest_first(x->duration_ns, y->duration_ns);
    return order != 0 ? order : compare_ascending(x->host, y->host);
}

static int64_t duration_of(const struct lull_segment *segment)
{
    return segment->end_ns - segment->start_ns;
}

static void sum_states(struct lull_path *path)
{
    int64_t sums[LULL_STATE_COUNT][LULL_CAUSE_COUNT] = {0};
    bool seen[LULL_STATE_COUNT][LULL_CAUSE_COUNT] = {0};
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        sums[segment->state][segment->cause] += duration_of(segment);
        seen[segment->state][segment->cause] = true;
    }
    LULL_VEC(struct lull_state_share) shares = {0};
    for (int state = 0; state < LULL_STATE_COUNT; state++) {
        for (int cause = 0; cause < LULL_CAUSE_COUNT; cause++) {
            if (seen[state][cause]) {
                lull_vec_push(&shares,
                              (struct lull_state_share){.state = (enum lull_state)state,
                                                        .cause = (enum lull_cause)cause,
                                                        .duration_ns = sums[state][cause]});
            }
        }
    }
    path->n_by_state = (uint32_t)shares.count;
    path->by_state = lull_vec_steal(&shares);
}

static void sum_tasks(struct lull_path *path)
{
    LULL_VEC(struct lull_task_share) shares = {0};
    struct lull_map index = {0};
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        uint64_t key = (uint64_t)segment->host << 32 | segment->task;
        uint32_t found = lull_map_find(&index, key);
        if (found == LULL_MAP_NONE) {
            found = (uint32_t)shares.count;
            lull_map_insert(&index, key, found);
            lull_vec_push(&shares, (struct lull_task_share){.host = segment->host,
                                                            .task = segment->task,
                                                            .tid = segment->tid});
        }
        struct lull_task_share *share = &shares.items[found];
        share->duration_ns += duration_of(segment);
        if (segment->comm) {
            share->comm = segment->comm;
        }
    }
    lull_map_free(&index);
    path->n_by_task = (uint32_t)shares.count;
    path->by_task = lull_vec_steal(&shares);
}

static void sum_hosts(struct lull_path *path)
{
    LULL_VEC(struct lull_host_share) shares = {0};
    struct lull_map index = {0};
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        uint32_t found = lull_map_find(&index, segment->host);
        if (found == LULL_MAP_NONE) {
            found = (uint32_t)shares.count;
            lull_map_insert(&index, segment->host, found);
            lull_vec_push(&shares, (struct lull_host_share){.host = segment->host});
        }
        shares.items[found].duration_ns += duration_of(segment);
    }
    lull_map_free(&index);
    path->n_by_host = (uint32_t)shares.count;
    path->by_host = lull_vec_steal(&shares);
}

static void sort(void *items, uint32_t count, size_t size,
                 int (*compare)(const void *, const void *))
{
    if (count > 0) { /* there may be no items at all to point to */
        qsort(items, count, size, compare);
    }
}

static int compare_containers(const void *a, const void *b)
{
    const struct lull_container_share *x = a, *y = b;
    return (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns);
}

static guint hash_container(gconstpointer key)
{
    const struct lull_task_share *task = key;
    return (task->container ? g_str_hash(task->container) : 0) * 31 + task->host;
}

static gboolean same_container(gconstpointer a, gconstpointer b)
{
    const struct lull_task_share *x = a, *y = b;
    return x->host == y->host && g_strcmp0(x->container, y->container) == 0;
}

void lull_path_sum_containers(struct lull_path *path)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(hash_container, same_container);
    LULL_VEC(struct lull_container_share) shares = {0};
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        struct lull_task_share *task = &path->by_task[i];
        size_t number = GPOINTER_TO_SIZE(g_hash_table_lookup(numbers, task)); /* from 1 */
        if (number == 0) {
            lull_vec_push(&shares, (struct lull_container_share){task->host, task->container, 0});
            number = shares.count;
            g_hash_table_insert(numbers, task, GSIZE_TO_POINTER(number));
        }
        shares.items[number - 1].duration_ns += task->duration_ns;
    }
    /* One without a name on each host: nothing is known. */
    bool is_any_known = false;
    for (size_t i = 0; i < shares.count; i++) {
        is_any_known |= shares.items[i].name != NULL;
    }
    g_clear_pointer(&path->by_container, g_free);
    path->n_by_container = is_any_known ? (uint32_t)shares.count : 0;
    path->by_container = lull_vec_steal(&shares);
    sort(path->by_container, path->n_by_container, sizeof *path->by_container, compare_containers);
}

static void free_shares(struct lull_path *path)
{
    g_clear_pointer(&path->by_state, g_free);
    g_clear_pointer(&path->by_task, g_free);
    g_clear_pointer(&path->by_cause, g_free);
    g_clear_pointer(&path->by_mode, g_free);
    g_clear_pointer(&path->by_host, g_free);
    g_clear_pointer(&path->by_container, g_free);
}

void lull_path_summarise(struct lull_path *path)
{
    free_shares(path);
    sum_states(path);
    sum_tasks(path);
    sum_hosts(path);
    lull_path_sum_causes(path);
    sort(path->by_state, path->n_by_state, sizeof *path->by_state, compare_states);
    sort(path->by_task, path->n_by_task, sizeof *path->by_task, compare_tasks);
    sort(path->by_host, path->n_by_host, sizeof *path->by_host, compare_hosts);
}

void lull_path_free(struct lull_path *path)
{
    if (!path) {
        return;
    }
    free_shares(path);
    g_free((void *)path->host_names);
    lull_growing_free(path->segments, path->n_segments * sizeof *path->segments);
    lull_growing_free(path->runs, path->n_runs * sizeof *path->runs);
    g_free(path->waits);
    g_free(path->sync);
    g_free(path->quotas);
    g_free(path->open_waits);
    g_free(path->kills);
    g_free(path->idle);
    if (path->strings) {
        g_string_chunk_free(path->strings);
    }
    g_free(path);
}

/* ---- the public API ---- */

const struct lull_frame *lull_segment_frame(const struct lull_segment *segment, uint32_t index)
{
    g_return_val_if_fail(index < segment->n_frames, NULL);
    return &segment->frames[index];
}

void lull_path_range(const struct lull_path *path, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = path->start_ns;
    *end_ns = path->end_ns;
}

uint32_t lull_path_task(const struct lull_path *path)
{
    return path->task;
}

void lull_path_losses(const struct lull_path *path, uint64_t *events, uint64_t *packets)
{
    *events = path->lost_events;
    *packets = path->lost_packets;
}

uint32_t lull_path_segment_count(const struct lull_path *path)
{
    return path->n_segments;
}

const struct lull_segment *lull_path_segment(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_segments, NULL);
    return &path->segments[index];
}

uint32_t lull_path_wait_count(const struct lull_path *path)
{
    return path->n_waits;
}

const struct lull_wait *lull_path_wait(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_waits, NULL);
    return &path->waits[index];
}

uint32_t lull_path_state_count(const struct lull_path *path)
{
    return path->n_by_state;
}

const struct lull_state_share *lull_path_state(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_state, NULL);
    return &path->by_state[index];
}

uint32_t lull_path_task_count(const struct lull_path *path)
{
    return path->n_by_task;
}

const struct lull_task_share *lull_path_task_share(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_task, NULL);
    return &path->by_task[index];
}

uint32_t lull_path_host_count(const struct lull_path *path)
{
    return path->n_by_host;
}

const struct lull_host_share *lull_path_host(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_host, NULL);
    return &path->by_host[index];
}

uint32_t lull_path_container_count(const struct lull_path *path)
{
    return path->n_by_container;
}

const struct lull_container_share *lull_path_container(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_container, NULL);
    return &path->by_container[index];
}
