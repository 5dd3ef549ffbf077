/* SPDX-License-Identifier: MIT */
/* Who keeps whom: an object's immediate dominator is the last object that lies on all ways from the roots to it.
 * Semi-NCA (L. Georgiadis, Linear-Time Algorithms for Dominators and Related Problems, 2005, chapter 2.3):
 * semi-dominators with compressed paths, then the nearest ancestor that is not below them.
 *
 * What a way to an object that roots refer to goes through does not matter: there is a shorter one that goes through less.
 * So references to these are not kept, among them most of those to classes. Arrays of one number each object are
 * what this takes: each has two uses where it can, and is freed when it has none. */
#include "hprof/private.h"

/* The last reference of an object has this; so there are fewer objects than that. */
#define LAST (1u << 31)
#define NONE UINT32_MAX

/* Nodes are numbered as a search in depth finds them; 0 is the virtual root. */
struct graph {
    struct lull_hprof *dump;
    uint8_t *is_root;  /* a bit of each object: roots refer to it */
    uint8_t *has_none; /* a bit of each object: it has no references */
    uint32_t *first;   /* of each object, in targets, or NONE; the search moves it on */
    uint32_t source;   /* the object whose references are collected */
    LULL_VEC(uint32_t) targets;
    uint32_t *number; /* of each object; 0: not found */
    uint32_t *object; /* of each number, while it is needed */
    uint32_t *parent; /* of each number, in the tree of the search; later its immediate dominator */
    uint32_t n;       /* how many numbers there are */
    /* Of each number, in `from`; when its references were seen, its semi-dominator. */
    uint32_t *first_from;
    uint32_t *from; /* who refers to it, but for its parent */
};

static bool has_bit(const uint8_t *bits, uint32_t at)
{
    return bits[at / 8] >> at % 8 & 1;
}

static void set_bit(uint8_t *bits, uint32_t at)
{
    bits[at / 8] |= (uint8_t)(1u << at % 8);
}

/* The object of that id; null is none, even if an object has that id. */
static uint32_t target_of(const struct graph *graph, uint64_t id)
{
    return id ? hprof_find(graph->dump, id) : NONE;
}

/* ---- the references ---- */

static void add_target(void *user, const struct hprof_reference *reference)
{
    struct graph *graph = user;
    const uint32_t target = target_of(graph, reference->id);
    const size_t n = graph->targets.count, first = graph->first[graph->source];
    if (target != NONE && target != graph->source && !has_bit(graph->is_root, target) &&
        (n == first || graph->targets.items[n - 1] != target)) {
        lull_vec_push(&graph->targets, target);
    }
}

/* False: there are too many. */
static bool collect_targets(struct graph *graph)
{
    struct lull_hprof *dump = graph->dump;
    const uint32_t n = dump->n_objects;
    graph->is_root = g_malloc0(n / 8 + 1);
    graph->has_none = g_malloc0(n / 8 + 1);
    graph->first = g_new(uint32_t, (size_t)n + 1);
    for (size_t i = 0; i < dump->roots.count; i++) {
        const uint32_t root = target_of(graph, dump->roots.items[i].id);
        if (root != NONE) {
            set_bit(graph->is_root, root);
        }
    }
    for (uint32_t i = 0; i < n && graph->targets.count < NONE; i++) {
        const size_t before = graph->targets.count;
        graph->first[graph->source = i] = (uint32_t)before;
        hprof_each_reference(dump, i, add_target, graph);
        if (graph->targets.count == before) {
            graph->first[i] = NONE;
            set_bit(graph->has_none, i);
        } else {
            graph->targets.items[graph->targets.count - 1] |= LAST;
        }
    }
    hprof_release(dump);
    if (graph->targets.count > 0) {
        lull_vec_trim(&graph->targets); /* it was doubled */
    }
    return graph->targets.count < NONE;
}

/* ---- the search ---- */

static void number_it(struct graph *graph, uint32_t object, uint32_t parent)
{
    graph->number[object] = graph->n;
    graph->object[graph->n] = object;
    graph->parent[graph->n++] = parent;
}

/* Numbers what can be reached from a root; the way back is that of the parents. */
static void search_from(struct graph *graph, uint32_t root)
{
    uint32_t at = root;
    number_it(graph, root, 0);
    for (;;) {
        const uint32_t next = graph->first[at];
        if (next == NONE) {
            const uint32_t parent = graph->parent[graph->number[at]];
            if (parent == 0) {
                return;
            }
            at = graph->object[parent];
            continue;
        }
        const uint32_t word = graph->targets.items[next], target = word & ~LAST;
        graph->first[at] = word & LAST ? NONE : next + 1;
        if (graph->number[target] == 0) {
            number_it(graph, target, graph->number[at]);
            at = target;
        }
    }
}

static void search(struct graph *graph)
{
    const size_t n = (size_t)graph->dump->n_objects + 1;
    graph->number = g_new0(uint32_t, n);
    graph->object = g_new(uint32_t, n);
    graph->parent = g_new(uint32_t, n);
    graph->parent[0] = 0;
    graph->n = 1;
    for (size_t i = 0; i < graph->dump->roots.count; i++) {
        const uint32_t root = target_of(graph, graph->dump->roots.items[i].id);
        if (root != NONE && graph->number[root] == 0) {
            search_from(graph, root);
        }
    }
    g_clear_pointer(&graph->first, g_free);
    g_clear_pointer(&graph->object, g_free);
}

/* ---- the references the other way round ---- */

/* Each reference among what can be reached, but for those that the search went, by numbers. */
static void each_other(struct graph *graph,
                       void (*each)(struct graph *graph, uint32_t source, uint32_t target))
{
    size_t at = 0;
    for (uint32_t i = 0; i < graph->dump->n_objects; i++) {
        const uint32_t source = graph->number[i];
        for (bool goes_on = !has_bit(graph->has_none, i); goes_on; at++) {
            const uint32_t target = graph->number[graph->targets.items[at] & ~LAST];
            goes_on = !(graph->targets.items[at] & LAST);
            if (source && graph->parent[target] != source) {
                each(graph, source, target);
            }
        }
    }
}

static void count_from(struct graph *graph, uint32_t source, uint32_t target)
{
    (void)source;
    graph->first_from[target]++;
}

static void set_from(struct graph *graph, uint32_t source, uint32_t target)
{
    graph->from[--graph->first_from[target]] = source;
}

static void turn_round(struct graph *graph)
{
    graph->first_from = g_new0(uint32_t, (size_t)graph->n + 1);
    each_other(graph, count_from);
    for (uint32_t i = 0; i < graph->n; i++) {
        graph->first_from[i + 1] += graph->first_from[i];
    }
    graph->from = g_new(uint32_t, (size_t)graph->first_from[graph->n] + 1);
    each_other(graph, set_from);
    lull_vec_free(&graph->targets);
}

/* ---- dominators ---- */

struct forest {
    uint32_t *ancestor; /* shortened as it is used */
    uint32_t *least;    /* the least semi-dominator from a node up to its ancestor */
    LULL_VEC(uint32_t) path;
};

/* The least semi-dominator on the way from `node` to the root of its tree, or the node if it is that; nodes from
 * `linked` on are linked to their parents. */
static uint32_t least_above(struct forest *forest, uint32_t node, uint32_t linked)
{
    uint32_t above = node;
    if (node < linked) {
        return node;
    }
    while (forest->ancestor[above] >= linked) {
        lull_vec_push(&forest->path, above);
        above = forest->ancestor[above];
    }
    while (forest->path.count > 0) {
        const uint32_t below = lull_vec_pop(&forest->path);
        forest->least[below] = MIN(forest->least[below], forest->least[above]);
        forest->ancestor[below] = forest->ancestor[above];
        above = below;
    }
    return forest->least[node];
}

static void find_semi_dominators(struct graph *graph)
{
    struct forest forest = {.ancestor = g_memdup2(graph->parent, (size_t)graph->n * 4),
                            .least = g_new(uint32_t, graph->n)};
    uint32_t end = graph->first_from[graph->n];
    for (uint32_t i = graph->n - 1; i > 0; i--) {
        const uint32_t start = graph->first_from[i];
        uint32_t least = graph->parent[i];
        for (uint32_t at = start; at < end; at++) {
            least = MIN(least, least_above(&forest, graph->from[at], i + 1));
        }
        end = start;
        graph->first_from[i] = forest.least[i] = least;
    }
    g_free(forest.ancestor);
    g_free(forest.least);
    lull_vec_free(&forest.path);
}

/* The parents of the search become dominators. */
static void find_dominators(struct graph *graph)
{
    find_semi_dominators(graph);
    for (uint32_t i = 1; i < graph->n; i++) {
        while (graph->parent[i] > graph->first_from[i]) {
            graph->parent[i] = graph->parent[graph->parent[i]];
        }
    }
}

/* ---- what is retained ---- */

/* Those that are kept have larger numbers than who keeps them. */
static void add_up(struct graph *graph)
{
    struct lull_hprof *dump = graph->dump;
    graph->object = g_new(uint32_t, graph->n);
    dump->keepers = g_new(uint32_t, (size_t)dump->n_objects + 1);
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        graph->object[graph->number[i]] = i;
    }
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        const uint32_t number = graph->number[i], keeper = number ? graph->parent[number] : 0;
        dump->keepers[i] = !number  ? LULL_HPROF_NOBODY
                           : keeper ? graph->object[keeper]
                                    : LULL_HPROF_ROOT;
    }
    g_clear_pointer(&graph->number, g_free);
    g_clear_pointer(&graph->parent, g_free);
    dump->retained = g_new0(uint64_t, (size_t)dump->n_objects + 1);
    for (uint32_t i = 0; i < dump->n_objects; i++) {
        if (dump->keepers[i] != LULL_HPROF_NOBODY) {
            dump->retained[i] = lull_hprof_object(dump, i).bytes;
            dump->n_reachable++;
            dump->reachable_bytes += dump->retained[i];
        }
    }
    for (uint32_t i = graph->n - 1; i > 0; i--) {
        const uint32_t object = graph->object[i], keeper = dump->keepers[object];
        if (keeper != LULL_HPROF_ROOT) {
            dump->retained[keeper] += dump->retained[object];
        }
    }
}

bool hprof_dominate(struct lull_hprof *dump)
{
    struct graph graph = {.dump = dump};
    const bool done = collect_targets(&graph);
    if (done) {
        search(&graph);
        turn_round(&graph);
        find_dominators(&graph);
        g_clear_pointer(&graph.first_from, g_free);
        g_clear_pointer(&graph.from, g_free);
        add_up(&graph);
    }
    g_free(graph.is_root);
    g_free(graph.has_none);
    g_free(graph.first);
    g_free(graph.object);
    lull_vec_free(&graph.targets);
    return done;
}
