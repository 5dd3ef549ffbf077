/* SPDX-License-Identifier: MIT */
/* Who keeps whom: an object's immediate dominator is the last object that lies on all ways from the roots to it.
 * Semi-NCA (L. Georgiadis, Linear-Time Algorithms for Dominators and Related Problems, 2005, chapter 2.3):
 * semi-dominators with compressed paths, then the nearest ancestor that is not below them. */
#include "hprof/private.h"

/* Nodes are numbered as a search in depth finds them; 0 is the virtual root. */
struct graph {
    struct lull_hprof *dump;
    uint32_t *first; /* of each object, in targets; one more at the end */
    LULL_VEC(uint32_t) targets;
    uint32_t *number;     /* of each object; 0: not found; until the references were turned round */
    uint32_t *object;     /* of each number */
    uint32_t *parent;     /* in the tree of the search */
    uint32_t n;           /* how many numbers there are */
    uint32_t *first_from; /* of each number, in from: who refers to it */
    uint32_t *from;
};

static void add_target(void *user, const struct hprof_reference *reference)
{
    struct graph *graph = user;
    const uint32_t target = reference->id ? hprof_find(graph->dump, reference->id) : UINT32_MAX;
    if (target != UINT32_MAX) {
        lull_vec_push(&graph->targets, target);
    }
}

/* The references of all objects, and after them the roots. False: there are too many. */
static bool collect_targets(struct graph *graph)
{
    struct lull_hprof *dump = graph->dump;
    graph->first = g_new(uint32_t, dump->objects.count + 2);
    for (size_t i = 0; i < dump->objects.count && graph->targets.count <= UINT32_MAX; i++) {
        graph->first[i] = (uint32_t)graph->targets.count;
        if (i % HPROF_RELEASED == 0) {
            hprof_release(dump);
        }
        hprof_each_reference(dump, &dump->objects.items[i], add_target, graph);
    }
    graph->first[dump->objects.count] = (uint32_t)graph->targets.count;
    for (size_t i = 0; i < dump->roots.count; i++) {
        add_target(graph, &(struct hprof_reference){.id = dump->roots.items[i].id});
    }
    graph->first[dump->objects.count + 1] = (uint32_t)graph->targets.count;
    hprof_release(dump);
    lull_vec_trim(&graph->targets); /* it was doubled */
    return graph->targets.count <= UINT32_MAX;
}

/* Numbers what can be reached. The virtual root is the object after the last. */
static void search(struct graph *graph)
{
    const uint32_t n_objects = (uint32_t)graph->dump->objects.count;
    LULL_VEC(uint32_t) path = {0};
    g_autofree uint32_t *next = g_new0(uint32_t, n_objects + 1U); /* after first */
    graph->number = g_new0(uint32_t, n_objects + 1U);
    graph->object = g_new(uint32_t, n_objects + 1U);
    graph->parent = g_new(uint32_t, n_objects + 1U);
    graph->object[0] = n_objects;
    graph->parent[0] = 0;
    graph->n = 1;
    lull_vec_push(&path, n_objects);
    while (path.count > 0) {
        const uint32_t at = path.items[path.count - 1];
        if (graph->first[at] + next[at] == graph->first[at + 1]) {
            path.count--;
            continue;
        }
        const uint32_t target = graph->targets.items[graph->first[at] + next[at]++];
        if (graph->number[target] == 0) {
            graph->number[target] = graph->n;
            graph->object[graph->n] = target;
            graph->parent[graph->n++] = graph->number[at];
            lull_vec_push(&path, target);
        }
    }
    lull_vec_free(&path);
}

/* The references the other way round, among what can be reached. */
static void turn_round(struct graph *graph)
{
    for (size_t i = 0; i < graph->targets.count; i++) {
        graph->targets.items[i] = graph->number[graph->targets.items[i]];
    }
    g_clear_pointer(&graph->number, g_free);
    graph->first_from = g_new0(uint32_t, graph->n + 1U);
    for (uint32_t i = 0; i < graph->n; i++) {
        const uint32_t object = graph->object[i];
        for (uint32_t at = graph->first[object]; at < graph->first[object + 1]; at++) {
            graph->first_from[graph->targets.items[at]]++;
        }
    }
    for (uint32_t i = 0; i < graph->n; i++) {
        graph->first_from[i + 1] += graph->first_from[i];
    }
    graph->from = g_new(uint32_t, (size_t)graph->first_from[graph->n] + 1);
    for (uint32_t i = 0; i < graph->n; i++) {
        const uint32_t object = graph->object[i];
        for (uint32_t at = graph->first[object]; at < graph->first[object + 1]; at++) {
            graph->from[--graph->first_from[graph->targets.items[at]]] = i;
        }
    }
}

struct forest {
    uint32_t *ancestor; /* shortened as it is used */
    uint32_t *best;     /* the node of least semi-dominator between a node and its ancestor */
    uint32_t *semi;
    uint32_t *path; /* room for a walk to the root */
};

/* The node of least semi-dominator on the way from `node` to the root of its tree; nodes from `linked` on are linked to
 * their parents. */
static uint32_t least_above(struct forest *forest, uint32_t node, uint32_t linked)
{
    uint32_t n = 0, above = node;
    while (above >= linked && forest->ancestor[above] >= linked) {
        forest->path[n++] = above;
        above = forest->ancestor[above];
    }
    while (n > 0) {
        const uint32_t below = forest->path[--n];
        if (forest->semi[forest->best[above]] < forest->semi[forest->best[below]]) {
            forest->best[below] = forest->best[above];
        }
        forest->ancestor[below] = forest->ancestor[above];
        above = below;
    }
    return forest->best[node];
}

static void find_semi_dominators(const struct graph *graph, struct forest *forest)
{
    for (uint32_t i = 0; i < graph->n; i++) {
        forest->ancestor[i] = graph->parent[i];
        forest->best[i] = forest->semi[i] = i;
    }
    for (uint32_t i = graph->n - 1; i > 0; i--) {
        uint32_t least = graph->parent[i];
        for (uint32_t at = graph->first_from[i]; at < graph->first_from[i + 1]; at++) {
            const uint32_t best = least_above(forest, graph->from[at], i + 1);
            least = MIN(least, forest->semi[best]);
        }
        forest->semi[i] = least;
    }
}

/* The parents of the search become dominators. */
static void find_dominators(struct graph *graph)
{
    g_autofree uint32_t *rooms = g_new(uint32_t, 4 * (size_t)graph->n);
    struct forest forest = {rooms, rooms + graph->n, rooms + 2 * (size_t)graph->n,
                            rooms + 3 * (size_t)graph->n};
    find_semi_dominators(graph, &forest);
    for (uint32_t i = 1; i < graph->n; i++) {
        while (graph->parent[i] > forest.semi[i]) {
            graph->parent[i] = graph->parent[graph->parent[i]];
        }
    }
}

static void add_up(struct graph *graph)
{
    struct lull_hprof *dump = graph->dump;
    dump->retained = g_new0(uint64_t, dump->objects.count + 1);
    for (uint32_t i = graph->n - 1; i > 0; i--) {
        const uint32_t number = graph->object[i];
        struct lull_hprof_object *object = &dump->objects.items[number];
        object->is_reachable = true;
        dump->retained[number] += object->bytes;
        dump->n_reachable++;
        dump->reachable_bytes += object->bytes;
        if (graph->parent[i] > 0) {
            object->keeper = graph->object[graph->parent[i]];
            dump->retained[object->keeper] += dump->retained[number];
        }
    }
}

bool hprof_dominate(struct lull_hprof *dump)
{
    struct graph graph = {.dump = dump};
    if (!collect_targets(&graph)) {
        g_free(graph.first);
        lull_vec_free(&graph.targets);
        return false;
    }
    search(&graph);
    turn_round(&graph);
    g_clear_pointer(&graph.first, g_free);
    lull_vec_free(&graph.targets);
    find_dominators(&graph);
    g_free(graph.first_from);
    g_free(graph.from);
    add_up(&graph);
    g_free(graph.object);
    g_free(graph.parent);
    return true;
}
