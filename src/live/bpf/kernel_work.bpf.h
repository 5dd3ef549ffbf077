/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the kernel does for or to a task: the rules work, lock, reclaim and exec. */
#ifndef LULL_LIVE_KERNEL_WORK_BPF_H
#define LULL_LIVE_KERNEL_WORK_BPF_H

#include "spans.bpf.h"

/* ---- work ---- */

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(work_queued, int cpu, const void *pool, const struct work_struct *work)
{
    open_span(&loose_spans, LULL_TRACK_WORK, (uint64_t)work, 0);
    return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(work_started, const struct work_struct *work)
{
    struct span span;
    struct happened started = {.measure = LULL_TRACK_WORK};
    if (close_span(&loose_spans, LULL_TRACK_WORK, (uint64_t)work, 0, &span)) {
        started.hop.kind = LULL_TRACK_HOP_WORK;
        started.hop.function = (uint64_t)work->func;
        judge_span(NULL, &span, &started);
    }
    return 0;
}

/* ---- locks ---- */

/* Who waits: each idle task is another's. */
static __always_inline uint32_t own_tid(void)
{
    const uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    return tid ? tid : ~bpf_get_smp_processor_id();
}

/* A wait that changes between spinning and sleeping is one. */
SEC("tp_btf/contention_begin")
int BPF_PROG(lock_wanted, const void *lock)
{
    const struct span_key key = {
        .of = (uint64_t)lock, .measure = LULL_TRACK_LOCK, .tid = own_tid()};
    if (!bpf_map_lookup_elem(&spans, &key)) {
        open_span(&spans, LULL_TRACK_LOCK, key.of, key.tid);
    }
    return 0;
}

SEC("tp_btf/contention_end")
int BPF_PROG(lock_taken, const void *lock)
{
    struct span span;
    struct happened taken = {.measure = LULL_TRACK_LOCK};
    if (close_span(&spans, LULL_TRACK_LOCK, (uint64_t)lock, own_tid(), &span)) {
        judge_span(ctx, &span, &taken);
    }
    return 0;
}

/* ---- memory ---- */

static __always_inline int start_reclaim(void)
{
    open_span(&spans, LULL_TRACK_RECLAIM, 0, own_tid());
    return 0;
}

static __always_inline int end_reclaim(void *ctx)
{
    struct span span;
    struct happened done = {.measure = LULL_TRACK_RECLAIM};
    if (close_span(&spans, LULL_TRACK_RECLAIM, 0, own_tid(), &span)) {
        judge_span(ctx, &span, &done);
    }
    return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(reclaim_started)
{
    return start_reclaim();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(reclaim_ended)
{
    return end_reclaim(ctx);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(group_reclaim_started)
{
    return start_reclaim();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(group_reclaim_ended)
{
    return end_reclaim(ctx);
}

/* ---- programs ---- */

/* A thread that replaces the program takes the tid of the process meanwhile. */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(exec_started, const struct task_struct *task)
{
    open_span(&loose_spans, LULL_TRACK_EXEC, (uint64_t)task, 0);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(exec_ended, const struct task_struct *task)
{
    struct span span;
    struct happened done = {.measure = LULL_TRACK_EXEC};
    if (close_span(&loose_spans, LULL_TRACK_EXEC, (uint64_t)task, 0, &span)) {
        own_span(&span); /* with the name of the new program */
        judge_span(NULL, &span, &done);
    }
    return 0;
}

#endif
