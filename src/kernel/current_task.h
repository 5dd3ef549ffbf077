/* SPDX-License-Identifier: MIT */
/* Who is on a CPU, as the contexts of its events say. */
#ifndef LULL_KERNEL_CURRENT_TASK_H
#define LULL_KERNEL_CURRENT_TASK_H

#include "kernel/machine.h"

/* Who is on the CPU, as the contexts of an event say. */
struct current {
    int32_t tid, pid; /* -1: not reported */
    bool is_sure;     /* tid is the kernel's number, not one of a namespace */
    /* The name, with what follows its end in an array of the kernel's size; not as one struct, whose
     * copy would wait until both halves have been stored. */
    const char *comm;
    uint32_t comm_length;
};

static inline int32_t current_number(bool is_reported, int64_t number)
{
    return is_reported && number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* The contexts of a typed event; 0 is nobody in a namespace. A name that it does not have is
 * empty. */
#define CURRENT_OF(ev, event)                                                                      \
    ((struct current){                                                                             \
        .tid = LULL_HAS(ev, event, context_tid)                                                    \
                   ? current_number(true, (ev)->context_tid)                                       \
                   : current_number(LULL_HAS(ev, event, context_vtid) && (ev)->context_vtid > 0,   \
                                    (ev)->context_vtid),                                           \
        .pid = current_number(LULL_HAS(ev, event, context_pid), (ev)->context_pid),                \
        .is_sure = LULL_HAS(ev, event, context_tid),                                               \
        .comm = LULL_HAS(ev, event, context_comm) ? (ev)->context_comm.data : "",                  \
        .comm_length = LULL_HAS(ev, event, context_comm) ? (ev)->context_comm.length : 0,          \
    })

/* The contexts of an event say who is on the CPU: the tracer asked the kernel at that moment, so
 * they are believed over what was concluded from earlier events. Returns the task on the CPU, or
 * LULL_NONE. */
uint32_t sched_current(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       const struct current *current);

/* The task that is known to be on the CPU still is. */
static inline void sched_seen(struct lull_model *model, struct cpu *cpu, int64_t t)
{
    cpu->seen_ns = t;
    model->tasks.items[cpu->task].is_partial = false;
}

/* The bits of the contexts that LTTng's events have as a rule. */
#define CURRENT_BITS(event)                                                                        \
    (UINT64_C(1) << LULL_FIELD_##event##_context_tid |                                             \
     UINT64_C(1) << LULL_FIELD_##event##_context_pid |                                             \
     UINT64_C(1) << LULL_FIELD_##event##_context_comm)

/* Whether a name is what a context said of the task last. */
static inline bool current_is_said(const struct task *task, const struct lull_text *comm)
{
    G_STATIC_ASSERT(sizeof task->said == 2 * sizeof(uint64_t));
    uint64_t said[2], says[2];
    if (comm->length != sizeof task->said) {
        return false;
    }
    memcpy(said, task->said, sizeof said);
    memcpy(says, comm->data, sizeof says);
    return ((said[0] ^ says[0]) | (said[1] ^ says[1])) == 0;
}

/* Whether the contexts of a typed event say of a task what was known, as they mostly do. */
#define SAYS_KNOWN(task, ev, event)                                                                \
    (((ev)->have & CURRENT_BITS(event)) == CURRENT_BITS(event)                                     \
         ? (ev)->context_tid == (task)->public.tid && (ev)->context_pid == (task)->public.pid &&   \
               current_is_said(task, &(ev)->context_comm)                                          \
         : SAYS_SO(task, ev, event))

/* The same, whichever of them it has. */
#define SAYS_SO(task, ev, event)                                                                   \
    ((LULL_HAS(ev, event, context_tid)                                                             \
          ? (ev)->context_tid == (task)->public.tid                                                \
          : LULL_HAS(ev, event, context_vtid) && (ev)->context_vtid > 0 &&                         \
                (ev)->context_vtid == (task)->public.tid) &&                                       \
     (!LULL_HAS(ev, event, context_pid) || (ev)->context_pid == (task)->public.pid) &&             \
     (!LULL_HAS(ev, event, context_comm) || current_is_said(task, &(ev)->context_comm)))

/* sched_current() with the contexts of a typed event, which is not called if these say nothing
 * new. It is the first thing that is done with the event: model->cpu is its CPU. */
#define SCHED_CURRENT(model, machine, c, t, ev, event)                                             \
    (__extension__({                                                                               \
        struct cpu *cpu_ = (model)->cpu;                                                           \
        uint32_t number_ = cpu_->task;                                                             \
        if (G_LIKELY(number_ != LULL_NONE) &&                                                      \
            G_LIKELY(SAYS_KNOWN(&(model)->tasks.items[number_], ev, event))) {                     \
            sched_seen(model, cpu_, t);                                                            \
        } else {                                                                                   \
            const struct current current_ = CURRENT_OF(ev, event);                                 \
            number_ = sched_current(model, machine, c, t, &current_);                              \
        }                                                                                          \
        number_;                                                                                   \
    }))

#endif
