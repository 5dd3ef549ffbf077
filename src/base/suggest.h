/* SPDX-License-Identifier: MIT */
/* "Did you mean …?" */
#ifndef LULL_BASE_SUGGEST_H
#define LULL_BASE_SUGGEST_H

/* The word of `candidates` (NULL-terminated) that `word` is most likely a slip of, or NULL. */
const char *lull_suggest(const char *word, const char *const *candidates);

#endif
