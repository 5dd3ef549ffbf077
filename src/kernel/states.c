/* SPDX-License-Identifier: MIT */
/* Names of states and causes, as they appear in JSON and tables. */
#include "kernel/states.h"

const char *lull_state_name(enum lull_state state)
{
    static const char *const names[LULL_STATE_COUNT] = {
        [LULL_STATE_NONE] = "none",           [LULL_STATE_RUNNING] = "running",
        [LULL_STATE_PREEMPTED] = "preempted", [LULL_STATE_INTERRUPTED] = "interrupted",
        [LULL_STATE_BLOCKED] = "blocked",
    };
    return names[state];
}

const char *lull_mode_name(enum lull_mode mode)
{
    static const char *const names[LULL_MODE_COUNT] = {
        [LULL_MODE_USER] = "user",     [LULL_MODE_CALL] = "call",
        [LULL_MODE_KERNEL] = "kernel", [LULL_MODE_RECLAIM] = "reclaim",
        [LULL_MODE_DUMP] = "dump",     [LULL_MODE_COMPACTION] = "compaction",
    };
    return names[mode];
}

const char *lull_cause_name(enum lull_cause cause)
{
    static const char *const names[LULL_CAUSE_COUNT] = {
        [LULL_CAUSE_TASK] = "task",
        [LULL_CAUSE_TIMER] = "timer",
        [LULL_CAUSE_DISK] = "disk",
        [LULL_CAUSE_NETWORK] = "network",
        [LULL_CAUSE_USER_INPUT] = "user-input",
        [LULL_CAUSE_IPI] = "ipi",
        [LULL_CAUSE_IRQ] = "irq",
        [LULL_CAUSE_UNKNOWN] = "unknown",
        [LULL_CAUSE_THROTTLED] = "throttled",
    };
    return names[cause];
}
