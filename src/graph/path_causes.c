/* SPDX-License-Identifier: MIT */
/* What a path is made of, by program, state, cause and the part of the evidence that is the same
 * each time, and by who waits for it: how long, how often, the longest. */
#include "graph/path.h"

#include <string.h>

static guint hash_cause(gconstpointer key)
{
    const struct lull_cause_share *share = key;
    guint hash = (share->host * 64 + (guint)share->state) * 64 + (guint)share->cause;
    const char *const texts[] = {share->program, share->detail, share->waiter, share->waiter_kind,
                                 share->waiter_call};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        hash = hash * 31 + (texts[i] ? g_str_hash(texts[i]) : 0);
    }
    return hash;
}

static gboolean equal_causes(gconstpointer a, gconstpointer b)
{
    const struct lull_cause_share *x = a, *y = b;
    return x->host == y->host && x->state == y->state && x->cause == y->cause &&
           strcmp(x->program, y->program) == 0 && g_strcmp0(x->detail, y->detail) == 0 &&
           g_strcmp0(x->waiter, y->waiter) == 0 && g_strcmp0(x->waiter_kind, y->waiter_kind) == 0 &&
           g_strcmp0(x->waiter_call, y->waiter_call) == 0;
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

/* Who waits for what the segment does, and how. */
static void add_waiter(const struct lull_path *path, const struct lull_segment *segment,
                       struct lull_cause_share *share)
{
    if (segment->wait >= path->n_waits) {
        return;
    }
    const struct lull_wait *wait = &path->waits[segment->wait];
    share->waiter = wait->comm;
    share->waiter_kind = wait->reason.kind;
    share->waiter_call = wait->reason.call;
    share->waiter_object = wait->reason.object;
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
        add_waiter(path, segment, &key);
        struct lull_cause_share *share = g_hash_table_lookup(numbers, &key);
        if (!share) {
            share = g_memdup2(&key, sizeof key);
            g_ptr_array_add(list, share);
            g_hash_table_add(numbers, share);
        } else if (g_strcmp0(share->waiter_object, key.waiter_object) != 0) {
            share->waiter_object = NULL;
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
