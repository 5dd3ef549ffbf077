/* SPDX-License-Identifier: MIT */
/* What a path is made of, by program, state, cause and the part of the evidence that is the same
 * each time, and by who waits for it: how long, how often, the longest. */
#include "graph/execgraph_private.h"
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

/* The same texts at the same addresses, as most are: a path keeps each once. */
static guint hash_addresses(gconstpointer key)
{
    const struct lull_cause_share *share = key;
    const void *const texts[] = {share->program, share->detail, share->waiter, share->waiter_kind,
                                 share->waiter_call};
    gsize hash = (share->host * 64 + (gsize)share->state) * 64 + (gsize)share->cause;
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        hash = hash * 31 + GPOINTER_TO_SIZE(texts[i]);
    }
    return (guint)(hash ^ hash >> 16);
}

static gboolean equal_addresses(gconstpointer a, gconstpointer b)
{
    const struct lull_cause_share *x = a, *y = b;
    return x->host == y->host && x->state == y->state && x->cause == y->cause &&
           x->program == y->program && x->detail == y->detail && x->waiter == y->waiter &&
           x->waiter_kind == y->waiter_kind && x->waiter_call == y->waiter_call;
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

/* How long a sum is about one file. */
struct object_sum {
    struct lull_cause_share *of;
    const char *object;
    int64_t ns;
};

static guint hash_object(gconstpointer key)
{
    const struct object_sum *sum = key;
    return g_str_hash(sum->object) * 31 + g_direct_hash(sum->of);
}

static gboolean equal_objects(gconstpointer a, gconstpointer b)
{
    const struct object_sum *x = a, *y = b;
    return x->of == y->of && strcmp(x->object, y->object) == 0;
}

struct lull_cause_sums {
    GHashTable *objects;      /* struct object_sum */
    GHashTable *by_text;      /* of the sums */
    GHashTable *by_addresses; /* what was added → its sum */
    GPtrArray *list;
};

struct lull_cause_sums *lull_cause_sums_new(void)
{
    struct lull_cause_sums *sums = g_new0(struct lull_cause_sums, 1);
    sums->objects = g_hash_table_new_full(hash_object, equal_objects, g_free, NULL);
    sums->by_text = g_hash_table_new(hash_cause, equal_causes);
    sums->by_addresses = g_hash_table_new_full(hash_addresses, equal_addresses, g_free, NULL);
    sums->list = g_ptr_array_new_with_free_func(g_free);
    return sums;
}

static struct lull_cause_share *sum_of(struct lull_cause_sums *sums,
                                       const struct lull_cause_share *share)
{
    struct lull_cause_share *sum = g_hash_table_lookup(sums->by_addresses, share);
    if (sum) {
        return sum;
    }
    sum = g_hash_table_lookup(sums->by_text, share);
    if (!sum) {
        sum = g_memdup2(share, sizeof *share);
        sum->duration_ns = sum->longest_ns = sum->object_ns = 0;
        sum->object = NULL;
        sum->count = 0;
        g_ptr_array_add(sums->list, sum);
        g_hash_table_add(sums->by_text, sum);
    }
    g_hash_table_insert(sums->by_addresses, g_memdup2(share, sizeof *share), sum);
    return sum;
}

static void add_object(struct lull_cause_sums *sums, struct lull_cause_share *of,
                       const struct lull_cause_share *share)
{
    const struct object_sum key = {of, share->object, 0};
    struct object_sum *sum = g_hash_table_lookup(sums->objects, &key);
    if (!sum) {
        sum = g_memdup2(&key, sizeof key);
        g_hash_table_add(sums->objects, sum);
    }
    sum->ns += share->object_ns;
}

/* The file of which each is for longest; of two for as long, the one whose name comes first. */
static void choose_objects(const struct lull_cause_sums *sums)
{
    GHashTableIter all;
    gpointer item;
    g_hash_table_iter_init(&all, sums->objects);
    while (g_hash_table_iter_next(&all, &item, NULL)) {
        const struct object_sum *sum = item;
        struct lull_cause_share *of = sum->of;
        if (!of->object || sum->ns > of->object_ns ||
            (sum->ns == of->object_ns && strcmp(sum->object, of->object) < 0)) {
            of->object = sum->object;
            of->object_ns = sum->ns;
        }
    }
}

void lull_cause_sums_add(struct lull_cause_sums *sums, const struct lull_cause_share *share)
{
    struct lull_cause_share *known = sum_of(sums, share);
    known->duration_ns += share->duration_ns;
    known->longest_ns = MAX(known->longest_ns, share->longest_ns);
    known->count += share->count;
    if (g_strcmp0(known->waiter_object, share->waiter_object) != 0) {
        known->waiter_object = NULL;
    }
    if (share->object) {
        add_object(sums, known, share);
    }
}

struct lull_cause_share *lull_cause_sums_take(struct lull_cause_sums *sums, uint32_t *count)
{
    struct lull_cause_share *shares = g_new0(struct lull_cause_share, sums->list->len);
    choose_objects(sums);
    g_ptr_array_sort(sums->list, longest_first);
    for (guint i = 0; i < sums->list->len; i++) {
        shares[i] = *(const struct lull_cause_share *)sums->list->pdata[i];
    }
    *count = sums->list->len;
    g_hash_table_unref(sums->objects);
    g_hash_table_unref(sums->by_text);
    g_hash_table_unref(sums->by_addresses);
    g_ptr_array_unref(sums->list);
    g_free(sums);
    return shares;
}

static gint longest_mode_first(gconstpointer a, gconstpointer b)
{
    const struct lull_mode_share *x = a, *y = b;
    if (x->duration_ns != y->duration_ns) {
        return x->duration_ns < y->duration_ns ? 1 : -1;
    }
    return (x->mode > y->mode) - (x->mode < y->mode);
}

static void sum_modes(struct lull_path *path)
{
    int64_t sums[LULL_MODE_COUNT] = {0};
    g_autoptr(GArray) shares = g_array_new(FALSE, FALSE, sizeof(struct lull_mode_share));
    for (uint32_t i = 0; i < path->n_by_cause; i++) {
        if (path->by_cause[i].state == LULL_STATE_RUNNING) {
            sums[path->by_cause[i].mode] += path->by_cause[i].duration_ns;
        }
    }
    for (int mode = 0; mode < LULL_MODE_COUNT; mode++) {
        const struct lull_mode_share share = {(enum lull_mode)mode, sums[mode]};
        if (sums[mode] > 0) {
            g_array_append_val(shares, share);
        }
    }
    g_array_sort(shares, longest_mode_first);
    path->n_by_mode = shares->len;
    path->by_mode = g_memdup2(shares->data, shares->len * sizeof(struct lull_mode_share));
}

/* "kworker" for "kworker/0:1", as programs are called. */
static const char *kind_of(const struct lull_path *path, const char *comm)
{
    if (!strchr(comm, '/')) {
        return comm;
    }
    g_autoptr(GString) kind = g_string_new(NULL);
    lull_evidence_append_kind(kind, comm);
    return g_string_chunk_insert_const(path->strings, kind->str);
}

/* Who waits for what the segment does, and how. */
static void add_waiter(const struct lull_path *path, const struct lull_segment *segment,
                       struct lull_cause_share *share)
{
    if (segment->wait >= path->n_waits) {
        return;
    }
    const struct lull_wait *wait = &path->waits[segment->wait];
    share->waiter = kind_of(path, wait->comm);
    share->waiter_kind = wait->reason.kind;
    share->waiter_call = wait->reason.call;
    share->waiter_object = wait->reason.object;
}

static struct lull_cause_share share_of(const struct lull_path *path, uint32_t number)
{
    const struct lull_segment *segment = &path->segments[number];
    const int64_t ns = segment->end_ns - segment->start_ns;
    struct lull_cause_share share = {.host = segment->host,
                                     .program = segment->program ? segment->program : "?",
                                     .state = segment->state,
                                     .cause = segment->cause,
                                     .detail = segment->subject,
                                     .duration_ns = ns,
                                     .longest_ns = ns,
                                     .count = 1,
                                     .first = number};
    if (segment->state == LULL_STATE_BLOCKED && segment->cause == LULL_CAUSE_DISK &&
        g_strcmp0(segment->reason.kind, "file") == 0 && segment->reason.object && segment->call &&
        segment->subject && g_str_has_suffix(segment->subject, segment->call)) {
        share.object = segment->reason.object;
        share.object_ns = ns;
    }
    add_waiter(path, segment, &share);
    return share;
}

void lull_path_sum_causes(struct lull_path *path)
{
    struct lull_cause_sums *sums = lull_cause_sums_new();
    for (uint32_t i = 0, run = 0; i < path->n_segments; i++) {
        while (run < path->n_runs && path->runs[run].segment < i) {
            run++;
        }
        if (run == path->n_runs || path->runs[run].segment != i) {
            const struct lull_cause_share share = share_of(path, i);
            lull_cause_sums_add(sums, &share);
        }
    }
    for (uint32_t i = 0; i < path->n_runs; i++) {
        const struct lull_path_run *run = &path->runs[i];
        struct lull_cause_share share = share_of(path, run->segment);
        share.detail = run->detail;
        share.mode = run->mode;
        share.duration_ns = run->ns;
        share.longest_ns = run->longest_ns;
        share.count = run->count;
        lull_cause_sums_add(sums, &share);
    }
    path->by_cause = lull_cause_sums_take(sums, &path->n_by_cause);
    sum_modes(path);
}

uint32_t lull_path_mode_count(const struct lull_path *path)
{
    return path->n_by_mode;
}

const struct lull_mode_share *lull_path_mode(const struct lull_path *path, uint32_t index)
{
    g_return_val_if_fail(index < path->n_by_mode, NULL);
    return &path->by_mode[index];
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
