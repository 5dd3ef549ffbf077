/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Waits as `lull top` shows them: summed by who waited, in which call, and for whom. Sums of tasks are in
 * their slots, and of all waits; chains are made of those alone that are long enough to matter. */
#ifndef LULL_LIVE_SUMS_BPF_H
#define LULL_LIVE_SUMS_BPF_H

#include "slots.bpf.h"

#include "live/links.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LULL_TRACK_MOST_CHAINS);
    __type(key, struct lull_track_chain);
    __type(value, struct lull_track_chain_sum);
} chains SEC(".maps");

/* By pid. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, LULL_TRACK_MOST_CHAINS);
    __type(key, uint32_t);
    __type(value, struct lull_track_ended);
} ended_tasks SEC(".maps");

/* What is too large for the stack. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct lull_track_chain);
} scratch SEC(".maps");

/* A chain of that task without links: it waits for a CPU. */
static __always_inline struct lull_track_chain *chain_of(const struct task_struct *task)
{
    struct lull_track_chain *chain = bpf_map_lookup_elem(&scratch, &zero);
    if (chain) {
        __builtin_memset(chain, 0, sizeof *chain);
        chain->tgid = task->tgid;
        chain->call = LULL_TRACK_NO_CALL;
        bpf_core_read(chain->comm, sizeof chain->comm, &task->comm);
    }
    return chain;
}

/* Adds a wait, of which only what is in this interval counts. */
static __always_inline void add_to_chain(const struct lull_track_chain *chain, uint64_t start,
                                         uint64_t end, struct lull_track_counts *count)
{
    const struct lull_track_chain_sum nothing = {0};
    struct lull_track_chain_sum *sum = bpf_map_lookup_elem(&chains, chain);
    if (!sum) {
        bpf_map_update_elem(&chains, chain, &nothing, BPF_NOEXIST);
        sum = bpf_map_lookup_elem(&chains, chain);
    }
    if (!sum) {
        count->unsummed++;
        return;
    }
    const uint64_t from = start > governed.from_ns ? start : governed.from_ns;
    const uint64_t longest = sum->longest_ns;
    __sync_fetch_and_add(&sum->ns, end > from ? end - from : 0);
    __sync_fetch_and_add(&sum->waits, 1);
    if (end - start > longest) {
        __sync_val_compare_and_swap(&sum->longest_ns, longest, end - start);
    }
}

/* The process is called as its first thread is, whichever ends. Until the slot is free, both have what it did: who
 * reads it waits. */
static __always_inline void sum_of_dead(const struct task_struct *task,
                                        struct lull_track_slot *slot,
                                        struct lull_track_counts *count)
{
    const uint32_t tgid = slot->tgid;
    slot->flags |= LULL_TRACK_IS_ENDING;
    struct lull_track_ended *of = bpf_map_lookup_elem(&ended_tasks, &tgid);
    if (!of) {
        const struct lull_track_ended nothing = {.sums = {0}};
        bpf_map_update_elem(&ended_tasks, &tgid, &nothing, BPF_NOEXIST);
        of = bpf_map_lookup_elem(&ended_tasks, &tgid);
    }
    if (!of) {
        count->unended++;
        return;
    }
    copy_comm(of->comm, task->group_leader);
    __sync_fetch_and_add(&of->sums.ran_ns, slot->sums.ran_ns);
    __sync_fetch_and_add(&of->sums.blocked_ns, slot->sums.blocked_ns);
    __sync_fetch_and_add(&of->sums.runnable_ns, slot->sums.runnable_ns);
    __sync_fetch_and_add(&of->sums.unknown_ns, slot->sums.unknown_ns);
}

#endif
