/* SPDX-License-Identifier: MIT */
/* Merges sequences by (time, number) with a tournament tree of losers. As long as the winner's next
 * time does not pass the second best, the tree is not played again. */
#ifndef LULL_SOURCE_SESSION_MERGE_H
#define LULL_SOURCE_SESSION_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct lull_merge {
    uint32_t n;
    int64_t *times;   /* next time of each sequence; INT64_MAX: it is exhausted */
    uint32_t *losers; /* of the match at each inner node, [1, n) */
    uint32_t winner;  /* the sequence whose turn it is */
    uint32_t second;  /* the best of the others */
    int64_t second_time;
};

/* Starts with n sequences; fill merge->times, then call lull_merge_play(). */
void lull_merge_init(struct lull_merge *merge, uint32_t n);
void lull_merge_clear(struct lull_merge *merge);
void lull_merge_play(struct lull_merge *merge);

/* For lull_merge_update(). */
void lull_merge_replay(struct lull_merge *merge);

/* The winner's next time is `time`, which is not before its last. True: it has the first event, and
 * no other is of that time. */
static inline bool lull_merge_update(struct lull_merge *merge, int64_t time)
{
    merge->times[merge->winner] = time;
    if (time < merge->second_time) {
        return true;
    }
    if (time > merge->second_time || merge->winner > merge->second) {
        lull_merge_replay(merge);
    }
    return false;
}

#endif
