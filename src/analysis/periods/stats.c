/* SPDX-License-Identifier: MIT */
/* Tables of statistics and histograms of periods. */
#include "analysis/histogram.h"
#include "analysis/periods/pairs.h"
#include "analysis/spread.h"

/* ---- the tree of definitions ---- */

static const struct lull_result_column tree_columns[] = {
    {"Period", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},
    {"Definition", "DEFINITION", "definition", LULL_CELL_STRING, NULL, 0},
    {0},
};
const struct lull_result_class period_tree_class = {
    .name = "tree", .title = "Period tree", .columns = tree_columns, .is_own = true};

struct tree {
    const struct period_report *report;
    uint32_t *order; /* definitions, each followed by its children */
    uint32_t n;
    char *text;
};

static void add_below(struct tree *tree, uint32_t parent)
{
    for (uint32_t i = 0; i < lull_periods_count(tree->report->periods); i++) {
        if (period_definition(tree->report, i)->parent == parent) {
            tree->order[tree->n++] = i;
            add_below(tree, i); /* at most LULL_PERIOD_MOST_DEEP deep */
        }
    }
}

static void tree_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct tree *tree = (struct tree *)user;
    char unnamed[LULL_PERIOD_UNNAMED];
    const uint32_t number = tree->order[row];
    const struct lull_period *period = period_definition(tree->report, number);
    const char *name = period->name ? period->name : period_path(tree->report, number, unnamed);
    g_free(tree->text);
    tree->text = g_strdup_printf("%*s%s", (int)period->depth * 2, "", name);
    cells[0] = lull_cell_text(LULL_CELL_STRING, tree->text);
    cells[1] = lull_cell_text(LULL_CELL_STRING, period->text);
}

void period_report_tree(const struct period_report *report)
{
    struct tree tree = {.report = report};
    tree.order = g_new(uint32_t, MAX(lull_periods_count(report->periods), 1));
    add_below(&tree, LULL_NO_PERIOD);
    report->sink->table(report->sink, &(struct lull_result_table){.class = &period_tree_class,
                                                                  .n_rows = tree.n,
                                                                  .row = tree_row,
                                                                  .user = &tree});
    g_free(tree.order);
    g_free(tree.text);
}

/* ---- statistics ---- */

static const struct lull_result_column stats_columns[] = {
    {"Period name", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},
    {"Period count", "COUNT", "count", LULL_CELL_NUMBER, "occurences", 0},
    LULL_SPREAD_COLUMNS("duration", "Period duration"),
    {"Total runtime", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, 0},
    LULL_SPREAD_PERCENTILES,
    {0},
};
const struct lull_result_class period_stats_class = {
    .name = "per_period_stats", .title = "Period statistics", .columns = stats_columns};

#define PAIR_COLUMNS(class, unit, suffix)                                                          \
    {"Period name", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},                                \
        {"Parent", "PARENT", "parent", LULL_CELL_STRING, NULL, 0},                                 \
        {PAIR_TITLE("Minimum", suffix), "MIN", "min" suffix, class, unit, 0},                      \
        {PAIR_TITLE("Average", suffix), "AVG", "avg" suffix, class, unit, 0},                      \
        {PAIR_TITLE("Maximum", suffix), "MAX", "max" suffix, class, unit, 0}
#define PAIR_TITLE(text, suffix) (sizeof suffix > 1 ? text " duration" : text)

static const struct lull_result_column pair_duration_columns[] = {
    PAIR_COLUMNS(LULL_CELL_DURATION, NULL, "_ns"),
    {"Period duration standard deviation", "STDEV", "stdev_ns", LULL_CELL_DURATION, NULL, 0},
    {0},
};
static const struct lull_result_column pair_count_columns[] = {
    PAIR_COLUMNS(LULL_CELL_NUMBER, "occurences", ""),
    {"Standard deviation", "STDEV", "stdev", LULL_CELL_NUMBER, NULL, 0},
    {0},
};
static const struct lull_result_column pair_ratio_columns[] = {
    PAIR_COLUMNS(LULL_CELL_NUMBER, "%", ""),
    {"Standard deviation", "STDEV", "stdev", LULL_CELL_NUMBER, "%", 0},
    {0},
};
const struct lull_result_class period_parent_durations_class = {
    .name = "per_parent_stats",
    .title = "Per-parent period duration statistics",
    .columns = pair_duration_columns};
const struct lull_result_class period_parent_ratios_class = {.name = "per_parent_percentage",
                                                             .title = "Per-parent duration ratio",
                                                             .columns = pair_ratio_columns};
const struct lull_result_class period_parent_counts_class = {
    .name = "per_parent_count",
    .title = "Per-parent period count statistics",
    .columns = pair_count_columns};

static const struct lull_result_class *const pair_classes[PERIOD_MEASURES] = {
    [PERIOD_DURATION] = &period_parent_durations_class,
    [PERIOD_RATIO] = &period_parent_ratios_class,
    [PERIOD_COUNT] = &period_parent_counts_class,
};

struct stats_rows {
    const struct period_report *report;
    const struct period_stats *stats;
    uint32_t *shown; /* definitions that occurred */
    bool is_global;
    enum period_measure measure;
    char unnamed[LULL_PERIOD_UNNAMED];
};

static void stats_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct stats_rows *rows = (struct stats_rows *)user;
    const uint32_t period = rows->shown[row];
    const struct lull_distribution *durations = &rows->stats->durations[period];
    const char *name = period_path(rows->report, period, rows->unnamed);
    *cells++ = lull_cell_text(LULL_CELL_STRING, name);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)durations->count);
    cells = lull_spread_cells(durations, cells);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, (int64_t)durations->sum);
    lull_spread_percentiles(durations, cells);
}

static struct lull_cell pair_cell(enum period_measure measure, double value)
{
    if (measure == PERIOD_RATIO) {
        return lull_cell_real(LULL_CELL_NUMBER, value * PERIOD_RATIO_SCALE);
    }
    return lull_cell_real(measure == PERIOD_COUNT ? LULL_CELL_NUMBER : LULL_CELL_DURATION, value);
}

static struct lull_cell pair_integer(enum period_measure measure, int64_t value)
{
    if (measure == PERIOD_RATIO) {
        return pair_cell(measure, (double)value);
    }
    return lull_cell_integer(measure == PERIOD_COUNT ? LULL_CELL_NUMBER : LULL_CELL_DURATION,
                             value);
}

static void pair_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct stats_rows *rows = user;
    const struct period_pair *pair = &rows->stats->pairs[row];
    const struct lull_distribution *values = &pair->values[rows->is_global][rows->measure];
    const struct lull_cell unknown = {.class = LULL_CELL_UNKNOWN};
    double deviation = lull_distribution_deviation(values);
    bool has_any = values->count > 0;
    *cells++ = lull_cell_text(LULL_CELL_STRING, period_definition(rows->report, pair->inner)->path);
    *cells++ =
        lull_cell_text(LULL_CELL_STRING, period_definition(rows->report, pair->ancestor)->path);
    *cells++ = has_any ? pair_integer(rows->measure, values->min) : unknown;
    *cells++ = has_any ? pair_cell(rows->measure, lull_distribution_mean(values)) : unknown;
    *cells++ = has_any ? pair_integer(rows->measure, values->max) : unknown;
    *cells++ = deviation >= 0 ? pair_cell(rows->measure, deviation) : unknown;
}

static void report_pairs(struct stats_rows *rows, const struct period_set *set)
{
    struct lull_sink *sink = rows->report->sink;
    for (int is_global = 0; is_global < 2; is_global++) {
        for (int measure = 0; measure < PERIOD_MEASURES; measure++) {
            const char *which = is_global ? "Globally" : "With active children";
            g_autofree char *subtitle =
                set->title ? g_strdup_printf("'%s' - %s", set->title, which) : g_strdup(which);
            rows->is_global = is_global;
            rows->measure = measure;
            sink->table(sink, &(struct lull_result_table){.class = pair_classes[measure],
                                                          .subtitle = subtitle,
                                                          .n_rows = rows->stats->n_pairs,
                                                          .row = pair_row,
                                                          .user = rows});
        }
    }
}

void period_report_stats(const struct period_report *report, const struct period_set *set)
{
    struct period_stats stats;
    struct stats_rows rows = {.report = report, .stats = &stats};
    uint32_t n = 0;
    period_stats_make(report, set, false, &stats);
    rows.shown = g_new(uint32_t, MAX(stats.n_periods, 1));
    for (uint32_t i = 0; i < stats.n_periods; i++) {
        if (stats.durations[i].count > 0) {
            rows.shown[n++] = i;
        }
    }
    report->sink->table(report->sink, &(struct lull_result_table){.class = &period_stats_class,
                                                                  .subtitle = set->title,
                                                                  .n_rows = n,
                                                                  .row = stats_row,
                                                                  .user = &rows});
    if (stats.n_pairs > 0) {
        report_pairs(&rows, set);
    }
    g_free(rows.shown);
    period_stats_clear(&stats);
}

/* ---- histograms ---- */

static const struct lull_result_column freq_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Duration", "_ns", LULL_CELL_DURATION, NULL, "Period duration", NULL),
    {0},
};
static const struct lull_result_column freq_count_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Count", "", LULL_CELL_NUMBER, NULL, "Period count", "count"),
    {0},
};
static const struct lull_result_column freq_ratio_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Ratio", "", LULL_CELL_NUMBER, "%", "Period usage ratio", NULL),
    {0},
};
const struct lull_result_class period_freq_class = {.name = "freq_duration",
                                                    .title =
                                                        "Period duration frequency distribution",
                                                    .columns = freq_columns,
                                                    .kind = LULL_TABLE_HISTOGRAM};
const struct lull_result_class period_freq_counts_class = {
    .name = "freq_count",
    .title = "Period count frequency distribution",
    .columns = freq_count_columns,
    .kind = LULL_TABLE_HISTOGRAM};
const struct lull_result_class period_freq_ratios_class = {
    .name = "freq_ratio",
    .title = "Period usage ratio frequency distribution",
    .columns = freq_ratio_columns,
    .kind = LULL_TABLE_HISTOGRAM};

static void add_title(struct lull_histograms *list, const struct period_set *set, const char *text,
                      const struct lull_distribution *values)
{
    g_autofree char *title =
        set->title ? g_strdup_printf("'%s' - %s", set->title, text) : g_strdup(text);
    lull_histograms_add(list, title, values);
}

static void report_durations(const struct period_report *report, const struct period_set *set,
                             const struct period_stats *stats)
{
    struct lull_histograms list = {.scale = 1, .is_bounded = true};
    char unnamed[LULL_PERIOD_UNNAMED];
    for (uint32_t i = 0; i < stats->n_periods; i++) {
        const struct lull_period *period = period_definition(report, i);
        g_autofree char *text = g_strconcat(
            "Duration of period: ", period->name ? period->name : period_path(report, i, unnamed),
            NULL);
        add_title(&list, set, text, &stats->durations[i]);
    }
    lull_histograms_emit(&list, report->params, &period_freq_class, NULL, report->sink);
    lull_histograms_clear(&list);
}

static void report_measure(const struct period_report *report, const struct period_set *set,
                           const struct period_stats *stats, enum period_measure measure,
                           bool is_global)
{
    static const struct {
        const struct lull_result_class *class;
        const char *each, *global;
        double scale;
    } measures[PERIOD_MEASURES] = {
        [PERIOD_DURATION] = {&period_freq_class, "Duration", "Global duration", 1},
        [PERIOD_RATIO] = {&period_freq_ratios_class, "Usage ratio", "Global usage ratio",
                          PERIOD_RATIO_SCALE},
        [PERIOD_COUNT] = {&period_freq_counts_class, "Number", "Global number", 1},
    };
    struct lull_histograms list = {.scale = measures[measure].scale,
                                   .is_bounded = measure == PERIOD_DURATION};
    for (uint32_t i = 0; i < stats->n_pairs; i++) {
        const struct period_pair *pair = &stats->pairs[i];
        g_autofree char *text = g_strdup_printf(
            "%s of %s per %s", is_global ? measures[measure].global : measures[measure].each,
            period_definition(report, pair->inner)->path,
            period_definition(report, pair->ancestor)->path);
        add_title(&list, set, text, &pair->values[is_global][measure]);
    }
    lull_histograms_emit(&list, report->params, measures[measure].class, NULL, report->sink);
    lull_histograms_clear(&list);
}

void period_report_freq(const struct period_report *report, const struct period_set *set)
{
    struct period_stats stats;
    period_stats_make(report, set, true, &stats);
    report_durations(report, set, &stats);
    for (int is_global = 0; is_global < 2; is_global++) {
        for (int measure = 0; measure < PERIOD_MEASURES; measure++) {
            report_measure(report, set, &stats, measure, is_global);
        }
    }
    period_stats_clear(&stats);
}
