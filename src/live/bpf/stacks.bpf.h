/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Stacks that can only be taken before a wait is known to be long: of the task in its program, when it
 * leaves the CPU, and of its waker. Asked for with --stack alone, because all switches pay. */
#ifndef LULL_LIVE_STACKS_BPF_H
#define LULL_LIVE_STACKS_BPF_H

#include "slots.bpf.h"

struct kept_stack {
    uint64_t at; /* of which moment it is */
    struct lull_track_stack stack;
};

/* By tid. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, uint32_t);
    __type(value, struct kept_stack);
} user_stacks SEC(".maps"), waker_stacks SEC(".maps");

/* Too large for the stack of a program. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct kept_stack);
} new_stacks SEC(".maps");

/* The stack of the task that runs, for task `tid`. */
static __always_inline void keep_stack(void *ctx, void *map, uint32_t tid, uint64_t now,
                                       uint64_t flags)
{
    struct kept_stack *kept = bpf_map_lookup_elem(&new_stacks, &zero);
    if (kept) {
        kept->at = now;
        take_stack(ctx, &kept->stack, flags);
        bpf_map_update_elem(map, &tid, kept, BPF_ANY);
    }
}

static __always_inline void find_stack(void *map, uint32_t tid, uint64_t at,
                                       struct lull_track_stack *out)
{
    const struct kept_stack *kept = bpf_map_lookup_elem(map, &tid);
    if (kept && kept->at == at) {
        __builtin_memcpy(out, &kept->stack, sizeof *out);
    }
}

#endif
