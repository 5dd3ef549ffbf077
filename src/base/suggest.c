/* SPDX-License-Identifier: MIT */
/* "Did you mean …?": the nearest known word by edit distance. */
#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "base/suggest.h"

#define LONGEST 31

/* Insertions, deletions, replacements and swaps of neighbours that make `a` into `b`
 * (optimal string alignment). Words longer than LONGEST are far from everything. */
static uint32_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) {
        return UINT32_MAX;
    }
    uint32_t d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++) {
        d[i][0] = (uint32_t)i;
    }
    for (size_t j = 0; j <= m; j++) {
        d[0][j] = (uint32_t)j;
    }
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            uint32_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN(best, MIN(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = MIN(best, d[i - 2][j - 2] + 1);
            }
            d[i][j] = best;
        }
    }
    return d[n][m];
}

const char *lull_suggest(const char *word, const char *const *candidates)
{
    size_t length = strlen(word);
    const char *nearest = NULL;
    uint32_t least = length < 3 ? 1 : (uint32_t)MIN(length / 3 + 1, 3);
    for (uint32_t i = 0; candidates[i]; i++) {
        uint32_t far = distance(word, candidates[i]);
        if (length >= 3 && strncmp(candidates[i], word, length) == 0) {
            far = 0; /* an abbreviation */
        }
        if (far < least || (far == least && !nearest)) {
            least = far;
            nearest = candidates[i];
        }
    }
    return nearest;
}
