/* SPDX-License-Identifier: MIT */
/* Which processes run virtual machines: those with threads that entered a guest. One whose guest was
 * recorded has the guest's name, others that which their manager gave them. */
#include "analysis/vm_names.h"

#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "clock/sync.h"
#include "clock/vcpus.h"
#include "kernel/vocabulary.h"
#include "source/session/clocks.h"
#include "source/session/event_filter.h"

struct vm_thread {
    uint32_t host, task;
    int32_t pid, tid;
    char *name;
};

struct lull_vm_names {
    struct lull_session *session;
    LULL_VEC(struct vm_thread) threads;
    struct lull_map by_task; /* → threads */
};

char *lull_vm_name(const struct lull_model *model, uint32_t thread, int64_t time_ns)
{
    const struct lull_task *task = lull_model_task(model, thread);
    const struct lull_container *machine = lull_model_container(model, thread);
    if (strcmp(machine->runtime, "qemu") == 0) {
        return g_strdup(machine->name);
    }
    const int32_t pid = task->pid > 0 ? task->pid : task->tid;
    const uint32_t leader = lull_model_find_tid(model, task->host, pid);
    return g_strdup_printf(
        "%s/%d", lull_model_comm(model, leader == LULL_NONE ? thread : leader, time_ns), pid);
}

static void take_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    struct lull_vm_names *names = user;
    if (lull_map_find(&names->by_task, fact->task) == LULL_MAP_NONE) {
        lull_map_insert(&names->by_task, fact->task, (uint32_t)names->threads.count);
        lull_vec_push(&names->threads, (struct vm_thread){.host = fact->host, .task = fact->task});
    }
}

struct lull_vm_names *lull_vm_names_read(struct lull_session *session)
{
    static const struct lull_facts facts = {.vcpu = take_vcpu};
    if (!lull_vcpus_are_recorded(session)) {
        return NULL;
    }
    struct lull_vm_names *names = g_new0(struct lull_vm_names, 1);
    /* What a filter leaves out of the answer still says who is a virtual machine. */
    struct lull_event_filter *filter = lull_session_take_filter(session);
    struct lull_model *model =
        lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_VIRT);
    names->session = session;
    lull_model_subscribe(model, &facts, names);
    lull_model_run(model, NULL, NULL);
    lull_session_set_filter(session, filter);
    for (size_t i = 0; i < names->threads.count; i++) {
        struct vm_thread *thread = &names->threads.items[i];
        const struct lull_task *task = lull_model_task(model, thread->task);
        thread->pid = task->pid;
        thread->tid = task->tid;
        thread->name = lull_vm_name(model, thread->task, INT64_MAX);
    }
    lull_model_free(model);
    return names;
}

void lull_vm_names_apply(const struct lull_vm_names *names, struct lull_model *model)
{
    const struct lull_sync *sync = lull_session_sync(names->session);
    uint32_t n = 0;
    const struct lull_guest_cpu *cpus = sync ? lull_sync_guest_cpus(sync, &n) : NULL;
    struct lull_map guests = {0}; /* host, tid → cpus */
    for (uint32_t i = 0; i < n; i++) {
        lull_map_insert(&guests, (uint64_t)cpus[i].host << 32 | (uint32_t)cpus[i].tid, i);
        lull_model_is_vm(model, cpus[i].guest,
                         lull_session_host(names->session, cpus[i].guest)->name);
    }
    for (size_t i = 0; i < names->threads.count; i++) {
        const struct vm_thread *thread = &names->threads.items[i];
        const uint32_t cpu =
            lull_map_find(&guests, (uint64_t)thread->host << 32 | (uint32_t)thread->tid);
        lull_model_add_vm(model, thread->host, thread->pid, thread->tid,
                          cpu == LULL_MAP_NONE
                              ? thread->name
                              : lull_session_host(names->session, cpus[cpu].guest)->name);
    }
    lull_map_free(&guests);
}

void lull_vm_names_free(struct lull_vm_names *names)
{
    for (size_t i = 0; names && i < names->threads.count; i++) {
        g_free(names->threads.items[i].name);
    }
    if (names) {
        lull_vec_free(&names->threads);
        lull_map_free(&names->by_task);
    }
    g_free(names);
}
