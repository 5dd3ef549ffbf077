/* SPDX-License-Identifier: MIT */
/* The words for what a task does and why it waits (design, section 4), shared by model, graph and
 * views. */
#ifndef LULL_KERNEL_STATES_H
#define LULL_KERNEL_STATES_H

#include <stdint.h>

/* "No such index", everywhere an index of a task, packet, request, … may be missing. */
#define LULL_NONE UINT32_MAX

enum lull_state {
    LULL_STATE_NONE,        /* nothing is known: before the first event, after the end, a gap */
    LULL_STATE_RUNNING,     /* on a CPU, in user or kernel mode */
    LULL_STATE_PREEMPTED,   /* runnable, waiting for a CPU */
    LULL_STATE_INTERRUPTED, /* on a CPU, but an interrupt handler runs there */
    LULL_STATE_BLOCKED,     /* waiting; see the cause */
    LULL_STATE_COUNT
};

enum lull_cause {
    LULL_CAUSE_NONE, /* the state needs none */
    LULL_CAUSE_TASK,
    LULL_CAUSE_TIMER,
    LULL_CAUSE_DISK,
    LULL_CAUSE_NETWORK,
    LULL_CAUSE_USER_INPUT,
    LULL_CAUSE_IPI,
    LULL_CAUSE_IRQ,
    LULL_CAUSE_UNKNOWN,
    LULL_CAUSE_COUNT
};

/* "running", "preempted", "interrupted", "blocked"; NONE is "none". */
const char *lull_state_name(enum lull_state state);
/* "task", "timer", "disk", "network", "user-input", "ipi", "irq", "unknown"; NULL for NONE. */
const char *lull_cause_name(enum lull_cause cause);

#endif
