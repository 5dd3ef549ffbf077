/* SPDX-License-Identifier: MIT */
/* The words for what a task does and why it waits: those of the public API, and their number. */
#ifndef LULL_KERNEL_STATES_H
#define LULL_KERNEL_STATES_H

#include <lull/path.h>

#define LULL_STATE_COUNT (LULL_STATE_BLOCKED + 1)
#define LULL_CAUSE_COUNT (LULL_CAUSE_THROTTLED + 1)
#define LULL_MODE_COUNT (LULL_MODE_COMPACTION + 1)

#endif
