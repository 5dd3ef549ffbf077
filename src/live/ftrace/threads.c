/* SPDX-License-Identifier: MIT */
/* Threads to which interrupts leave what they do not do themselves: those of handlers (irq/28-eth0), of softirqs
 * (ksoftirqd/1) and of the softirqs of timers in kernels with PREEMPT_RT (ktimers/1). The kernel wakes them once the
 * handler has returned, still in the interrupt. */
#include <stdio.h>
#include <string.h>

#include "live/ftrace/model.h"

static bool is_kernel(const struct lull_ftrace_task *task)
{
    return task->slot.flags & LULL_TRACK_IS_KERNEL;
}

static bool is_called(const struct lull_ftrace_task *task, const char *start, uint32_t number,
                      const char *rest)
{
    char name[48];
    const int length = g_snprintf(name, sizeof name, "%s%u%s", start, number, rest);
    /* Of a thread of a handler only the start is compared. */
    return strncmp(task->comm, name, *rest ? (size_t)length : sizeof task->comm) == 0;
}

/* ---- threads of handlers ---- */

void lull_ftrace_hand_over(struct lull_ftrace_cpu_state *cpu, uint64_t since, uint32_t irq)
{
    cpu->thread = (struct lull_ftrace_cause){.since = since, .irq = 1 + irq};
}

static bool is_handlers(const struct lull_ftrace_cpu_state *cpu,
                        const struct lull_ftrace_event *event, const struct lull_ftrace_task *task)
{
    return cpu->thread.irq && event->fields->flags & LULL_FTRACE_IN_HARDIRQ && is_kernel(task) &&
           is_called(task, "irq/", cpu->thread.irq - 1, "-");
}

bool lull_ftrace_served_irq(const struct lull_ftrace_model *model,
                            const struct lull_ftrace_event *event, struct lull_ftrace_cause *cause)
{
    const bool is_interrupt =
        event->fields->flags & (LULL_FTRACE_IN_HARDIRQ | LULL_FTRACE_IN_SOFTIRQ);
    const struct lull_ftrace_task *task =
        lull_ftrace_task_find(model, (uint32_t)event->fields->tid);
    if (!task || is_interrupt) {
        return false;
    }
    *cause = (struct lull_ftrace_cause){.since = task->serves_ns, .irq = task->serves};
    return task->serves != 0;
}

void lull_ftrace_serve_along(struct lull_ftrace_task *task, const struct lull_ftrace_cause *cause)
{
    if (is_kernel(task) && is_called(task, "irq/", cause->irq - 1, "-s-")) {
        task->serves = cause->irq;
        task->serves_ns = cause->since;
    }
}

/* ---- threads of softirqs ---- */

/* Which softirqs the CPU leaves to that task: bits; 0: none, it is another. */
static uint32_t softirqs_of(const struct lull_ftrace_task *task, uint32_t cpu)
{
    if (task->comm[0] != 'k' || (task->comm[1] != 's' && task->comm[1] != 't') ||
        !is_kernel(task)) {
        return 0; /* most of what is woken */
    }
    return is_called(task, "ksoftirqd/", cpu, "") ? ~0u
           : is_called(task, "ktimers/", cpu, "") ? LULL_FTRACE_TIMER_SOFTIRQS
                                                  : 0;
}

static int32_t first_raised(const struct lull_ftrace_cpu_state *cpu, uint32_t vectors)
{
    int32_t first = -1;
    for (int32_t i = 0; i < (int32_t)G_N_ELEMENTS(cpu->raised); i++) {
        if (vectors & 1u << i && cpu->raised[i] &&
            (first < 0 || cpu->raised[i] < cpu->raised[first])) {
            first = i;
        }
    }
    return first;
}

/* ---- both ---- */

enum lull_ftrace_left lull_ftrace_left_to(struct lull_ftrace_model *model,
                                          const struct lull_ftrace_event *event,
                                          struct lull_ftrace_task *task, struct lull_track_hop *hop,
                                          struct lull_ftrace_cause *cause)
{
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    if (is_handlers(cpu, event, task)) {
        *cause = cpu->thread;
        task->serves = cause->irq;
        task->serves_ns = cause->since;
        cpu->thread.irq = 0;
        *hop = (struct lull_track_hop){
            .kind = LULL_TRACK_HOP_IRQ, .a = cause->irq - 1, .start_ns = cause->since};
        return LULL_FTRACE_LEFT_BY_INTERRUPT;
    }
    /* Else it is at work, and waits for a lock, as it may with PREEMPT_RT. */
    const bool is_idle = !task->slot.since || task->slot.state & LULL_TRACK_STATE_S;
    const uint32_t vectors = is_idle ? softirqs_of(task, event->cpu) : 0;
    if (!vectors || (vectors != LULL_FTRACE_TIMER_SOFTIRQS && cpu->depth)) {
        return LULL_FTRACE_NOT_LEFT;
    }
    /* In kernels that have a thread for timers those are left to that. */
    int32_t first = first_raised(cpu, vectors & ~(uint32_t)LULL_FTRACE_TIMER_SOFTIRQS);
    first = first < 0 ? first_raised(cpu, LULL_FTRACE_TIMER_SOFTIRQS) : first;
    *hop = (struct lull_track_hop){.kind = LULL_TRACK_HOP_INTERRUPT};
    if (first < 0) {
        return LULL_FTRACE_LEFT_BY_INTERRUPT;
    }
    *cause = cpu->raised_by[first];
    if (cpu->raiser[first]) {
        hop->kind = LULL_TRACK_HOP_TASK;
        hop->b = cpu->raiser[first];
        return LULL_FTRACE_LEFT_BY_TASK;
    }
    hop->kind = lull_ftrace_kind_of_softirq((uint32_t)first);
    hop->a = (uint32_t)first;
    hop->start_ns = cpu->raised[first];
    return LULL_FTRACE_LEFT_BY_INTERRUPT;
}
