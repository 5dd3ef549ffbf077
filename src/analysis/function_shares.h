/* SPDX-License-Identifier: MIT */
/* Time of tasks by the function in which it was spent, and the state they were in. */
#ifndef LULL_ANALYSIS_FUNCTION_SHARES_H
#define LULL_ANALYSIS_FUNCTION_SHARES_H

#include "base/vec.h"
#include "calls/calls.h"

/* What was spent in a function of a program itself, or in system calls and functions of the kernel that it
 * called, in one state. */
struct lull_function_share {
    uint32_t
        function; /* one of those that are the same, in several tasks; LULL_NONE: in no call that was recorded */
    enum lull_state state;
    enum lull_cause cause;
    int64_t duration_ns;
    int64_t other_ns; /* of what is compared with */
};

/* Zeroed: empty. */
struct lull_function_shares {
    LULL_VEC(struct lull_function_share) items;
    GHashTable *by_key; /* → number + 1 */
};

/* Adds to what was spent there before. Addresses are looked up by then, see lull_calls_finish(). */
void lull_function_shares_add(struct lull_function_shares *shares, const struct lull_calls *calls,
                              const struct lull_function_share *share);
/* Puts the longest duration_ns first. */
void lull_function_shares_sort(struct lull_function_shares *shares);
void lull_function_shares_clear(struct lull_function_shares *shares);
/* The innermost function of a program on the stack of that node; if there is none, that of the node itself. */
uint32_t lull_calls_own_function(const struct lull_calls *calls, uint32_t node);

#endif
