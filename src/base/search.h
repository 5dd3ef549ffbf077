/* SPDX-License-Identifier: MIT */
/* The one binary search. */
#ifndef LULL_BASE_SEARCH_H
#define LULL_BASE_SEARCH_H

/* The least `i` from 0 to `n` from which on `is_before`, an expression with `i`, is false; it must be
 * true for all smaller ones. Of sorted items: the first that is not before what is looked for, `n`
 * if all are. */
#define LULL_LOWER_BOUND(i, n, is_before)                                                          \
    ({                                                                                             \
        __typeof__((n) + 0) low_ = 0, high_ = (n);                                                 \
        while (low_ < high_) {                                                                     \
            const __typeof__(low_) i = low_ + (high_ - low_) / 2;                                  \
            if (is_before) {                                                                       \
                low_ = i + 1;                                                                      \
            } else {                                                                               \
                high_ = i;                                                                         \
            }                                                                                      \
        }                                                                                          \
        low_;                                                                                      \
    })

#endif
