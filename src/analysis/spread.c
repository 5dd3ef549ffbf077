/* Sets of durations for many things at once. A distribution with buckets takes kilobytes, so a set
 * gets them only when its values would take as much. */
#include "analysis/spread.h"

enum { EXACT_VALUES = 1024 };

static void give_buckets(struct lull_distribution *spread)
{
    struct lull_distribution many = {.has_buckets = true};
    for (size_t i = 0; i < spread->values.count; i++)
        lull_distribution_add(&many, spread->values.items[i]);
    lull_distribution_clear(spread);
    *spread = many;
}

void lull_spread_add(struct lull_distribution *spread, int64_t duration_ns)
{
    if (spread->count == 0)
        spread->keep_values = true;
    else if (spread->count == EXACT_VALUES && spread->keep_values)
        give_buckets(spread);
    lull_distribution_add(spread, duration_ns);
}

struct lull_cell *lull_spread_cells(const struct lull_distribution *spread, struct lull_cell *cells)
{
    const struct lull_cell unknown = {.class = LULL_CELL_UNKNOWN};
    double deviation = lull_distribution_deviation(spread);
    bool has_any = spread->count > 0;
    *cells++ = has_any ? lull_cell_integer(LULL_CELL_DURATION, spread->min) : unknown;
    *cells++ =
        has_any ? lull_cell_real(LULL_CELL_DURATION, lull_distribution_mean(spread)) : unknown;
    *cells++ = has_any ? lull_cell_integer(LULL_CELL_DURATION, spread->max) : unknown;
    *cells++ = deviation >= 0 ? lull_cell_real(LULL_CELL_DURATION, deviation) : unknown;
    return cells;
}

struct lull_cell *lull_spread_percentiles(const struct lull_distribution *spread,
                                          struct lull_cell *cells)
{
    static const double shares[] = {0.5, 0.9, 0.99, 0.999};
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++)
        *cells++ = spread->count ? lull_cell_integer(LULL_CELL_DURATION,
                                                     lull_distribution_quantile(spread, shares[i]))
                                 : (struct lull_cell){.class = LULL_CELL_UNKNOWN};
    return cells;
}
