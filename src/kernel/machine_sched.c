/* SPDX-License-Identifier: MIT */
/* CPUs and the states of tasks: who runs, who waits for a CPU, who is blocked. Each
 * change of state is decided on what the task did before this event, never on what it did two
 * events ago. */
#include "kernel/current_task.h"
#include "kernel/machine.h"
#include "kernel/wakings.h"

#include <string.h>

/* prev_state of sched_switch. The low eight bits say why a task leaves the CPU; a task that is
 * still runnable has none of them (kernels differ in the bits above: 256, 1024, 2048 or 4096 mark
 * preemption). */
enum {
    PREV_STATE_MASK = 0xff,
    PREV_STATE_UNINTERRUPTIBLE = 2,
    PREV_STATE_DEAD = 16 | 32, /* zombie and dead, swapped in kernel 4.14 */
    PREV_STATE_DEAD_OR_PARKED = 64,
};

/* The kernel's priorities go to 139; deadline tasks have -1. What is beyond this is damage. */
enum { MAX_PRIO = 1000 };

/* Ends the task's state at t and starts another. `continues`: the task that it is from then on, or LULL_NONE. */
static void change(struct lull_model *model, uint32_t number, int64_t t, enum lull_state next,
                   int32_t cpu, const struct lull_wakeup *wakeup, uint32_t continues)
{
    struct task *task = &model->tasks.items[number];
    struct lull_call_note call;
    bool has_call = task->state == LULL_STATE_BLOCKED && calls_note(model, task, &call);
    struct lull_state_fact fact = {
        .task = number,
        .start_ns = task->since_ns,
        .end_ns = t,
        .state = task->state,
        .next = next,
        .before = task->before,
        .cpu = task->state == LULL_STATE_PREEMPTED && task->cpu >= 0 ? task->cpu : cpu,
        .next_cpu = cpu,
        .syscall = task->state == LULL_STATE_BLOCKED ? task->syscall : LULL_NONE,
        .chain = task->state == LULL_STATE_BLOCKED ? task->chain : LULL_NONE,
        .letter = task->state == LULL_STATE_BLOCKED ? task->letter : 0,
        .wakeup = wakeup,
        .continues = continues,
        .call = has_call ? &call : NULL,
    };
    if (task->public.first_ns > task->public.last_ns) {
        fact.start_ns = t;
        task->public.first_ns = t;
    }
    task->public.last_ns = t;
    task->since_ns = t;
    task->before = task->state == next ? task->before : task->state; /* it may only have moved */
    task->state = next;
    task->letter = 0;
    task->cpu = cpu;
    if (next == LULL_STATE_BLOCKED && task->call != LULL_NONE) {
        calls_blocks(model, task);
    }
    if (!task->is_idle) {
        REPORT(model, state, &fact);
    }
}

void sched_change(struct lull_model *model, uint32_t number, int64_t t, enum lull_state next,
                  int32_t cpu, const struct lull_wakeup *wakeup)
{
    change(model, number, t, next, cpu, wakeup, LULL_NONE);
}

/* The task was found in a state that contradicts what was seen: events are missing in between. */
void sched_lose(struct lull_model *model, uint32_t number)
{
    struct task *task = &model->tasks.items[number];
    if (task->state == LULL_STATE_NONE) {
        return;
    }
    task->state = LULL_STATE_NONE;
    task->early.time_ns = INT64_MIN;
}

bool sched_cut(struct lull_model *model, const struct machine *machine, uint32_t number, int64_t t,
               enum lull_state stays)
{
    struct task *task = &model->tasks.items[number];
    int64_t start_ns, end_ns;
    if (G_LIKELY(machine->holes.count == 0) || task->public.first_ns > task->public.last_ns ||
        !lost_between(machine, task->since_ns, t, &start_ns, &end_ns)) {
        return false;
    }
    const char letter = task->letter;
    const int32_t cpu = task->cpu;
    const uint32_t chain = task->chain;
    if (start_ns > task->since_ns) {
        sched_change(model, number, start_ns, LULL_STATE_NONE, cpu, NULL);
    } else {
        sched_lose(model, number);
    }
    if (stays != LULL_STATE_NONE) {
        sched_change(model, number, end_ns, stays, cpu, NULL);
        task->letter = letter;
        task->chain = chain;
    }
    return true;
}

/* What the facts say of a CPU has no hole and no overlap: each covers the time since the one
 * before. */
static void report_switch(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                          uint32_t previous, uint32_t next)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    const struct task *from = &model->tasks.items[previous], *to = &model->tasks.items[next];
    int64_t since = CLAMP(cpu->since_ns, cpu->reported_ns, t);
    struct lull_switch_fact fact = {
        .time_ns = t,
        .host = machine->host,
        .cpu = c,
        .task = to->is_idle ? LULL_NONE : next,
        .previous = from->is_idle ? LULL_NONE : previous,
        .since_ns = since,
        .unknown_ns = since - cpu->reported_ns,
        .prio = to->prio,
        .previous_prio = from->prio,
        /* When it got the CPU is not known if the switch was not seen. */
        .wakeup_ns = previous == next ? INT64_MIN : to->waking.time_ns,
        .waker = to->waking.task,
        .waker_is_interrupt = to->waking.is_interrupt,
        .previous_is_runnable = from->state == LULL_STATE_PREEMPTED,
    };
    cpu->reported_ns = cpu->since_ns = t;
    REPORT(model, switched, &fact);
    if (G_UNLIKELY(model->counters)) {
        counters_switched(model, machine, &fact);
    }
}

/* From start_ns to since_ns it is not known who is on the CPU, on which `left` was. */
static void leave(struct lull_model *model, struct machine *machine, int32_t c, int64_t start_ns,
                  int64_t since_ns)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    uint32_t left = cpu->task;
    struct task *task = &model->tasks.items[left];
    int64_t since = CLAMP(cpu->since_ns, cpu->reported_ns, start_ns);
    struct lull_switch_fact fact = {
        .time_ns = start_ns,
        .host = machine->host,
        .cpu = c,
        .task = LULL_NONE,
        .is_unknown = true,
        .previous = task->is_idle ? LULL_NONE : left,
        .since_ns = since,
        .unknown_ns = since - cpu->reported_ns,
        .prio = LULL_NO_PRIO,
        .previous_prio = task->prio,
        .wakeup_ns = INT64_MIN,
        .waker = LULL_NONE,
    };
    cpu->task = LULL_NONE;
    cpu->reported_ns = start_ns;
    cpu->since_ns = MAX(since_ns, start_ns);
    REPORT(model, switched, &fact);
    if (G_UNLIKELY(model->counters)) {
        counters_switched(model, machine, &fact);
    }
    if (task->state == LULL_STATE_RUNNING) {
        sched_change(model, left, MAX(start_ns, task->since_ns), LULL_STATE_NONE, c, NULL);
    }
    sched_lose(model, left);
}

void sched_lost(struct lull_model *model, struct machine *machine, int32_t c, int64_t start_ns,
                int64_t since_ns)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    start_ns = CLAMP(start_ns, cpu->reported_ns, MAX(machine->last_ns, cpu->reported_ns));
    if (cpu->task == LULL_NONE) { /* as before */
        cpu->since_ns = MAX(cpu->since_ns, since_ns);
        return;
    }
    if (model->wanted.syscall) {
        calls_lost(model, cpu->task, start_ns);
    }
    leave(model, machine, c, start_ns, since_ns);
}

void sched_stop(struct lull_model *model, struct machine *machine, int64_t t)
{
    machine->stopped_ns = t;
    for (uint32_t i = machine->newest_task; i != LULL_NONE; i = model->tasks.items[i].before_it) {
        struct task *task = &model->tasks.items[i];
        if (task->is_idle) {
            continue;
        }
        sched_settle(task);
        if (task->state != LULL_STATE_NONE && task->public.first_ns <= task->public.last_ns) {
            sched_change(model, i, MAX(t, task->since_ns), LULL_STATE_NONE, task->cpu, NULL);
        }
        sched_lose(model, i);
        task->waking = no_waking;
        task->request = LULL_NONE;
        task->is_new = false;
        if (model->wanted.syscall) {
            calls_lost(model, i, t);
        }
    }
    lull_map_clear(&machine->requests);
    lull_map_clear(&machine->completed);
}

void sched_prio(struct lull_model *model, const struct machine *machine, int64_t t, uint32_t task,
                int64_t reported, int32_t offset)
{
    struct task *known = &model->tasks.items[task];
    if (known->is_idle || reported < -MAX_PRIO || reported > MAX_PRIO ||
        known->prio == reported + offset) {
        return;
    }
    known->prio = (int32_t)reported + offset;
    struct lull_prio_fact fact = {t, machine->host, task, known->prio};
    REPORT(model, prio, &fact);
}

/* How a task is blocked, as ps shows it. What bits 64 and above mean has changed: before 4.14 a task
 * that only SIGKILL wakes had 128 beside 2, since then 128 alone is a kernel thread that idles. */
static char letter_of(int64_t prev_state)
{
    static const struct {
        int64_t bit;
        char letter;
    } letters[] = {{1024, 'I'}, {2, 'D'}, {1, 'S'}, {4, 'T'}, {8, 't'}, {64, 'P'}, {128, 'I'}};
    const bool is_idle = (prev_state & (2 | 1024)) == (2 | 1024);
    for (size_t i = is_idle ? 0 : 1; i < G_N_ELEMENTS(letters); i++) {
        if (prev_state & letters[i].bit) {
            return letters[i].letter;
        }
    }
    return 0;
}

/* Also where sched_process_exit was not recorded. */
static bool is_exiting(const struct lull_model *model, const struct task *task)
{
    const char *call = task->syscall != LULL_NONE ? model->labels.items[task->syscall] : "";
    return task->is_exiting || strcmp(call, "exit") == 0 || strcmp(call, "exit_group") == 0;
}

static enum lull_state state_after_switch(const struct lull_model *model, const struct task *task,
                                          int64_t prev_state)
{
    if ((prev_state & PREV_STATE_MASK) == 0) {
        return LULL_STATE_PREEMPTED;
    }
    if (prev_state & PREV_STATE_DEAD) {
        return LULL_STATE_NONE;
    }
    if ((prev_state & PREV_STATE_DEAD_OR_PARKED) && is_exiting(model, task)) {
        return LULL_STATE_NONE;
    }
    return LULL_STATE_BLOCKED;
}

void sched_bury(struct lull_model *model, struct machine *machine, uint32_t number)
{
    struct task *task = &model->tasks.items[number];
    calls_died(model, machine, number);
    task->public.is_dead = true;
    if (lull_map_find(&machine->by_tid, (uint32_t)task->public.tid) == number) {
        lull_map_remove(&machine->by_tid, (uint32_t)task->public.tid);
    }
}

/* The task with a number, which mostly is the one that is known to be on the CPU. */
static uint32_t task_on(struct lull_model *model, struct machine *machine, int32_t c, int32_t tid)
{
    const uint32_t known = model_cpu_at(machine, c)->task;
    if (G_LIKELY(known != LULL_NONE)) {
        const struct lull_task *task = &model->tasks.items[known].public;
        if (G_LIKELY(task->tid == tid && !task->is_dead)) {
            return known;
        }
    }
    return model_task(model, machine, tid, c);
}

/* Returns who left. */
static uint32_t switch_out(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                           const struct lull_ev_sched_switch *ev)
{
    uint32_t number = task_on(model, machine, c, ev->prev_tid);
    struct task *task = &model->tasks.items[number];
    if (task->is_idle) {
        task->state = LULL_STATE_PREEMPTED;
        return number;
    }
    if (LULL_HAS(ev, sched_switch, context_pid) && ev->context_pid > 0) {
        task->public.pid = ev->context_pid;
    }
    model_named(model, number, ev->prev_comm, t);
    if (task->state != LULL_STATE_RUNNING && task->state != LULL_STATE_NONE) {
        sched_lose(model, number);
    }
    if (task->early.time_ns < task->since_ns) {
        task->early.time_ns = INT64_MIN;
    }
    enum lull_state next = state_after_switch(model, task, ev->prev_state);
    sched_change(model, number, t, next, c, NULL);
    task->before = LULL_STATE_RUNNING; /* also if this is the first that is known of it */
    task->chain =
        next == LULL_STATE_BLOCKED ? stacks_left(model, machine, number, ev, t) : LULL_NONE;
    task->letter = letter_of(ev->prev_state);
    task->is_uninterruptible = (ev->prev_state & PREV_STATE_MASK) == PREV_STATE_UNINTERRUPTIBLE;
    if (task->waking.is_early && next == LULL_STATE_BLOCKED) {
        task->waking.time_ns = t; /* what it waits from now on is the way back to a CPU */
    } else {
        task->waking = no_waking;
    }
    if (next == LULL_STATE_NONE) {
        sched_bury(model, machine, number);
    }
    return number;
}

/* It was woken before it had left the CPU, and no wake-up says when that had an effect: at once. */
bool sched_settle(struct task *task)
{
    if (task->state != LULL_STATE_BLOCKED || task->early.time_ns == INT64_MIN) {
        return false;
    }
    task->state = LULL_STATE_PREEMPTED;
    task->before = LULL_STATE_BLOCKED;
    return true;
}

/* The task is on the CPU from t on. */
static void enter(struct lull_model *model, uint32_t number, int32_t c, int64_t t)
{
    struct task *task = &model->tasks.items[number];
    struct lull_wakeup wakeup = unknown_wakeup(t);
    const struct lull_wakeup *why = NULL;
    if (task->state == LULL_STATE_RUNNING) {
        sched_lose(model, number);
    } else if (task->state != LULL_STATE_NONE &&
               sched_cut(model, model_machine(model, task->public.host), number, t,
                         task->state == LULL_STATE_PREEMPTED ? LULL_STATE_PREEMPTED
                                                             : LULL_STATE_NONE)) {
        why = NULL; /* it was woken then, or later */
    } else if (sched_settle(task)) {
        why = NULL;
    } else if (task->state == LULL_STATE_BLOCKED) {
        /* Its wake-up was not seen. */
        if (!lost_may_be_between(model, task->public.host, task->since_ns, t)) {
            irq_guess(model, task, &wakeup);
        }
        why = &wakeup;
    } else if (task->is_new && task->parent != LULL_NONE) {
        wakeup.cause = LULL_CAUSE_TASK;
        wakeup.task = task->parent;
        wakeup.time_ns = MIN(t, task->since_ns);
        why = &wakeup;
    }
    task->is_new = false;
    task->request = LULL_NONE;
    task->early.time_ns = INT64_MIN;
    sched_change(model, number, t, LULL_STATE_RUNNING, c, why);
}

static void switch_in(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      uint32_t previous, uint32_t number, const struct lull_ev_sched_switch *ev)
{
    struct task *task = &model->tasks.items[number];
    struct cpu *cpu = model_cpu_at(machine, c);
    cpu->task = number;
    cpu->seen_ns = t;
    cpu->last_request = cpu->last_packet = LULL_NONE;
    if (task->is_idle) {
        task->state = LULL_STATE_RUNNING;
        report_switch(model, machine, c, t, previous, number);
    } else {
        model_named(model, number, ev->next_comm, t);
        enter(model, number, c, t);
        report_switch(model, machine, c, t, previous, number);
        model->tasks.items[number].waking = no_waking;
    }
    if (G_UNLIKELY(model->tasks.items[number].is_partial)) {
        cpu->lost_stream = model->stream;
        leave(model, machine, c, t, INT64_MAX);
    }
}

/* ---- who is on a CPU although no switch reported it ---- */

/* Recordings of chosen tasks leave out the switches between others, and some kernels do not trace
 * all that their idle tasks do. So the task that was on the CPU has left it at some time since it
 * was last seen there. An idle CPU takes up at once what was woken for it: true if that is so here.
 */
static bool left_unseen(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                        uint32_t next)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    const struct task *to = &model->tasks.items[next];
    struct task *left = &model->tasks.items[cpu->task];
    int64_t last = CLAMP(cpu->seen_ns, cpu->reported_ns, t);
    bool is_taken_up = left->is_idle && to->state == LULL_STATE_PREEMPTED && to->cpu == c;
    if (is_taken_up) {
        last = CLAMP(to->since_ns, last, t);
    } else {
        left->is_partial = true;
    }
    leave(model, machine, c, last, is_taken_up ? last : t);
    return is_taken_up;
}

/* It left the CPU where it was without being seen to. */
static void moved_unseen(struct lull_model *model, struct machine *machine, uint32_t number)
{
    int32_t c = model->tasks.items[number].cpu;
    if (model->tasks.items[number].state != LULL_STATE_RUNNING || c < 0 ||
        lull_slots_get(&machine->cpu_numbers, (uint32_t)c) == 0 ||
        model_cpu_at(machine, c)->task != number) {
        return;
    }
    struct cpu *cpu = model_cpu_at(machine, c);
    cpu->lost_stream = cpu->switch_stream;
    leave(model, machine, c, MAX(cpu->seen_ns, cpu->reported_ns), INT64_MAX);
}

void sched_hand_over(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                     uint32_t thread, uint32_t leader)
{
    struct task *from = &model->tasks.items[thread], *to = &model->tasks.items[leader];
    struct cpu *cpu = model_cpu_at(machine, c);
    moved_unseen(model, machine, leader);
    sched_lose(model, leader); /* where its end was not seen */
    to->waking = no_waking;
    to->request = from->request;
    to->is_partial = from->is_partial;
    if (from->prio != LULL_NO_PRIO) {
        sched_prio(model, machine, t, leader, from->prio, 0);
    }
    if (cpu->task != thread) {
        moved_unseen(model, machine, thread);
        sched_lose(model, thread);
        return;
    }
    change(model, thread, t, LULL_STATE_NONE, c, NULL, LULL_NONE);
    cpu->task = leader;
    cpu->seen_ns = t;
    change(model, leader, t, LULL_STATE_RUNNING, c, NULL, thread);
    report_switch(model, machine, c, t, thread, leader);
}

/* If no switch was seen, the task has been there all the time. */
void sched_found(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                 int32_t tid, bool is_sure)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    if (tid < 0 || (cpu->task != LULL_NONE && !is_sure)) {
        return;
    }
    if (sched_taken_over(model, machine, c, t, tid)) {
        return;
    }
    uint32_t number = model_task(model, machine, tid, c);
    bool is_taken_up = cpu->task != LULL_NONE && left_unseen(model, machine, c, t, number);
    if (is_sure) {
        moved_unseen(model, machine, number);
    }
    cpu->task = number;
    cpu->seen_ns = t;
    const struct task *task = &model->tasks.items[number];
    if (is_sure && !task->is_idle) {
        /* It was somewhere else before, unless this is the first that is heard of it since the recording started. */
        if (task->public.last_ns > machine->stopped_ns && !is_taken_up) {
            cpu->since_ns = t;
        }
        enter(model, number, c, CLAMP(cpu->since_ns, cpu->reported_ns, t));
    } else if (task->state != LULL_STATE_RUNNING) {
        if (task->state != LULL_STATE_NONE) {
            sched_cut(model, machine, number, t, LULL_STATE_NONE); /* it came in between */
        }
        sched_change(model, number, t, LULL_STATE_RUNNING, c, NULL);
    }
    report_switch(model, machine, c, t, number, number);
    model->tasks.items[number].waking = no_waking;
}

/* An event names the task that is on the CPU. */
static void take_name(struct lull_model *model, uint32_t number, int64_t t,
                      const struct current *current)
{
    struct task *task = &model->tasks.items[number];
    if (!task->is_idle) {
        const size_t length = strnlen(current->comm, current->comm_length);
        if (current->pid > 0) {
            task->public.pid = current->pid;
        }
        model_rename(model, number, (struct lull_text){current->comm, (uint32_t)length}, t);
    }
    if (current->comm_length == sizeof task->said) {
        memcpy(model->tasks.items[number].said, current->comm, sizeof task->said);
    }
}

/* A number of a namespace means the task on the CPU if it did when the event called that by the name
 * that it was known by. */
static bool means(const struct lull_model *model, struct task *task, const struct current *current)
{
    const char *name = task->name != LULL_NONE ? model->names.items[task->name].comm : "";
    const size_t length = strnlen(current->comm, current->comm_length);
    if (length && strncmp(name, current->comm, length) == 0 && name[length] == '\0') {
        task->vtid = current->tid;
    }
    return task->vtid == current->tid;
}

/* Takes what contexts say that is new. */
static void learn(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                  const struct current *current)
{
    struct cpu *cpu = model_cpu_at(machine, c);
    if (current->tid >= 0) {
        if (cpu->task == LULL_NONE || model->tasks.items[cpu->task].public.tid != current->tid) {
            sched_found(model, machine, c, t, current->tid,
                        current->is_sure || !machine->has_switches);
        }
        cpu->seen_ns = t;
    }
    const uint32_t known = cpu->task;
    if (known == LULL_NONE) {
        return;
    }
    struct task *task = &model->tasks.items[known];
    if (current->tid >= 0) {
        task->is_partial = false;
        if (task->public.tid != current->tid && !means(model, task, current)) {
            return;
        }
    }
    const bool is_named =
        current->comm_length == 0 || (current->comm_length == sizeof task->said &&
                                      memcmp(current->comm, task->said, sizeof task->said) == 0);
    if (!is_named || (current->pid > 0 && task->public.pid != current->pid)) {
        take_name(model, known, t, current);
    }
}

uint32_t sched_current(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       const struct current *current)
{
    const uint32_t known = model_cpu_at(machine, c)->task;
    if (current->tid < 0 && current->pid < 0 && current->comm_length == 0) {
        return known; /* there are none */
    }
    learn(model, machine, c, t, current);
    return model_cpu_at(machine, c)->task;
}

void sched_switched(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_switch *ev)
{
    if (!LULL_HAS(ev, sched_switch, prev_tid) || !LULL_HAS(ev, sched_switch, next_tid) ||
        ev->prev_tid < 0 || ev->next_tid < 0) {
        return;
    }
    struct cpu *cpu = model_cpu_at(machine, c);
    irq_reset(cpu);
    cpu->unsure_ns = INT64_MIN;
    cpu->n_idled += ev->next_tid == 0;
    cpu->has_left_idle |= ev->prev_tid == 0;
    cpu->switch_stream = model->stream;
    if (machine->reports_current) {
        if (cpu->task == LULL_NONE || model->tasks.items[cpu->task].public.tid != ev->prev_tid) {
            sched_found(model, machine, c, t, ev->prev_tid, true);
        }
    } else if (cpu->task != LULL_NONE && model->tasks.items[cpu->task].public.tid != ev->prev_tid &&
               !sched_taken_over(model, machine, c, t, ev->prev_tid)) {
        /* Another task should have been here: switches of this CPU were lost, and since when this
         * one was is not known. */
        sched_lose(model, cpu->task);
        cpu->since_ns = t;
    }
    uint32_t previous = switch_out(model, machine, c, t, ev);
    if (LULL_HAS(ev, sched_switch, prev_prio)) {
        sched_prio(model, machine, t, previous, ev->prev_prio, machine->prio_offset);
    }
    uint32_t next = model_task(model, machine, ev->next_tid, c);
    if (LULL_HAS(ev, sched_switch, next_prio)) {
        sched_prio(model, machine, t, next, ev->next_prio, machine->prio_offset);
    }
    switch_in(model, machine, c, t, previous, next, ev);
}

static int32_t cpu_or_none(bool is_reported, int64_t cpu)
{
    return is_reported && lull_is_cpu(cpu) ? (int32_t)cpu : -1;
}

void sched_migrated(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_migrate_task *ev)
{
    if (!LULL_HAS(ev, sched_migrate_task, tid) || ev->tid <= 0) {
        return;
    }
    uint32_t number = model_task(model, machine, ev->tid, c);
    model_named(model, number, ev->comm, t);
    if (LULL_HAS(ev, sched_migrate_task, prio)) {
        sched_prio(model, machine, t, number, ev->prio, machine->prio_offset);
    }
    struct lull_migration_fact fact = {
        .time_ns = t,
        .host = machine->host,
        .task = number,
        .cpu = c,
        .from_cpu = cpu_or_none(LULL_HAS(ev, sched_migrate_task, orig_cpu), ev->orig_cpu),
        .to_cpu = cpu_or_none(LULL_HAS(ev, sched_migrate_task, dest_cpu), ev->dest_cpu),
    };
    REPORT(model, migration, &fact);
    if (fact.to_cpu < 0) {
        return;
    }
    /* A task that waits for a CPU now waits for another one. */
    struct task *task = &model->tasks.items[number];
    if (task->state == LULL_STATE_PREEMPTED && task->cpu != ev->dest_cpu) {
        sched_change(model, number, t, LULL_STATE_PREEMPTED, fact.to_cpu, NULL);
    }
}
