/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which interrupt a CPU is in: the cause of the wake-ups that follow, and what the rules irq, softirq and
 * raise measure. */
#ifndef LULL_LIVE_INTERRUPTS_BPF_H
#define LULL_LIVE_INTERRUPTS_BPF_H

#include "threads.bpf.h"

/* ---- interrupts ---- */

/* Frame `i`, or NULL: written so that the verifier sees the bound. */
static __always_inline struct lull_track_hop *frame_at(struct context *context, uint32_t i)
{
    if (i >= LULL_TRACK_NESTED) {
        return NULL;
    }
    asm volatile("" : "+r"(i));
    return &context->frame[i & (LULL_TRACK_NESTED - 1)];
}

static __always_inline void push(struct context *context, uint32_t kind, uint32_t number)
{
    context->thread = 0;
    struct lull_track_hop *frame = frame_at(context, context->depth++);
    if (frame) {
        frame->start_ns = bpf_ktime_get_ns();
        frame->kind = kind;
        frame->a = number;
    }
}

static __always_inline void enter(uint32_t kind, uint32_t number)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context) {
        push(context, kind, number);
    }
}

static __always_inline void leave(void)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context && context->depth > 0) {
        context->depth--;
    }
}

/* The innermost interrupt, or NULL. */
static __always_inline struct lull_track_hop *frame_now(void)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (!context || context->depth == 0) {
        return NULL;
    }
    return frame_at(context, context->depth - 1);
}

/* ---- which interrupt it was, for rules about responses ---- */

/* The frame that was entered last is for that interrupt. */
static __always_inline void attribute(struct irq_cause *cause, const struct context *context,
                                      uint64_t since, uint32_t irq)
{
    cause->since = since;
    cause->irq = irq;
    cause->depth = context->depth;
}

static __always_inline void attribute_handler(int irq)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context) {
        attribute(&context->handler, context, bpf_ktime_get_ns(), 1 + (uint32_t)irq);
    }
}

/* Of a handler, or of a softirq, which is left. */
static __always_inline void end_cause(uint32_t measure)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context && measure == LULL_TRACK_IRQ) {
        context->handler.irq = 0;
    } else if (context) {
        context->softirq.irq = 0;
    }
}

/* Whether the innermost frame is for it. */
static __always_inline bool is_cause(const struct irq_cause *cause, const struct context *context)
{
    return cause->irq && cause->depth == context->depth;
}

/* For which interrupt the CPU does what it does now: in its handler, in a softirq that it raised, or in its thread.
 * False: for none that is known. */
static __always_inline bool find_cause(struct irq_cause *cause)
{
    const struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (!context) {
        return false;
    }
    if (!context->depth) {
        return find_served_irq(cause);
    }
    if (is_cause(&context->handler, context)) {
        *cause = context->handler;
        return true;
    }
    if (is_cause(&context->softirq, context)) {
        *cause = context->softirq;
        return true;
    }
    return false;
}

/* ---- rules about interrupts ---- */

/* What happened to the task that runs. */
static __always_inline void judge_interruption(struct happened *event)
{
    event->id = bpf_get_current_pid_tgid();
    event->uid = (uint32_t)bpf_get_current_uid_gid();
    copy_own_comm(event->comm);
    judge_event(NULL, event);
}

/* The same of an interrupt that rules may be about. */
static __always_inline void leave_measured(uint32_t measure, uint32_t kind, uint32_t number)
{
    const bool is_judged = config.n_rules && config.measures & 1u << measure;
    const struct lull_track_hop *frame = config.has_sums || is_judged ? frame_now() : NULL;
    if (frame && config.has_sums) {
        observe(measure, bpf_ktime_get_ns() - frame->start_ns);
    }
    if (frame && is_judged) {
        struct happened interrupt = {
            .measure = measure, .number = number, .since = frame->start_ns};
        interrupt.hop.kind = kind;
        interrupt.hop.a = number;
        judge_interruption(&interrupt);
    }
    if (has_responses()) {
        end_cause(measure);
    }
    leave();
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_entry, int irq)
{
    enter(LULL_TRACK_HOP_IRQ, irq);
    if (has_responses()) {
        attribute_handler(irq);
    }
    return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_exit, int irq, const struct irqaction *action, int result)
{
    const struct lull_track_hop *frame = frame_now();
    const uint64_t since = frame ? frame->start_ns : bpf_ktime_get_ns();
    leave_measured(LULL_TRACK_IRQ, LULL_TRACK_HOP_IRQ, irq);
    if (result & IRQ_WAKE_THREAD) {
        hand_over(action, irq, since);
    }
    return 0;
}

static __always_inline struct raise *raise_in(struct context *context, uint32_t vector)
{
    if (!context || vector >= MOST_VECTORS) {
        return NULL;
    }
    asm volatile("" : "+r"(vector));
    return &context->raise[vector & (MOST_VECTORS - 1)];
}

/* Of this CPU, or NULL. */
static __always_inline struct raise *raise_of(uint32_t vector)
{
    return raise_in(bpf_map_lookup_elem(&contexts, &zero), vector);
}

/* No task raises softirqs of timers and of the scheduler: those are raised in interrupts, also in some that no
 * tracepoint names. */
static __always_inline bool may_be_tasks(const struct context *context, uint32_t vector)
{
    return !context->depth && !((TIMER_SOFTIRQS | 1 << SCHED_SOFTIRQ) >> vector & 1);
}

/* What was raised first of those vectors, bits; MOST_VECTORS: nothing. What the kernel takes up it takes all at once: what an interrupt raises
 * again while its turn has not come remains raised, of which no more is known than when that was. */
static __always_inline uint32_t first_raised(const struct context *context, uint32_t vectors)
{
    uint32_t first = MOST_VECTORS, last = MOST_VECTORS;
    uint64_t since = UINT64_MAX, again = 0;
    for (uint32_t i = 0; i < NR_SOFTIRQS; i++) {
        const struct raise *raise = &context->raise[i];
        if (vectors & 1u << i && raise->since && raise->since < since) {
            since = raise->since;
            first = i;
        }
        if (vectors & 1u << i && raise->again > again) {
            again = raise->again;
            last = i;
        }
    }
    return first < MOST_VECTORS ? first : last;
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raised, unsigned int vector)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    struct raise *raise = raise_in(context, vector);
    if (!context || !raise) {
        return 0;
    }
    if (!raise->since) {
        raise->since = bpf_ktime_get_ns();
        raise->id = may_be_tasks(context, vector) ? bpf_get_current_pid_tgid() : 0;
        raise->raiser = raise->id ? bpf_get_current_task() : 0;
        raise->again = 0;
    } else if (context->depth) {
        raise->again = bpf_ktime_get_ns();
    }
    if (has_responses() && !raise->by.irq) {
        find_cause(&raise->by);
    }
    return 0;
}

static __always_inline uint32_t kind_of_softirq(uint32_t vector)
{
    return TIMER_SOFTIRQS >> vector & 1 ? LULL_TRACK_HOP_TIMER : LULL_TRACK_HOP_SOFTIRQ;
}

static __always_inline void measure_raise(uint32_t vector, uint64_t since)
{
    struct happened raise = {.measure = LULL_TRACK_RAISE, .number = vector, .since = since};
    raise.hop.kind = LULL_TRACK_HOP_SOFTIRQ;
    raise.hop.a = vector;
    judge_interruption(&raise);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    struct raise *raise = raise_in(context, vector);
    if (!context || !raise) {
        return 0;
    }
    if (config.measures & 1u << LULL_TRACK_RAISE && raise->since) {
        measure_raise(vector, raise->since);
    }
    raise->since = 0;
    push(context, kind_of_softirq(vector), vector);
    if (has_responses()) {
        attribute(&context->softirq, context, raise->by.since, raise->by.irq);
        raise->by.irq = 0;
    }
    return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
    leave_measured(LULL_TRACK_SOFTIRQ, LULL_TRACK_HOP_SOFTIRQ, vector);
    return 0;
}

static __always_inline void measure_expiry(const struct hrtimer *timer, const int64_t *now)
{
    struct happened expiry = {.measure = LULL_TRACK_TIMER};
    int64_t now_ns = 0; /* of the timer's clock */
    bpf_probe_read_kernel(&now_ns, sizeof now_ns, now);
    const int64_t late_ns = now_ns - timer->node.expires;
    expiry.until = bpf_ktime_get_ns();
    expiry.since = expiry.until - (late_ns > 0 ? late_ns : 0);
    expiry.hop.kind = LULL_TRACK_HOP_EXPIRY;
    expiry.hop.function = (uint64_t)timer->function;
    judge_interruption(&expiry);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_entry, const struct hrtimer *timer, const int64_t *now)
{
    if (config.measures & 1u << LULL_TRACK_TIMER) {
        measure_expiry(timer, now);
    }
    enter(LULL_TRACK_HOP_TIMER, 0);
    return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_exit)
{
    leave();
    return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(work_entry)
{
    enter(LULL_TRACK_HOP_INTERRUPT, 0);
    return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(work_exit)
{
    leave();
    return 0;
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(function_entry)
{
    enter(LULL_TRACK_HOP_INTERRUPT, 0);
    return 0;
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(function_exit)
{
    leave();
    return 0;
}

#endif
