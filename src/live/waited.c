/* SPDX-License-Identifier: MIT */
/* A pair is named for what it waited lately, so that one that only comes up later is seen too. One that
 * loses its name hands what was counted for it on to the others: no count ever falls. */
#include "live/waited.h"

#include <string.h>

/* More are counted together. */
#define MOST_PAIRS 4096
/* What was waited earlier counts less at each interval; below the least a pair is forgotten. */
#define DECAY 0.98
#define LEAST_SCORE 1e6
/* A pair takes the name of another only if it has waited so much more. */
#define MARGIN 2

struct pair {
    struct lull_waited_pair key; /* with ns 0 */
    double score;                /* ns, lately */
    int named;                   /* index; -1: among the others */
};

struct lull_waited {
    struct lull_waited_sums sums;
    GHashTable *pairs; /* struct pair *, its own key */
    struct pair *of[LULL_WAITED_NAMED];
};

static guint hash(const void *data)
{
    const struct lull_waited_pair *pair = data;
    return g_str_hash(pair->comm) * LULL_LIVE_ENDS + (guint)pair->end;
}

static gboolean is_equal(const void *a, const void *b)
{
    const struct lull_waited_pair *left = a, *right = b;
    return left->end == right->end && strcmp(left->comm, right->comm) == 0;
}

struct lull_waited *lull_waited_new(void)
{
    struct lull_waited *waited = g_new0(struct lull_waited, 1);
    waited->pairs = g_hash_table_new_full(hash, is_equal, NULL, g_free);
    return waited;
}

void lull_waited_free(struct lull_waited *waited)
{
    if (waited) {
        g_hash_table_unref(waited->pairs);
        g_free(waited);
    }
}

const struct lull_waited_sums *lull_waited_sums(const struct lull_waited *waited)
{
    return &waited->sums;
}

/* NULL: there are too many. */
static struct pair *pair_of(struct lull_waited *waited, const struct lull_live_row *row)
{
    struct lull_waited_pair key = {.end = row->end};
    g_strlcpy(key.comm, row->key->comm, sizeof key.comm);
    struct pair *pair = g_hash_table_lookup(waited->pairs, &key);
    if (!pair && g_hash_table_size(waited->pairs) < MOST_PAIRS) {
        pair = g_new(struct pair, 1);
        *pair = (struct pair){.key = key, .named = -1};
        g_hash_table_insert(waited->pairs, &pair->key, pair);
    }
    return pair;
}

static gboolean fade(void *key, void *value, void *user)
{
    struct pair *pair = value;
    pair->score *= DECAY;
    return pair->named < 0 && pair->score < LEAST_SCORE;
}

static void name(struct lull_waited *waited, struct pair *pair, uint32_t i)
{
    waited->of[i] = pair;
    waited->sums.named[i] = pair->key;
    pair->named = (int)i;
}

/* The one that is named with the least reason. */
static uint32_t find_least(const struct lull_waited *waited)
{
    uint32_t least = 0;
    for (uint32_t i = 1; i < waited->sums.n; i++) {
        least = waited->of[i]->score < waited->of[least]->score ? i : least;
    }
    return least;
}

/* False: it has no better reason to be named than those that are. */
static bool choose(struct lull_waited *waited, struct pair *pair)
{
    struct lull_waited_sums *sums = &waited->sums;
    if (sums->n < LULL_WAITED_NAMED) {
        name(waited, pair, (uint32_t)sums->n++);
        return true;
    }
    const uint32_t least = find_least(waited);
    if (pair->score <= MARGIN * waited->of[least]->score) {
        return false;
    }
    sums->other_ns += sums->named[least].ns;
    waited->of[least]->named = -1;
    name(waited, pair, least);
    return true;
}

/* Most first, then by name: the order never depends on chance. */
static int compare(const void *a, const void *b)
{
    const struct pair *left = *(struct pair *const *)a, *right = *(struct pair *const *)b;
    const int order = (left->score < right->score) - (left->score > right->score);
    const int by_name = order ? order : strcmp(left->key.comm, right->key.comm);
    return by_name ? by_name : (int)left->key.end - (int)right->key.end;
}

static void name_most(struct lull_waited *waited)
{
    g_autoptr(GPtrArray) others = g_ptr_array_new();
    GHashTableIter iter;
    void *value;
    g_hash_table_iter_init(&iter, waited->pairs);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        if (((const struct pair *)value)->named < 0) {
            g_ptr_array_add(others, value);
        }
    }
    g_ptr_array_sort(others, compare);
    for (guint i = 0; i < others->len && choose(waited, others->pdata[i]); i++) {
    }
}

void lull_waited_add(struct lull_waited *waited, const struct lull_interval *interval)
{
    struct lull_live_rows rows;
    lull_live_rows_make(&rows, interval, NULL, LULL_LIVE_BY_WAITED, false);
    g_hash_table_foreach_remove(waited->pairs, fade, NULL);
    const struct lull_live_row *row = (const struct lull_live_row *)rows.rows->data;
    for (guint i = 0; i < rows.rows->len; i++) {
        struct pair *pair = row[i].is_idle ? NULL : pair_of(waited, &row[i]);
        if (pair) {
            pair->score += (double)row[i].waited_ns;
        }
    }
    name_most(waited);
    for (guint i = 0; i < rows.rows->len; i++) {
        const struct pair *pair = row[i].is_idle ? NULL : pair_of(waited, &row[i]);
        const int named = pair ? pair->named : -1;
        *(named >= 0 ? &waited->sums.named[named].ns : &waited->sums.other_ns) +=
            row[i].is_idle ? 0 : (uint64_t)row[i].waited_ns;
    }
    lull_live_rows_clear(&rows);
}
