/* SPDX-License-Identifier: MIT */
/* Files without a name, for what is unpacked or converted when a trace is opened. */
#ifndef LULL_SOURCE_FILES_TEMPORARY_H
#define LULL_SOURCE_FILES_TEMPORARY_H

#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctf/stream/bytes.h"

/* A descriptor of an empty file without a name in $TMPDIR; -1 and an error if there can be none. */
int lull_temporary_open(GError **error);
/* All of `data`; false with errno set if it cannot be written. */
bool lull_temporary_write(int fd, const void *data, size_t size, uint64_t offset);
/* The bytes of such a file, whose descriptor is borrowed; any number of threads may read them. */
struct lull_bytes *lull_temporary_bytes(int fd);

#endif
