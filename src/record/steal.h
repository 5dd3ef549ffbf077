/* SPDX-License-Identifier: MIT */
/* What a hypervisor keeps from this machine. */
#ifndef LULL_RECORD_STEAL_H
#define LULL_RECORD_STEAL_H

#include <stdint.h>

/* For how long since the start its CPUs could have run and the hypervisor ran others, nanoseconds, summed over CPUs: the kernel's
 * count (`steal` of /proc/stat, in units of 10 ms). 0: a machine of its own, or the hypervisor does not say; -1: the kernel
 * does not. */
int64_t lull_steal_ns(void);

#endif
