/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Keeps the latest waits of those tasks that serve requests, so that a slow one can be explained. */
#ifndef LULL_LIVE_SERVED_BPF_H
#define LULL_LIVE_SERVED_BPF_H

#include "sums.bpf.h"

/* By tid. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, uint32_t);
    __type(value, struct lull_track_past);
} past SEC(".maps");

/* What a task starts with: it is too large for the stack. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct lull_track_past);
} no_past SEC(".maps");

/* The task that runs has read a request. */
static __always_inline void serves(void)
{
    const uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
    struct lull_track_slot *slot = slot_of(bpf_get_current_task_btf());
    const struct lull_track_past *nothing = bpf_map_lookup_elem(&no_past, &zero);
    if (config.has_served && slot && nothing && !(slot->flags & LULL_TRACK_SERVES) &&
        bpf_map_update_elem(&past, &tid, nothing, BPF_ANY) == 0) {
        slot->flags |= LULL_TRACK_SERVES;
    }
}

/* One of its waits is over. */
static __always_inline void keep_past(const struct lull_track_slot *slot, uint64_t now)
{
    const uint32_t tid = slot->tid;
    struct lull_track_past *of =
        now - slot->since > LULL_TRACK_PAST_LEAST_NS ? bpf_map_lookup_elem(&past, &tid) : NULL;
    if (!of) {
        return;
    }
    struct lull_track_past_wait *wait = &of->wait[of->n % LULL_TRACK_PAST];
    __builtin_memset(&wait->link, 0, sizeof wait->link);
    wait->since = slot->since;
    wait->woken = slot->woken ? slot->woken : now;
    wait->until = now;
    if (slot->state && slot->woken) {
        lull_track_link_to(&wait->link, &slot->hop[0]);
    }
    of->n++;
}

#endif
