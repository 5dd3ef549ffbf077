/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What all programs share: the question, maps, the slot of a task, and how many alarms there may be. */
#ifndef LULL_LIVE_SLOTS_BPF_H
#define LULL_LIVE_SLOTS_BPF_H

#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "live/records.h"

const volatile struct lull_track_config config SEC(".rodata.config") = {0};

/* By rule. User space raises a threshold of "worst"; the window and what was spent in it bound the alarms. */
struct {
    uint64_t threshold_ns, window, spent;
    uint64_t group[LULL_TRACK_HIERARCHIES]; /* only tasks of one of these control groups; 0: any */
} limits[LULL_TRACK_RULES] SEC(".data.limits") = {0};

volatile struct lull_track_governed governed SEC(".data.governed") = {0};

/* The interrupt that a handler is for, or that raised a softirq. */
struct irq_cause {
    uint64_t since;
    uint32_t irq;   /* 1 + its number; 0: none */
    uint32_t depth; /* of the handler's, or the softirq's, frame */
};

/* A softirq that is raised, on this CPU. */
struct raise {
    uint64_t since; /* for the first time since it was entered; 0: it is not */
    uint64_t
        again; /* last, before it was entered, by an interrupt: it may still be raised; 0: not */
    uint64_t raiser,
        id; /* the task that did: struct task_struct *, and pid and tid; 0: none, an interrupt did */
    struct irq_cause
        by; /* with rules about responses: the first interrupt for which it was raised since */
};

/* The interrupts that a CPU is in. */
struct context {
    uint32_t depth;
    uint32_t running;                  /* 1 + the task that came last; 0: not known */
    struct irq_cause handler, softirq; /* with rules about responses */
    uint64_t thread; /* struct task_struct *: the handler that was left last wakes it; 0: none */
    uint64_t thread_since; /* when that handler started */
    uint32_t thread_irq, pad;
    struct lull_track_hop frame[LULL_TRACK_NESTED];
    struct raise raise[MOST_VECTORS];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, LULL_TRACK_MOST_SLOTS);
    __type(key, uint32_t);
    __type(value, struct lull_track_slot);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct context);
} contexts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct lull_track_counts);
} counts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries,
           1 << 22); /* of one rule, three windows: reading the kernel's symbols takes a while */
} alarms SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct lull_track_histograms);
} histograms SEC(".maps");

static const uint32_t zero;

static __always_inline bool has_responses(void)
{
    return config.measures & 1u << LULL_TRACK_RESPONSE;
}

/* 0 up to 1 us, 1 up to 2 us, 2 up to 4 us … */
static __always_inline uint32_t bucket_of(uint64_t ns)
{
    uint64_t us = ns - (ns > 0);
    if (us >= 1000ull << (LULL_TRACK_BUCKETS - 2)) {
        return LULL_TRACK_BUCKETS - 1;
    }
    us = (us >> 3) * 0x83126e98 >> 38; /* us / 1000: exact below 2^35, and no division */
    uint32_t bucket = us > 0;
    for (uint32_t bits = 16; bits > 0; bits /= 2) {
        if (us >> bits) {
            us >>= bits;
            bucket += bits;
        }
    }
    return bucket;
}

static __always_inline void observe_in(struct lull_track_histogram *histogram, uint64_t ns)
{
    const uint32_t bucket = bucket_of(ns);
    if (bucket < LULL_TRACK_BUCKETS) {
        histogram->n[bucket]++;
    }
    if (config.has_totals) {
        histogram->ns += ns;
    }
    const uint64_t interval = governed.interval;
    struct lull_track_longest *longest = &histogram->longest[interval & 1];
    if (longest->interval != interval) { /* what was there is of two intervals ago */
        longest->interval = interval;
        longest->ns = 0;
    }
    if (ns > longest->ns) {
        longest->ns = ns;
    }
}

/* `measure` is a constant or bounded. */
static __always_inline void observe(uint32_t measure, uint64_t ns)
{
    struct lull_track_histograms *all = bpf_map_lookup_elem(&histograms, &zero);
    if (all) {
        observe_in(&all->of[measure], ns);
    }
}

static __always_inline void observe_rule(uint32_t i, uint64_t ns)
{
    struct lull_track_histograms *all = bpf_map_lookup_elem(&histograms, &zero);
    if (all) {
        observe_in(&all->rule[i], ns);
    }
}

/* ---- slots ---- */

static __always_inline bool claim(struct lull_track_slot *slot, uint32_t tid)
{
    if (__sync_val_compare_and_swap(&slot->tid, 0, tid) != 0) {
        return false;
    }
    slot->start_time = 0;
    return true;
}

/* Where a tid may be: in one of two places, of which the first is its own on machines with few pids. */
static __always_inline struct lull_track_slot *slot_at(uint32_t tid, bool is_second)
{
    const uint32_t at = (is_second ? tid * 0x9e3779b1u >> 9 : tid) & config.slot_mask;
    return bpf_map_lookup_elem(&slots, &at);
}

static __always_inline struct lull_track_slot *slot_find(uint32_t tid)
{
    struct lull_track_slot *slot = slot_at(tid, false);
    if (slot && slot->tid == tid) {
        return slot;
    }
    slot = slot_at(tid, true);
    return slot && slot->tid == tid ? slot : NULL;
}

/* It never runs a program: what its registers hold of a system call is another task's. */
static __always_inline bool is_kernel(const struct task_struct *task)
{
    const uint32_t workers = bpf_core_field_exists(struct kernel_clone_args, user_worker)
                                 ? PF_IO_WORKER | PF_USER_WORKER
                                 : PF_IO_WORKER;
    return task->flags & (PF_KTHREAD | workers);
}

/* The slot of a living task, made if there is room. */
static __always_inline struct lull_track_slot *slot_of(const struct task_struct *task)
{
    const uint32_t tid = task->pid;
    struct lull_track_slot *slot = slot_find(tid);
    if (!slot) {
        slot = slot_at(tid, false);
        if (slot && !claim(slot, tid)) {
            slot = slot_at(tid, true);
            slot = slot && claim(slot, tid) ? slot : NULL;
        }
    }
    if (slot &&
        slot->start_time != task->start_time) { /* it is new here, or its tid was another's */
        slot->start_time = task->start_time;
        slot->tgid = task->tgid;
        slot->since = slot->woken = slot->ran = slot->begin = slot->early_ns = 0;
        slot->call_since = 0;
        slot->state = 0;
        slot->sums = (struct lull_track_sums){0};
        slot->flags = (is_kernel(task) ? LULL_TRACK_IS_KERNEL : 0) |
                      (config.command && tid == config.command ? LULL_TRACK_IS_FOLLOWED : 0);
        slot->hop[0].kind = LULL_TRACK_HOP_NONE;
    }
    return slot;
}

/* As bpf_get_current_comm(), in a fifth of its time. Before Linux 5.17 there may be anything after the NUL. */
static __always_inline void copy_comm(char comm[LULL_TRACK_COMM], const struct task_struct *task)
{
    for (uint32_t i = 0; i < LULL_TRACK_COMM; i++) {
        comm[i] = task->comm[i];
    }
}

/* Of the current task. Linux 5.10 does not hand it out. */
static __always_inline void copy_own_comm(char comm[LULL_TRACK_COMM])
{
    if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
        copy_comm(comm, bpf_get_current_task_btf());
    } else {
        bpf_get_current_comm(comm, LULL_TRACK_COMM);
    }
}

static __always_inline uint32_t state_of(const struct task_struct *task)
{
    const uint32_t state = task->__state;
    /* An idle task of the kernel's is in no D that anybody means. */
    return state & TASK_NOLOAD ? state & ~LULL_TRACK_STATE_D : state;
}

/* Whether its waits count. */
static __always_inline bool is_followed(const struct lull_track_slot *slot)
{
    return !config.command || slot->flags & LULL_TRACK_IS_FOLLOWED;
}

/* ---- control groups ---- */

/* Of version 1: the group that manages what `controller`, a constant of the kernel, is about. */
static __always_inline uint64_t group_of(const struct css_set *set, uint64_t controller)
{
    const void *at =
        (const void *)set + bpf_core_field_offset(struct css_set, subsys) + 8 * controller;
    const struct cgroup_subsys_state *state = *(struct cgroup_subsys_state *const *)at;
    return state->cgroup->kn->id;
}

static __always_inline void take_groups(const struct task_struct *task,
                                        uint64_t group[LULL_TRACK_HIERARCHIES])
{
    const struct css_set *set = task->cgroups;
    group[LULL_TRACK_UNIFIED] = set->dfl_cgrp->kn->id;
    group[LULL_TRACK_OF_CPU] = group[LULL_TRACK_OF_MEMORY] = 0;
    if (bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id)) {
        group[LULL_TRACK_OF_CPU] =
            group_of(set, bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
    }
    if (bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id)) {
        group[LULL_TRACK_OF_MEMORY] =
            group_of(set, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
    }
}

/* Whether one of its groups is that which rule `i` asks for: which of them counts, the filter knows. */
static __always_inline bool is_in_group(uint32_t i, const struct task_struct *task)
{
    uint64_t group[LULL_TRACK_HIERARCHIES];
    const uint64_t *asked = limits[i].group;
    if (!asked[LULL_TRACK_UNIFIED]) {
        return true;
    }
    take_groups(task, group);
    return group[LULL_TRACK_UNIFIED] == asked[LULL_TRACK_UNIFIED] ||
           group[LULL_TRACK_OF_CPU] == asked[LULL_TRACK_OF_CPU] ||
           group[LULL_TRACK_OF_MEMORY] == asked[LULL_TRACK_OF_MEMORY];
}

/* ---- what happened to no task ---- */

/* A disk's request or an interrupt that is over. */
struct happened {
    uint32_t measure, number;
    uint64_t since, until; /* until 0: now */
    const char *cookie;    /* of a mark, in a map; or NULL */
    uint64_t id;
    uint32_t uid, pad;
    char comm[LULL_TRACK_COMM];
    struct lull_track_hop hop;
};

/* Whether one more alarm may be made in this window of about a second. */
static __always_inline bool spend(uint32_t i, uint64_t now, uint32_t limit)
{
    const uint64_t window = now >> 30;
    if (limits[i].window != window) {
        limits[i].window = window;
        limits[i].spent = 0;
    }
    if (limits[i].spent >= limit) {
        return false;
    }
    __sync_fetch_and_add(&limits[i].spent, 1);
    return true;
}

/* What rule `i` is about took so long. False: nothing is to be reported. */
static __always_inline bool take(uint32_t i, uint64_t took, uint64_t now,
                                 struct lull_track_counts *count)
{
    if (config.has_histograms) {
        observe_rule(i, took);
        return false;
    }
    count->candidates[i]++;
    if (!spend(i, now, config.rule[i].limit)) {
        count->limited[i]++;
        return false;
    }
    return true;
}

/* Of the task that runs. */
static __always_inline void take_stack(void *ctx, struct lull_track_stack *stack, uint64_t flags)
{
    stack->bytes = bpf_get_stack(ctx, stack->frame, sizeof stack->frame, flags);
}

/* With the context of a program, the record has the stacks of the task that runs. */
static __always_inline void report_event(void *ctx, uint32_t i, const struct happened *event,
                                         uint64_t now, struct lull_track_counts *count)
{
    struct lull_track_record *record = bpf_ringbuf_reserve(&alarms, sizeof *record, 0);
    if (!record) {
        count->lost[i]++;
        return;
    }
    __builtin_memset(record, 0, offsetof(struct lull_track_record, cookie));
    record->cookie[0] = '\0';
    if (event->cookie) {
        __builtin_memcpy(record->cookie, event->cookie, sizeof record->cookie);
    }
    record->kernel.bytes = record->waker.bytes = record->user.bytes = 0;
    record->rule = i;
    record->since_ns = event->since;
    record->end_ns = now;
    record->tid = (uint32_t)event->id;
    record->tgid = event->id >> 32;
    record->uid = event->uid;
    record->cpu = bpf_get_smp_processor_id();
    __builtin_memcpy(record->comm, event->comm, sizeof record->comm);
    record->call = LULL_TRACK_NO_CALL;
    record->hop[0] = event->hop;
    __builtin_memset(record->group, 0, sizeof record->group);
    if (event->id == bpf_get_current_pid_tgid() &&
        bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
        take_groups(bpf_get_current_task_btf(), record->group);
    }
    if (ctx && config.stacks & LULL_TRACK_KERNEL_STACK) {
        take_stack(ctx, &record->kernel, 0);
    }
    if (ctx && config.stacks & LULL_TRACK_USER_STACK) {
        take_stack(ctx, &record->user, BPF_F_USER_STACK);
    }
    bpf_ringbuf_submit(record, 0);
}

static __always_inline void judge_event(void *ctx, const struct happened *event)
{
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    const uint64_t now = event->until ? event->until : bpf_ktime_get_ns();
    if (!count) {
        return;
    }
    const uint64_t took = now - event->since;
    if (config.has_sums &&
        event->measure == LULL_TRACK_BLOCK) { /* interrupts were counted before */
        observe(LULL_TRACK_BLOCK, took);
    }
    if (!config.n_rules) {
        return;
    }
    count->events++;
    for (uint32_t i = 0; i < LULL_TRACK_RULES && i < config.n_rules; i++) {
        const volatile struct lull_track_kernel_rule *rule = &config.rule[i];
        if (rule->measure != event->measure ||
            (rule->has_number && rule->number != event->number)) {
            continue;
        }
        if (config.has_totals) {
            observe_rule(i, took);
        }
        if (took > limits[i].threshold_ns && take(i, took, now, count)) {
            report_event(ctx, i, event, now, count);
        }
    }
}

#endif
