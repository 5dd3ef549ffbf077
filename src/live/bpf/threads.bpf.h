/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads to which interrupts leave what they do not do themselves: those of handlers (irq/28-eth0), of softirqs
 * (ksoftirqd/1) and of the softirqs of timers in kernels with PREEMPT_RT (ktimers/1). The kernel wakes them once the
 * handler has returned, still in the interrupt. */
#ifndef LULL_LIVE_THREADS_BPF_H
#define LULL_LIVE_THREADS_BPF_H

#include "slots.bpf.h"

/* ---- threads of handlers ---- */

/* Which interrupts a handler's thread serves, with rules about responses; by tid. */
struct irq_thread {
    uint64_t action; /* struct irqaction * */
    uint64_t since,
        next; /* when the one came that it serves, and the one that it serves after that; 0: there is none */
    uint32_t irq, pad; /* 1 + the number */
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4096);
    __type(key, uint32_t);
    __type(value, struct irq_thread);
} irq_threads SEC(".maps");

/* The kernel says to the thread that it is to run, and the thread takes that back when it starts to: an interrupt that comes
 * in between is served along with the first. */
static __always_inline bool is_to_run(const struct irqaction *action)
{
    return BPF_CORE_READ(action, thread_flags) & IRQTF_RUNTHREAD;
}

/* The thread has started to serve the next one. */
static __always_inline void serve_next(struct irq_thread *of)
{
    if (of->next && !is_to_run((const struct irqaction *)of->action)) {
        of->since = of->next;
        of->next = 0;
    }
}

static __always_inline void serve(const struct irqaction *action, uint32_t irq, uint64_t since)
{
    const uint32_t tid = action->thread->pid;
    struct irq_thread *known = bpf_map_lookup_elem(&irq_threads, &tid);
    if (!known || known->action != (uint64_t)action) {
        const struct irq_thread of = {.action = (uint64_t)action, .next = since, .irq = 1 + irq};
        bpf_map_update_elem(&irq_threads, &tid, &of, BPF_ANY);
    } else if (!is_to_run(action)) {
        serve_next(known);
        known->next = since;
    }
}

/* The handler, which has started at `since`, has left the rest to its thread. The kernel wakes that next, unless it
 * is to run already or does not sleep. */
static __always_inline void hand_over(const struct irqaction *action, uint32_t irq, uint64_t since)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    const struct task_struct *thread = action->thread;
    if (context && !is_to_run(action) && state_of(thread) & TASK_NORMAL) {
        context->thread = (uint64_t)action->thread;
        context->thread_irq = irq;
        context->thread_since = since;
    }
    if (has_responses() && action->thread) {
        serve(action, irq, since);
    }
}

/* The task that runs is a thread of an interrupt, and serves that one. */
static __always_inline bool find_served_irq(struct irq_cause *cause)
{
    const uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    struct irq_thread *of = bpf_map_lookup_elem(&irq_threads, &tid);
    if (!of) {
        return false;
    }
    serve_next(of);
    cause->irq = of->irq;
    cause->since = of->since;
    return of->since != 0;
}

/* Of a handler that is a thread by itself, and has another for the rest: the first wakes the second. */
static __always_inline void serve_along(const struct task_struct *task,
                                        const struct irq_cause *cause)
{
    const uint32_t tid = (uint32_t)bpf_get_current_pid_tgid(), second = task->pid;
    const struct irq_thread *of = bpf_map_lookup_elem(&irq_threads, &tid);
    if (!of) {
        return;
    }
    const struct irqaction *action = (const struct irqaction *)of->action;
    const struct irqaction *other = BPF_CORE_READ(action, secondary);
    if (other && BPF_CORE_READ(other, thread) == task) {
        const struct irq_thread its = {
            .action = (uint64_t)other, .since = cause->since, .irq = cause->irq};
        bpf_map_update_elem(&irq_threads, &second, &its, BPF_ANY);
    }
}

/* ---- threads of softirqs ---- */

/* It is called `name`, which has `n` characters, and the number of this CPU. */
static __always_inline bool is_of_this_cpu(const struct task_struct *task, const char *name,
                                           uint32_t n)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < LULL_TRACK_COMM; i++) {
        const char c = task->comm[i];
        if (i < n && c != name[i]) {
            return false;
        }
        if (i >= n && c == '\0') {
            break;
        }
        if (i >= n) {
            number = 10 * number + (uint32_t)(c - '0');
        }
    }
    return number == bpf_get_smp_processor_id();
}

/* Which softirqs this CPU leaves to that task: bits; 0: none, it is another. */
static __always_inline uint32_t softirqs_of(const struct task_struct *task)
{
    if (task->comm[0] != 'k' || !(task->flags & PF_KTHREAD)) {
        return 0;
    }
    return task->comm[1] == 's'   ? (is_of_this_cpu(task, "ksoftirqd/", 10) ? ~0u : 0)
           : task->comm[1] == 't' ? (is_of_this_cpu(task, "ktimers/", 8) ? TIMER_SOFTIRQS : 0)
                                  : 0;
}

#endif
