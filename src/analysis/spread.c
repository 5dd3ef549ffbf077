/* SPDX-License-Identifier: MIT */
/* Sets of durations for many things at once. A distribution with buckets takes kilobytes, so a set
 * gets them only when its values would take as much. */
#include "analysis/spread.h"

#include <stdlib.h>
#include <string.h>

enum { EXACT_VALUES = 1024 };

static void give_buckets(struct lull_distribution *spread)
{
    struct lull_distribution many = {.has_buckets = true};
    for (size_t i = 0; i < spread->values.count; i++) {
        lull_distribution_add(&many, spread->values.items[i]);
    }
    lull_distribution_clear(spread);
    *spread = many;
}

void lull_spread_add(struct lull_distribution *spread, int64_t duration_ns)
{
    if (spread->count == 0) {
        spread->keep_values = true;
    } else if (spread->count == EXACT_VALUES && spread->keep_values) {
        give_buckets(spread);
    }
    lull_distribution_add(spread, duration_ns);
}

struct lull_cell *lull_spread_cells(const struct lull_distribution *spread, struct lull_cell *cells)
{
    if (spread->count == 0) {
        return cells + 4; /* cleared: EMPTY */
    }
    double deviation = lull_distribution_deviation(spread);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, spread->min);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, lull_distribution_mean(spread));
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, spread->max);
    *cells++ = deviation >= 0 ? lull_cell_real(LULL_CELL_DURATION, deviation)
                              : (struct lull_cell){.class = LULL_CELL_UNKNOWN};
    return cells;
}

struct lull_cell *lull_spread_cells_or_zeroes(const struct lull_distribution *spread, bool is_lami,
                                              struct lull_cell *cells)
{
    if (spread->count || !is_lami) {
        return lull_spread_cells(spread, cells);
    }
    for (size_t i = 0; i < 3; i++) {
        *cells++ = lull_cell_integer(LULL_CELL_DURATION, 0);
    }
    *cells++ = (struct lull_cell){.class = LULL_CELL_UNKNOWN};
    return cells;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank, as lull_distribution_quantile(), of sorted values. */
static int64_t exact_quantile(const int64_t *sorted, uint64_t count, uint32_t per_mille)
{
    uint64_t rank = (count * per_mille + 999) / 1000;
    return sorted[MAX(rank, 1) - 1];
}

struct lull_cell *lull_spread_percentiles(const struct lull_distribution *spread,
                                          struct lull_cell *cells)
{
    static const uint32_t per_mille[] = {500, 900, 990, 999};
    /* Few values are sorted here, once for all: there may be tens of thousands of small sets. */
    int64_t sorted[EXACT_VALUES];
    if (spread->count == 0) {
        return cells + G_N_ELEMENTS(per_mille);
    }
    bool is_small = spread->values.count == spread->count && spread->count <= EXACT_VALUES;
    if (is_small) {
        memcpy(sorted, spread->values.items, spread->count * sizeof *sorted);
        qsort(sorted, spread->count, sizeof *sorted, compare);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(per_mille); i++) {
        int64_t value = is_small ? exact_quantile(sorted, spread->count, per_mille[i])
                                 : lull_distribution_quantile(spread, per_mille[i] / 1000.0);
        *cells++ = lull_cell_integer(LULL_CELL_DURATION, value);
    }
    return cells;
}
