/* SPDX-License-Identifier: MIT */
/* The kernel's capabilities (CAP_...), on systems with headers that end before the latest, too. */
#ifndef LULL_BASE_CAPABILITY_H
#define LULL_BASE_CAPABILITY_H

#include <linux/capability.h>

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#endif
