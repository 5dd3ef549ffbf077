/* SPDX-License-Identifier: MIT */
/* Tasks that run another program. exec() of a thread that does not lead its process ends all others, and then the
 * kernel gives it the number of the leader: so the leader's task goes on from there, and the thread's ends. */
#include "kernel/machine.h"

#include <string.h>

/* The name that a program gets from the path by which it is run (__set_task_comm() of Linux). */
static void rename_by_path(struct lull_model *model, uint32_t number, struct lull_text path,
                           int64_t t)
{
    enum { MAX_COMM = 15 }; /* TASK_COMM_LEN - 1 */
    const char *slash = memrchr(path.data, '/', path.length);
    if (slash) {
        path.length -= slash + 1 - path.data;
        path.data = slash + 1;
    }
    path.length = MIN(path.length, MAX_COMM);
    model_rename(model, number, path, t);
}

/* What another program changes besides the name. */
static void run_program(struct lull_model *model, uint32_t number, int64_t t)
{
    struct task *task = &model->tasks.items[number];
    if (task->public.exec_ns == INT64_MIN) {
        task->public.exec_ns = t;
    }
    if (model->follows_files) {
        files_executed(model, number, t);
    }
    functions_executed(model, number, t);
}

/* The name of another program may show only in a later event; the task had it from now on. */
void sched_exec_ended(struct task *task, int64_t t)
{
    if (!task->has_executed) {
        task->renamed_ns = t;
    }
    task->has_executed = false;
}

/* Without sched_process_exec this is when it is seen. */
void sched_exec_returned(struct lull_model *model, uint32_t number, int64_t t, const char *path)
{
    struct task *task = &model->tasks.items[number];
    bool is_known = task->has_executed;
    task->has_executed = false;
    if (is_known) {
        return;
    }
    run_program(model, number, t);
    if (path && *path) {
        rename_by_path(model, number, (struct lull_text){path, (uint32_t)strlen(path)}, t);
    } else if (path) {
        sched_exec_ended(task, t);
    }
}

/* ---- a thread becomes the leader ---- */

/* The task that led the process `pid`: it may have ended before its threads, and an event may have named it anew before it is
 * known that it goes on. */
static uint32_t leader_of(const struct lull_model *model, const struct machine *machine,
                          int32_t pid)
{
    uint32_t number = lull_map_find(&model->by_tid, model_tid_key(machine->host, pid));
    for (; number != LULL_NONE; number = model->tasks.items[number].older) {
        const struct lull_task *task = &model->tasks.items[number].public;
        const bool is_seen = task->first_ns <= task->last_ns;
        if (task->host == machine->host && task->tid == pid &&
            (is_seen || model->tasks.items[number].older == LULL_NONE)) {
            return task->pid < 0 || task->pid == pid ? number : LULL_NONE;
        }
    }
    return LULL_NONE;
}

/* From t on the leader is what the thread was, which is no more. */
static void take_over(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      uint32_t thread, int32_t pid)
{
    uint32_t leader = leader_of(model, machine, pid);
    if (leader == LULL_NONE) {
        leader = model_task_new(model, machine, pid);
    }
    lull_map_insert(&machine->by_tid, (uint32_t)pid, leader);
    struct task *from = &model->tasks.items[thread], *to = &model->tasks.items[leader];
    to->public.pid = pid;
    to->public.exit_ns = INT64_MAX;
    to->public.is_dead = to->is_exiting = to->is_new = false;
    to->is_succeeded = true;
    to->renamed_ns = t; /* by which name it goes on is not known yet */
    to->is_compat = from->is_compat;
    memset(to->said, 0, sizeof to->said);
    calls_taken_over(model, thread, leader, t);
    if (model->follows_files) {
        files_taken_over(model, thread, leader, t);
    }
    from->public.is_dead = true;
    lull_map_remove(&machine->by_tid, (uint32_t)from->public.tid);
    sched_hand_over(model, machine, c, t, thread, leader);
    calls_go_on(model, leader, c, t);
}

/* Whether the task is a thread of the process that an event names in its place. Where switches are not recorded, any other may
 * have come to the CPU. */
static bool is_taken_over(const struct lull_model *model, const struct machine *machine,
                          uint32_t number, int32_t tid)
{
    const struct task *task = &model->tasks.items[number];
    if (!machine->has_switches || tid <= 0 || task->is_idle || task->public.is_dead ||
        task->public.tid == tid || (task->public.pid > 0 && task->public.pid != tid)) {
        return false;
    }
    const bool executes = task->syscall != LULL_NONE &&
                          (task->syscall == model->execve || task->syscall == model->execveat);
    if (executes || task->public.pid < 0) {
        return executes;
    }
    const uint32_t leader = leader_of(model, machine, tid);
    return leader != LULL_NONE &&
           (model->tasks.items[leader].is_exiting || model->tasks.items[leader].public.is_dead);
}

bool sched_taken_over(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      int32_t tid)
{
    const uint32_t thread = model_cpu_at(machine, c)->task;
    if (thread == LULL_NONE || !is_taken_over(model, machine, thread, tid)) {
        return false;
    }
    take_over(model, machine, c, t, thread, tid);
    return true;
}

/* exec keeps the tid, unless a thread other than the leader does it. */
void sched_executed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_sched_process_exec *ev)
{
    uint32_t number = model_cpu_at(machine, c)->task;
    if (LULL_HAS(ev, sched_process_exec, tid) && ev->tid > 0) {
        const bool has_old = LULL_HAS(ev, sched_process_exec, old_tid) && ev->old_tid > 0;
        const uint32_t thread = has_old && ev->old_tid != ev->tid
                                    ? lull_map_find(&machine->by_tid, (uint32_t)ev->old_tid)
                                    : LULL_NONE;
        if (thread != LULL_NONE) {
            take_over(model, machine, c, t, thread, ev->tid);
        } else if (!has_old) {
            sched_taken_over(model, machine, c, t, ev->tid);
        }
        number = model_task(model, machine, ev->tid, c);
        if (model->tasks.items[number].public.pid < 0) {
            model->tasks.items[number].public.pid = ev->tid; /* it leads its process now */
        }
    }
    if (number == LULL_NONE) {
        return;
    }
    run_program(model, number, t);
    model->tasks.items[number].has_executed = true;
    if (LULL_HAS(ev, sched_process_exec, filename)) {
        rename_by_path(model, number, ev->filename, t);
    }
}
