/* SPDX-License-Identifier: MIT */
/* What requests of io_uring do. */
#ifndef LULL_KERNEL_URING_OPERATIONS_H
#define LULL_KERNEL_URING_OPERATIONS_H

#include <stdint.h>

/* Of IORING_OP_… + 1: "read", "timeout"; NULL: not known. */
const char *lull_uring_operation(uint8_t operation);
/* What stands between it and its file: "of"; NULL: not known. */
const char *lull_uring_preposition(uint8_t operation);

#endif
