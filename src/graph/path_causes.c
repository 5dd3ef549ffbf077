/* SPDX-License-Identifier: MIT */
/* What a path is made of, by program, state, cause and the part of the evidence that is the same
 * each time: how long, how often, the longest. */
#include "graph/path.h"

#include <string.h>

static guint hash_cause(gconstpointer key)
{
    const struct lull_cause_share *share = key;
    return g_str_hash(share->program) * 31 + (share->detail ? g_str_hash(share->detail) : 0) +
           (share->host * 64 + (guint)share->state) * 64 + (guint)share->cause;
}

static gboolean equal_causes(gconstpointer a, gconstpointer b)
{
    const struct lull_cause_share *x = a, *y = b;
    return x->host == y->host && x->state == y->state && x->cause == y->cause &&
           strcmp(x->program, y->program) == 0 && g_strcmp0(x->detail, y->detail) == 0;
}

static gint longest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_cause_share *x = *(const struct lull_cause_share *const *)a;
    const struct lull_cause_share *y = *(const struct lull_cause_share *const *)b;
    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns < y->duration_ns ? 1 : -1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

void lull_path_sum_causes(struct lull_path *path)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(hash_cause, equal_causes);
    g_autoptr(GPtrArray) list = g_ptr_array_new_with_free_func(g_free);
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        struct lull_cause_share key = {.host = segment->host,
                                       .program = segment->program ? segment->program : "?",
                                       .state = segment->state,
                                       .cause = segment->cause,
                                       .detail = segment->subject,
                                       .first = i};
        struct lull_cause_share *share = g_hash_table_lookup(numbers, &key);
        if (!share) {
            share = g_memdup2(&key, sizeof key);
            g_ptr_array_add(list, share);
            g_hash_table_add(numbers, share);
        }
        const int64_t ns = segment->end_ns - segment->start_ns;
        share->duration_ns += ns;
        share->longest_ns = MAX(share->longest_ns, ns);
        share->count++;
    }
    g_ptr_array_sort(list, longest_first);
    path->n_by_cause = list->len;
    path->by_cause = g_new0(struct lull_cause_share, list->len);
    for (guint i = 0; i < list->len; i++) {
        path->by_cause[i] = *(const struct lull_cause_share *)list->pdata[i];
    }
}

uint32_t lull_path_cause_count(const struct lull_path *path)
{
    return path->n_by_cause;
}

const struct lull_cause_share *lull_path_cause(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_cause, NULL);
    return &path->by_cause[index];
}
