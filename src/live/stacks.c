/* SPDX-License-Identifier: MIT */
/* Words, with commas between. */
#include "live/stacks.h"

#include <string.h>

#include <lull/error.h>

bool lull_track_stacks_parse(const char *text, uint32_t *stacks, GError **error)
{
    static const char *const names[] = {"kernel", "waker", "user", NULL}; /* by bit */
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (!*text) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "expected kernel, waker or user, with commas between");
        return false;
    }
    for (uint32_t i = 0; words[i]; i++) {
        uint32_t bit = 0;
        while (names[bit] && strcmp(g_strstrip(words[i]), names[bit]) != 0) {
            bit++;
        }
        if (!names[bit]) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "there is no stack “%s”; there are kernel, waker and user", words[i]);
            return false;
        }
        *stacks |= 1u << bit;
    }
    return true;
}
