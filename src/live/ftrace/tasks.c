/* SPDX-License-Identifier: MIT */
/* The tasks of the machine. Events name them by tid alone: to which process one belongs comes from the event
 * of its start, or from /proc. */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "live/ftrace/model.h"

/* The parent of all threads of the kernel's. */
#define KTHREADD 2
/* Threads that the kernel makes for a process, as io_uring's: they are in no system call. */
#define WORKER (CLONE_THREAD | CLONE_UNTRACED)

/* A control group is asked for again after that. */
#define GROUP_NS 1000000000

struct lull_ftrace_task *lull_ftrace_task_find(const struct lull_ftrace_model *model, uint32_t tid)
{
    return g_hash_table_lookup(model->tasks, GUINT_TO_POINTER(tid));
}

static struct lull_ftrace_task *make(struct lull_ftrace_model *model, uint32_t tid, uint32_t pid)
{
    if (tid == 0) { /* the idle tasks neither wait nor make calls */
        return NULL;
    }
    if (g_hash_table_size(model->tasks) >= LULL_TRACK_MOST_SLOTS) {
        model->counts.kernel.untracked++;
        return NULL;
    }
    struct lull_ftrace_task *task = g_new0(struct lull_ftrace_task, 1);
    const bool is_command = model->question.command && tid == model->question.command;
    task->slot.tid = tid;
    task->slot.tgid = pid;
    task->slot.start_time = ++model->n_met;
    task->slot.flags = is_command ? LULL_TRACK_IS_FOLLOWED : 0;
    task->call = LULL_TRACK_NO_CALL;
    task->uid = UINT32_MAX;
    if (model->free_slots->len > 0) {
        task->index = g_array_index(model->free_slots, uint32_t, model->free_slots->len - 1);
        g_array_set_size(model->free_slots, model->free_slots->len - 1);
        model->slots->pdata[task->index] = task;
    } else {
        task->index = model->slots->len;
        g_ptr_array_add(model->slots, task);
    }
    g_hash_table_insert(model->tasks, GUINT_TO_POINTER(tid), task);
    return task;
}

/* One that is not known: its process is said by /proc, if it is still there. */
struct lull_ftrace_task *lull_ftrace_task_of(struct lull_ftrace_model *model, uint32_t tid)
{
    struct lull_ftrace_task *task = lull_ftrace_task_find(model, tid);
    if (!task) {
        uint32_t pid;
        lull_ftrace_meet(model, lull_proc_read_pid(tid, &pid) ? pid : tid, tid);
        task = lull_ftrace_task_find(model, tid);
    }
    return task;
}

void lull_ftrace_meet(struct lull_ftrace_model *model, uint32_t pid, uint32_t tid)
{
    struct lull_proc_state state;
    struct lull_proc_wait wait;
    struct lull_ftrace_task *task =
        lull_ftrace_task_find(model, tid) ? NULL : make(model, tid, pid);
    if (!task || !lull_proc_read_state(pid, tid, &state)) {
        return;
    }
    memcpy(task->comm, state.comm, sizeof task->comm);
    if (model->uses_groups) {
        lull_ftrace_task_group(model, task);
    }
    task->slot.flags |= state.is_kernel ? LULL_TRACK_IS_KERNEL : 0;
    if (!state.is_kernel && model->calls) {
        lull_proc_read_wait(pid, tid, &wait);
        task->call = lull_ftrace_sees(model, wait.call) ? wait.call : LULL_TRACK_NO_CALL;
    }
}

void lull_ftrace_found(struct lull_ftrace_model *model, uint32_t tid, char letter, uint64_t now)
{
    struct lull_ftrace_task *task = lull_ftrace_task_find(model, tid);
    if (!task || !letter || !strchr("SDITtP", letter)) {
        return;
    }
    task->slot.since = now;
    task->slot.state = letter == 'D'   ? LULL_TRACK_STATE_D
                       : letter == 'I' ? LULL_TRACK_STATE_IDLE
                                       : LULL_TRACK_STATE_S;
    task->slot.flags |= LULL_TRACK_IS_OLDER;
}

void lull_ftrace_task_doubt(struct lull_track_slot *slot, uint64_t now)
{
    if (slot->flags & LULL_TRACK_IS_OLDER && now < slot->since) {
        slot->flags &= ~(uint32_t)LULL_TRACK_IS_OLDER;
        slot->since = 0;
        slot->state = 0;
    }
}

void lull_ftrace_task_end(struct lull_ftrace_model *model, struct lull_ftrace_task *task)
{
    lull_ftrace_sums_of_dead(model, task);
    model->slots->pdata[task->index] = NULL;
    g_array_append_val(model->free_slots, task->index);
    g_hash_table_remove(model->tasks, GUINT_TO_POINTER(task->slot.tid));
}

void lull_ftrace_task_name(struct lull_ftrace_task *task, const struct lull_text *comm)
{
    const size_t length = strnlen(comm->data, MIN(comm->length, sizeof task->comm - 1));
    memset(task->comm, 0, sizeof task->comm);
    memcpy(task->comm, comm->data, length);
}

void lull_ftrace_task_new(struct lull_ftrace_model *model, uint32_t tid, uint32_t parent,
                          uint64_t clone_flags, const struct lull_text *comm)
{
    const struct lull_ftrace_task *starter = lull_ftrace_task_of(model, parent);
    struct lull_ftrace_task *task = lull_ftrace_task_find(model, tid);
    const bool is_thread = clone_flags & CLONE_THREAD && starter;
    if (tid == parent) { /* nobody starts itself */
        return;
    }
    if (task) { /* its end was not seen */
        lull_ftrace_task_end(model, task);
    }
    task = make(model, tid, is_thread ? starter->slot.tgid : tid);
    if (task) {
        lull_ftrace_task_name(task, comm);
        task->slot.flags |=
            parent == KTHREADD || (clone_flags & WORKER) == WORKER ? LULL_TRACK_IS_KERNEL : 0;
        task->slot.flags |= starter ? starter->slot.flags & LULL_TRACK_IS_FOLLOWED : 0;
        task->uid = starter ? starter->uid : task->uid;
        task->group = starter ? g_strdup(starter->group) : NULL;
    }
}

/* A thread that replaces the program of its process takes the number of the process; the task that had it
 * is gone. */
void lull_ftrace_task_exec(struct lull_ftrace_model *model, uint32_t tid, uint32_t before,
                           uint64_t now)
{
    struct lull_ftrace_task *old = before == tid ? NULL : lull_ftrace_task_find(model, before);
    uint32_t followed = 0;
    if (old) {
        followed = old->slot.flags & LULL_TRACK_IS_FOLLOWED;
        old->slot.sums.ran_ns += old->slot.ran && !old->slot.since ? now - old->slot.ran : 0;
        lull_ftrace_task_end(model, old);
    }
    struct lull_ftrace_task *task = lull_ftrace_task_of(model, tid);
    if (!task) {
        return;
    }
    if (old) {
        task->slot.since = task->slot.woken = task->slot.early_ns = 0;
        task->slot.ran = now;
        task->slot.flags |= followed;
    }
    task->slot.flags &= ~(uint32_t)LULL_TRACK_IS_KERNEL;
    task->knows_compat = false;
}

uint32_t lull_ftrace_task_uid(struct lull_ftrace_task *task)
{
    uint32_t uid;
    if (lull_proc_read_uid(task->slot.tid, &uid)) {
        task->uid = uid;
    }
    return task->uid;
}

const char *lull_ftrace_task_group(struct lull_ftrace_model *model, struct lull_ftrace_task *task)
{
    if (!task->group_ns || model->now - task->group_ns >= GROUP_NS) {
        const char *group = lull_groups_of_task(model->groups, task->slot.tid);
        task->group_ns = MAX(model->now, 1);
        if (group && g_strcmp0(group, task->group) != 0) {
            g_free(task->group);
            task->group = g_strdup(group);
        }
    }
    return task->group;
}

void lull_ftrace_task_free(void *data)
{
    struct lull_ftrace_task *task = data;
    g_free(task->group);
    g_free(task->stack);
    g_free(task);
}

bool lull_ftrace_task_is_compat(struct lull_ftrace_task *task)
{
    if (!task->knows_compat) {
        task->is_compat = lull_proc_is_compat(task->slot.tid);
        task->knows_compat = true;
    }
    return task->is_compat;
}
