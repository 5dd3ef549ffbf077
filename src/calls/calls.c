/* SPDX-License-Identifier: MIT */
/* The stacks of all tasks: what each fact about calls, waits and lives of tasks does to them, and
 * the time that each frame has of its own. */
#include "calls/calls.h"

#include <string.h>

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"

/* Deeper calls are only counted: no stack of a program is that deep, but that of a broken trace. */
enum { MOST_DEPTH = 65536 };

struct frame {
    uint32_t node;
    int32_t depth;                /* of functions of the kernel, as they say */
    int64_t start_ns, blocked_ns; /* blocked_ns: of the line, when it started */
    unsigned flags;
};

struct line {
    struct lull_calls_line public;
    LULL_VEC(struct frame) frames;                   /* innermost last */
    struct lull_map functions[LULL_FUNCTION_LAYERS]; /* by key */
    uint32_t open[LULL_FUNCTION_LAYERS];
    uint32_t process, generation, beyond;
    int32_t cpu;        /* of its last event */
    bool is_uncertain;  /* since events were lost */
    int64_t last_ns;    /* up to here time is accounted for */
    int64_t blocked_ns; /* in all */
};

/* Those whose addresses mean the same. */
struct process {
    uint32_t host, generation;
    int32_t pid;
    LULL_VEC(uint32_t) pending; /* functions whose place was not looked up */
};

struct lull_calls {
    struct lull_model *model;
    int64_t start_ns, end_ns;
    void (*ended)(void *user, const struct lull_call *call);
    void *user;
    LULL_VEC(struct line) lines;
    LULL_VEC(uint32_t) by_task; /* line of each, or LULL_NONE */
    LULL_VEC(struct process) processes;
    LULL_VEC(struct lull_calls_function) functions;
    LULL_VEC(struct lull_calls_node) nodes;
    LULL_VEC(struct lull_calls_wait) waits;
    LULL_VEC(int64_t) lost_ns; /* when events were lost last on a CPU */
    struct lull_map by_pid, children, by_wait, by_cpu;
    bool are_fast;
};

static uint64_t pair(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* ---- processes, and what their addresses are ---- */

static uint32_t process_of(struct lull_calls *calls, uint32_t host, int32_t pid)
{
    uint32_t number = lull_map_find(&calls->by_pid, pair(host, (uint32_t)pid));
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)calls->processes.count;
        lull_vec_push(&calls->processes, (struct process){.host = host, .pid = pid});
        lull_map_insert(&calls->by_pid, pair(host, (uint32_t)pid), number);
    }
    return number;
}

static void resolve(struct lull_calls *calls, struct process *process)
{
    for (size_t i = 0; i < process->pending.count; i++) {
        struct lull_calls_function *function = &calls->functions.items[process->pending.items[i]];
        function->place =
            lull_model_place(calls->model, process->host, process->pid, function->key);
    }
    process->pending.count = 0;
}

/* Its addresses are about to mean something else. */
static void renew(struct lull_calls *calls, uint32_t host, int32_t pid)
{
    const uint32_t number = lull_map_find(&calls->by_pid, pair(host, (uint32_t)pid));
    if (number != LULL_MAP_NONE) {
        resolve(calls, &calls->processes.items[number]);
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

static struct line *find_line(struct lull_calls *calls, uint32_t task)
{
    const uint32_t number = task < calls->by_task.count ? calls->by_task.items[task] : LULL_NONE;
    return number == LULL_NONE ? NULL : &calls->lines.items[number];
}

static struct line *line_of(struct lull_calls *calls, uint32_t task, uint32_t host, int32_t pid,
                            int64_t t)
{
    struct line *found = find_line(calls, task);
    if (found) {
        return found;
    }
    while (calls->by_task.count <= task) {
        lull_vec_push(&calls->by_task, LULL_NONE);
    }
    pid = pid > 0 ? pid : lull_model_task(calls->model, task)->pid;
    /* No process has the number 0: nothing is known of its files. */
    const uint32_t process = process_of(calls, host, MAX(pid, 0));
    calls->by_task.items[task] = (uint32_t)calls->lines.count;
    lull_vec_push(&calls->lines,
                  (struct line){.public = {.task = task,
                                           .host = host,
                                           .root = node_new(calls, LULL_NONE, LULL_NONE),
                                           .pid = pid},
                                .process = process,
                                .generation = calls->processes.items[process].generation,
                                .cpu = -1,
                                .last_ns = t});
    return &calls->lines.items[calls->lines.count - 1];
}

static uint32_t number_of_line(const struct lull_calls *calls, const struct line *line)
{
    return (uint32_t)(line - calls->lines.items);
}

static struct lull_calls_function *function_of(struct lull_calls *calls, const struct frame *frame)
{
    return &calls->functions.items[calls->nodes.items[frame->node].function];
}

/* Addresses of a line got new meanings, but what is on its stack was called by the old. */
static void forget_addresses(struct lull_calls *calls, struct line *line, uint32_t generation)
{
    struct lull_map *map = &line->functions[LULL_FUNCTION_NATIVE];
    line->generation = generation;
    lull_map_free(map);
    for (size_t i = 0; i < line->frames.count; i++) {
        struct lull_calls_function *function = function_of(calls, &line->frames.items[i]);
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
        const uint32_t kernel = process_of(calls, line->public.host, -1);
        lull_vec_push(&calls->processes.items[kernel].pending, number);
    }
    return number;
}

/* Programs call the same things over and over: the child that was entered last is tried first. */
static uint32_t child_of(struct lull_calls *calls, struct line *line, uint32_t parent,
                         uint8_t layer, uint64_t key)
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
    uint32_t node = lull_map_find(&calls->children, pair(parent, function));
    if (node == LULL_MAP_NONE) {
        node = node_new(calls, parent, function);
        lull_map_insert(&calls->children, pair(parent, function), node);
    }
    calls->nodes.items[parent].recent = node;
    return node;
}

/* ---- time ---- */

static uint32_t top_of(const struct line *line)
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

/* The time up to t was spent in the innermost frame. */
static void account(struct lull_calls *calls, struct line *line, int64_t t)
{
    if (t <= line->last_ns) {
        return;
    }
    const int64_t ns = counted(calls, line->last_ns, t);
    line->last_ns = t;
    if (line->frames.count) {
        const uint32_t node = top_of(line);
        lull_add(&calls->nodes.items[node].times.self_ns, ns);
        lull_add(&calls->functions.items[calls->nodes.items[node].function].times.self_ns, ns);
        if (line->is_uncertain) {
            lull_add(&line->public.uncertain_ns, ns);
        }
    } else {
        line->is_uncertain = false;
    }
}

static void add_wait(struct lull_calls *calls, struct line *line,
                     const struct lull_state_fact *fact)
{
    const int64_t ns = counted(calls, fact->start_ns, fact->end_ns);
    const bool is_blocked = fact->state == LULL_STATE_BLOCKED;
    if (line->frames.count == 0 || ns == 0) {
        return;
    }
    const uint32_t node = top_of(line);
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
    uint32_t at = lull_map_find(&calls->by_wait, pair(node, cause));
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)calls->waits.count;
        lull_map_insert(&calls->by_wait, pair(node, cause), at);
        lull_vec_push(&calls->waits, (struct lull_calls_wait){.node = node, .cause = cause});
    }
    lull_add(&calls->waits.items[at].ns, ns);
}

/* ---- frames ---- */

static void push(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
                 int32_t depth, int64_t t, unsigned flags)
{
    if (line->frames.count >= MOST_DEPTH) {
        line->beyond++;
        line->public.too_deep++;
        return;
    }
    const uint32_t node = child_of(calls, line, top_of(line), layer, key);
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
    const struct frame frame = lull_vec_pop(&line->frames);
    struct lull_calls_node *node = &calls->nodes.items[frame.node];
    struct lull_calls_function *function = &calls->functions.items[node->function];
    function->open--;
    line->open[function->layer]--;
    line->public.unwound += (flags & LULL_CALL_UNWOUND) != 0;
    line->public.n_open += (flags & LULL_CALL_OPEN) != 0;
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

static void pop_to(struct lull_calls *calls, struct line *line, size_t count, int64_t t,
                   unsigned flags)
{
    while (line->frames.count > count) {
        pop(calls, line, t, flags);
    }
}

/* What the kernel did for the task is over: it is in its own code. */
static void leave_kernel(struct lull_calls *calls, struct line *line, int64_t t)
{
    while (line->open[LULL_FUNCTION_SYSCALL] + line->open[LULL_FUNCTION_KERNEL] > 0 &&
           function_of(calls, &line->frames.items[line->frames.count - 1])->layer >=
               LULL_FUNCTION_SYSCALL) {
        pop(calls, line, t, LULL_CALL_CUT);
    }
}

/* Ends the innermost frame of the layer that has the key (`is_any`: whatever it has), and all that
 * it called. False: there is none. */
static bool end(struct lull_calls *calls, struct line *line, uint8_t layer, uint64_t key,
                bool is_any, int64_t t)
{
    size_t at = line->frames.count;
    if (line->open[layer] == 0) {
        return false;
    }
    if (!is_any) {
        const struct lull_calls_function *top = function_of(calls, &line->frames.items[at - 1]);
        if (top->layer != layer || top->key != key) {
            const uint32_t number = lull_map_find(&line->functions[layer], key);
            if (number == LULL_MAP_NONE || calls->functions.items[number].open == 0) {
                return false;
            }
        }
    }
    for (; at > 0; at--) {
        const struct lull_calls_function *function =
            function_of(calls, &line->frames.items[at - 1]);
        if (function->layer == layer && (is_any || function->key == key)) {
            break;
        }
    }
    while (line->frames.count > at) {
        const bool is_kernel =
            function_of(calls, &line->frames.items[line->frames.count - 1])->layer > layer &&
            layer <= LULL_FUNCTION_PYTHON;
        pop(calls, line, t, is_kernel ? LULL_CALL_CUT : LULL_CALL_UNWOUND);
    }
    pop(calls, line, t, 0);
    return true;
}

/* ---- losses ---- */

static int64_t *lost_on(struct lull_calls *calls, uint32_t host, int32_t cpu)
{
    const uint64_t key = pair(host, (uint32_t)cpu);
    uint32_t at = lull_map_find(&calls->by_cpu, key);
    if (at == LULL_MAP_NONE) {
        at = (uint32_t)calls->lost_ns.count;
        lull_map_insert(&calls->by_cpu, key, at);
        lull_vec_push(&calls->lost_ns, INT64_MIN);
    }
    return &calls->lost_ns.items[at];
}

/* Events are kept by CPU: those that followed the last of a task were as a rule on the same. */
static void check_losses(struct lull_calls *calls, struct line *line, int32_t cpu)
{
    if (calls->lost_ns.count && line->frames.count &&
        (*lost_on(calls, line->public.host, line->cpu) >= line->last_ns ||
         *lost_on(calls, line->public.host, -1) >= line->last_ns)) {
        line->is_uncertain = true;
        for (size_t i = 0; i < line->frames.count; i++) {
            line->frames.items[i].flags |= LULL_CALL_UNCERTAIN;
        }
    }
    line->cpu = cpu;
}

/* ---- facts ---- */

/* The depth of functions of the kernel is certain: what is as deep or deeper has returned. */
static void pop_as_deep(struct lull_calls *calls, struct line *line, int64_t depth, int64_t t)
{
    while (line->open[LULL_FUNCTION_KERNEL] > 0) {
        size_t at = line->frames.count;
        while (function_of(calls, &line->frames.items[at - 1])->layer != LULL_FUNCTION_KERNEL) {
            at--;
        }
        if (line->frames.items[at - 1].depth < depth) {
            return;
        }
        pop_to(calls, line, at - 1, t, LULL_CALL_UNWOUND);
    }
}

static void enter(struct lull_calls *calls, struct line *line,
                  const struct lull_function_fact *fact, uint64_t key)
{
    const int64_t t = fact->time_ns;
    if (fact->layer == LULL_FUNCTION_KERNEL) {
        pop_as_deep(calls, line, fact->depth, t);
    } else {
        leave_kernel(calls, line, t);
    }
    push(calls, line, fact->layer, key, fact->depth, t, 0);
}

/* A call of which only the return was recorded, and how long it lasted. */
static void add_late(struct lull_calls *calls, struct line *line, uint64_t key, int64_t ns)
{
    const uint32_t node = child_of(calls, line, top_of(line), LULL_FUNCTION_KERNEL, key);
    struct lull_calls_function *function =
        &calls->functions.items[calls->nodes.items[node].function];
    function->calls++;
    calls->nodes.items[node].calls++;
    lull_add(&function->sum_ns, ns);
    function->min_ns = MIN(function->min_ns, ns);
    function->max_ns = MAX(function->max_ns, ns);
}

static void leave(struct lull_calls *calls, struct line *line,
                  const struct lull_function_fact *fact, uint64_t key)
{
    const int64_t t = fact->time_ns;
    const bool is_any = fact->layer == LULL_FUNCTION_PYTHON || fact->address == 0;
    if (line->beyond > 0) {
        line->beyond--;
        return;
    }
    if (fact->layer == LULL_FUNCTION_KERNEL) {
        pop_as_deep(calls, line, (int64_t)fact->depth + 1, t);
    }
    calls->are_fast |= is_any && fact->layer == LULL_FUNCTION_NATIVE;
    if (!end(calls, line, fact->layer, key, is_any, t)) {
        line->public.orphans++;
        if (fact->lasted_ns >= 0 && t >= calls->start_ns) {
            add_late(calls, line, key, fact->lasted_ns);
        }
    } else if (!is_any) {
        line->is_uncertain = false;
    }
}

static void pass(struct lull_calls *calls, struct line *line, const struct lull_function_fact *fact,
                 uint64_t key)
{
    const uint32_t node = child_of(calls, line, top_of(line), fact->layer, key);
    struct lull_calls_function *function =
        &calls->functions.items[calls->nodes.items[node].function];
    if (fact->time_ns >= calls->start_ns && fact->time_ns < calls->end_ns) {
        function->is_passed = true;
        function->calls++;
        calls->nodes.items[node].calls++;
    }
}

static void forked(struct lull_calls *calls, const struct lull_function_fact *fact)
{
    const struct line *parent = find_line(calls, fact->parent);
    if (!parent || parent->frames.count == 0 || find_line(calls, fact->task)) {
        return;
    }
    line_of(calls, fact->task, fact->host, fact->pid, fact->time_ns);
    /* Both may have moved. */
    parent = find_line(calls, fact->parent);
    struct line *child = find_line(calls, fact->task);
    for (size_t i = 0; i < parent->frames.count; i++) {
        const struct lull_calls_function *function = function_of(calls, &parent->frames.items[i]);
        if (function->layer <= LULL_FUNCTION_PYTHON) {
            push(calls, child, function->layer, function->key, -1, fact->time_ns,
                 LULL_CALL_INHERITED);
        }
    }
}

static void end_line(struct lull_calls *calls, struct line *line, int64_t t)
{
    account(calls, line, t);
    pop_to(calls, line, 0, line->last_ns, LULL_CALL_OPEN);
    line->beyond = 0;
}

/* What is no call of a function. False: it is one. */
static bool handle_change(struct lull_calls *calls, const struct lull_function_fact *fact)
{
    struct line *line = fact->task == LULL_NONE ? NULL : find_line(calls, fact->task);
    switch (fact->step) {
    case LULL_FUNCTION_FORK:
        forked(calls, fact);
        return true;
    case LULL_FUNCTION_EXEC:
        if (line) {
            end_line(calls, line, fact->time_ns);
            renew(calls, line->public.host, MAX(line->public.pid, 0));
        }
        return true;
    case LULL_FUNCTION_UNMAP:
        renew(calls, fact->host, fact->pid);
        return true;
    case LULL_FUNCTION_LOST:
        *lost_on(calls, fact->host, fact->cpu) = fact->time_ns;
        return true;
    default:
        return false;
    }
}

static void on_function(void *user, const struct lull_function_fact *fact)
{
    struct lull_calls *calls = user;
    if (handle_change(calls, fact)) {
        return;
    }
    struct line *line = line_of(calls, fact->task, fact->host, fact->pid, fact->time_ns);
    const uint32_t generation = calls->processes.items[line->process].generation;
    if (G_UNLIKELY(generation != line->generation)) {
        forget_addresses(calls, line, generation);
    }
    const uint64_t key = fact->layer != LULL_FUNCTION_PYTHON ? fact->address
                         : fact->name == LULL_NONE           ? UINT64_MAX
                                                             : fact->name;
    check_losses(calls, line, fact->cpu);
    account(calls, line, fact->time_ns);
    if (fact->step == LULL_FUNCTION_ENTER) {
        enter(calls, line, fact, key);
    } else if (fact->step == LULL_FUNCTION_LEAVE) {
        leave(calls, line, fact, key);
    } else {
        pass(calls, line, fact, key);
    }
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = find_line(calls, fact->task);
    if (!line) {
        return;
    }
    line->public.has_states |= fact->state != LULL_STATE_NONE;
    if (fact->state == LULL_STATE_BLOCKED || fact->state == LULL_STATE_PREEMPTED) {
        account(calls, line, fact->end_ns);
        add_wait(calls, line, fact);
    }
    if (fact->next == LULL_STATE_NONE && fact->state != LULL_STATE_NONE &&
        lull_model_task(calls->model, fact->task)->is_dead) {
        end_line(calls, line, fact->end_ns);
    }
}

static void on_syscall_start(void *user, const struct lull_syscall_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = find_line(calls, fact->task);
    if (line) {
        account(calls, line, fact->start_ns);
        end(calls, line, LULL_FUNCTION_SYSCALL, 0, true, fact->start_ns);
        push(calls, line, LULL_FUNCTION_SYSCALL, fact->name, -1, fact->start_ns, 0);
    }
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = find_line(calls, fact->task);
    if (line && !fact->is_open) {
        account(calls, line, fact->end_ns);
        end(calls, line, LULL_FUNCTION_SYSCALL, 0, true, fact->end_ns);
    }
}

/* Of the kernel's events, where its functions are recorded. */
static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    struct lull_calls *calls = user;
    *lost_on(calls, fact->host, fact->cpu) = fact->end_ns;
}

/* ---- the whole ---- */

struct lull_calls *lull_calls_new(struct lull_model *model, int64_t start_ns, int64_t end_ns,
                                  void (*ended)(void *user, const struct lull_call *call),
                                  void *user)
{
    static const struct lull_facts facts = {.function = on_function,
                                            .state = on_state,
                                            .syscall_start = on_syscall_start,
                                            .syscall = on_syscall,
                                            .lost = on_lost};
    struct lull_calls *calls = g_new0(struct lull_calls, 1);
    calls->model = model;
    calls->start_ns = start_ns;
    calls->end_ns = end_ns;
    calls->ended = ended;
    calls->user = user;
    lull_model_subscribe(model, &facts, calls);
    return calls;
}

void lull_calls_finish(struct lull_calls *calls, const int64_t *ends_ns)
{
    for (size_t i = 0; i < calls->lines.count; i++) {
        struct line *line = &calls->lines.items[i];
        end_line(calls, line, MIN(calls->end_ns, ends_ns[line->public.host]));
    }
    for (size_t i = 0; i < calls->processes.count; i++) {
        resolve(calls, &calls->processes.items[i]);
    }
}

void lull_calls_free(struct lull_calls *calls)
{
    if (!calls) {
        return;
    }
    for (size_t i = 0; i < calls->lines.count; i++) {
        struct line *line = &calls->lines.items[i];
        lull_vec_free(&line->frames);
        for (int layer = 0; layer < LULL_FUNCTION_LAYERS; layer++) {
            lull_map_free(&line->functions[layer]);
        }
    }
    for (size_t i = 0; i < calls->processes.count; i++) {
        lull_vec_free(&calls->processes.items[i].pending);
    }
    lull_vec_free(&calls->lines);
    lull_vec_free(&calls->by_task);
    lull_vec_free(&calls->processes);
    lull_vec_free(&calls->functions);
    lull_vec_free(&calls->nodes);
    lull_vec_free(&calls->waits);
    lull_vec_free(&calls->lost_ns);
    lull_map_free(&calls->by_pid);
    lull_map_free(&calls->children);
    lull_map_free(&calls->by_wait);
    lull_map_free(&calls->by_cpu);
    g_free(calls);
}

uint32_t lull_calls_line_count(const struct lull_calls *calls)
{
    return (uint32_t)calls->lines.count;
}

const struct lull_calls_line *lull_calls_line(const struct lull_calls *calls, uint32_t line)
{
    return &calls->lines.items[line].public;
}

uint32_t lull_calls_function_count(const struct lull_calls *calls)
{
    return (uint32_t)calls->functions.count;
}

const struct lull_calls_function *lull_calls_function(const struct lull_calls *calls,
                                                      uint32_t function)
{
    return &calls->functions.items[function];
}

uint32_t lull_calls_node_count(const struct lull_calls *calls)
{
    return (uint32_t)calls->nodes.count;
}

const struct lull_calls_node *lull_calls_node(const struct lull_calls *calls, uint32_t node)
{
    return &calls->nodes.items[node];
}

const struct lull_calls_wait *lull_calls_waits(const struct lull_calls *calls, size_t *count)
{
    *count = calls->waits.count;
    return calls->waits.items;
}

bool lull_calls_are_fast(const struct lull_calls *calls)
{
    return calls->are_fast;
}
