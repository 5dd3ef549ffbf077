/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who wakes: the chain of those who had to be woken for it, also where the task has not left the CPU yet. */
#ifndef LULL_LIVE_WAKERS_BPF_H
#define LULL_LIVE_WAKERS_BPF_H

#include "interrupts.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LULL_TRACK_EARLY);
    __type(key, uint32_t);
    __type(value, struct lull_track_early);
} earlies SEC(".maps");

/* What wakes a task that interrupts leave work to; else OF_NONE. */
enum left_by {
    LEFT_BY_SOFTIRQ, /* and the vector: it is raised, and left to the CPU's thread; MOST_VECTORS: any */
    LEFT_BY_HANDLER = MOST_VECTORS + 1,
    LEFT_BY_NONE,
};

static __always_inline uint32_t find_left_by(const struct task_struct *task)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (!context || !(task->flags & PF_KTHREAD)) {
        return LEFT_BY_NONE;
    }
    if (context->thread == (uint64_t)task) {
        context->thread = 0;
        return LEFT_BY_HANDLER;
    }
    /* Else it is at work, and waits for a lock, as it may with PREEMPT_RT. */
    const bool is_idle = state_of(task) & LULL_TRACK_STATE_S;
    const uint32_t vectors = is_idle ? softirqs_of(task) : 0;
    if (!vectors || (vectors != TIMER_SOFTIRQS && context->depth)) {
        return LEFT_BY_NONE;
    }
    /* In kernels that have a thread for timers those are left to that. */
    const uint32_t first = first_raised(context, vectors & ~TIMER_SOFTIRQS);
    return LEFT_BY_SOFTIRQ + (first < MOST_VECTORS ? first : first_raised(context, TIMER_SOFTIRQS));
}

/* A task, of which chain[0] says which, wakes, and so do those who had woken it before. */
static __always_inline void explain_task(struct lull_track_hop chain[LULL_TRACK_HOPS])
{
    const struct lull_track_slot *waker = slot_find(chain[0].b);
    if (waker) {
        chain[0].start_ns = waker->begin;
        chain[1] = waker->hop[0];
        chain[2] = waker->hop[1];
        chain[3] = waker->hop[2];
    }
}

static __always_inline void explain_handler(struct lull_track_hop *hop)
{
    const struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context) {
        hop->kind = LULL_TRACK_HOP_IRQ;
        hop->a = context->thread_irq;
        hop->start_ns = context->thread_since;
    }
}

/* False: a task raised it, which chain[0] then says. */
static __always_inline bool explain_softirq(struct lull_track_hop chain[LULL_TRACK_HOPS],
                                            uint32_t vector)
{
    const struct raise *raise = raise_of(vector);
    chain[0].kind = LULL_TRACK_HOP_INTERRUPT;
    if (!raise) {
        return true;
    }
    if (raise->id && raise->since) {
        const struct task_struct *raiser = (const struct task_struct *)raise->raiser;
        chain[0].kind = LULL_TRACK_HOP_TASK;
        chain[0].a = raise->id >> 32;
        chain[0].b = (uint32_t)raise->id;
        chain[0].comm[0] = '\0';
        if (BPF_CORE_READ(raiser, pid) == (int)chain[0].b) { /* it may have ended since */
            bpf_core_read(chain[0].comm, sizeof chain[0].comm, &raiser->comm);
        }
        return false;
    }
    chain[0].kind = kind_of_softirq(vector);
    chain[0].a = vector;
    chain[0].start_ns = raise->since ? raise->since : raise->again;
    return true;
}

/* Who wakes now, and who had woken that one before. */
static __always_inline void explain(struct lull_track_hop chain[LULL_TRACK_HOPS], uint32_t left_by)
{
    const struct lull_track_hop *frame = frame_now();
    if (governed.without_chains) {
        chain[0].kind = LULL_TRACK_HOP_NONE;
        return;
    }
    chain[0].start_ns = 0;
    chain[1].kind = LULL_TRACK_HOP_NONE;
    if (left_by == LEFT_BY_HANDLER) {
        explain_handler(&chain[0]);
        return;
    }
    if (left_by <= LEFT_BY_SOFTIRQ + MOST_VECTORS) {
        if (!explain_softirq(chain, left_by - LEFT_BY_SOFTIRQ)) {
            explain_task(chain);
        }
        return;
    }
    if (frame) {
        chain[0] = *frame;
        return;
    }
    const uint64_t id = bpf_get_current_pid_tgid();
    if (!(uint32_t)
            id) { /* the idle task wakes nobody: it is an interrupt that no tracepoint names */
        chain[0].kind = LULL_TRACK_HOP_INTERRUPT;
        return;
    }
    chain[0].kind = LULL_TRACK_HOP_TASK;
    chain[0].a = id >> 32;
    chain[0].b = (uint32_t)id;
    copy_own_comm(chain[0].comm);
    explain_task(chain);
}

/* For which interrupt the task is woken. */
static __always_inline void note_cause(struct lull_track_slot *slot, const struct task_struct *task,
                                       uint32_t left_by)
{
    const struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    struct irq_cause cause = {0};
    if (context && left_by == LEFT_BY_HANDLER) {
        cause.irq = 1 + context->thread_irq;
        cause.since = context->thread_since;
    } else if (left_by <= LEFT_BY_SOFTIRQ + MOST_VECTORS) {
        const struct raise *raise = raise_of(left_by - LEFT_BY_SOFTIRQ);
        if (raise) {
            cause = raise->by;
        }
    } else if (find_cause(&cause) && context && !context->depth) {
        serve_along(task, &cause);
    }
    slot->irq = cause.irq;
    slot->irq_ns = cause.since;
}

static __always_inline struct lull_track_early *early_of(uint32_t tid)
{
    const uint32_t at = tid % LULL_TRACK_EARLY;
    return bpf_map_lookup_elem(&earlies, &at);
}

static __always_inline void keep_early(uint32_t tid, uint64_t now, uint32_t left_by)
{
    struct lull_track_early *early = early_of(tid);
    if (early) {
        explain(early->hop, left_by);
        early->ns = now;
        early->tid = tid;
    }
}

/* Who woke it before it was off the CPU. False: it is not known any more. */
static __always_inline bool take_early(struct lull_track_slot *slot)
{
    const struct lull_track_early *early = early_of(slot->tid);
    if (!early || early->tid != slot->tid || early->ns != slot->early_ns) {
        slot->hop[0].kind = LULL_TRACK_HOP_NONE;
        return false;
    }
    __builtin_memcpy(slot->hop, early->hop, sizeof slot->hop);
    return true;
}

#endif
