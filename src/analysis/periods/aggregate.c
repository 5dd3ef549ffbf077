/* SPDX-License-Identifier: MIT */
/* The aggregated log: for each instance of an ancestor, what it had of each selected period inside.
 */
#include "analysis/period_windows.h"
#include "analysis/periods/private.h"
#include "analysis/spread.h"

static const struct lull_result_column aggregated_columns[] = {
    {"Parent period name", "PARENT", "parent", LULL_CELL_STRING, NULL, 0},
    {"Parent begin timestamp", "BEGIN", "parent_begin_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Parent end timestamp", "END", "parent_end_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Parent period duration", "DURATION", "parent_duration_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN},
    {"Child period name", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},
    {"Period count", "COUNT", "count", LULL_CELL_NUMBER, "occurences", 0},
    LULL_SPREAD_COLUMNS("duration", "Period duration"),
    {"Total runtime", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, 0},
    {"Parent captures", "CAPTURES", "captures", LULL_CELL_STRING, NULL, 0},
    {0},
};
const struct lull_result_class period_aggregated_class = {.name = "aggregated_stats",
                                                          .title = "Aggregated log",
                                                          .columns = aggregated_columns,
                                                          .kind = LULL_TABLE_LOG};

static const struct lull_result_column pair_columns[] = {
    {"Parent begin timestamp", "BEGIN", "parent_begin_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Parent end timestamp", "END", "parent_end_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Parent period name", "PARENT", "parent", LULL_CELL_STRING, NULL, 0},
    {"Child begin timestamp", "BEGIN", "begin_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Child end timestamp", "END", "end_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Child period name", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},
    {"Child period duration", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, 0},
    {"Parent period duration", "DURATION", "parent_duration_ns", LULL_CELL_DURATION, NULL, 0},
    {"Captures", "CAPTURES", "captures", LULL_CELL_STRING, NULL, 0},
    {0},
};
const struct lull_result_class period_pairs_class = {.name = "aggregated_log",
                                                     .title = "Hierarchical period log",
                                                     .columns = pair_columns,
                                                     .kind = LULL_TABLE_LOG};
const struct lull_result_class period_pairs_top_class = {
    .name = "aggregated_top", .title = "Aggregated period top", .columns = pair_columns};

/* An ancestor's instance and one that lies in it. */
struct pair {
    uint32_t ancestor, inner;
};

struct pairs {
    const struct period_report *report;
    GArray *list; /* struct pair */
    GArray *rows; /* of the aggregated log: where each starts in the list */
    char *captures;
};

static int by_ancestor(const void *left, const void *right, void *user)
{
    const struct period_report *report = user;
    const struct pair *a = left, *b = right;
    const uint32_t period_a = period_instance(report, a->inner)->period;
    const uint32_t period_b = period_instance(report, b->inner)->period;
    if (a->ancestor != b->ancestor) {
        return a->ancestor < b->ancestor ? -1 : 1;
    }
    if (period_a != period_b) {
        return period_a < period_b ? -1 : 1;
    }
    return a->inner < b->inner ? -1 : a->inner > b->inner;
}

static int by_duration(const void *left, const void *right, void *user)
{
    const struct period_report *report = user;
    const struct pair *a = left, *b = right;
    const int64_t long_a = period_duration(period_instance(report, a->inner));
    const int64_t long_b = period_duration(period_instance(report, b->inner));
    if (long_a != long_b) {
        return long_a > long_b ? -1 : 1;
    }
    return by_ancestor(left, right, user);
}

/* The members' pairs with the requested ancestor. */
static void find_pairs(struct pairs *pairs, const struct period_set *set)
{
    const struct period_report *report = pairs->report;
    for (uint32_t i = 0; i < set->n; i++) {
        report->positions[set->members[i]] = 0;
    }
    for (uint32_t i = 0; i < set->n; i++) {
        const struct lull_period_instance *at = period_instance(report, set->members[i]);
        uint32_t above = at->parent;
        if (!report->question->is_selected[at->period] || !report->is_whole[set->members[i]]) {
            continue;
        }
        while (above != LULL_NO_PERIOD && report->positions[above] != SIZE_MAX &&
               period_instance(report, above)->period != report->question->ancestor) {
            above = period_instance(report, above)->parent;
        }
        if (above != LULL_NO_PERIOD && report->positions[above] != SIZE_MAX) {
            const struct pair pair = {above, set->members[i]};
            g_array_append_val(pairs->list, pair);
        }
    }
    for (uint32_t i = 0; i < set->n; i++) {
        report->positions[set->members[i]] = SIZE_MAX;
    }
}

static void set_captures(struct pairs *pairs, uint32_t instance)
{
    const struct period_report *report = pairs->report;
    g_free(pairs->captures);
    pairs->captures =
        report->params->is_lami
            ? lull_period_captures_whole_json(report->periods, report->tracker, instance)
            : lull_period_captures_text(report->periods, report->tracker, instance);
}

static void aggregated_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct pairs *pairs = (struct pairs *)user;
    const struct period_report *report = pairs->report;
    const uint32_t start = g_array_index(pairs->rows, uint32_t, row);
    const uint32_t end = g_array_index(pairs->rows, uint32_t, row + 1);
    const struct pair *first = &g_array_index(pairs->list, struct pair, start);
    const struct lull_period_instance *ancestor = period_instance(report, first->ancestor);
    struct lull_distribution durations = {.count = 0};
    for (uint32_t i = start; i < end; i++) {
        const uint32_t inner = g_array_index(pairs->list, struct pair, i).inner;
        lull_distribution_add(&durations, period_duration(period_instance(report, inner)));
    }
    set_captures(pairs, first->ancestor);
    *cells++ = lull_cell_text(LULL_CELL_STRING, period_definition(report, ancestor->period)->name);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, ancestor->start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, ancestor->end_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, period_duration(ancestor));
    *cells++ = lull_cell_text(
        LULL_CELL_STRING,
        period_definition(report, period_instance(report, first->inner)->period)->path);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)durations.count);
    cells = lull_spread_cells(&durations, cells);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, (int64_t)durations.sum);
    *cells++ = lull_cell_text(LULL_CELL_STRING, pairs->captures);
    lull_distribution_clear(&durations);
}

static void clear(struct pairs *pairs)
{
    g_array_unref(pairs->list);
    g_array_unref(pairs->rows);
    g_free(pairs->captures);
}

static void start(struct pairs *pairs, const struct period_report *report,
                  const struct period_set *set)
{
    *pairs = (struct pairs){.report = report};
    pairs->list = g_array_new(FALSE, FALSE, sizeof(struct pair));
    pairs->rows = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    find_pairs(pairs, set);
    g_array_sort_with_data(pairs->list, by_ancestor, (gpointer)report);
}

void period_report_aggregated(const struct period_report *report, const struct period_set *set)
{
    struct pairs pairs;
    start(&pairs, report, set);
    for (uint32_t i = 0; i < pairs.list->len; i++) {
        const struct pair *pair = &g_array_index(pairs.list, struct pair, i);
        const uint32_t period = period_instance(report, pair->inner)->period;
        if (i == 0 || pair[-1].ancestor != pair->ancestor ||
            period_instance(report, pair[-1].inner)->period != period) {
            g_array_append_val(pairs.rows, i);
        }
    }
    const uint32_t n_rows = pairs.rows->len;
    g_array_append_val(pairs.rows, pairs.list->len);
    if (n_rows > 0 || !set->title) {
        report->sink->table(report->sink,
                            &(struct lull_result_table){.class = &period_aggregated_class,
                                                        .subtitle = set->title,
                                                        .n_rows = n_rows,
                                                        .row = aggregated_row,
                                                        .user = &pairs});
    }
    clear(&pairs);
}

/* ---- pairs ---- */

static void pair_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct pairs *pairs = (struct pairs *)user;
    const struct period_report *report = pairs->report;
    const struct pair *pair = &g_array_index(pairs->list, struct pair, row);
    const struct lull_period_instance *ancestor = period_instance(report, pair->ancestor);
    const struct lull_period_instance *inner = period_instance(report, pair->inner);
    set_captures(pairs, pair->inner);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, ancestor->start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, ancestor->end_ns);
    *cells++ = lull_cell_text(LULL_CELL_STRING, period_definition(report, ancestor->period)->path);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, inner->start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, inner->end_ns);
    *cells++ = lull_cell_text(LULL_CELL_STRING, period_definition(report, inner->period)->path);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, period_duration(inner));
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, period_duration(ancestor));
    *cells++ = lull_cell_text(LULL_CELL_STRING, pairs->captures);
}

void period_report_pairs(const struct period_report *report, bool is_top)
{
    const struct period_set all = {.members = report->all, .n = report->n_counted};
    struct pairs pairs;
    start(&pairs, report, &all);
    uint32_t n_rows = pairs.list->len;
    if (is_top) {
        g_array_sort_with_data(pairs.list, by_duration, (gpointer)report);
        n_rows = report->params->limit > 0 ? MIN(n_rows, report->params->limit) : n_rows;
    }
    report->sink->table(
        report->sink,
        &(struct lull_result_table){.class = is_top ? &period_pairs_top_class : &period_pairs_class,
                                    .n_rows = n_rows,
                                    .row = pair_row,
                                    .user = &pairs});
    clear(&pairs);
}
