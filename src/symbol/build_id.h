/* SPDX-License-Identifier: MIT */
/* Build-ids in notes: of a file's segments, of /sys/kernel/notes; and as text. */
#ifndef LULL_SYMBOL_BUILD_ID_H
#define LULL_SYMBOL_BUILD_ID_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a text of so many characters is one: hexadecimal digits, of 64 bytes at most. Whatever else a file
 * gives out as one must not become a part of a path or an address. */
bool lull_build_id_is(const char *text, size_t length);

/* The build-id in notes of this machine's byte order that start at multiples of 4 bytes: hexadecimal
 * digits, to be freed with g_free(). NULL: there is none. */
char *lull_build_id_find(const void *notes, size_t size);

#endif
