/* SPDX-License-Identifier: MIT */
/* The stacks of calls, and those on which memory was allocated, in the tree of a flame graph. */
#include <string.h>

#include "base/sums.h"
#include "calls/flame_private.h"
#include "calls/heap.h"
#include "calls/names.h"

/* What deeper calls take is their caller's: of such a stack nobody sees more, and each of its lines
 * would hold all those before. */
enum { MOST_FRAMES = 1024 };

/* ---- calls ---- */

/* Of calls; those that the weight does not have are beyond the columns. */
struct call_columns {
    uint32_t calls, wall, cpu, off, counted;
};

static struct call_columns call_columns(struct lull_flame *flame, enum lull_flame_weight weight)
{
    struct call_columns columns = {LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE};
    if (weight != LULL_FLAME_OFF) {
        columns.calls = flame_add_column(flame, "calls", "count");
    }
    if (weight == LULL_FLAME_ALL) {
        columns.wall = flame_add_column(flame, "wall", "nanoseconds");
    }
    if (weight == LULL_FLAME_ALL || weight == LULL_FLAME_ON) {
        columns.cpu = flame_add_column(flame, "cpu", "nanoseconds");
    }
    if (weight == LULL_FLAME_ALL || weight == LULL_FLAME_OFF) {
        columns.off = flame_add_column(flame, "off-cpu", "nanoseconds");
    }
    if (weight == LULL_FLAME_COUNTED) {
        const bool is_time = g_str_equal(flame->unit, "ns");
        columns.counted = flame_add_column(flame, is_time ? "cpu" : flame->unit,
                                           is_time ? "nanoseconds" : "count");
    }
    flame->main_column = weight == LULL_FLAME_ALL       ? columns.wall
                         : weight == LULL_FLAME_ON      ? columns.cpu
                         : weight == LULL_FLAME_COUNTED ? columns.counted
                                                        : columns.off;
    return columns;
}

static void add_call_wait(struct lull_flame *flame, uint32_t under, const char *cause, int64_t ns,
                          const struct call_columns *columns)
{
    const uint32_t node = flame_add_wait(flame, under, cause, ns);
    if (node != LULL_NONE) {
        flame_add_value(flame, node, columns->wall, ns);
        flame_add_value(flame, node, columns->off, ns);
    }
}

static void add_node(struct lull_flame *flame, uint32_t at, const struct lull_calls_node *node,
                     enum lull_flame_weight weight, const struct call_columns *columns)
{
    const struct lull_calls_times *times = &node->times;
    flame_add_value(flame, at, columns->calls, (int64_t)MIN(node->calls, INT64_MAX));
    flame_add_value(flame, at, columns->wall, times->self_ns - times->off_ns);
    flame_add_value(flame, at, columns->cpu,
                    weight == LULL_FLAME_COUNTED ? 0 : times->self_ns - times->off_ns);
    if (weight == LULL_FLAME_ALL || weight == LULL_FLAME_ON) {
        lull_flame_add(flame, at, times->self_ns - times->off_ns);
    }
    if (weight == LULL_FLAME_ALL) {
        add_call_wait(flame, at, "preempted", times->off_ns - times->blocked_ns, columns);
    }
}

static void learn_call(struct lull_flame *flame, uint32_t node, const struct lull_model *model,
                       const struct lull_calls_function *function)
{
    uint32_t n = 0;
    const struct lull_frame *frames = lull_calls_place(model, function, &n);
    if (n > 0) {
        flame_learn_source(flame, node, frames[n - 1].object, frames[n - 1].offset, model,
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
    const struct call_columns columns =
        choice->wants_columns
            ? call_columns(flame, weight)
            : (struct call_columns){LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE, LULL_NONE};
    memset(here, 0xff, n * sizeof *here); /* LULL_NONE */
    for (uint32_t i = 0; i < lull_calls_line_count(calls); i++) {
        const struct lull_calls_line *line = lull_calls_line(calls, i);
        if (choice->wants(choice->user, line->task)) {
            here[line->root] = flame_task(flame, model, line->task,
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
        add_node(flame, here[i], node, weight, &columns);
        if (weight == LULL_FLAME_COUNTED) {
            const uint64_t counted = lull_calls_counts_of(choice->counts, i, choice->counter);
            lull_flame_add(flame, here[i], (int64_t)MIN(counted, INT64_MAX));
            flame_add_value(flame, here[i], columns.counted, (int64_t)MIN(counted, INT64_MAX));
        }
    }
    for (size_t i = 0; i < n_waits && weight <= LULL_FLAME_OFF; i++) {
        if (here[waits[i].node] != LULL_NONE) {
            add_call_wait(flame, here[waits[i].node], flame_name_of_wait(waits[i].cause),
                          waits[i].ns, &columns);
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

/* In the order of columns; live blocks are counted, too, before their bytes. */
static const struct {
    enum lull_heap_weight weight;
    const char *name, *unit;
} heap_columns[] = {{LULL_HEAP_ALLOCATIONS, "alloc_objects", "count"},
                    {LULL_HEAP_ALLOCATED, "alloc_space", "bytes"},
                    {LULL_HEAP_WEIGHTS, "inuse_objects", "count"},
                    {LULL_HEAP_LIVE, "inuse_space", "bytes"},
                    {LULL_HEAP_PEAK, "peak_space", "bytes"},
                    {LULL_HEAP_TEMPORARY, "temporary_objects", "count"}};

/* The first four are pprof's own words. */
static void start_heap(struct lull_flame *flame, enum lull_heap_weight weight,
                       const struct lull_flame_choice *choice)
{
    flame->unit = weight >= LULL_HEAP_ALLOCATIONS ? "allocations" : "bytes";
    for (size_t i = 0; i < G_N_ELEMENTS(heap_columns); i++) {
        if (choice->wants_columns) {
            flame_add_column(flame, heap_columns[i].name, heap_columns[i].unit);
        }
        if (heap_columns[i].weight == weight) {
            flame->event = heap_columns[i].name;
            flame->main_column = (uint32_t)i;
        }
    }
}

static void add_heap_values(struct lull_flame *flame, uint32_t node,
                            const struct lull_heap_path *path)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(heap_columns); i++) {
        const uint64_t value =
            heap_columns[i].weight == LULL_HEAP_WEIGHTS
                ? path->sums.live_blocks
                : lull_heap_weigh(&path->sums, path->at_peak_bytes, heap_columns[i].weight);
        flame_add_value(flame, node, i, (int64_t)MIN(value, INT64_MAX));
    }
}

void lull_flame_add_heap(struct lull_flame *flame, const struct lull_heap *heap,
                         const struct lull_calls *calls, const struct lull_model *model,
                         enum lull_heap_weight weight, const struct lull_flame_choice *choice)
{
    start_heap(flame, weight, choice);
    for (uint32_t i = 0; i < lull_heap_path_count(heap); i++) {
        const struct lull_heap_path path = lull_heap_path(heap, i);
        const struct lull_heap_process *process = lull_heap_process(heap, path.process);
        const uint64_t value = lull_heap_weigh(&path.sums, path.at_peak_bytes, weight);
        if ((value > 0 || choice->wants_columns) && choice->wants(choice->user, process->task)) {
            const int32_t tid = lull_model_task(model, process->task)->tid;
            const uint32_t under = flame_task(flame, model, process->task,
                                              process->pid > 0 ? process->pid : tid, choice);
            const uint32_t node = path_node(flame, calls, model, path.node, under, choice);
            lull_flame_add(flame, node, (int64_t)MIN(value, INT64_MAX));
            add_heap_values(flame, node, &path);
        }
    }
}
