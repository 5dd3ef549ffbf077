/* SPDX-License-Identifier: MIT */
/* What each fact about calls, waits, losses and lives of tasks does to the stacks. */
#include "base/sums.h"
#include "calls/private.h"

/* ---- facts ---- */

/* The depth of functions of the kernel is certain: what is as deep or deeper has returned. */
static void pop_as_deep(struct lull_calls *calls, struct line *line, int64_t depth, int64_t t)
{
    while (line->open[LULL_FUNCTION_KERNEL] > 0) {
        size_t at = line->frames.count;
        while (calls_function_of(calls, &line->frames.items[at - 1])->layer !=
               LULL_FUNCTION_KERNEL) {
            at--;
        }
        if (line->frames.items[at - 1].depth < depth) {
            return;
        }
        calls_pop_to(calls, line, at - 1, t, LULL_CALL_UNWOUND);
    }
}

static void enter(struct lull_calls *calls, struct line *line,
                  const struct lull_function_fact *fact, uint64_t key)
{
    const int64_t t = fact->time_ns;
    if (fact->layer == LULL_FUNCTION_KERNEL) {
        pop_as_deep(calls, line, fact->depth, t);
    } else {
        calls_leave_kernel(calls, line, t);
    }
    calls_push(calls, line, fact->layer, key, fact->depth, t, 0);
}

/* A call of which only the return was recorded, and how long it lasted. */
static void add_late(struct lull_calls *calls, struct line *line, uint64_t key, int64_t ns)
{
    const uint32_t node = calls_child(calls, line, calls_top(line), LULL_FUNCTION_KERNEL, key);
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
    const bool is_any = fact->layer == LULL_FUNCTION_PYTHON || fact->is_nameless;
    if (line->beyond[fact->layer] > 0) {
        line->beyond[fact->layer]--;
        return;
    }
    if (fact->layer == LULL_FUNCTION_KERNEL) {
        pop_as_deep(calls, line, (int64_t)fact->depth + 1, t);
    }
    calls->are_fast |= is_any && fact->layer == LULL_FUNCTION_NATIVE;
    if (!calls_end(calls, line, fact->layer, key, is_any, t)) {
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
    const uint32_t node = calls_child(calls, line, calls_top(line), fact->layer, key);
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
    const struct line *parent = calls_find_line(calls, fact->parent);
    if (!parent || parent->frames.count == 0 || calls_find_line(calls, fact->task)) {
        return;
    }
    calls_line_of(calls, fact->task, fact->host, fact->pid, fact->time_ns);
    /* Both may have moved. */
    parent = calls_find_line(calls, fact->parent);
    struct line *child = calls_find_line(calls, fact->task);
    for (size_t i = 0; i < parent->frames.count; i++) {
        const struct lull_calls_function *function =
            calls_function_of(calls, &parent->frames.items[i]);
        if (function->layer <= LULL_FUNCTION_PYTHON) {
            calls_push(calls, child, function->layer, function->key, -1, fact->time_ns,
                       LULL_CALL_INHERITED);
        }
    }
}

static void end_line(struct lull_calls *calls, struct line *line, int64_t t)
{
    calls_account(calls, line, t);
    calls_pop_to(calls, line, 0, line->last_ns, LULL_CALL_OPEN);
}

/* What is no call of a function. False: it is one. */
static bool handle_change(struct lull_calls *calls, const struct lull_function_fact *fact)
{
    struct line *line = fact->task == LULL_NONE ? NULL : calls_find_line(calls, fact->task);
    switch (fact->step) {
    case LULL_FUNCTION_FORK:
        forked(calls, fact);
        return true;
    case LULL_FUNCTION_EXEC:
        if (line) {
            end_line(calls, line, fact->time_ns);
            calls_renew(calls, line->public.host, MAX(line->public.pid, 0));
        }
        return true;
    case LULL_FUNCTION_UNMAP:
        calls_renew(calls, fact->host, fact->pid);
        return true;
    case LULL_FUNCTION_LOST:
        *calls_lost_on(calls, fact->host, fact->cpu) = fact->time_ns;
        return true;
    default:
        return false;
    }
}

/* Its addresses mean what they do now. */
static struct line *current_line(struct lull_calls *calls, uint32_t task, uint32_t host,
                                 int32_t pid, int64_t t)
{
    struct line *line = calls_line_of(calls, task, host, pid, t);
    const uint32_t generation = calls->processes.items[line->process].generation;
    if (G_UNLIKELY(generation != line->generation)) {
        calls_forget_addresses(calls, line, generation);
    }
    return line;
}

uint32_t lull_calls_where(struct lull_calls *calls, uint32_t task, uint32_t host, int32_t pid,
                          int64_t t, uint64_t address)
{
    struct line *line = current_line(calls, task, host, pid, t);
    for (size_t i = line->frames.count; i-- > 0;) {
        if (calls_function_of(calls, &line->frames.items[i])->layer <= LULL_FUNCTION_PYTHON) {
            return line->frames.items[i].node;
        }
    }
    return calls_child(calls, line, line->public.root, LULL_FUNCTION_NATIVE, address);
}

/* ftrace left out what was too deep for it, within all that the task is in: of earlier calls it said
 * the same number. Whether the first number is of this trace, nothing says. */
static void note_left_out(struct line *line, int64_t left_out)
{
    if (left_out > MAX(line->left_out, 0)) {
        line->public.too_deep += line->left_out >= 0 ? (uint64_t)(left_out - line->left_out) : 0;
        calls_doubt(line);
    }
    line->left_out = left_out;
}

static void on_function(void *user, const struct lull_function_fact *fact)
{
    struct lull_calls *calls = user;
    if (handle_change(calls, fact)) {
        return;
    }
    struct line *line = current_line(calls, fact->task, fact->host, fact->pid, fact->time_ns);
    const uint64_t key = fact->layer != LULL_FUNCTION_PYTHON ? fact->address
                         : fact->name == LULL_NONE           ? UINT64_MAX
                                                             : fact->name;
    if (fact->left_out >= 0) {
        note_left_out(line, fact->left_out);
    }
    calls_account(calls, line, fact->time_ns);
    line->cpu = fact->cpu;
    line->heard_ns = fact->time_ns;
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
    struct line *line = calls_find_line(calls, fact->task);
    if (!line) {
        return;
    }
    line->public.has_states |= fact->state != LULL_STATE_NONE;
    if (line->open[LULL_FUNCTION_INTERRUPT] >
        0) { /* none lasts longer than who was interrupted runs */
        calls_account(calls, line, fact->end_ns);
        calls_leave_interrupts(calls, line, fact->end_ns);
    }
    if (fact->state == LULL_STATE_BLOCKED || fact->state == LULL_STATE_PREEMPTED) {
        calls_account(calls, line, fact->end_ns);
        calls_add_wait(calls, line, fact);
    }
    line->is_gone = fact->next == LULL_STATE_NONE;
    line->gone_ns = fact->end_ns;
    if (fact->next == LULL_STATE_NONE && fact->state != LULL_STATE_NONE &&
        lull_model_task(calls->model, fact->task)->is_dead) {
        end_line(calls, line, fact->end_ns);
    }
}

/* What the recording does is one thing, whatever system calls it makes. */
static bool is_recording(struct lull_calls *calls, struct line *line)
{
    return line->open[LULL_FUNCTION_RECORDING] > 0 &&
           calls_function_of(calls, &line->frames.items[line->frames.count - 1])->layer ==
               LULL_FUNCTION_RECORDING;
}

static void on_syscall_start(void *user, const struct lull_syscall_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = calls_find_line(calls, fact->task);
    if (line && !is_recording(calls, line)) {
        calls_account(calls, line, fact->start_ns);
        calls_leave_interrupts(calls, line, fact->start_ns);
        calls_end(calls, line, LULL_FUNCTION_SYSCALL, 0, true, fact->start_ns);
        calls_push(calls, line, LULL_FUNCTION_SYSCALL, fact->name, -1, fact->start_ns, 0);
    }
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = calls_find_line(calls, fact->task);
    if (line && !fact->is_open) {
        calls_account(calls, line, fact->end_ns);
        calls_leave_interrupts(calls, line, fact->end_ns);
        calls_end(calls, line, LULL_FUNCTION_SYSCALL, 0, true, fact->end_ns);
    }
}

static void on_handler_start(void *user, const struct lull_handler_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = fact->task == LULL_NONE ? NULL : calls_find_line(calls, fact->task);
    if (line) {
        calls_account(calls, line, fact->start_ns);
        calls_push(calls, line, LULL_FUNCTION_INTERRUPT, fact->label, -1, fact->start_ns, 0);
        line->handler_cpu = fact->cpu;
        line->handler_ns = fact->start_ns;
    }
}

static void on_handler(void *user, const struct lull_handler_fact *fact)
{
    struct lull_calls *calls = user;
    struct line *line = fact->task == LULL_NONE ? NULL : calls_find_line(calls, fact->task);
    if (line && line->open[LULL_FUNCTION_INTERRUPT] > 0) {
        calls_account(calls, line, fact->end_ns);
        calls_end(calls, line, LULL_FUNCTION_INTERRUPT, fact->label, false, fact->end_ns);
    }
}

/* Of the kernel's events, where its functions are recorded. */
static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    struct lull_calls *calls = user;
    *calls_lost_on(calls, fact->host, fact->cpu) = fact->end_ns;
}

/* ---- the whole ---- */

bool lull_calls_are_declared(const struct lull_session *session)
{
    static const enum lull_event_id starts[] = {LULL_EVENT_function_entry, LULL_EVENT_python_call,
                                                LULL_EVENT_kernel_function_entry};
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        for (size_t i = 0; i < G_N_ELEMENTS(starts); i++) {
            if (lull_session_declares(session, host, lull_vocabulary_names(starts[i]))) {
                return true;
            }
        }
    }
    return false;
}

struct lull_calls *lull_calls_new(struct lull_model *model, int64_t start_ns, int64_t end_ns,
                                  void (*ended)(void *user, const struct lull_call *call),
                                  void *user)
{
    static const struct lull_facts facts = {.function = on_function,
                                            .state = on_state,
                                            .syscall_start = on_syscall_start,
                                            .syscall = on_syscall,
                                            .handler_start = on_handler_start,
                                            .handler = on_handler,
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

void lull_calls_watch(struct lull_calls *calls,
                      void (*spent)(void *user, const struct lull_calls_stretch *stretch),
                      void *user)
{
    calls->spent = spent;
    calls->spent_user = user;
}

uint32_t lull_calls_catch_up(struct lull_calls *calls, uint32_t task, int64_t t)
{
    struct line *line = calls_find_line(calls, task);
    if (!line) {
        return LULL_NONE;
    }
    calls_account(calls, line, t);
    return (uint32_t)(line - calls->lines.items);
}

void lull_calls_each_open(const struct lull_calls *calls, int64_t until_ns,
                          void (*visit)(void *user, const struct lull_call *call), void *user)
{
    for (size_t i = 0; i < calls->lines.count; i++) {
        const struct line *line = &calls->lines.items[i];
        for (size_t depth = 0; depth < line->frames.count; depth++) {
            const struct frame *frame = &line->frames.items[depth];
            visit(user, &(struct lull_call){.line = (uint32_t)i,
                                            .node = frame->node,
                                            .depth = (uint32_t)depth,
                                            .start_ns = frame->start_ns,
                                            .end_ns = until_ns,
                                            .waiting_ns = line->blocked_ns - frame->blocked_ns,
                                            .flags = frame->flags | LULL_CALL_OPEN});
        }
    }
}

void lull_calls_finish(struct lull_calls *calls, const int64_t *ends_ns)
{
    for (size_t i = 0; i < calls->lines.count; i++) {
        struct line *line = &calls->lines.items[i];
        /* Whether it died is known after its last state. */
        const bool has_died =
            line->is_gone && lull_model_task(calls->model, line->public.task)->is_dead;
        const int64_t end_ns = has_died ? line->gone_ns : ends_ns[line->public.host];
        end_line(calls, line, MIN(calls->end_ns, end_ns));
    }
    for (size_t i = 0; i < calls->processes.count; i++) {
        calls_resolve(calls, &calls->processes.items[i]);
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
