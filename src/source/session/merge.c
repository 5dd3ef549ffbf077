/* SPDX-License-Identifier: MIT */
/* The tournament tree. Leaf i is node n + i, its parent half of that; node 1 is the final. */
#include "source/session/merge.h"

#include <glib.h>

static bool beats(const struct lull_merge *merge, uint32_t a, uint32_t b)
{
    int64_t x = merge->times[a], y = merge->times[b];
    return x < y || (x == y && a < b);
}

void lull_merge_init(struct lull_merge *merge, uint32_t n)
{
    lull_merge_clear(merge);
    merge->n = n;
    merge->times = g_new(int64_t, MAX(n, 1));
    merge->losers = g_new0(uint32_t, MAX(n, 1));
}

void lull_merge_clear(struct lull_merge *merge)
{
    g_clear_pointer(&merge->times, g_free);
    g_clear_pointer(&merge->losers, g_free);
    merge->n = 0;
}

/* The best of those that the winner has beaten itself: nobody else can be second. */
static void find_second(struct lull_merge *merge)
{
    merge->second = UINT32_MAX;
    merge->second_time = INT64_MAX;
    for (uint32_t node = (merge->n + merge->winner) / 2; node > 0; node /= 2) {
        uint32_t loser = merge->losers[node];
        if (merge->second == UINT32_MAX || beats(merge, loser, merge->second)) {
            merge->second = loser;
            merge->second_time = merge->times[loser];
        }
    }
}

void lull_merge_play(struct lull_merge *merge)
{
    uint32_t n = merge->n;
    if (n == 0) {
        return;
    }
    g_autofree uint32_t *winners = g_new(uint32_t, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++) {
        winners[n + i] = i;
    }
    for (uint32_t node = n - 1; node > 0; node--) {
        uint32_t a = winners[2 * node], b = winners[2 * node + 1];
        bool a_wins = beats(merge, a, b);
        winners[node] = a_wins ? a : b;
        merge->losers[node] = a_wins ? b : a;
    }
    merge->winner = n == 1 ? 0 : winners[1];
    find_second(merge);
}

void lull_merge_replay(struct lull_merge *merge)
{
    uint32_t champion = merge->winner;
    for (uint32_t node = (merge->n + champion) / 2; node > 0; node /= 2) {
        uint32_t other = merge->losers[node];
        if (beats(merge, other, champion)) {
            merge->losers[node] = champion;
            champion = other;
        }
    }
    merge->winner = champion;
    find_second(merge);
}
