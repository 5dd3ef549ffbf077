/* SPDX-License-Identifier: MIT */
/* Histograms as tables. */
#include "analysis/histogram.h"

enum { LOGARITHMIC_BINS = 64 };

void lull_histograms_add(struct lull_histograms *list, const char *title,
                         const struct lull_distribution *values)
{
    if (values->count) {
        lull_vec_push(&list->items, (struct lull_titled_distribution){g_strdup(title), values});
    }
}

void lull_histograms_clear(struct lull_histograms *list)
{
    for (size_t i = 0; i < list->items.count; i++) {
        g_free(list->items.items[i].title);
    }
    lull_vec_free(&list->items);
}

/* Bins of all sets: column by column, n_bins each. */
struct series {
    struct lull_bin *bins;
    uint32_t n_bins, n_sets;
    enum lull_cell_class bounds;
    double scale;
};

static struct series make_series(const struct lull_histograms *list,
                                 const struct lull_result_class *class, uint32_t n_sets)
{
    return (struct series){.n_sets = n_sets,
                           .bounds = class->columns[0].class,
                           .scale = list->scale > 0 ? list->scale : 1};
}

static void series_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct series *series = user;
    *cells++ = lull_cell_real(series->bounds, series->bins[row].lower * series->scale);
    *cells++ = lull_cell_real(series->bounds, series->bins[row].upper * series->scale);
    for (uint32_t set = 0; set < series->n_sets; set++) {
        *cells++ = lull_cell_integer(
            LULL_CELL_NUMBER, (int64_t)series->bins[(size_t)set * series->n_bins + row].count);
    }
}

struct range {
    int64_t min, max;
};

static struct range range_of_all(const struct lull_histograms *list)
{
    struct range range = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < list->items.count; i++) {
        range.min = MIN(range.min, list->items.items[i].values->min);
        range.max = MAX(range.max, list->items.items[i].values->max);
    }
    return range;
}

static struct range bounded(const struct lull_histograms *list,
                            const struct lull_question_params *params, struct range range)
{
    if (list->is_bounded && params->min_ns != INT64_MIN) {
        range.min = params->min_ns;
    }
    if (list->is_bounded && params->max_ns != INT64_MAX) {
        range.max = params->max_ns;
    }
    return range;
}

/* Returns how many; 0: nothing to show. */
static uint32_t make_bins(const struct lull_question_params *params,
                          const struct lull_distribution *values, struct range range,
                          struct lull_bin *bins)
{
    if (params->freq_logarithmic) {
        return lull_distribution_logarithmic(values, bins);
    }
    if (lull_distribution_linear(values, range.min, range.max, params->freq_resolution, bins)) {
        return params->freq_resolution;
    }
    if (params->is_lami) {
        return 0;
    }
    if (range.min != values->min || range.max != values->max) {
        return 0; /* no value can be within */
    }
    bins[0] = (struct lull_bin){(double)range.min, (double)range.max, values->count};
    return 1;
}

static void emit_each(const struct lull_histograms *list, const struct lull_question_params *params,
                      const struct lull_result_class *class, struct lull_sink *sink)
{
    const struct range all = range_of_all(list);
    struct series one = make_series(list, class, 1);
    one.bins = g_new(struct lull_bin, MAX(params->freq_resolution, LOGARITHMIC_BINS));
    for (size_t i = 0; i < list->items.count; i++) {
        const struct lull_titled_distribution *item = &list->items.items[i];
        const struct range own = {item->values->min, item->values->max};
        const struct range range = bounded(list, params, params->freq_uniform ? all : own);
        one.n_bins = make_bins(params, item->values, range, one.bins);
        sink->table(sink, &(struct lull_result_table){.class = class,
                                                      .subtitle = item->title,
                                                      .n_rows = one.n_bins,
                                                      .row = series_row,
                                                      .user = &one});
    }
    g_free(one.bins);
}

/* Bins of powers of two start at that of the smallest value of all sets. */
static uint32_t logarithmic_series(const struct lull_histograms *list, struct lull_bin *bins)
{
    struct lull_distribution all = {.has_buckets = true};
    struct lull_bin one[LOGARITHMIC_BINS];
    for (size_t i = 0; i < list->items.count; i++) {
        lull_distribution_merge(&all, list->items.items[i].values);
    }
    const uint32_t n_bins = lull_distribution_logarithmic(&all, one);
    for (size_t i = 0; i < list->items.count; i++) {
        struct lull_bin *mine = bins + i * n_bins;
        memcpy(mine, one, n_bins * sizeof *one);
        struct lull_bin found[LOGARITHMIC_BINS];
        const uint32_t n = lull_distribution_logarithmic(list->items.items[i].values, found);
        for (uint32_t bin = 0, at = 0; bin < n_bins; bin++) {
            const bool is_mine = at < n && found[at].lower == mine[bin].lower;
            mine[bin].count = is_mine ? found[at++].count : 0;
        }
    }
    lull_distribution_clear(&all);
    return n_bins;
}

static uint32_t linear_series(const struct lull_histograms *list,
                              const struct lull_question_params *params, struct lull_bin *bins)
{
    const struct range all = bounded(list, params, range_of_all(list));
    uint32_t n_bins = 0;
    for (size_t i = 0; i < list->items.count; i++) {
        n_bins = make_bins(params, list->items.items[i].values, all, bins + i * n_bins);
    }
    return n_bins;
}

static void emit_series(const struct lull_histograms *list,
                        const struct lull_question_params *params,
                        const struct lull_result_class *class, const char *title,
                        struct lull_sink *sink)
{
    const uint32_t n = (uint32_t)list->items.count;
    struct lull_result_column *columns = g_new0(struct lull_result_column, n + 3);
    const struct lull_result_class series_class = {
        .name = "freq-series", .title = title, .columns = columns, .kind = LULL_TABLE_HISTOGRAM};
    struct series series = make_series(list, class, n);
    columns[0] = class->columns[0];
    columns[1] = class->columns[1];
    for (uint32_t i = 0; i < n; i++) {
        columns[i + 2] = class->columns[2];
        columns[i + 2].title = columns[i + 2].heading = columns[i + 2].key =
            list->items.items[i].title;
        columns[i + 2].use &= ~(unsigned)LULL_USE_BAR;
    }
    series.bins =
        g_new(struct lull_bin, (size_t)n * MAX(params->freq_resolution, LOGARITHMIC_BINS));
    series.n_bins = params->freq_logarithmic ? logarithmic_series(list, series.bins)
                                             : linear_series(list, params, series.bins);
    sink->table(sink, &(struct lull_result_table){.class = &series_class,
                                                  .columns = columns,
                                                  .n_rows = series.n_bins,
                                                  .row = series_row,
                                                  .user = &series});
    g_free(series.bins);
    g_free(columns);
}

void lull_histograms_emit(const struct lull_histograms *list,
                          const struct lull_question_params *params,
                          const struct lull_result_class *class, const char *series_title,
                          struct lull_sink *sink)
{
    bool has_titles = true;
    for (size_t i = 0; i < list->items.count; i++) {
        has_titles &= list->items.items[i].title != NULL;
    }
    if (params->freq_series && series_title && has_titles && list->items.count) {
        emit_series(list, params, class, series_title, sink);
    } else {
        emit_each(list, params, class, sink);
    }
}
