/* SPDX-License-Identifier: MIT */
/* Switches, wakers and system calls: the waits of each task. */
#include "live/ftrace/model.h"

#include <string.h>

/* Bits of a switch's prev_state (TRACE_EVENT(sched_switch) in the kernel): as task_struct.__state has them,
 * but for these. */
enum {
    STATE_GONE = 0x10 | 0x20, /* dead, a zombie */
    STATE_IDLE = 0x80,
    STATES = 0xff, /* above them: it lost the CPU */
};

/* Waits that are shorter matter to nobody. */
#define LEAST_NS 100000

/* From leaving the queue to leaving the CPU a task takes less: it keeps out interrupts meanwhile. */
#define LEAVING_NS 100000

/* ---- wakers ---- */

/* A task wakes, and so do those who had woken it before. */
static void explain_task(struct lull_ftrace_model *model, uint32_t tid,
                         struct lull_track_hop chain[LULL_TRACK_HOPS])
{
    const struct lull_ftrace_task *waker = lull_ftrace_task_of(model, tid);
    chain[0].kind = LULL_TRACK_HOP_TASK;
    chain[0].a = chain[0].b = tid;
    if (waker) {
        chain[0].a = waker->slot.tgid;
        memcpy(chain[0].comm, waker->comm, sizeof chain[0].comm);
        chain[0].start_ns = waker->slot.begin;
        memmove(&chain[1], waker->slot.hop, (LULL_TRACK_HOPS - 1) * sizeof *chain);
    }
}

/* Who wakes now, and who had woken that one before. */
static void explain(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                    struct lull_track_hop chain[LULL_TRACK_HOPS])
{
    const struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const uint32_t tid = (uint32_t)event->fields->tid;
    const bool is_interrupt =
        event->fields->flags & (LULL_FTRACE_IN_HARDIRQ | LULL_FTRACE_IN_SOFTIRQ);
    if (cpu->depth > 0 && cpu->depth <= LULL_TRACK_NESTED) {
        chain[0] = cpu->frame[cpu->depth - 1];
        return;
    }
    if (!tid || is_interrupt) { /* that no event names */
        chain[0].kind = LULL_TRACK_HOP_INTERRUPT;
        return;
    }
    explain_task(model, tid, chain);
}

/* Who wakes the task, and for which interrupt. */
static void find_waker(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                       struct lull_ftrace_task *task, struct lull_track_hop chain[LULL_TRACK_HOPS])
{
    struct lull_ftrace_cause cause = {0};
    memset(chain, 0, LULL_TRACK_HOPS * sizeof *chain);
    const enum lull_ftrace_left left = lull_ftrace_left_to(model, event, task, &chain[0], &cause);
    if (left == LULL_FTRACE_LEFT_BY_TASK) {
        explain_task(model, chain[0].b, chain);
    } else if (left == LULL_FTRACE_NOT_LEFT) {
        explain(model, event, chain);
        if (lull_ftrace_cause_now(model, event, &cause) && !model->cpus[event->cpu].depth) {
            lull_ftrace_serve_along(task, &cause);
        }
    }
    task->slot.irq = cause.irq;
    task->slot.irq_ns = cause.since;
}

static void wake(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct lull_ftrace_task *task =
        lull_ftrace_task_find(model, (uint32_t)event->fields->number[0]);
    struct lull_track_slot *slot = task ? &task->slot : NULL;
    if (slot) {
        lull_ftrace_task_doubt(slot, event->ns);
    }
    if (!slot || (slot->since && slot->woken)) {
        return;
    }
    find_waker(model, event, task, slot->since == 0 ? task->early : slot->hop);
    if (slot->since == 0) { /* it may be about to leave the CPU: the next switch will tell */
        slot->early_ns = event->ns;
        slot->flags &= ~(uint32_t)LULL_TRACK_WAS_QUEUED;
        slot->flags |= slot->cpu == event->cpu ? LULL_TRACK_WAS_QUEUED : 0;
    } else {
        slot->begin = slot->woken = MAX(event->ns, slot->since);
    }
}

static void start_task(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct lull_ftrace_task *task = lull_ftrace_task_of(model, (uint32_t)event->fields->number[0]);
    if (!task) {
        return;
    }
    struct lull_track_slot *slot = &task->slot;
    memset(slot->hop, 0, sizeof slot->hop);
    explain(model, event, slot->hop);
    slot->irq = 0;
    slot->since = slot->woken = slot->begin = event->ns;
    slot->state = 0;
    slot->flags |= LULL_TRACK_IS_NEW;
}

/* ---- switches ---- */

/* Only then wakers are seen. */
static bool has_waits(const struct lull_ftrace_model *model)
{
    return model->wanted & (LULL_FTRACE_WAITS | 1u << LULL_TRACK_SYSCALL);
}

static uint64_t after(uint64_t now, uint64_t since)
{
    return now > since ? now - since : 0;
}

/* Whether events of the time since then may be lost: of a CPU that the task may have been on meanwhile. */
static bool is_lost(const struct lull_ftrace_model *model, uint64_t since)
{
    return since < model->lost_until_ns;
}

/* `was_seen`: it was seen to come to this CPU. If not, a wait has ended that nobody saw the end of: nor its start, if
 * the task was last seen to come to a CPU. */
static void leaves(struct lull_ftrace_model *model, struct lull_ftrace_task *task, uint64_t now,
                   uint32_t state, bool was_seen)
{
    struct lull_track_slot *slot = &task->slot;
    lull_ftrace_task_doubt(slot, now);
    const bool is_unseen = slot->since || (slot->ran && !was_seen && !is_lost(model, slot->ran));
    if (slot->since) {
        slot->sums.unknown_ns += after(now, slot->since);
    } else if (slot->ran && (is_unseen || slot->flags & LULL_TRACK_IS_LOST)) {
        slot->sums.unknown_ns += after(now, slot->ran);
    } else if (slot->ran) {
        slot->sums.ran_ns += after(now, slot->ran);
    }
    if (is_unseen && has_waits(model) && lull_ftrace_is_followed(model, slot)) {
        model->counts.kernel.unseen++;
    }
    slot->flags &= ~(uint32_t)LULL_TRACK_IS_LOST;
    if (!(state & ~(uint32_t)STATES) && state & STATE_GONE) {
        lull_ftrace_task_end(model, task);
        return;
    }
    if (after(now, slot->early_ns) > LEAVING_NS) {
        slot->flags |= LULL_TRACK_WAS_QUEUED;
    }
    state = state & ~(uint32_t)STATES ? 0 : state;
    slot->state = state & STATE_IDLE ? LULL_TRACK_STATE_IDLE : state;
    slot->woken = state ? 0 : now;
    slot->since = now;
}

static void end_wait(struct lull_ftrace_model *model, struct lull_ftrace_task *task,
                     const struct lull_ftrace_event *event)
{
    struct lull_track_slot *slot = &task->slot;
    const bool counts = has_waits(model) && lull_ftrace_is_followed(model, slot);
    model->counts.kernel.waits += counts;
    if (slot->woken == 0 && slot->early_ns > slot->ran) { /* woken before it was off the CPU */
        memcpy(slot->hop, task->early, sizeof slot->hop);
        slot->woken = slot->begin = slot->since;
    } else if (slot->woken == 0) {
        slot->hop[0].kind = LULL_TRACK_HOP_NONE;
        slot->begin = event->ns;
        model->counts.kernel.unknown_wakers += counts;
    }
    const struct lull_ftrace_wait wait = {.task = task,
                                          .since = slot->since,
                                          .woken = slot->woken,
                                          .now = event->ns,
                                          .cpu = event->cpu,
                                          .state = slot->state};
    if (model->question.has_sums || model->question.has_metrics) {
        lull_ftrace_sum(model, &wait);
    }
    if (event->ns - slot->since > model->least_rule_ns && !(slot->flags & LULL_TRACK_IS_OLDER)) {
        lull_ftrace_judge(model, &wait);
    }
}

static void comes(struct lull_ftrace_model *model, struct lull_ftrace_task *task,
                  const struct lull_ftrace_event *event)
{
    struct lull_track_slot *slot = &task->slot;
    lull_ftrace_task_doubt(slot, event->ns);
    if (slot->since && is_lost(model, slot->since)) {
        slot->sums.unknown_ns += after(event->ns, slot->since);
    } else if (slot->since && slot->since <= event->ns && slot->woken <= event->ns) {
        end_wait(model, task, event);
    } else if (slot->since == 0 && slot->ran) { /* it was never seen to leave */
        model->counts.kernel.unseen +=
            has_waits(model) && lull_ftrace_is_followed(model, slot) && !is_lost(model, slot->ran);
        slot->sums.unknown_ns += after(event->ns, slot->ran);
    }
    slot->flags &= ~(uint32_t)(LULL_TRACK_IS_NEW | LULL_TRACK_IS_LOST | LULL_TRACK_IS_OLDER);
    slot->since = 0;
    slot->ran = event->ns;
    slot->cpu = event->cpu;
}

static void switch_tasks(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const struct lull_ftrace_fields *f = event->fields;
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const uint32_t prev = (uint32_t)f->number[0], next = (uint32_t)f->number[2];
    const bool was_seen = cpu->running == prev || cpu->running == LULL_FTRACE_ANYBODY;
    struct lull_ftrace_task *task;
    model->counts.kernel.switches++;
    cpu->depth = 0;
    cpu->thread.irq = 0;
    if (cpu->running && !was_seen) { /* that one left unseen, nobody knows when */
        task = lull_ftrace_task_find(model, cpu->running);
        if (task && task->slot.since == 0 && task->slot.cpu == event->cpu) {
            task->slot.flags |= LULL_TRACK_IS_LOST;
        }
    }
    cpu->left = prev;
    cpu->running = next;
    if (prev && (task = lull_ftrace_task_of(model, prev))) {
        lull_ftrace_task_name(task, &f->text[0]);
        leaves(model, task, event->ns, (uint32_t)f->number[1], was_seen);
    }
    if (next && (task = lull_ftrace_task_of(model, next))) {
        lull_ftrace_task_name(task, &f->text[1]);
        comes(model, task, event);
    }
}

/* Comes right after the switch that the task has just left by. */
static void take_stack(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const struct lull_text *frames = &event->fields->text[0];
    const uint32_t tid = (uint32_t)event->fields->tid;
    struct lull_ftrace_task *task = lull_ftrace_task_find(model, tid);
    if (!task || !task->slot.since || model->cpus[event->cpu].left != tid) {
        return;
    }
    if (!task->stack) {
        task->stack = g_new0(struct lull_track_stack, 1);
    }
    task->stack_ns = task->slot.since;
    task->stack->bytes = (int32_t)MIN(frames->length, (uint32_t)sizeof task->stack->frame);
    memcpy(task->stack->frame, frames->data, (size_t)task->stack->bytes);
}

/* ---- system calls ---- */

bool lull_ftrace_sees(const struct lull_ftrace_model *model, int64_t call)
{
    return model->calls == LULL_FTRACE_ALL_CALLS ||
           (model->calls == LULL_FTRACE_LISTED_CALLS && call <= INT32_MAX &&
            lull_ftrace_is_listed(model, (int32_t)call));
}

/* Some that are not seen any more may still be in the buffer: their ends are not. */
static void start_call(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const struct lull_text *arguments = &event->fields->text[0];
    struct lull_ftrace_task *task = lull_ftrace_task_of(model, (uint32_t)event->fields->tid);
    unsigned long first = 0;
    if (!task || !lull_ftrace_sees(model, event->fields->number[0])) {
        return;
    }
    if (arguments->length >= sizeof first) {
        memcpy(&first, arguments->data, sizeof first);
    }
    task->first_argument = first;
    task->call = (int32_t)CLAMP(event->fields->number[0], LULL_TRACK_NO_CALL, INT32_MAX);
    task->slot.call = task->call;
    task->slot.call_since = event->ns;
}

static void end_call(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct lull_ftrace_task *task = lull_ftrace_task_of(model, (uint32_t)event->fields->tid);
    if (!task) {
        return;
    }
    if (task->slot.call_since && !is_lost(model, task->slot.call_since) &&
        task->slot.call_since <= event->ns && model->measures & 1u << LULL_TRACK_SYSCALL) {
        const struct lull_ftrace_wait call = {.task = task,
                                              .since = task->slot.call_since,
                                              .now = event->ns,
                                              .cpu = event->cpu,
                                              .is_call = true};
        model->counts.kernel.events += lull_ftrace_is_followed(model, &task->slot);
        lull_ftrace_judge(model, &call);
    }
    task->slot.call_since = 0;
    task->call = LULL_TRACK_NO_CALL;
}

/* ---- events ---- */

void lull_ftrace_model_take(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const struct lull_ftrace_fields *f = event->fields;
    switch (event->kind) {
    case LULL_FTRACE_SWITCH:
        switch_tasks(model, event);
        break;
    case LULL_FTRACE_WAKING:
        wake(model, event);
        break;
    case LULL_FTRACE_STARTED:
        start_task(model, event);
        break;
    case LULL_FTRACE_NEWTASK:
        lull_ftrace_task_new(model, (uint32_t)f->number[0], (uint32_t)f->tid,
                             (uint64_t)f->number[1], &f->text[0]);
        break;
    case LULL_FTRACE_EXEC:
        lull_ftrace_task_exec(model, (uint32_t)f->number[0], (uint32_t)f->number[1], event->ns);
        model->cpus[event->cpu].running = (uint32_t)f->number[0];
        break;
    case LULL_FTRACE_STACK:
        take_stack(model, event);
        break;
    case LULL_FTRACE_CALL_ENTRY:
        start_call(model, event);
        break;
    case LULL_FTRACE_CALL_EXIT:
        end_call(model, event);
        break;
    default:
        lull_ftrace_spans_take(model, event);
    }
    model->now = MAX(model->now, event->ns);
}

/* What is known of each task ends where events were lost; until it is seen again, nothing is. */
void lull_ftrace_model_lose(struct lull_ftrace_model *model, uint32_t cpu, uint64_t from_ns,
                            uint64_t until_ns, uint64_t n)
{
    struct lull_ftrace_cpu_state *state = &model->cpus[cpu];
    model->counts.missed += MAX(n, 1);
    model->lost_until_ns = MAX(model->lost_until_ns, until_ns);
    *state = (struct lull_ftrace_cpu_state){.running = LULL_FTRACE_ANYBODY};
    g_hash_table_remove_all(model->spans);
    for (guint i = 0; i < model->slots->len; i++) {
        struct lull_ftrace_task *task = model->slots->pdata[i];
        if (!task || (!task->slot.since && !task->slot.ran)) {
            continue;
        }
        struct lull_track_slot *slot = &task->slot;
        slot->sums = lull_sums_of_slot(slot, from_ns);
        slot->ran = MAX(from_ns, MAX(slot->since, slot->ran));
        slot->since = slot->woken = slot->early_ns = slot->call_since = 0;
        slot->flags = (slot->flags & ~(uint32_t)LULL_TRACK_IS_OLDER) | LULL_TRACK_IS_LOST;
        task->call = LULL_TRACK_NO_CALL;
    }
    model->now = MAX(model->now, until_ns);
}

void lull_ftrace_model_set_calls(struct lull_ftrace_model *model, enum lull_ftrace_calls calls)
{
    model->calls = calls;
    for (guint i = 0; i < model->slots->len; i++) {
        struct lull_ftrace_task *task = model->slots->pdata[i];
        if (task) {
            task->call = LULL_TRACK_NO_CALL;
            task->slot.call_since = 0;
        }
    }
}

/* A filter may name the call too. */
enum lull_ftrace_calls lull_ftrace_needed_calls(const struct lull_ftrace_model *model)
{
    enum lull_ftrace_calls needed = LULL_FTRACE_NO_CALLS;
    for (uint32_t i = 0; i < model->question.n_rules; i++) {
        const struct lull_track_kernel_rule *rule = &model->rule[i];
        const bool is_wait = rule->measure < LULL_TRACK_SYSCALL;
        enum lull_ftrace_calls by_rule = LULL_FTRACE_NO_CALLS;
        if (rule->calls == LULL_TRACK_LISTED_CALLS) {
            by_rule = LULL_FTRACE_LISTED_CALLS;
        } else if (rule->calls == LULL_TRACK_OUTSIDE_CALLS || rule->measure == LULL_TRACK_SYSCALL ||
                   (is_wait &&
                    lull_track_rule_names(model->question.rules[i], LULL_TRACK_CALL_NAME))) {
            by_rule = LULL_FTRACE_ALL_CALLS;
        }
        needed = MAX(needed, by_rule);
    }
    return needed;
}

bool lull_ftrace_is_listed(const struct lull_ftrace_model *model, int32_t call)
{
    bool found = false;
    for (uint32_t i = 0; i < model->question.n_rules; i++) {
        for (uint32_t n = 0; n < model->rule[i].n_calls; n++) {
            found |= model->rule[i].call[n] == call;
        }
    }
    return found;
}

struct lull_ftrace_model *lull_ftrace_model_new(const struct lull_tracker_question *question,
                                                uint32_t n_cpus)
{
    struct lull_ftrace_model *model = g_new0(struct lull_ftrace_model, 1);
    model->question = *question;
    model->n_cpus = n_cpus;
    model->cpus = g_new0(struct lull_ftrace_cpu_state, MAX(n_cpus, 1));
    for (uint32_t i = 0; i < n_cpus; i++) {
        model->cpus[i].running = LULL_FTRACE_ANYBODY;
    }
    model->counts.overhead = -1;
    model->counts.least_ns = LEAST_NS;
    model->least_rule_ns = UINT64_MAX;
    model->tasks = g_hash_table_new_full(NULL, NULL, NULL, lull_ftrace_task_free);
    model->groups = lull_groups_new();
    model->slots = g_ptr_array_new();
    model->free_slots = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    model->wanted = question->has_sums || question->has_metrics
                        ? 1u << LULL_TRACK_OFFCPU | 1u << LULL_TRACK_IRQ |
                              1u << LULL_TRACK_SOFTIRQ | 1u << LULL_TRACK_BLOCK
                        : 0;
    lull_ftrace_sums_init(model);
    lull_ftrace_spans_init(model);
    for (uint32_t i = 0; i < question->n_rules; i++) {
        lull_track_rule_compile(question->rules[i], &model->rule[i]);
        model->limit[i].threshold_ns = model->rule[i].threshold_ns;
        model->group[i] = lull_track_rule_group(question->rules[i]);
        model->uses_groups |= lull_track_rule_names(question->rules[i], LULL_TRACK_GROUP_NAME);
        model->measures |= 1u << model->rule[i].measure;
        if (model->rule[i].measure < LULL_TRACK_SYSCALL) {
            model->least_rule_ns = MIN(model->least_rule_ns, model->rule[i].threshold_ns);
        }
    }
    model->wanted |= model->measures;
    return model;
}

void lull_ftrace_model_free(struct lull_ftrace_model *model)
{
    if (model) {
        g_hash_table_unref(model->tasks);
        g_ptr_array_unref(model->slots);
        g_array_unref(model->free_slots);
        g_hash_table_unref(model->chains);
        g_hash_table_unref(model->ended);
        g_hash_table_unref(model->spans);
        lull_groups_free(model->groups);
        for (uint32_t i = 0; i < LULL_TRACK_RULES; i++) {
            g_free(model->group[i]);
        }
        g_free(model->cpus);
        g_free(model);
    }
}
