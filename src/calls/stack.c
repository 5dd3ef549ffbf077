/* SPDX-License-Identifier: MIT */
/* The stacks themselves: tasks, their functions and paths of calls, frames that start and end, and the
 * time that each has of its own. */
#include <string.h>

#include "base/sums.h"
#include "calls/private.h"

/* Deeper calls are only counted: no stack of a program is that deep, but that of a broken trace. */
enum { MOST_DEPTH = 65536 };

/* ---- processes, and what their addresses are ---- */

uint32_t calls_process(struct lull_calls *calls, uint32_t host, int32_t pid)
{
    uint32_t number = lull_map_find(&calls->by_pid, calls_pair(host, (uint32_t)pid));
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)calls->processes.count;
        lull_vec_push(&calls->processes, (struct process){.host = host, .pid = pid});
        lull_map_insert(&calls->by_pid, calls_pair(host, (uint32_t)pid), number);
    }
    return number;
}

void calls_resolve(struct lull_calls *calls, struct process *process)
{
    for (size_t i = 0; i < process->pending.count; i++) {
        struct lull_calls_function *function = &calls->functions.items[process->pending.items[i]];
        function->place =
            lull_model_place(calls->model, process->host, process->pid, function->key);
    }
    process->pending.count = 0;
}

void calls_renew(struct lull_calls *calls, uint32_t host, int32_t pid)
{
    const uint32_t number = lull_map_find(&calls->by_pid, calls_pair(host, (uint32_t)pid));
    if (number != LULL_MAP_NONE) {
        calls_resolve(calls, &calls->processes.items[number]);
        calls->processes.items[number].generation++;
    }
}

/* ---- lines, functions, paths ---- */

static uint32_t node_new(struct lull_calls *calls, uint32_t parent, uint32_t function)
{
    lull_vec_push(&calls->nodes, (struct lull_calls_node){
                                     .parent = parent, .function = function, .recent = LULL_NONE});
    return (uint32_t)calls->nodes.count - 1;
}

struct line *calls_find_line(struct lull_calls *calls, uint32_t task)
{
    const uint32_t number = task < calls->by_task.count ? calls->by_task.items[task] : LULL_NONE;
    return number == LULL_NONE ? NULL : &calls->lines.items[number];
}

struct line *calls_line_of(struct lull_calls *calls, uint32_t task, uint32_t host, int32_t pid,
                           int64_t t)
{
    struct line *found = calls_find_line(calls, task);
    if (found) {
        return found;
    }
    while (calls->by_task.count <= task) {
        lull_vec_push(&calls->by_task, LULL_NONE);
    }
    pid = pid > 0 ? pid : lull_model_task(calls->model, task)->pid;
    /* No process has the number 0: nothing is known of its files. */
    const uint32_t process = calls_process(calls, host, MAX(pid, 0));
    calls->by_task.items[task] = (uint32_t)calls->lines.count;
    lull_vec_push(&calls->lines,
                  (struct line){.public = {.task = task,
                                           .host = host,
                                           .root = node_new(calls, LULL_NONE, LULL_NONE),
                                           .pid = pid},
                                .process = process,
                                .generation = calls->processes.items[process].generation,
                                .cpu = -1,
                                .heard_ns = t,
                                .left_out = -1,
                                .last_ns = t});
    return &calls->lines.items[calls->lines.count - 1];
}

static uint32_t number_of_line(const struct lull_calls *calls, const struct line *line)
{
    return (uint32_t)(line - calls->lines.items);
}

struct lull_calls_function *calls_function_of(struct lull_calls *calls, const struct frame *frame)
{
    return &calls->functions.items[calls->nodes.items[frame->node].function];
}

void calls_forget_addresses(struct lull_calls *calls, struct line *line, uint32_t generation)
{
    struct lull_map *map = &line->functions[LULL_FUNCTION_NATIVE];
    line->generation = generation;
    lull_map_free(map);
    for (size_t i = 0; i < line->frames.count; i++) {
        struct lull_calls_function *function = calls_function_of(calls, &line->frames.items[i]);
        if (function->layer == LULL_FUNCTION_NATIVE) {
            function->generation = generation;
            lull_map_insert(map, function->key,
                            calls->nodes.items[line->frames.items[i].node].function);
        }
    }
}

static uint32_t find_function(struct lull_calls *calls, struct line *line, uint8_t layer,
                              uint64_t key)
{
    uint32_t number = lull_map_find(&line->functions[layer], key);
    if (number != LULL_MAP_NONE) {
        return number;
    }
    number = (uint32_t)calls->functions.count;
    lull_vec_push(&calls->functions,
                  (struct lull_calls_function){.key = key,
                                               .line = number_of_line(calls, line),
                                               .place = LULL_NONE,
                                               .generation = line->generation,
                                               .layer = layer,
                                               .min_ns = INT64_MAX});
    lull_map_insert(&line->functions[layer], key, number);
    if (layer == LULL_FUNCTION_NATIVE) {
        lull_vec_push(&calls->processes.items[line->process].pending, number);
    } else if (layer == LULL_FUNCTION_KERNEL) {
        const uint32_t kernel = calls_process(calls, line->public.host, -1);
        lull_vec_push(&calls->processes.items[kernel].pending, number);
    }
    return number;
}

/* Programs call the same things over and over: the child that was entered last is tried first. */
uint32_t calls_child(struct lull_calls *calls, struct line *line, uint32_t parent, uint8_t layer,
                     uint64_t key)
{
    const uint32_t recent = calls->nodes.items[parent].recent;
    if (recent != LULL_NONE) {
        const struct lull_calls_function *function =
            &calls->functions.items[calls->nodes.items[recent].function];
        if (function->key == key && function->layer == layer &&
            function->generation == line->generation) {
            return recent;
        }
    }
    const uint32_t function = find_function(calls, line, layer, key);
    uint32_t node = lull_map_find(&calls->children, calls_pair(parent, function));
    if (node == LULL_MAP_NONE) {
        node = node_new(calls, parent, function);
        lull_map_insert(&calls->children, calls_pair(parent, function), node);
    }
    calls->nodes.items[parent].recent = node;
    return node;
}

/* ---- time ---- */

uint32_t calls_top(const struct line *line)
{
    return line->frames.count ? line->frames.items[line->frames.count - 1].node : line->public.root;
}

/* What of an interval counts. */
static int64_t counted(const struct lull_calls *calls, int64_t start_ns, int64_t end_ns)
{
    start_ns = MAX(start_ns, calls->start_ns);
    end_ns = MIN(end_ns, calls->end_ns);
    return end_ns > start_ns ? lull_sum(end_ns, -MAX(start_ns, -INT64_MAX)) : 0;
}

static void tell(const struct lull_calls *calls, const struct line *line, uint32_t node,
                 int64_t start_ns, int64_t end_ns)
{
    const struct lull_calls_stretch stretch = {.line = number_of_line(calls, line),
                                               .node = node,
                                               .start_ns = MAX(start_ns, calls->start_ns),
                                               .end_ns = MIN(end_ns, calls->end_ns),
                                               .is_uncertain = line->is_uncertain};
    calls->spent(calls->spent_user, &stretch);
}

int64_t *calls_lost_on(struct lull_calls *calls, uint32_t host, int32_t cpu)
{
    const uint64_t key = calls_pair(host, (uint32_t)cpu);
    uint32_t at = lull_map_find(&calls->by_cpu, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)calls->lost_ns.count;
        lull_map_insert(&calls->by_cpu, key, at);
        lull_vec_push(&calls->lost_ns, INT64_MIN);
    }
    return &calls->lost_ns.items[at];
}

void calls_doubt(struct line *line)
{
    line->is_uncertain = true;
    for (size_t i = 0; i < line->frames.count; i++) {
        line->frames.items[i].flags |= LULL_CALL_UNCERTAIN;
    }
}

/* Events are kept by CPU: those that followed the last of a task were as a rule on the same. Which
 * calls it made since then is not certain, whatever the kernel told of the task meanwhile. */
static void check_losses(struct lull_calls *calls, struct line *line)
{
    const int64_t on_cpu_ns = *calls_lost_on(calls, line->public.host, line->cpu);
    const int64_t lost_ns = MAX(on_cpu_ns, *calls_lost_on(calls, line->public.host, -1));
    if (line->frames.count == 0 || lost_ns < line->heard_ns) {
        return;
    }
    if (!line->is_uncertain) {
        lull_add(&line->public.uncertain_ns, counted(calls, line->heard_ns, line->last_ns));
    }
    line->heard_ns = lull_sum(lost_ns, 1); /* and this loss is known */
    calls_doubt(line);
}

/* The end of a handler may be among what its CPU lost. */
static void check_handlers(struct lull_calls *calls, struct line *line)
{
    if (line->open[LULL_FUNCTION_INTERRUPT] == 0) {
        return;
    }
    const int64_t on_cpu_ns = *calls_lost_on(calls, line->public.host, line->handler_cpu);
    const int64_t lost_ns = MAX(on_cpu_ns, *calls_lost_on(calls, line->public.host, -1));
    if (lost_ns >= line->handler_ns) {
        calls_doubt(line);
        calls_leave_interrupts(calls, line, line->last_ns);
    }
}

void calls_account(struct lull_calls *calls, struct line *line, int64_t t)
{
    if (G_UNLIKELY(calls->lost_ns.count > 0)) {
        check_losses(calls, line);
        check_handlers(calls, line);
    }
    if (t <= line->last_ns) {
        return;
    }
    const int64_t start_ns = line->last_ns, ns = counted(calls, start_ns, t);
    line->last_ns = t;
    if (line->frames.count) {
        const uint32_t node = calls_top(line);
        if (calls->spent && ns > 0) {
            tell(calls, line, node, start_ns, t);
        }
        lull_add(&calls->nodes.items[node].times.self_ns, ns);
        lull_add(&calls->functions.items[calls->nodes.items[node].function].times.self_ns, ns);
        if (line->is_uncertain) {
            lull_add(&line->public.uncertain_ns, ns);
        }
    } else {
        line->is_uncertain = false;
    }
}

void calls_add_wait(struct lull_calls *calls, struct line *line, const struct lull_state_fact *fact)
{
    const int64_t ns = counted(calls, fact->start_ns, fact->end_ns);
    const bool is_blocked = fact->state == LULL_STATE_BLOCKED;
    if (line->frames.count == 0 || ns == 0) {
        return;
    }
    const uint32_t node = calls_top(line);
    struct lull_calls_times *times[] = {
        &calls->nodes.items[node].times,
        &calls->functions.items[calls->nodes.items[node].function].times};
    for (size_t i = 0; i < G_N_ELEMENTS(times); i++) {
        lull_add(&times[i]->off_ns, ns);
        lull_add(&times[i]->blocked_ns, is_blocked ? ns : 0);
    }
    if (!is_blocked) {
        return;
    }
    lull_add(&line->blocked_ns, ns);
    const uint8_t cause = fact->wakeup ? fact->wakeup->cause : LULL_CAUSE_UNKNOWN;
    uint32_t at = lull_map_find(&calls->by_wait, calls_pair(node, cause));
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)calls->waits.count;
        lull_map_insert(&calls->by_wait, calls_pair(node, cause), at);
        lull_vec_push(&calls->waits, (struct lull_calls_wait){.node = node, .cause = cause});
    }
    lull_add(&calls->waits.items[at].ns, ns);
}

/* ---- frames ---- */

void calls_push(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
                int32_t depth, int64_t t, unsigned flags)
{
    if (line->frames.count >= MOST_DEPTH) {
        line->beyond[layer]++;
        line->public.too_deep++;
        return;
    }
    const uint32_t node = calls_child(calls, line, calls_top(line), layer, key);
    calls->functions.items[calls->nodes.items[node].function].open++;
    line->open[layer]++;
    lull_vec_push(&line->frames, (struct frame){.node = node,
                                                .depth = depth,
                                                .start_ns = t,
                                                .blocked_ns = line->blocked_ns,
                                                .flags = flags});
}

static void pop(struct lull_calls *calls, struct line *line, int64_t t, unsigned flags)
{
    if (line->frames.count == MOST_DEPTH) {
        memset(line->beyond, 0, sizeof line->beyond);
    }
    const struct frame frame = lull_vec_pop(&line->frames);
    struct lull_calls_node *node = &calls->nodes.items[frame.node];
    struct lull_calls_function *function = &calls->functions.items[node->function];
    function->open--;
    line->open[function->layer]--;
    line->public.unwound += (flags & LULL_CALL_UNWOUND) != 0;
    line->public.n_open +=
        (flags & LULL_CALL_OPEN) != 0 && function->layer != LULL_FUNCTION_RECORDING;
    if (t < calls->start_ns || frame.start_ns >= calls->end_ns) {
        return;
    }
    flags |= frame.flags | (frame.start_ns < calls->start_ns ? LULL_CALL_EARLY : 0);
    const struct lull_call call = {.line = number_of_line(calls, line),
                                   .node = frame.node,
                                   .depth = (uint32_t)line->frames.count,
                                   .start_ns = frame.start_ns,
                                   .end_ns = t,
                                   .waiting_ns = line->blocked_ns - frame.blocked_ns,
                                   .flags = flags};
    const int64_t ns = counted(calls, frame.start_ns, t);
    if (function->open == 0) {
        lull_add(&function->total_ns, ns);
        lull_add(&function->waiting_ns, call.waiting_ns);
    }
    if (!(flags & LULL_CALL_INHERITED)) {
        function->calls++;
        node->calls++;
        lull_add(&function->sum_ns, ns);
        function->min_ns = MIN(function->min_ns, ns);
        function->max_ns = MAX(function->max_ns, ns);
    }
    if (calls->ended) {
        calls->ended(calls->user, &call);
    }
}

void calls_pop_to(struct lull_calls *calls, struct line *line, size_t count, int64_t t,
                  unsigned flags)
{
    while (line->frames.count > count) {
        pop(calls, line, t, flags);
    }
}

void calls_leave_interrupts(struct lull_calls *calls, struct line *line, int64_t t)
{
    while (line->open[LULL_FUNCTION_INTERRUPT] > 0) {
        pop(calls, line, t, LULL_CALL_CUT);
    }
}

void calls_leave_kernel(struct lull_calls *calls, struct line *line, int64_t t)
{
    line->beyond[LULL_FUNCTION_SYSCALL] = line->beyond[LULL_FUNCTION_KERNEL] = 0;
    calls_leave_interrupts(calls, line, t);
    while (line->open[LULL_FUNCTION_SYSCALL] + line->open[LULL_FUNCTION_KERNEL] > 0 &&
           calls_function_of(calls, &line->frames.items[line->frames.count - 1])->layer >=
               LULL_FUNCTION_SYSCALL) {
        pop(calls, line, t, LULL_CALL_CUT);
    }
}

bool calls_end(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
               bool is_any, int64_t t)
{
    size_t at = line->frames.count;
    if (line->open[layer] == 0) {
        return false;
    }
    if (!is_any) {
        const struct lull_calls_function *top =
            calls_function_of(calls, &line->frames.items[at - 1]);
        if (top->layer != layer || top->key != key) {
            const uint32_t number = lull_map_find(&line->functions[layer], key);
            if (number == LULL_MAP_NONE || calls->functions.items[number].open == 0) {
                return false;
            }
        }
    }
    for (; at > 0; at--) {
        const struct lull_calls_function *function =
            calls_function_of(calls, &line->frames.items[at - 1]);
        if (function->layer == layer && (is_any || function->key == key)) {
            break;
        }
    }
    while (line->frames.count > at) {
        const bool is_kernel =
            calls_function_of(calls, &line->frames.items[line->frames.count - 1])->layer > layer &&
            layer <= LULL_FUNCTION_PYTHON;
        pop(calls, line, t, is_kernel ? LULL_CALL_CUT : LULL_CALL_UNWOUND);
    }
    pop(calls, line, t, 0);
    return true;
}
