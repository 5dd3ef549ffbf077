/* SPDX-License-Identifier: MIT */
/* What a machine's events report of call chains: what is mapped where, and by which calls tasks
 * fell asleep. */
#include "kernel/machine.h"

#include <lull/recording.h>
#include <string.h>
#include <sys/mman.h>

#include "source/session/clocks.h"
#include "source/session/streams.h"
#include "source/session/symbols.h"
#include "symbol/here.h"

void stacks_locate(struct lull_model *model)
{
    uint8_t boot_id[16];
    if (model->stacks) {
        lull_stacks_set_wishes(model->stacks, lull_session_symbols(model->session));
        lull_stacks_set_session(model->stacks, model->session);
    }
    for (uint32_t i = 0; model->stacks && i < lull_session_recording_count(model->session); i++) {
        lull_stacks_set_recording(model->stacks, lull_session_recording(model->session, i)->host,
                                  lull_session_recording_file(model->session, i));
    }
    for (uint32_t i = lull_session_trace_count(model->session); model->stacks && i-- > 0;) {
        const struct lull_trace *trace = lull_session_trace(model->session, i);
        lull_stacks_set_clock(model->stacks, trace->host, trace->clock_offset_ns);
    }
    for (uint32_t i = 0; model->stacks && i < lull_session_trace_count(model->session); i++) {
        GHashTable *build_ids = lull_session_build_ids(model->session, i);
        if (build_ids) {
            lull_stacks_set_build_ids(model->stacks, lull_session_trace(model->session, i)->host,
                                      build_ids);
        }
    }
    for (uint32_t host = 0; model->stacks && host < lull_session_host_count(model->session);
         host++) {
        if (lull_session_clock_uuid(model->session, host, boot_id) && lull_here_is(boot_id)) {
            lull_stacks_set_here(model->stacks, host);
            return;
        }
    }
}

void stacks_mapped(struct lull_model *model, const struct machine *machine,
                   const struct lull_ev_mapping *ev, int64_t t)
{
    struct lull_text path = ev->path;
    uint64_t offset = (uint64_t)ev->offset;
    if (!model->stacks || ev->pid == 0 || ev->pid < -1 || ev->pid > INT32_MAX || !path.data) {
        return;
    }
    if (ev->pid < 0) { /* the kernel, whose offset is an address too: "[kernel.kallsyms]_text" */
        const char *end = memchr(path.data, ']', path.length);
        if (end) {
            path.length = (uint32_t)(end + 1 - path.data);
        }
        offset = 0;
    }
    if (ev->pid > 0 && LULL_HAS(ev, mapping, protection) && !(ev->protection & PROT_EXEC)) {
        lull_stacks_map_data(model->stacks, machine->host, (int32_t)ev->pid, (uint64_t)ev->address,
                             (uint64_t)ev->length);
        return;
    }
    lull_stacks_map(model->stacks, machine->host, (int32_t)ev->pid, (uint64_t)ev->address,
                    (uint64_t)ev->length, offset, path,
                    LULL_HAS(ev, mapping, inode) ? (uint64_t)ev->inode : 0, t);
}

void stacks_forked(struct lull_model *model, uint32_t parent, uint32_t child)
{
    const struct lull_task *from = &model->tasks.items[parent].public;
    const struct lull_task *to = &model->tasks.items[child].public;
    if (model->stacks && from->pid > 0 && to->pid > 0) {
        lull_stacks_fork(model->stacks, from->host, from->pid, to->pid);
    }
}

void stacks_renamed(struct lull_model *model, const struct machine *machine,
                    const struct lull_ev_task_rename *ev)
{
    /* The event sched_process_exec comes when the new program is mapped already. */
    if (model->stacks && LULL_HAS(ev, task_rename, exec) && ev->exec != 0 && ev->context_pid > 0) {
        lull_stacks_exec(model->stacks, machine->host, (int32_t)ev->context_pid);
    }
}

/* The chain of an event of the vocabulary which `has` both parts of a dump of the program's stack, or not. */
#define CHAIN_OF(model, machine, pid, ev, event, chain, t)                                         \
    (LULL_HAS(ev, event, user_regs) && LULL_HAS(ev, event, user_stack) &&                          \
             (ev)->user_stack.length > 0                                                           \
         ? lull_stacks_unwind((model)->stacks, (machine)->host, pid, chain,                        \
                              &(const struct lull_stack_dump){(machine)->architecture,             \
                                                              (ev)->user_regs, (ev)->user_stack},  \
                              t)                                                                   \
         : lull_stacks_chain((model)->stacks, (machine)->host, pid, chain, t))

uint32_t stacks_left(struct lull_model *model, const struct machine *machine, uint32_t task,
                     const struct lull_ev_sched_switch *ev, int64_t t)
{
    int32_t pid = model->tasks.items[task].public.pid;
    if (!model->stacks || !LULL_HAS(ev, sched_switch, callchain)) {
        return LULL_NONE;
    }
    if (LULL_HAS(ev, sched_switch, context_pid) && ev->context_pid > 0) {
        pid = (int32_t)ev->context_pid;
    }
    return CHAIN_OF(model, machine, pid, ev, sched_switch, ev->callchain, t);
}

void stacks_sampled(struct lull_model *model, struct machine *machine,
                    const struct lull_ev_sample *ev, const struct lull_event_class *event_class,
                    int64_t t)
{
    const bool has_chain = LULL_HAS(ev, sample, callchain) && ev->callchain.length > 0;
    const struct lull_text address = {(const char *)&ev->address, sizeof ev->address};
    if (!model->wanted.sample || !model->stacks || !LULL_HAS(ev, sample, tid) || ev->tid <= 0 ||
        ev->tid > INT32_MAX) {
        return;
    }
    struct lull_sample_fact fact = {
        .time_ns = t,
        .task = model_task(model, machine, (int32_t)ev->tid, 0),
        .chain = LULL_NONE,
        .event = model_label(model, event_class ? lull_event_class_name(event_class) : "?"),
        .weight = LULL_HAS(ev, sample, period) && ev->period > 0 ? ev->period : 1,
    };
    struct lull_task *task = &model->tasks.items[fact.task].public;
    if (task->pid < 0 && ev->pid > 0 && ev->pid <= INT32_MAX) {
        task->pid = (int32_t)ev->pid;
    }
    if (has_chain || LULL_HAS(ev, sample, address)) {
        fact.chain =
            CHAIN_OF(model, machine, task->pid, ev, sample, has_chain ? ev->callchain : address, t);
    }
    REPORT(model, sample, &fact);
}
