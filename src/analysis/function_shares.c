/* SPDX-License-Identifier: MIT */
/* Functions are the same in all tasks. */
#include "analysis/function_shares.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sums.h"
#include "calls/names.h"

struct key {
    struct lull_calls_identity function;
    uint32_t state, cause;
};

static unsigned hash_key(const void *key)
{
    return lull_hash_words(key, sizeof(struct key));
}

static gboolean is_same_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct key)) == 0;
}

void lull_function_shares_add(struct lull_function_shares *shares, const struct lull_calls *calls,
                              const struct lull_function_share *share)
{
    struct key key = {.function.layer = UINT32_MAX, .state = share->state, .cause = share->cause};
    if (share->function != LULL_NONE) {
        key.function = lull_calls_identify(calls, lull_calls_function(calls, share->function));
    }
    if (!shares->by_key) {
        shares->by_key = g_hash_table_new_full(hash_key, is_same_key, g_free, NULL);
    }
    const uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(shares->by_key, &key));
    if (at == 0) {
        lull_vec_push(&shares->items, *share);
        g_hash_table_insert(shares->by_key, g_memdup2(&key, sizeof key),
                            GUINT_TO_POINTER(shares->items.count));
        return;
    }
    lull_add(&shares->items.items[at - 1].duration_ns, share->duration_ns);
    lull_add(&shares->items.items[at - 1].other_ns, share->other_ns);
}

static int longest_first(const void *a, const void *b)
{
    const struct lull_function_share *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns < y->duration_ns ? 1 : -1;
    }
    if (x->function != y->function) {
        return x->function < y->function ? -1 : 1;
    }
    return x->state != y->state ? (x->state > y->state) - (x->state < y->state)
                                : (x->cause > y->cause) - (x->cause < y->cause);
}

void lull_function_shares_sort(struct lull_function_shares *shares)
{
    if (shares->items.count > 0) {
        qsort(shares->items.items, shares->items.count, sizeof *shares->items.items, longest_first);
    }
}

void lull_function_shares_clear(struct lull_function_shares *shares)
{
    lull_vec_free(&shares->items);
    g_clear_pointer(&shares->by_key, g_hash_table_unref);
}

uint32_t lull_calls_own_function(const struct lull_calls *calls, uint32_t node)
{
    const uint32_t innermost = lull_calls_node(calls, node)->function;
    for (;;) {
        const struct lull_calls_node *it = lull_calls_node(calls, node);
        if (it->function == LULL_NONE) {
            return innermost;
        }
        if (lull_calls_function(calls, it->function)->layer < LULL_FUNCTION_SYSCALL) {
            return it->function;
        }
        node = it->parent;
    }
}
