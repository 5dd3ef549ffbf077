/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What tasks did when tracking began, which no event tells. */
#ifndef LULL_LIVE_FOUND_BPF_H
#define LULL_LIVE_FOUND_BPF_H

#include "slots.bpf.h"

/* Called for each task once all is attached: what it does, unless an event has said so by now. */
SEC("iter/task")
int found(struct bpf_iter__task *ctx)
{
    const struct task_struct *task = ctx->task;
    if (!task || task->exit_state) {
        return 0;
    }
    const uint64_t now = bpf_ktime_get_ns();
    struct lull_track_slot *slot = slot_of(task);
    const uint32_t state = state_of(task);
    if (slot && task->exit_state) { /* it may have left the CPU for good before it had the slot */
        slot->start_time = 0;
        slot->tid = 0;
        return 0;
    }
    if (!slot || slot->since || slot->ran) {
        return 0;
    }
    if (task->on_cpu) {
        slot->ran = now;
        slot->cpu = UINT64_MAX;
        return 0;
    }
    slot->state = state & TASK_WAKING ? 0 : state;
    slot->woken = slot->begin = slot->state ? 0 : now;
    slot->flags |= LULL_TRACK_IS_OLDER;
    __sync_val_compare_and_swap(&slot->since, 0, now);
    return 0;
}

#endif
