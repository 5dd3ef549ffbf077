/* SPDX-License-Identifier: MIT */
/* What counts as a wait on a futex. */
#ifndef LULL_ANALYSIS_FUTEX_H
#define LULL_ANALYSIS_FUTEX_H

#include "kernel/facts.h"

/* Whether the call was made to wait, and did: not if the value had changed before, or if it
 * failed in another way than by a timeout or a signal. */
bool lull_futex_has_waited(const struct lull_syscall_fact *fact);

#endif
