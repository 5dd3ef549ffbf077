/* SPDX-License-Identifier: MIT */
/* Patterns of file names, for texts: * any characters, ? one character, [a-z] one of a set, [!a-z]
 * one that is not. A character is one of UTF-8, or a byte that is none. */
#ifndef LULL_FILTER_GLOB_H
#define LULL_FILTER_GLOB_H

#include <lull/event.h>

#include "base/arena.h"

struct lull_glob;

/* Compiles text[0, length); bytes with is_escaped match themselves. NULL with a reason and the
 * byte it is about if a set has no end. */
const struct lull_glob *lull_glob_new(struct lull_arena *arena, const char *text, size_t length,
                                      const bool *is_escaped, size_t *at, const char **reason);
bool lull_glob_matches(const struct lull_glob *glob, struct lull_text text);

#endif
