/* SPDX-License-Identifier: MIT */
/* Who wakes whom, and for what. */
#include "kernel/current_task.h"
#include "kernel/machine.h"
#include "kernel/wakings.h"

/* The waking of a task that still runs: it is on its way out, or will not block at all. */
static void wake_running(struct task *task, const struct lull_wakeup *wakeup, enum lull_event_id id)
{
    if (id == LULL_EVENT_sched_waking) {
        task->early = *wakeup;
    } else {
        task->early.time_ns = INT64_MIN;
    }
}

/* Keeps the first waking since the task stopped running. One that comes while it still runs counts
 * only if nothing wakes it after it has stopped: then it was about to. */
static void note_waking(const struct lull_model *model, const struct cpu *cpu, int64_t t,
                        struct task *task, enum lull_event_id id, bool is_interrupt)
{
    bool runs = task->state == LULL_STATE_RUNNING;
    if (runs && id != LULL_EVENT_sched_waking) {
        task->waking = no_waking; /* it did not stop */
    } else if (runs || task->waking.time_ns == INT64_MIN || task->waking.is_early) {
        task->waking = (struct waking){t, model_on_cpu(model, cpu), is_interrupt, runs};
    }
}

/* It was woken before, and where it was to run switches may be hidden. (Elsewhere nothing follows from a second waking, as in Trace
 * Compass: shared/spec/tracecompass.md, quirk 5.) */
static bool ran_unseen(const struct machine *machine, const struct task *task)
{
    return task->waking.time_ns != INT64_MIN && !task->waking.is_early &&
           model_hides_idle(model_find_cpu(machine, task->cpu));
}

static void sched_wake(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       uint32_t number, struct lull_text comm, int32_t target_cpu,
                       enum lull_event_id id, enum irq_context context)
{
    model_named(model, number, comm, t);
    struct task *task = &model->tasks.items[number];
    if (task->state == LULL_STATE_BLOCKED) {
        sched_cut(model, machine, number, t, LULL_STATE_BLOCKED);
    } else if (task->state == LULL_STATE_PREEMPTED && id == LULL_EVENT_sched_waking &&
               !sched_cut(model, machine, number, t, LULL_STATE_BLOCKED) &&
               (ran_unseen(machine, task) ||
                lost_may_be_between(model, machine->host, task->since_ns, t))) {
        sched_lose(model, number); /* it ran in between, as who waits for a CPU is not woken */
        task->waking = no_waking;
    }
    struct cpu *cpu = model_cpu_at(machine, c);
    const enum irq_thread thread = irq_thread_of(model, cpu, c, task, context);
    if (G_UNLIKELY(thread == IRQ_SOFTIRQS_THREAD)) {
        const bool is_by_task = context != IRQ_HARD && context != IRQ_SOFT;
        cpu->softirqs_for = is_by_task ? cpu->task : LULL_NONE;
        cpu->softirqs_for_ns = t;
    }
    note_waking(model, cpu, t, task, id,
                thread || irq_is_active(cpu) || context == IRQ_HARD || context == IRQ_SOFT);
    if (id == LULL_EVENT_sched_wakeup_new) {
        task->is_new = false;
        if (task->state != LULL_STATE_NONE) {
            return;
        }
    } else if (task->state == LULL_STATE_PREEMPTED) {
        /* Already woken by sched_waking; the wake-up says where it was put. */
        if (id == LULL_EVENT_sched_wakeup && target_cpu >= 0) {
            task->cpu = target_cpu;
        }
        return;
    }

    struct lull_wakeup wakeup = unknown_wakeup(t);
    irq_classify(model, machine, cpu, task, thread, context, &wakeup);
    if (wakeup.cause == LULL_CAUSE_DISK) {
        irq_name_server(model, cpu, t, &wakeup);
    }
    if (wakeup.task == number) { /* a task does not wake itself; it was someone we do not know */
        wakeup = unknown_wakeup(t);
    }
    if (task->state == LULL_STATE_RUNNING) {
        wake_running(task, &wakeup, id);
        return;
    }
    if (id == LULL_EVENT_sched_wakeup && task->early.time_ns != INT64_MIN) {
        /* The waking came while the task was leaving its CPU: its waker is the one to name. */
        wakeup = task->early;
        task->early.time_ns = INT64_MIN;
    }
    wakeup.time_ns = MIN(wakeup.time_ns, t);
    wakeup.cpu = c;
    sched_change(model, number, t, LULL_STATE_PREEMPTED, target_cpu >= 0 ? target_cpu : task->cpu,
                 &wakeup);
}

void sched_wake_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_event_id id, const void *event)
{
    /* The three have the same fields in the same order. */
    const struct lull_ev_sched_waking *ev = event;
    if (!LULL_HAS(ev, sched_waking, tid)) {
        return;
    }
    /* Of a task that is not recorded, its wakings of others may still be. */
    SCHED_CURRENT(model, machine, c, t, ev, sched_waking);
    if (ev->tid <= 0) {
        return;
    }
    if (id == LULL_EVENT_sched_wakeup_new) {
        sched_born_unseen(model, machine, c, t, (int32_t)ev->tid);
    }
    uint32_t number = model_task(model, machine, ev->tid, c);
    if (LULL_HAS(ev, sched_waking, prio)) {
        sched_prio(model, machine, t, number, ev->prio, machine->wakeup_prio_offset);
    }
    sched_wake(model, machine, c, t, number, ev->comm,
               LULL_HAS(ev, sched_waking, target_cpu) ? ev->target_cpu : -1, id,
               irq_context_of(LULL_HAS(ev, sched_waking, flags), ev->flags));
}
