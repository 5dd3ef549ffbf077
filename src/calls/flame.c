/* SPDX-License-Identifier: MIT */
/* The tree of a flame graph: made of stacks, compared, summed up. */
#include "calls/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"
#include "calls/heap.h"
#include "calls/names.h"

/* What deeper calls take is their caller's: of such a stack nobody sees more, and each of its lines
 * would hold all those before. */
enum { MOST_FRAMES = 1024 };

/* What is known of a name. */
struct named {
    const char *name;
    struct lull_source_line start;
    bool has_start; /* or has several, and so none */
};

struct flame_inside {
    LULL_VEC(struct lull_flame_node) nodes;
    LULL_VEC(struct named) names;
    struct lull_map placed; /* functions whose sources were looked up */
    GHashTable *numbers;    /* name → number + 1 */
    GStringChunk *texts;
    struct lull_map children; /* parent, name */
    char *unit;
};

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

/* A function that starts at `place` has the name of the node. The source is looked up once. */
static void learn_source(struct lull_flame *flame, uint32_t node, const void *object,
                         uint64_t place, const struct lull_model *model, uint32_t chain,
                         uint32_t frame)
{
    static const struct lull_source_line several = {.file = NULL};
    struct named *named = &flame->inside->names.items[flame->nodes[node].name];
    const uint64_t words[] = {flame->nodes[node].name, (uint64_t)(uintptr_t)object, place};
    const uint64_t key = (uint64_t)words[0] << 32 | lull_hash_words(words, sizeof words);
    if (lull_map_insert(&flame->inside->placed, key, 0) != LULL_MAP_NONE) {
        return;
    }
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

/* ---- calls ---- */

static uint32_t task_node(struct lull_flame *flame, const struct lull_model *model, uint32_t task,
                          int32_t number, const struct lull_flame_choice *choice)
{
    const char *comm = lull_model_comm(model, task, INT64_MAX);
    g_autofree char *name =
        choice->is_by_name ? g_strdup(comm) : g_strdup_printf("%s/%d", comm, number);
    const char *host = lull_model_host_name(model, lull_model_task(model, task)->host);
    const uint32_t under = choice->has_hosts ? lull_flame_child(flame, 0, host ? host : "?") : 0;
    return lull_flame_child(flame, under, name);
}

static void add_wait(struct lull_flame *flame, uint32_t under, const char *cause, int64_t ns)
{
    char leaf[64];
    g_snprintf(leaf, sizeof leaf, "[%s]", cause);
    if (ns > 0) {
        lull_flame_add(flame, lull_flame_child(flame, under, leaf), ns);
    }
}

static const char *name_of_wait(uint8_t cause)
{
    const char *name = lull_cause_name(cause);
    return cause == LULL_CAUSE_UNKNOWN || !name ? "blocked" : name;
}

static void add_node(struct lull_flame *flame, uint32_t at, const struct lull_calls_node *node,
                     enum lull_flame_weight weight)
{
    const struct lull_calls_times *times = &node->times;
    if (weight == LULL_FLAME_ALL || weight == LULL_FLAME_ON) {
        lull_flame_add(flame, at, times->self_ns - times->off_ns);
    }
    if (weight == LULL_FLAME_ALL) {
        add_wait(flame, at, "preempted", times->off_ns - times->blocked_ns);
    }
}

static void learn_call(struct lull_flame *flame, uint32_t node, const struct lull_model *model,
                       const struct lull_calls_function *function)
{
    uint32_t n = 0;
    const struct lull_frame *frames = lull_calls_place(model, function, &n);
    if (n > 0) {
        learn_source(flame, node, frames[n - 1].object, frames[n - 1].offset, model,
                     function->place, n - 1);
    }
}

void lull_flame_add_calls(struct lull_flame *flame, const struct lull_calls *calls,
                          const struct lull_model *model, enum lull_flame_weight weight,
                          const struct lull_flame_choice *choice)
{
    const uint32_t n = lull_calls_node_count(calls);
    g_autofree uint32_t *here = g_new(uint32_t, MAX(n, 1));
    g_autofree uint32_t *depths = g_new0(uint32_t, MAX(n, 1));
    g_autoptr(GString) name = g_string_new(NULL);
    size_t n_waits;
    const struct lull_calls_wait *waits = lull_calls_waits(calls, &n_waits);
    memset(here, 0xff, n * sizeof *here); /* LULL_NONE */
    for (uint32_t i = 0; i < lull_calls_line_count(calls); i++) {
        const struct lull_calls_line *line = lull_calls_line(calls, i);
        if (choice->wants(choice->user, line->task)) {
            here[line->root] = task_node(flame, model, line->task,
                                         lull_model_task(model, line->task)->tid, choice);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_calls_node *node = lull_calls_node(calls, i);
        if (node->function == LULL_NONE || here[node->parent] == LULL_NONE) {
            continue;
        }
        g_string_truncate(name, 0);
        lull_calls_append_name(name, model, choice->others,
                               lull_calls_function(calls, node->function));
        depths[i] = depths[node->parent] + 1;
        here[i] = depths[i] > MOST_FRAMES ? here[node->parent]
                                          : lull_flame_child(flame, here[node->parent], name->str);
        if (choice->wants_sources && depths[i] <= MOST_FRAMES) {
            learn_call(flame, here[i], model, lull_calls_function(calls, node->function));
        }
        add_node(flame, here[i], node, weight);
        if (weight == LULL_FLAME_COUNTED) {
            const uint64_t counted = lull_calls_counts_of(choice->counts, i, choice->counter);
            lull_flame_add(flame, here[i], (int64_t)MIN(counted, INT64_MAX));
        }
    }
    for (size_t i = 0; i < n_waits && weight <= LULL_FLAME_OFF; i++) {
        if (here[waits[i].node] != LULL_NONE) {
            add_wait(flame, here[waits[i].node], name_of_wait(waits[i].cause), waits[i].ns);
        }
    }
}

/* ---- memory ---- */

/* The node for a path of calls, below `under`. */
static uint32_t path_node(struct lull_flame *flame, const struct lull_calls *calls,
                          const struct lull_model *model, uint32_t node, uint32_t under,
                          const struct lull_flame_choice *choice)
{
    uint32_t path[MOST_FRAMES], n = 0, first = node;
    g_autoptr(GString) name = g_string_new(NULL);
    /* Of those that are too deep the innermost go to their callers. */
    for (; lull_calls_node(calls, node)->function != LULL_NONE; n++) {
        node = lull_calls_node(calls, node)->parent;
    }
    for (; n > MOST_FRAMES; n--) {
        first = lull_calls_node(calls, first)->parent;
    }
    for (uint32_t i = n; i-- > 0;) {
        path[i] = first;
        first = lull_calls_node(calls, first)->parent;
    }
    for (uint32_t i = 0; i < n; i++) {
        g_string_truncate(name, 0);
        lull_calls_append_name(
            name, model, choice->others,
            lull_calls_function(calls, lull_calls_node(calls, path[i])->function));
        under = lull_flame_child(flame, under, name->str);
        if (choice->wants_sources) {
            learn_call(flame, under, model,
                       lull_calls_function(calls, lull_calls_node(calls, path[i])->function));
        }
    }
    return under;
}

void lull_flame_add_heap(struct lull_flame *flame, const struct lull_heap *heap,
                         const struct lull_calls *calls, const struct lull_model *model,
                         enum lull_heap_weight weight, const struct lull_flame_choice *choice)
{
    /* The first, third and fourth are pprof's own words. */
    static const char *const names[] = {"inuse_space", "peak_space", "alloc_space", "alloc_objects",
                                        "temporary_objects"};
    flame->unit = weight >= LULL_HEAP_ALLOCATIONS ? "allocations" : "bytes";
    flame->event = names[weight];
    for (uint32_t i = 0; i < lull_heap_path_count(heap); i++) {
        const struct lull_heap_path path = lull_heap_path(heap, i);
        const struct lull_heap_process *process = lull_heap_process(heap, path.process);
        const uint64_t value = lull_heap_weigh(&path.sums, path.at_peak_bytes, weight);
        if (value > 0 && choice->wants(choice->user, process->task)) {
            const int32_t tid = lull_model_task(model, process->task)->tid;
            const uint32_t under = task_node(flame, model, process->task,
                                             process->pid > 0 ? process->pid : tid, choice);
            lull_flame_add(flame, path_node(flame, calls, model, path.node, under, choice),
                           (int64_t)MIN(value, INT64_MAX));
        }
    }
}

/* ---- samples ---- */

struct lull_samples {
    struct lull_model *model;
    int64_t start_ns, end_ns;
    LULL_VEC(struct lull_sample_sum) sums[2]; /* by enum lull_flame_weight */
    struct lull_map by_stack[2];
};

static void add_sum(struct lull_samples *samples, enum lull_flame_weight kind, uint32_t task,
                    uint32_t chain, uint32_t what, int64_t weight)
{
    const uint64_t key = (uint64_t)task << 32 | chain;
    uint32_t first = lull_map_find(&samples->by_stack[kind], key);
    for (uint32_t i = first; i != LULL_NONE; i = samples->sums[kind].items[i].next) {
        if (samples->sums[kind].items[i].what == what) {
            lull_add(&samples->sums[kind].items[i].weight, weight);
            return;
        }
    }
    lull_vec_push(&samples->sums[kind], (struct lull_sample_sum){task, chain, what, weight, first});
    lull_map_insert(&samples->by_stack[kind], key, (uint32_t)samples->sums[kind].count - 1);
}

static void on_sample(void *user, const struct lull_sample_fact *fact)
{
    struct lull_samples *samples = user;
    if (fact->time_ns >= samples->start_ns && fact->time_ns < samples->end_ns) {
        add_sum(samples, LULL_FLAME_ALL, fact->task, fact->chain, fact->event, fact->weight);
    }
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_samples *samples = user;
    const int64_t start_ns = MAX(fact->start_ns, samples->start_ns);
    const int64_t end_ns = MIN(fact->end_ns, samples->end_ns);
    if (fact->state == LULL_STATE_BLOCKED && fact->chain != LULL_NONE && end_ns > start_ns) {
        add_sum(samples, LULL_FLAME_OFF, fact->task, fact->chain,
                fact->wakeup ? fact->wakeup->cause : LULL_CAUSE_UNKNOWN, end_ns - start_ns);
    }
}

struct lull_samples *lull_samples_new(struct lull_model *model, int64_t start_ns, int64_t end_ns)
{
    static const struct lull_facts facts = {.sample = on_sample, .state = on_state};
    struct lull_samples *samples = g_new0(struct lull_samples, 1);
    samples->model = model;
    samples->start_ns = start_ns;
    samples->end_ns = end_ns;
    lull_model_subscribe(model, &facts, samples);
    return samples;
}

void lull_samples_free(struct lull_samples *samples)
{
    if (samples) {
        for (int i = 0; i < 2; i++) {
            lull_vec_free(&samples->sums[i]);
            lull_map_free(&samples->by_stack[i]);
        }
        g_free(samples);
    }
}

bool lull_samples_have(const struct lull_samples *samples, enum lull_flame_weight weight)
{
    return samples->sums[weight].count > 0;
}

void lull_samples_each(const struct lull_samples *samples, enum lull_flame_weight weight,
                       void (*visit)(void *user, const struct lull_sample_sum *sum), void *user)
{
    for (size_t i = 0; i < samples->sums[weight].count; i++) {
        visit(user, &samples->sums[weight].items[i]);
    }
}

/* Where programs keep no frame pointers, what is found in their place are no addresses of code. The
 * kernel has the last of the 2^64 bytes. */
static bool is_place(const struct lull_frame *frame)
{
    return frame->object || frame->offset >> 56 == 0xff;
}

static void append_frame(GString *name, const struct lull_frame *frame)
{
    const char *slash = frame->object ? strrchr(frame->object, '/') : NULL;
    if (frame->symbol) {
        g_string_append(name, frame->symbol);
    } else if (frame->object) {
        g_string_append_printf(name, "%s+0x%" G_GINT64_MODIFIER "x",
                               slash ? slash + 1 : frame->object, frame->offset);
    } else {
        g_string_append_printf(name, "0x%" G_GINT64_MODIFIER "x", frame->offset);
    }
}

static uint32_t chain_node(struct lull_flame *flame, const struct lull_model *model,
                           const struct lull_sample_sum *sum,
                           const struct lull_flame_choice *choice, GString *name)
{
    const int32_t tid = lull_model_task(model, sum->task)->tid;
    uint32_t n = 0, n_dropped = 0, node = task_node(flame, model, sum->task, tid, choice);
    const struct lull_frame *frames = lull_model_frames(model, sum->chain, &n);
    for (uint32_t i = n; i-- > 0;) {
        if (!is_place(&frames[i])) {
            n_dropped++;
            continue;
        }
        g_string_truncate(name, 0);
        append_frame(name, &frames[i]);
        node = lull_flame_child(flame, node, name->str);
        if (choice->wants_sources && frames[i].symbol) {
            learn_source(flame, node, frames[i].object, frames[i].offset - frames[i].symbol_offset,
                         model, sum->chain, i);
        }
    }
    flame->n_broken += n_dropped > 0;
    return node;
}

void lull_flame_add_samples(struct lull_flame *flame, const struct lull_samples *samples,
                            enum lull_flame_weight weight, const struct lull_flame_choice *choice)
{
    g_autoptr(GString) name = g_string_new(NULL);
    const size_t n = samples->sums[weight].count;
    const struct lull_sample_sum *sums = samples->sums[weight].items;
    for (size_t i = 0; i < n; i++) {
        if (weight == LULL_FLAME_ALL && sums[i].what != sums[0].what) {
            flame->n_ignored++;
            continue;
        }
        if (!choice->wants(choice->user, sums[i].task)) {
            continue;
        }
        const uint32_t node = chain_node(flame, samples->model, &sums[i], choice, name);
        if (weight == LULL_FLAME_OFF) {
            add_wait(flame, node, name_of_wait((uint8_t)sums[i].what), sums[i].weight);
        } else {
            lull_flame_add(flame, node, sums[i].weight);
        }
    }
    if (weight == LULL_FLAME_ALL && n > 0) {
        const char *event = g_string_chunk_insert(flame->inside->texts,
                                                  lull_model_label(samples->model, sums[0].what));
        const bool is_time =
            g_str_has_prefix(event, "cpu-clock") || g_str_has_prefix(event, "task-clock");
        flame->event = event;
        flame->unit = is_time ? "ns" : event;
    }
}
