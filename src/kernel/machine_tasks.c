/* SPDX-License-Identifier: MIT */
/* Births and deaths of tasks: fork, exit, and the state dump, which reports those that were
 * born before. Which process a task belongs to is known from one of them. */
#include "kernel/machine.h"

#include <string.h>

/* status of lttng_statedump_process_state */
enum {
    DUMP_WAIT_FORK = 1,
    DUMP_WAIT_CPU = 2,
    DUMP_EXIT = 3,
    DUMP_ZOMBIE = 4,
    DUMP_WAIT = 5,
    DUMP_DEAD = 7
};

void sched_born(struct machine *machine, const struct lull_ev_task_newtask *ev)
{
    enum { MANY = 1 << 16 }; /* whose forks were not recorded */
    const uint64_t into_cgroup = UINT64_C(0x200000000);
    if (machine->newborn.count > MANY) {
        lull_map_clear(&machine->newborn);
    }
    if (LULL_HAS(ev, task_newtask, flags) && ev->tid > 0) {
        const uint64_t flags = (uint64_t)ev->flags;
        const uint32_t kept = (uint32_t)flags & INT32_MAX & ~(uint32_t)CLONE_SIGNAL;
        lull_map_insert(&machine->newborn, (uint32_t)ev->tid,
                        kept | (flags & into_cgroup ? CLONE_PLACED : 0));
    }
}

/* The process of a child that is reported by its tid alone, or -1: threads belong to the
 * parent's. */
static int32_t pid_of_child(const struct lull_model *model, uint32_t parent, int32_t tid,
                            uint32_t flags)
{
    enum { FLAG_THREAD = 0x10000 }; /* CLONE_THREAD */
    if (flags == UINT32_MAX) {
        return -1;
    }
    return !(flags & FLAG_THREAD) ? tid
           : parent == LULL_NONE  ? -1
                                  : model->tasks.items[parent].public.pid;
}

/* The task that is born; one that had its number before is dead, though its exit was not seen. */
static uint32_t bear(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                     uint32_t parent)
{
    uint32_t old = lull_map_find(&machine->by_tid, (uint32_t)tid);
    if (old != LULL_NONE && model->tasks.items[old].is_new &&
        model->tasks.items[old].parent == parent) {
        return old; /* perf reports a fork by itself and by the tracepoint */
    }
    if (old != LULL_NONE) {
        sched_lose(model, old);
        sched_bury(model, machine, old);
    }
    uint32_t number = model_task(model, machine, tid, 0);
    model->tasks.items[number].is_new = true;
    model->tasks.items[number].since_ns = t;
    model->tasks.items[number].public.birth_ns = t;
    return number;
}

/* A child is called as its parent is; perf's own record of a fork does not say so. */
static struct lull_text child_name(const struct lull_model *model, uint32_t parent,
                                   const struct lull_ev_sched_process_fork *ev)
{
    uint32_t name = parent != LULL_NONE ? model->tasks.items[parent].name : LULL_NONE;
    if (LULL_HAS(ev, sched_process_fork, child_comm) || name == LULL_NONE) {
        return ev->child_comm;
    }
    const char *comm = model->names.items[name].comm;
    return (struct lull_text){comm, (uint32_t)strlen(comm)};
}

void sched_forked(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_sched_process_fork *ev)
{
    bool has_tid = LULL_HAS(ev, sched_process_fork, child_tid);
    int32_t tid = has_tid ? ev->child_tid : ev->child_pid;
    if (tid <= 0) {
        return;
    }
    uint32_t parent =
        ev->parent_tid > 0 ? model_task(model, machine, ev->parent_tid, 0) : LULL_NONE;
    uint32_t number = bear(model, machine, t, tid, parent);
    uint32_t flags = lull_map_remove(&machine->newborn, (uint32_t)tid);
    if (flags == LULL_MAP_NONE) {
        flags = parent == LULL_NONE ? UINT32_MAX : calls_clone_flags(model, parent);
    }
    if (has_tid && parent != LULL_NONE && LULL_HAS(ev, sched_process_fork, parent_pid) &&
        model->tasks.items[parent].public.pid < 0) {
        model->tasks.items[parent].public.pid = ev->parent_pid;
    }
    struct task *task = &model->tasks.items[number];
    if (has_tid && LULL_HAS(ev, sched_process_fork, child_pid)) {
        task->public.pid = ev->child_pid;
    } else if (task->public.pid < 0) {
        task->public.pid = pid_of_child(model, parent, tid, flags);
    }
    task->public.ppid = LULL_HAS(ev, sched_process_fork, parent_tid) ? ev->parent_tid : -1;
    if (parent != LULL_NONE && task->parent == LULL_NONE) {
        task->parent = task->public.parent = parent;
        task->is_compat = model->tasks.items[parent].is_compat;
        calls_forked(model, parent, number, t, flags);
    }
    if (parent != LULL_NONE) {
        containers_forked(model, machine, parent, number, flags,
                          LULL_HAS(ev, sched_process_fork, child_ns) ? ev->child_ns : 0);
        stacks_forked(model, parent, number);
        functions_forked(model, parent, number, t);
    }
    model_rename(model, number, child_name(model, parent, ev), t);
}

void sched_born_unseen(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       int32_t tid)
{
    const uint32_t parent = model_on_cpu(model, model_cpu_at(machine, c));
    if (machine->newborn.count == 0 || parent == LULL_NONE ||
        lull_map_find(&machine->newborn, (uint32_t)tid) == LULL_MAP_NONE) {
        return;
    }
    const struct lull_ev_sched_process_fork fork = {
        .have = UINT64_C(1) << LULL_FIELD_sched_process_fork_parent_tid |
                UINT64_C(1) << LULL_FIELD_sched_process_fork_child_pid,
        .parent_tid = model->tasks.items[parent].public.tid,
        .child_pid = tid,
    };
    sched_forked(model, machine, t, &fork);
}

void sched_attached(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_cgroup_attach_task *ev)
{
    if (ev->tid <= 0 || !LULL_HAS(ev, cgroup_attach_task, path)) {
        return;
    }
    const struct lull_cgroup_fact fact = {.time_ns = t,
                                          .host = machine->host,
                                          .task = model_task(model, machine, ev->tid, c),
                                          .hierarchy = ev->hierarchy,
                                          .path = model_label_of(model, ev->path)};
    containers_attached(model, machine, &fact);
    REPORT(model, cgroup, &fact);
}

void sched_exited(struct lull_model *model, struct machine *machine, int64_t t, int32_t tid,
                  bool is_free)
{
    uint32_t number = tid > 0 ? lull_map_find(&machine->by_tid, (uint32_t)tid) : LULL_NONE;
    if (number == LULL_NONE) {
        return;
    }
    struct task *task = &model->tasks.items[number];
    if (is_free && task->is_succeeded && !task->is_exiting) {
        task->is_succeeded = false; /* kernels before 5.8 call the leader that was by this number */
        return;
    }
    task->is_exiting = true;
    if (!is_free) {
        task->public.exit_ns = MIN(task->public.exit_ns, t);
    }
    if (task->public.first_ns <= task->public.last_ns) {
        task->public.last_ns = t;
    }
    if (is_free) { /* it is gone, whether or not its last switch was seen */
        sched_lose(model, number);
        sched_bury(model, machine, number);
    }
}

/* Since when a task sleeps that is found asleep at t. A snapshot has the state of the machine at its end: who did nothing that it
 * has, slept since all CPUs are in it. */
static int64_t asleep_since(const struct machine *machine, const struct task *task, int64_t t)
{
    const bool is_unseen = task->public.first_ns > task->public.last_ns;
    return machine->is_snapshot && is_unseen && machine->all_cpus_ns < t &&
                   !lost_any_between(machine, machine->all_cpus_ns, t)
               ? machine->all_cpus_ns
               : t;
}

/* A state dump never overrides what events have already reported. */
void sched_dumped(struct lull_model *model, struct machine *machine, int64_t t,
                  const struct lull_ev_statedump_process *ev)
{
    if (!LULL_HAS(ev, statedump_process, tid) || ev->tid <= 0) {
        return;
    }
    uint32_t number = model_task(model, machine, ev->tid, 0);
    struct task *task = &model->tasks.items[number];
    if (task->public.pid < 0 && LULL_HAS(ev, statedump_process, pid)) {
        task->public.pid = ev->pid;
    }
    if (task->public.ppid < 0 && LULL_HAS(ev, statedump_process, ppid)) {
        task->public.ppid = ev->ppid;
    }
    if (model->follows_files && LULL_HAS(ev, statedump_process, table)) {
        files_dumped_process(model, number, (uint64_t)ev->table);
    }
    if (task->name == LULL_NONE) {
        model_rename(model, number, ev->name, t);
    }
    if (task->prio == LULL_NO_PRIO && LULL_HAS(ev, statedump_process, prio)) {
        sched_prio(model, machine, t, number, ev->prio, machine->prio_offset);
    }
    if (task->state != LULL_STATE_NONE || task->is_new) {
        return;
    }
    int32_t cpu =
        LULL_HAS(ev, statedump_process, cpu) && lull_is_cpu(ev->cpu) ? (int32_t)ev->cpu : -1;
    if (ev->status == DUMP_WAIT) {
        sched_change(model, number, asleep_since(machine, task, t), LULL_STATE_BLOCKED, cpu, NULL);
    } else if (ev->status == DUMP_WAIT_CPU || ev->status == DUMP_WAIT_FORK) {
        sched_change(model, number, t, LULL_STATE_PREEMPTED, cpu, NULL);
    } else if (ev->status == DUMP_EXIT || ev->status == DUMP_ZOMBIE || ev->status == DUMP_DEAD) {
        task->is_exiting = true;
    }
}
