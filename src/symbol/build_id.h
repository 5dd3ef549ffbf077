/* SPDX-License-Identifier: MIT */
/* Build-ids in notes: of a file's segments, of /sys/kernel/notes. */
#ifndef LULL_SYMBOL_BUILD_ID_H
#define LULL_SYMBOL_BUILD_ID_H

#include <stddef.h>

/* The build-id in notes of this machine's byte order that start at multiples of 4 bytes: hexadecimal
 * digits, to be freed with g_free(). NULL: there is none. */
char *lull_build_id_find(const void *notes, size_t size);

#endif
