/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What rules measure that is no wait of a task: it starts at one event, ends at another, and is of the task
 * that started it. */
#ifndef LULL_LIVE_SPANS_BPF_H
#define LULL_LIVE_SPANS_BPF_H

#include "slots.bpf.h"

struct span {
    uint64_t since, id;
    uint32_t flags, uid;
    char comm[LULL_TRACK_COMM];
};

struct span_key {
    uint64_t of;           /* an address of the kernel */
    uint32_t measure, tid; /* 0: whose it is does not matter */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, struct span_key);
    __type(value, struct span);
} spans SEC(".maps");

/* Of things whose end may never be seen: the oldest ones make room. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, struct span_key);
    __type(value, struct span);
} loose_spans SEC(".maps");

/* Whether a rule is about it. */
static __always_inline bool is_asked_for(uint32_t measure, uint32_t number)
{
    bool is_asked = false;
    for (uint32_t i = 0; i < LULL_TRACK_RULES && i < config.n_rules; i++) {
        const volatile struct lull_track_kernel_rule *rule = &config.rule[i];
        is_asked |= rule->measure == measure && (!rule->has_number || rule->number == number);
    }
    return is_asked;
}

/* It is the current task's. */
static __always_inline void own_span(struct span *span)
{
    const struct lull_track_slot *slot;
    span->id = bpf_get_current_pid_tgid();
    span->uid = (uint32_t)bpf_get_current_uid_gid();
    copy_own_comm(span->comm);
    slot = slot_find((uint32_t)span->id);
    span->flags = 0;
    if (slot) {
        span->flags = slot->flags & LULL_TRACK_IS_FOLLOWED;
    } else if (config.command && (uint32_t)span->id == config.command) {
        span->flags = LULL_TRACK_IS_FOLLOWED;
    }
}

static __always_inline void count_untracked(void)
{
    struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
    if (count) {
        count->untracked++;
    }
}

/* One that starts again starts anew. */
static __always_inline void open_span(void *map, uint32_t measure, uint64_t of, uint32_t tid)
{
    const struct span_key key = {.of = of, .measure = measure, .tid = tid};
    struct span span = {.since = bpf_ktime_get_ns()};
    own_span(&span);
    if (bpf_map_update_elem(map, &key, &span, BPF_ANY) != 0) {
        count_untracked();
    }
}

/* False: it started before tracking did. */
static __always_inline bool close_span(void *map, uint32_t measure, uint64_t of, uint32_t tid,
                                       struct span *span)
{
    const struct span_key key = {.of = of, .measure = measure, .tid = tid};
    const struct span *found = bpf_map_lookup_elem(map, &key);
    if (!found) {
        return false;
    }
    *span = *found;
    bpf_map_delete_elem(map, &key);
    return true;
}

/* The span is over. The context is for the kernel's stack, or NULL. */
static __always_inline void judge_span(void *ctx, const struct span *span, struct happened *event)
{
    event->since = span->since;
    event->id = span->id;
    event->uid = span->uid;
    __builtin_memcpy(event->comm, span->comm, sizeof event->comm);
    if (!config.command || span->flags & LULL_TRACK_IS_FOLLOWED) {
        judge_event(ctx, event);
    }
}

#endif
