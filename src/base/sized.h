/* SPDX-License-Identifier: MIT */
/* Structs that cross the border of the library carry their size as the caller knows it, so that
 * they can grow: a caller that was compiled against older headers has a shorter one, against newer
 * headers a longer one. */
#ifndef LULL_BASE_SIZED_H
#define LULL_BASE_SIZED_H

#include <glib.h>
#include <string.h>

/* A struct that the caller filled, as ours: itself if it is of our size, else copied to `known`;
 * what the caller does not know of is zero. */
static inline const void *lull_sized(void *known, size_t known_size, const void *given,
                                     size_t given_size)
{
    if (G_LIKELY(given_size == known_size)) {
        return given;
    }
    memset(known, 0, known_size);
    return memcpy(known, given, MIN(known_size, given_size));
}

/* A struct of ours for the caller; what we do not know of is zero. */
static inline void lull_sized_fill(void *out, size_t out_size, const void *known, size_t known_size)
{
    memset(out, 0, out_size);
    memcpy(out, known, MIN(known_size, out_size));
}

#endif
