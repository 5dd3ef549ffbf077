/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who wakes: the chain of those who had to be woken for it, also where the task has not left the CPU yet. */
#ifndef LULL_LIVE_WAKERS_BPF_H
#define LULL_LIVE_WAKERS_BPF_H

#include "interrupts.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LULL_TRACK_EARLY);
    __type(key, uint32_t);
    __type(value, struct lull_track_early);
} earlies SEC(".maps");

/* Who wakes now, and who had woken that one before. */
static __always_inline void explain(struct lull_track_hop chain[LULL_TRACK_HOPS])
{
    const struct lull_track_hop *frame = frame_now();
    if (governed.without_chains) {
        chain[0].kind = LULL_TRACK_HOP_NONE;
        return;
    }
    chain[1].kind = LULL_TRACK_HOP_NONE;
    if (frame) {
        chain[0] = *frame;
        return;
    }
    const uint64_t id = bpf_get_current_pid_tgid();
    const uint32_t tid = (uint32_t)id;
    chain[0].start_ns = 0;
    if (!tid) { /* the idle task wakes nobody: it is an interrupt that no tracepoint names */
        chain[0].kind = LULL_TRACK_HOP_INTERRUPT;
        return;
    }
    chain[0].kind = LULL_TRACK_HOP_TASK;
    chain[0].a = id >> 32;
    chain[0].b = tid;
    copy_own_comm(chain[0].comm);
    const struct lull_track_slot *waker = slot_find(tid);
    if (waker) {
        chain[0].start_ns = waker->begin;
        chain[1] = waker->hop[0];
        chain[2] = waker->hop[1];
        chain[3] = waker->hop[2];
    }
}

static __always_inline struct lull_track_early *early_of(uint32_t tid)
{
    const uint32_t at = tid % LULL_TRACK_EARLY;
    return bpf_map_lookup_elem(&earlies, &at);
}

static __always_inline void keep_early(uint32_t tid, uint64_t now)
{
    struct lull_track_early *early = early_of(tid);
    if (early) {
        explain(early->hop);
        early->ns = now;
        early->tid = tid;
    }
}

/* Who woke it before it was off the CPU. False: it is not known any more. */
static __always_inline bool take_early(struct lull_track_slot *slot)
{
    const struct lull_track_early *early = early_of(slot->tid);
    if (!early || early->tid != slot->tid || early->ns != slot->early_ns) {
        slot->hop[0].kind = LULL_TRACK_HOP_NONE;
        return false;
    }
    __builtin_memcpy(slot->hop, early->hop, sizeof slot->hop);
    return true;
}

#endif
