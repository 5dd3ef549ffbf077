/* SPDX-License-Identifier: MIT */
/* The tree of a flame graph: made of stacks, compared, summed up. */
#include <stdlib.h>
#include <string.h>

#include "base/sums.h"
#include "calls/flame_private.h"

static void publish(struct lull_flame *flame)
{
    flame->nodes = flame->inside->nodes.items;
    flame->n_nodes = (uint32_t)flame->inside->nodes.count;
}

struct lull_flame *lull_flame_new(const char *unit)
{
    struct lull_flame *flame = g_new0(struct lull_flame, 1);
    flame->inside = g_new0(struct flame_inside, 1);
    flame->inside->numbers = g_hash_table_new(g_str_hash, g_str_equal);
    flame->inside->texts = g_string_chunk_new(4096);
    flame->unit = g_string_chunk_insert(flame->inside->texts, unit);
    lull_vec_push(&flame->inside->nodes, (struct lull_flame_node){0});
    lull_vec_push(&flame->inside->names, (struct named){.name = "all"});
    publish(flame);
    return flame;
}

void lull_flame_free(struct lull_flame *flame)
{
    if (flame) {
        lull_vec_free(&flame->inside->nodes);
        lull_vec_free(&flame->inside->names);
        lull_vec_free(&flame->inside->values);
        lull_map_free(&flame->inside->children);
        lull_map_free(&flame->inside->placed);
        g_hash_table_unref(flame->inside->numbers);
        g_string_chunk_free(flame->inside->texts);
        g_free(flame->inside);
        g_free(flame);
    }
}

static uint32_t number_of(struct flame_inside *inside, const char *name)
{
    const uint32_t found = GPOINTER_TO_UINT(g_hash_table_lookup(inside->numbers, name));
    if (found) {
        return found - 1;
    }
    char *kept = g_string_chunk_insert(inside->texts, name);
    lull_vec_push(&inside->names, (struct named){.name = kept});
    g_hash_table_insert(inside->numbers, kept, GUINT_TO_POINTER(inside->names.count));
    return (uint32_t)inside->names.count - 1;
}

uint32_t lull_flame_child(struct lull_flame *flame, uint32_t parent, const char *name)
{
    struct flame_inside *inside = flame->inside;
    const uint64_t key = (uint64_t)parent << 32 | number_of(inside, name);
    uint32_t node = lull_map_find(&inside->children, key);
    if (node == LULL_MAP_NONE) {
        node = (uint32_t)inside->nodes.count;
        lull_vec_push(&inside->nodes,
                      (struct lull_flame_node){.parent = parent, .name = (uint32_t)key});
        lull_map_insert(&inside->children, key, node);
        publish(flame);
    }
    return node;
}

void lull_flame_add(struct lull_flame *flame, uint32_t node, int64_t weight)
{
    lull_add(&flame->nodes[node].self, weight);
}

const char *lull_flame_name(const struct lull_flame *flame, uint32_t name)
{
    return flame->inside->names.items[name].name;
}

struct lull_source_line lull_flame_source(const struct lull_flame *flame, uint32_t name)
{
    return flame->inside->names.items[name].start;
}

bool lull_flame_find_place(const struct lull_flame *flame, uint32_t name,
                           struct lull_flame_place *place)
{
    *place = flame->inside->names.items[name].place;
    return flame->inside->names.items[name].has_place;
}

void flame_learn_place(struct lull_flame *flame, uint32_t node, const char *object, uint64_t place,
                       const struct lull_model *model, uint32_t chain)
{
    struct named *named = &flame->inside->names.items[flame->nodes[node].name];
    const bool is_same = object == named->place.object && place == named->place.address;
    if (named->are_several || (named->has_place && is_same)) {
        return;
    }
    named->are_several = named->has_place;
    named->has_place = !named->has_place;
    const char *build_id = object ? lull_model_build_id(model, chain, object) : NULL;
    named->place = (struct lull_flame_place){
        object, build_id ? g_string_chunk_insert_const(flame->inside->texts, build_id) : NULL,
        place};
}

void flame_learn_source(struct lull_flame *flame, uint32_t node, const char *object, uint64_t place,
                        const struct lull_model *model, uint32_t chain, uint32_t frame)
{
    static const struct lull_source_line several = {.file = NULL};
    struct named *named = &flame->inside->names.items[flame->nodes[node].name];
    const uint64_t words[] = {flame->nodes[node].name, (uint64_t)(uintptr_t)object, place};
    const uint64_t key = (uint64_t)words[0] << 32 | lull_hash_words(words, sizeof words);
    if (lull_map_insert(&flame->inside->placed, key, 0) != LULL_MAP_NONE) {
        return;
    }
    flame_learn_place(flame, node, object, place, model, chain);
    struct lull_source_line start = lull_model_start(model, chain, frame);
    if (!start.file) {
        return;
    }
    start.file = g_string_chunk_insert_const(flame->inside->texts, start.file);
    const bool is_same = start.file == named->start.file && start.line == named->start.line;
    named->start = named->has_start && !is_same ? several : start;
    named->has_start = true;
}

uint32_t lull_flame_name_count(const struct lull_flame *flame)
{
    return (uint32_t)flame->inside->names.count;
}

static int compare_names(const void *a, const void *b, void *user)
{
    const struct lull_flame *flame = user;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    return strcmp(lull_flame_name(flame, flame->nodes[i].name),
                  lull_flame_name(flame, flame->nodes[k].name));
}

void lull_flame_finish(struct lull_flame *flame)
{
    g_autofree uint32_t *order = g_new(uint32_t, flame->n_nodes);
    for (uint32_t i = flame->n_nodes; i-- > 0;) {
        struct lull_flame_node *node = &flame->nodes[i];
        lull_add(&node->total, node->self);
        lull_add(&node->other_total, node->other_self);
        if (i > 0) {
            lull_add(&flame->nodes[node->parent].total, node->total);
            lull_add(&flame->nodes[node->parent].other_total, node->other_total);
        }
        order[i] = i;
    }
    if (flame->n_nodes < 2) {
        return;
    }
    qsort_r(order + 1, flame->n_nodes - 1, sizeof *order, compare_names, flame);
    for (uint32_t i = flame->n_nodes; i-- > 1;) {
        struct lull_flame_node *node = &flame->nodes[order[i]];
        node->next = flame->nodes[node->parent].first;
        flame->nodes[node->parent].first = order[i];
    }
}

void lull_flame_compare(struct lull_flame *flame, const struct lull_flame *other)
{
    g_autofree uint32_t *here = g_new0(uint32_t, other->n_nodes);
    flame->is_difference = true;
    for (uint32_t i = 0; i < other->n_nodes; i++) {
        const struct lull_flame_node *node = &other->nodes[i];
        if (i > 0) {
            here[i] =
                lull_flame_child(flame, here[node->parent], lull_flame_name(other, node->name));
        }
        lull_add(&flame->nodes[here[i]].other_self, node->self);
    }
}

/* ---- columns ---- */

uint32_t flame_add_column(struct lull_flame *flame, const char *type, const char *unit)
{
    flame->columns[flame->n_columns] = (struct lull_flame_column){type, unit};
    return flame->n_columns++;
}

void flame_add_value(struct lull_flame *flame, uint32_t node, uint32_t column, int64_t value)
{
    struct flame_inside *inside = flame->inside;
    const size_t want = (size_t)flame->n_nodes * flame->n_columns;
    if (column < flame->n_columns && value != 0) {
        while (inside->values.count < want) {
            lull_vec_push(&inside->values, 0);
        }
        lull_add(&inside->values.items[(size_t)node * flame->n_columns + column], value);
    }
}

const int64_t *lull_flame_values(const struct lull_flame *flame, uint32_t node)
{
    const size_t at = (size_t)node * flame->n_columns;
    return at + flame->n_columns <= flame->inside->values.count && flame->n_columns > 0
               ? &flame->inside->values.items[at]
               : NULL;
}

/* ---- tasks and waits ---- */

uint32_t flame_task(struct lull_flame *flame, const struct lull_model *model, uint32_t task,
                    int32_t number, const struct lull_flame_choice *choice)
{
    const char *comm = lull_model_comm(model, task, INT64_MAX);
    g_autofree char *name =
        choice->is_by_name ? g_strdup(comm) : g_strdup_printf("%s/%d", comm, number);
    const char *host = lull_model_host_name(model, lull_model_task(model, task)->host);
    const uint32_t under = choice->has_hosts ? lull_flame_child(flame, 0, host ? host : "?") : 0;
    return lull_flame_child(flame, under, name);
}

uint32_t flame_add_wait(struct lull_flame *flame, uint32_t under, const char *cause, int64_t ns)
{
    char leaf[64];
    g_snprintf(leaf, sizeof leaf, "[%s]", cause);
    if (ns <= 0) {
        return LULL_NONE;
    }
    const uint32_t node = lull_flame_child(flame, under, leaf);
    lull_flame_add(flame, node, ns);
    return node;
}

const char *flame_name_of_wait(uint8_t cause)
{
    const char *name = lull_cause_name(cause);
    return cause == LULL_CAUSE_UNKNOWN || !name ? "blocked" : name;
}
