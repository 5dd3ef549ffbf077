/* SPDX-License-Identifier: MIT */
/* Ranks by duration. */
#include "analysis/slow.h"

#include <math.h>

#define DEFAULT_PERCENT 10.0

static gint quickest_first(gconstpointer a, gconstpointer b)
{
    const struct lull_timed *x = a, *y = b;
    if (x->took_ns != y->took_ns) {
        return x->took_ns < y->took_ns ? -1 : 1;
    }
    return x->position < y->position ? -1 : x->position > y->position;
}

static int64_t took(const GArray *sorted, guint i)
{
    return g_array_index(sorted, struct lull_timed, i).took_ns;
}

/* How many of the sorted are not slow. */
static guint first_of_slowest(const GArray *sorted, double percent)
{
    const double count = floor(sorted->len * percent / 100);
    return sorted->len - (guint)CLAMP(count, 1, sorted->len);
}

static guint first_slower_than(const GArray *sorted, int64_t ns)
{
    guint first = sorted->len;
    while (first > 0 && took(sorted, first - 1) > ns) {
        first--;
    }
    return first;
}

static guint first_slow(const GArray *sorted, const struct lull_slow_rule *rule)
{
    if (rule->slower_than_ns != INT64_MIN) {
        return first_slower_than(sorted, rule->slower_than_ns);
    }
    if (rule->n_slowest > 0) {
        return sorted->len - (guint)MIN(rule->n_slowest, sorted->len);
    }
    if (rule->slowest >= 0) {
        return first_of_slowest(sorted, rule->slowest);
    }
    const guint slowest = first_of_slowest(sorted, DEFAULT_PERCENT);
    const double lower = (double)took(sorted, sorted->len / 4);
    const double upper = (double)took(sorted, (3 * sorted->len - 1) / 4);
    const guint beyond =
        first_slower_than(sorted, (int64_t)MIN(upper + 1.5 * (upper - lower), 9.2e18));
    return beyond < sorted->len ? MAX(slowest, beyond) : slowest;
}

struct lull_slow lull_slow_choose(const GArray *all, const struct lull_slow_rule *rule)
{
    struct lull_slow chosen = {g_array_new(FALSE, FALSE, sizeof(struct lull_timed)),
                               g_array_new(FALSE, FALSE, sizeof(struct lull_timed))};
    if (all->len < LULL_FEWEST_INSTANCES) {
        return chosen;
    }
    g_autoptr(GArray) sorted = g_array_sized_new(FALSE, FALSE, sizeof(struct lull_timed), all->len);
    g_array_append_vals(sorted, all->data, all->len);
    g_array_sort(sorted, quickest_first);
    const guint slow = first_slow(sorted, rule);
    const guint low = (guint)floor(sorted->len * rule->typical[0] / 100);
    const guint high = (guint)ceil(sorted->len * rule->typical[1] / 100);
    for (guint i = low; i < MIN(high, slow); i++) {
        g_array_append_val(chosen.typical, g_array_index(sorted, struct lull_timed, i));
    }
    for (guint i = slow; i < sorted->len; i++) {
        g_array_append_val(chosen.slow, g_array_index(sorted, struct lull_timed, i));
    }
    return chosen;
}

void lull_slow_clear(struct lull_slow *slow)
{
    g_clear_pointer(&slow->slow, g_array_unref);
    g_clear_pointer(&slow->typical, g_array_unref);
}
