/* SPDX-License-Identifier: MIT */
/* A stream file that lies in memory. */
#ifndef LULL_TESTS_FUZZ_BYTES_H
#define LULL_TESTS_FUZZ_BYTES_H

#include <stddef.h>

#include "ctf/stream/bytes.h"

/* `data` is borrowed. */
struct lull_bytes *fuzz_bytes_new(const uint8_t *data, size_t size);

#endif
