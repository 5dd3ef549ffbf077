/* SPDX-License-Identifier: MIT */
/* Open instances, and finding those that an event may close or be inside of by a key: what equal
 * values hash to is equal whatever their types, so that one look finds all for which an equality
 * can hold. The rest of the condition is tested for those only. */
#include "period/tracker.h"

#include <math.h>
#include <string.h>

/* ---- hashing ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    return hash * UINT64_C(0xd6e8feb86659fd93);
}

static uint64_t hash_text(struct lull_text text)
{
    uint64_t hash = text.length;
    uint32_t i = 0;
    for (; i + 8 <= text.length; i += 8) {
        uint64_t word;
        memcpy(&word, text.data + i, sizeof word);
        hash = mix(hash, word);
    }
    for (; i < text.length; i++) {
        hash = mix(hash, (uint8_t)text.data[i]);
    }
    return hash;
}

static uint64_t hash_real(double real)
{
    uint64_t bits;
    if (real >= -9223372036854775808.0 && real < 18446744073709551616.0 && floor(real) == real) {
        return mix(1, real < 0 ? (uint64_t)(int64_t)real : (uint64_t)real);
    }
    memcpy(&bits, &real, sizeof bits);
    return mix(2, bits);
}

enum hashed { HASHED, HASHED_NEVER, HASHED_ODD };

/* Adds a value to a key's hash. NEVER: it equals nothing. ODD: it may equal a number and a text. */
static enum hashed hash_value(const struct lull_value *value, uint64_t *hash)
{
    switch (value->kind) {
    case LULL_VALUE_NONE:
        return HASHED_NEVER;
    case LULL_VALUE_INT:
        if (value->text.data) {
            return HASHED_ODD;
        }
        *hash = mix(*hash, mix(1, value->bits));
        return HASHED;
    case LULL_VALUE_REAL:
        *hash = mix(*hash, hash_real(value->real));
        return isnan(value->real) ? HASHED_NEVER : HASHED;
    case LULL_VALUE_TEXT:
        *hash = mix(*hash, hash_text(value->text));
        return HASHED;
    }
    return HASHED_ODD;
}

static enum hashed hash_open(const struct period_index *index, const struct period_open *open,
                             uint64_t *hash)
{
    enum hashed all = HASHED;
    *hash = 0;
    for (uint32_t i = 0; i < index->n_parts; i++) {
        const struct period_open *of = open;
        for (uint32_t up = index->parts[i].up; up > 0; up--) {
            of = of->parent;
        }
        enum hashed how = hash_value(&of->kept[index->parts[i].index], hash);
        if (how == HASHED_NEVER) {
            return HASHED_NEVER;
        }
        if (how == HASHED_ODD) {
            all = HASHED_ODD;
        }
    }
    return all;
}

/* ---- indexes ---- */

static bool same_key(const struct period_index *index, uint32_t period,
                     const struct period_key_part *parts, uint32_t n_parts)
{
    if (index->period != period || index->n_parts != n_parts) {
        return false;
    }
    for (uint32_t i = 0; i < n_parts; i++) {
        if (index->parts[i].up != parts[i].up || index->parts[i].index != parts[i].index) {
            return false;
        }
    }
    return true;
}

uint32_t period_index_of(struct lull_period_tracker *tracker, uint32_t period,
                         const struct period_key_part *parts, uint32_t n_parts)
{
    struct period_state *state = &tracker->states[period];
    for (size_t i = 0; i < tracker->indexes.count; i++) {
        if (same_key(&tracker->indexes.items[i], period, parts, n_parts)) {
            return (uint32_t)i;
        }
    }
    if (state->n_open > 0) {
        return LULL_NO_PERIOD;
    }
    const struct period_index index = {
        .period = period,
        .parts = lull_arena_copy(tracker->records, parts, n_parts * sizeof *parts),
        .n_parts = n_parts};
    lull_vec_push(&tracker->indexes, index);
    lull_vec_push(&state->indexes, (uint32_t)(tracker->indexes.count - 1));
    state->unused = NULL; /* they have too few links */
    return (uint32_t)(tracker->indexes.count - 1);
}

void period_indexes_free(struct lull_period_tracker *tracker)
{
    for (size_t i = 0; i < tracker->indexes.count; i++) {
        g_free(tracker->indexes.items[i].buckets);
    }
    lull_vec_free(&tracker->indexes);
}

static struct period_link **head_of(struct period_index *index, const struct period_link *link)
{
    return link->is_odd ? &index->odd : &index->buckets[link->hash & (index->n_buckets - 1)];
}

static void insert(struct period_index *index, struct period_link *link)
{
    struct period_link **head = head_of(index, link);
    bool is_alike = *head && (*head)->hash == link->hash;
    link->n_alike = 1 + (is_alike ? (*head)->n_alike : 0);
    link->prev = NULL;
    link->next = *head;
    if (*head) {
        (*head)->prev = link;
    }
    *head = link;
}

static void grow(struct period_index *index)
{
    struct period_link **old = index->buckets;
    const uint32_t n_old = index->n_buckets;
    index->n_buckets = MAX(n_old * 2, 64);
    index->buckets = g_new0(struct period_link *, index->n_buckets);
    for (uint32_t i = 0; i < n_old; i++) {
        struct period_link *next;
        for (struct period_link *link = old[i]; link; link = next) {
            next = link->next;
            insert(index, link);
        }
    }
    g_free(old);
}

static void enter(struct period_index *index, struct period_link *link, struct period_open *open)
{
    enum hashed how = hash_open(index, open, &link->hash);
    link->open = open;
    link->is_in = how != HASHED_NEVER;
    link->is_odd = how == HASHED_ODD;
    if (!link->is_in) {
        return;
    }
    if (index->n_links++ >= index->n_buckets) {
        grow(index);
    }
    insert(index, link);
}

static void leave(struct period_index *index, struct period_link *link)
{
    if (!link->is_in) {
        return;
    }
    if (link->prev) {
        link->prev->next = link->next;
    } else {
        *head_of(index, link) = link->next;
    }
    if (link->next) {
        link->next->prev = link->prev;
    }
    index->n_links--;
}

/* ---- instances ---- */

struct period_open *period_open_new(struct lull_period_tracker *tracker, uint32_t period,
                                    struct period_open *parent)
{
    struct period_state *state = &tracker->states[period];
    struct period_open *open = state->unused;
    struct lull_value *kept;
    struct period_link *links;
    if (open) {
        state->unused = open->next;
        kept = open->kept;
        links = open->links;
    } else {
        open = lull_arena_alloc(tracker->records, sizeof *open);
        kept = lull_arena_alloc_n(tracker->records, state->definition->kept->len, sizeof *kept);
        links = lull_arena_alloc_n(tracker->records, state->indexes.count, sizeof *links);
    }
    *open = (struct period_open){.period = period, .parent = parent, .kept = kept, .links = links};
    return open;
}

void period_open_enter(struct lull_period_tracker *tracker, struct period_open *open)
{
    struct period_state *state = &tracker->states[open->period];
    struct period_open *parent = open->parent;
    open->prev = state->last;
    *(state->last ? &state->last->next : &state->first) = open;
    state->last = open;
    state->n_open++;
    tracker->n_open++;
    if (parent) {
        open->prev_sibling = parent->last_child;
        *(parent->last_child ? &parent->last_child->next_sibling : &parent->first_child) = open;
        parent->last_child = open;
    }
    for (size_t i = 0; i < state->indexes.count; i++) {
        enter(&tracker->indexes.items[state->indexes.items[i]], &open->links[i], open);
        bool is_crowded = open->links[i].is_in && open->links[i].n_alike > PERIOD_MOST_SEARCHED;
        state->is_searched |= is_crowded && !tracker->avoids_keys;
    }
}

void period_open_leave(struct lull_period_tracker *tracker, struct period_open *open)
{
    struct period_state *state = &tracker->states[open->period];
    struct period_open *parent = open->parent;
    *(open->prev ? &open->prev->next : &state->first) = open->next;
    *(open->next ? &open->next->prev : &state->last) = open->prev;
    if (parent) {
        *(open->prev_sibling ? &open->prev_sibling->next_sibling : &parent->first_child) =
            open->next_sibling;
        *(open->next_sibling ? &open->next_sibling->prev_sibling : &parent->last_child) =
            open->prev_sibling;
    }
    for (size_t i = 0; i < state->indexes.count; i++) {
        leave(&tracker->indexes.items[state->indexes.items[i]], &open->links[i]);
    }
    state->n_open--;
    tracker->n_open--;
    open->next = state->unused;
    state->unused = open;
}

/* ---- finding ---- */

static int by_opening(const void *left, const void *right)
{
    const struct period_open *a = *(struct period_open *const *)left;
    const struct period_open *b = *(struct period_open *const *)right;
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

void period_open_find(struct lull_period_tracker *tracker, uint32_t period,
                      const struct period_search *search, struct lull_run *run,
                      struct period_list *found)
{
    uint64_t hash = 0;
    enum hashed how = HASHED;
    const struct period_index *index =
        search->index == LULL_NO_PERIOD ? NULL : &tracker->indexes.items[search->index];
    for (uint32_t i = 0; index && i < index->n_parts && how == HASHED; i++) {
        const struct lull_value value = lull_run_value(run, &search->loads[i]);
        how = hash_value(&value, &hash);
    }
    if (how == HASHED_NEVER) {
        return;
    }
    if (!index || how == HASHED_ODD) {
        for (struct period_open *open = tracker->states[period].first; open; open = open->next) {
            lull_vec_push(found, open);
        }
        return;
    }
    const size_t before = found->count;
    const struct period_link *link =
        index->n_buckets > 0 ? index->buckets[hash & (index->n_buckets - 1)] : NULL;
    for (; link; link = link->next) {
        if (link->hash == hash) {
            lull_vec_push(found, link->open);
        }
    }
    for (link = index->odd; link; link = link->next) {
        lull_vec_push(found, link->open);
    }
    if (found->count - before > 1) {
        qsort(found->items + before, found->count - before, sizeof *found->items, by_opening);
    }
}
