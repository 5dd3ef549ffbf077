/* SPDX-License-Identifier: MIT */
/* Names of Linux's error numbers: the traced machine's, not those of the machine that reads. */
#ifndef LULL_KERNEL_ERRNOS_H
#define LULL_KERNEL_ERRNOS_H

#include <stdint.h>

/* "ENOENT" for 2, "ERESTARTSYS" for 512; NULL for a number without a name. */
const char *lull_errno_name(int64_t number);

#endif
