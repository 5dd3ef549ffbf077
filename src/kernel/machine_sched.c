/* CPUs and the states of tasks: who runs, who waits for a CPU, who is blocked and who woke it. Each
 * change of state is decided on what the task did before this event, never on what it did two
 * events ago. */
#include "kernel/model_private.h"

#include <string.h>

/* prev_state of sched_switch. The low eight bits say why a task leaves the CPU; a task that is
 * still runnable has none of them (kernels differ in the bits above: 256, 1024, 2048 or 4096 mark
 * preemption). */
enum {
    PREV_STATE_MASK = 0xff,
    PREV_STATE_DEAD = 16 | 32, /* zombie and dead, swapped in kernel 4.14 */
    PREV_STATE_DEAD_OR_PARKED = 64,
};

/* status of lttng_statedump_process_state */
enum {
    DUMP_WAIT_FORK = 1,
    DUMP_WAIT_CPU = 2,
    DUMP_EXIT = 3,
    DUMP_ZOMBIE = 4,
    DUMP_WAIT = 5,
    DUMP_DEAD = 7
};

static struct lull_wakeup unknown_wakeup(int64_t t)
{
    return (struct lull_wakeup){
        .time_ns = t,
        .task = LULL_NONE,
        .first_packet = LULL_NONE,
        .packet = LULL_NONE,
        .request = LULL_NONE,
        .label = LULL_NONE,
        .cause = LULL_CAUSE_UNKNOWN,
    };
}

/* Ends the task's state at t and begins another. */
static void change(struct lull_model *model, uint32_t number, int64_t t, enum lull_state next,
                   int32_t cpu, const struct lull_wakeup *wakeup)
{
    struct task *task = &model->tasks.items[number];
    struct lull_state_fact fact = {
        .task = number,
        .begin_ns = task->since_ns,
        .end_ns = t,
        .state = task->state,
        .next = next,
        .cpu = task->state == LULL_STATE_PREEMPTED && task->cpu >= 0 ? task->cpu : cpu,
        .syscall = task->state == LULL_STATE_BLOCKED ? task->syscall : LULL_NONE,
        .wakeup = wakeup,
    };
    if (task->public.first_ns > task->public.last_ns) {
        fact.begin_ns = t;
        task->public.first_ns = t;
    }
    task->public.last_ns = t;
    task->since_ns = t;
    task->state = next;
    task->cpu = cpu;
    if (!task->is_idle)
        REPORT(model, state, &fact);
}

/* The task was found in a state that contradicts what was seen: events are missing in between. */
static void lose(struct lull_model *model, uint32_t number)
{
    struct task *task = &model->tasks.items[number];
    if (task->state == LULL_STATE_NONE)
        return;
    task->state = LULL_STATE_NONE;
    task->early.time_ns = INT64_MIN;
}

static void report_switch(struct lull_model *model, const struct machine *machine, int32_t c,
                          int64_t t, uint32_t task)
{
    struct lull_switch_fact fact = {.time_ns = t,
                                    .host = machine->host,
                                    .cpu = c,
                                    .task = model->tasks.items[task].is_idle ? LULL_NONE : task};
    REPORT(model, switched, &fact);
}

/* A context or event says that `tid` is on the CPU. News only if the CPU's task is not known yet.
 */
void sched_current(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   int32_t tid)
{
    if (machine->cpus.items[c].task != LULL_NONE || tid < 0)
        return;
    uint32_t number = model_task(model, machine, tid, c);
    machine->cpus.items[c].task = number;
    if (model->tasks.items[number].state != LULL_STATE_RUNNING)
        change(model, number, t, LULL_STATE_RUNNING, c, NULL);
    report_switch(model, machine, c, t, number);
}

static enum lull_state state_after_switch(const struct task *task, int64_t prev_state)
{
    if ((prev_state & PREV_STATE_MASK) == 0)
        return LULL_STATE_PREEMPTED;
    if (prev_state & PREV_STATE_DEAD)
        return LULL_STATE_NONE;
    if ((prev_state & PREV_STATE_DEAD_OR_PARKED) && task->is_exiting)
        return LULL_STATE_NONE;
    return LULL_STATE_BLOCKED;
}

static void bury(struct lull_model *model, struct machine *machine, uint32_t number)
{
    struct task *task = &model->tasks.items[number];
    task->public.is_dead = true;
    if (lull_map_find(&machine->by_tid, (uint32_t)task->public.tid) == number)
        lull_map_remove(&machine->by_tid, (uint32_t)task->public.tid);
}

static void switch_out(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       const struct lull_ev_sched_switch *ev)
{
    uint32_t number = model_task(model, machine, ev->prev_tid, c);
    struct task *task = &model->tasks.items[number];
    if (task->is_idle) {
        task->state = LULL_STATE_PREEMPTED;
        return;
    }
    if (LULL_HAS(ev, sched_switch, context_pid) && task->public.pid < 0)
        task->public.pid = ev->context_pid;
    model_rename(model, number, ev->prev_comm, t);
    if (task->state != LULL_STATE_RUNNING && task->state != LULL_STATE_NONE)
        lose(model, number);
    if (task->early.time_ns < task->since_ns)
        task->early.time_ns = INT64_MIN;
    enum lull_state next = state_after_switch(task, ev->prev_state);
    change(model, number, t, next, c, NULL);
    if (next == LULL_STATE_NONE)
        bury(model, machine, number);
}

static void switch_in(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      const struct lull_ev_sched_switch *ev)
{
    uint32_t number = model_task(model, machine, ev->next_tid, c);
    struct task *task = &model->tasks.items[number];
    machine->cpus.items[c].task = number;
    machine->cpus.items[c].last_request = LULL_NONE;
    machine->cpus.items[c].last_packet = LULL_NONE;
    if (task->is_idle) {
        task->state = LULL_STATE_RUNNING;
        report_switch(model, machine, c, t, number);
        return;
    }
    model_rename(model, number, ev->next_comm, t);
    struct lull_wakeup wakeup = unknown_wakeup(t);
    const struct lull_wakeup *why = NULL;
    if (task->state == LULL_STATE_RUNNING) {
        lose(model, number);
    } else if (task->state == LULL_STATE_BLOCKED) {
        /* Its wake-up was not seen, or was seen before it had left the CPU. */
        if (task->early.time_ns != INT64_MIN)
            wakeup = task->early;
        wakeup.time_ns = MIN(wakeup.time_ns, t);
        why = &wakeup;
    } else if (task->is_new && task->parent != LULL_NONE) {
        wakeup.cause = LULL_CAUSE_TASK;
        wakeup.task = task->parent;
        wakeup.time_ns = MIN(t, task->since_ns);
        why = &wakeup;
    }
    task->is_new = false;
    task->early.time_ns = INT64_MIN;
    change(model, number, t, LULL_STATE_RUNNING, c, why);
    report_switch(model, machine, c, t, number);
}

void sched_switched(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_switch *ev)
{
    if (!LULL_HAS(ev, sched_switch, prev_tid) || !LULL_HAS(ev, sched_switch, next_tid) ||
        ev->prev_tid < 0 || ev->next_tid < 0)
        return;
    struct cpu *cpu = &machine->cpus.items[c];
    irq_reset(cpu);
    if (cpu->task != LULL_NONE && model->tasks.items[cpu->task].public.tid != ev->prev_tid) {
        /* Another task should have been here: switches of this CPU were lost. */
        lose(model, cpu->task);
    }
    switch_out(model, machine, c, t, ev);
    switch_in(model, machine, c, t, ev);
}

/* The waking of a task that still runs: it is on its way out, or will not block at all. */
static void wake_running(struct task *task, const struct lull_wakeup *wakeup, enum lull_event_id id)
{
    if (id == LULL_EVENT_sched_waking)
        task->early = *wakeup;
    else
        task->early.time_ns = INT64_MIN;
}

void sched_wake(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                int32_t tid, struct lull_text comm, int32_t target_cpu, enum lull_event_id id)
{
    if (tid <= 0)
        return;
    uint32_t number = model_task(model, machine, tid, c);
    model_rename(model, number, comm, t);
    struct task *task = &model->tasks.items[number];
    if (id == LULL_EVENT_sched_wakeup_new) {
        task->is_new = false;
        if (task->state != LULL_STATE_NONE)
            return;
    } else if (task->state == LULL_STATE_PREEMPTED) {
        /* Already woken by sched_waking; the wake-up tells where it was put. */
        if (id == LULL_EVENT_sched_wakeup && target_cpu >= 0)
            task->cpu = target_cpu;
        return;
    }

    struct lull_wakeup wakeup = unknown_wakeup(t);
    irq_classify(model, machine, &machine->cpus.items[c], &wakeup);
    if (wakeup.task == number) /* a task does not wake itself; it was someone we do not know */
        wakeup = unknown_wakeup(t);
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
    change(model, number, t, LULL_STATE_PREEMPTED, target_cpu >= 0 ? target_cpu : task->cpu,
           &wakeup);
}

void sched_migrated(struct lull_model *model, struct machine *machine, int64_t t,
                    const struct lull_ev_sched_migrate_task *ev)
{
    uint32_t number = ev->tid > 0 ? lull_map_find(&machine->by_tid, (uint32_t)ev->tid) : LULL_NONE;
    if (number == LULL_NONE || ev->dest_cpu < 0 || ev->dest_cpu >= LULL_MAX_CPUS)
        return;
    /* A task that waits for a CPU now waits for another one. */
    struct task *task = &model->tasks.items[number];
    if (task->state == LULL_STATE_PREEMPTED && task->cpu != ev->dest_cpu)
        change(model, number, t, LULL_STATE_PREEMPTED, ev->dest_cpu, NULL);
}

void sched_forked(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_sched_process_fork *ev)
{
    bool has_tid = LULL_HAS(ev, sched_process_fork, child_tid);
    int32_t tid = has_tid ? ev->child_tid : ev->child_pid;
    if (tid <= 0)
        return;
    uint32_t old = lull_map_find(&machine->by_tid, (uint32_t)tid);
    if (old != LULL_NONE) { /* its exit was not seen */
        lose(model, old);
        bury(model, machine, old);
    }
    uint32_t number = model_task(model, machine, tid, 0);
    struct task *task = &model->tasks.items[number];
    task->is_new = true;
    task->since_ns = t;
    task->public.pid = has_tid && LULL_HAS(ev, sched_process_fork, child_pid) ? ev->child_pid : -1;
    task->public.ppid = LULL_HAS(ev, sched_process_fork, parent_tid) ? ev->parent_tid : -1;
    if (ev->parent_tid > 0) {
        uint32_t parent = model_task(model, machine, ev->parent_tid, 0);
        model->tasks.items[number].parent = parent;
    }
    model_rename(model, number, ev->child_comm, t);
}

/* exec keeps the tid, unless a thread other than the leader does it: then it takes over the
 * leader's. */
void sched_executed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_process_exec *ev)
{
    uint32_t number = machine->cpus.items[c].task;
    if (LULL_HAS(ev, sched_process_exec, tid) && ev->tid > 0) {
        if (LULL_HAS(ev, sched_process_exec, old_tid) && ev->old_tid > 0 &&
            ev->old_tid != ev->tid) {
            uint32_t leader = lull_map_find(&machine->by_tid, (uint32_t)ev->tid);
            uint32_t thread = lull_map_remove(&machine->by_tid, (uint32_t)ev->old_tid);
            if (leader != LULL_NONE)
                model->tasks.items[leader].public.is_dead = true;
            if (thread != LULL_NONE) {
                model->tasks.items[thread].public.tid = ev->tid;
                lull_map_insert(&machine->by_tid, (uint32_t)ev->tid, thread);
            }
        }
        number = model_task(model, machine, ev->tid, c);
    }
    if (number == LULL_NONE || !LULL_HAS(ev, sched_process_exec, filename))
        return;
    struct lull_text name = ev->filename;
    const char *slash = memrchr(name.data, '/', name.length);
    if (slash) {
        name.length -= slash + 1 - name.data;
        name.data = slash + 1;
    }
    name.length = MIN(name.length, 15); /* TASK_COMM_LEN - 1 */
    model_rename(model, number, name, t);
}

void sched_exited(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                  bool is_free)
{
    uint32_t number = tid > 0 ? lull_map_find(&machine->by_tid, (uint32_t)tid) : LULL_NONE;
    if (number == LULL_NONE)
        return;
    struct task *task = &model->tasks.items[number];
    task->is_exiting = true;
    if (task->public.first_ns <= task->public.last_ns)
        task->public.last_ns = t;
    if (is_free) { /* it is gone, whether or not its last switch was seen */
        lose(model, number);
        bury(model, machine, number);
    }
}

/* A state dump never overrides what events have told already. */
void sched_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_process *ev)
{
    if (!LULL_HAS(ev, statedump_process, tid) || ev->tid <= 0)
        return;
    uint32_t number = model_task(model, machine, ev->tid, 0);
    struct task *task = &model->tasks.items[number];
    if (task->public.pid < 0 && LULL_HAS(ev, statedump_process, pid))
        task->public.pid = ev->pid;
    if (task->public.ppid < 0 && LULL_HAS(ev, statedump_process, ppid))
        task->public.ppid = ev->ppid;
    if (task->name == LULL_NONE)
        model_rename(model, number, ev->name, t);
    if (task->state != LULL_STATE_NONE || task->is_new)
        return;
    int32_t cpu = LULL_HAS(ev, statedump_process, cpu) && ev->cpu < LULL_MAX_CPUS ? ev->cpu : -1;
    if (ev->status == DUMP_WAIT)
        change(model, number, t, LULL_STATE_BLOCKED, cpu, NULL);
    else if (ev->status == DUMP_WAIT_CPU || ev->status == DUMP_WAIT_FORK)
        change(model, number, t, LULL_STATE_PREEMPTED, cpu, NULL);
    else if (ev->status == DUMP_EXIT || ev->status == DUMP_ZOMBIE || ev->status == DUMP_DEAD)
        task->is_exiting = true;
}
