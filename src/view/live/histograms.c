/* SPDX-License-Identifier: MIT */
/* The table of histograms, with the range of lengths that occur. */
#include "view/live/histograms.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "view/table.h"
#include "view/words.h"

#define BAR_WIDTH 7 /* as wide as the titles */

uint32_t lull_histogram_kinds(const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                              struct lull_histogram_column columns[LULL_HISTOGRAM_COLUMNS])
{
    static const struct {
        enum lull_track_measure measure;
        const char *title, *name;
    } kinds[] = {
        {LULL_TRACK_WAKEUP, "WAKEUP", "wakeup"},    {LULL_TRACK_PREEMPT, "PREEMPT", "preempt"},
        {LULL_TRACK_OFFCPU, "OFFCPU", "offcpu"},    {LULL_TRACK_FORK, "FORK", "fork"},
        {LULL_TRACK_BLOCK, "BLOCK", "block"},       {LULL_TRACK_IRQ, "IRQ", "irq"},
        {LULL_TRACK_SOFTIRQ, "SOFTIRQ", "softirq"},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        columns[i] = (struct lull_histogram_column){kinds[i].title, kinds[i].name,
                                                    &histogram[kinds[i].measure]};
    }
    return G_N_ELEMENTS(kinds);
}

static bool is_empty(const struct lull_histogram_column *columns, uint32_t n, uint32_t bucket)
{
    bool empty = true;
    for (uint32_t i = 0; i < n; i++) {
        empty = empty && columns[i].of->n[bucket] == 0;
    }
    return empty;
}

static void format_end(int64_t end_ns, char out[static LULL_TIME_TEXT_SIZE])
{
    if (end_ns == INT64_MAX) {
        g_strlcpy(out, "(longer)", LULL_TIME_TEXT_SIZE);
    } else {
        lull_duration_format(end_ns, out);
    }
}

static uint64_t sum_of(const struct lull_track_histogram *histogram, uint32_t from, uint32_t to)
{
    uint64_t n = 0;
    for (uint32_t bucket = from; bucket <= to; bucket++) {
        n += histogram->n[bucket];
    }
    return n;
}

/* As long as `n` is of `most`, in eighths of a character where there are such. What is not 0 is seen. */
static char *bar_text(uint64_t n, uint64_t most, bool is_unicode)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const uint32_t steps = is_unicode ? G_N_ELEMENTS(parts) : 1;
    const double share = most ? (double)n / (double)most : 0;
    const uint32_t all = (uint32_t)ceil(MIN(share, 1) * BAR_WIDTH * steps);
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < all / steps; i++) {
        g_string_append(out, is_unicode ? "█" : "#");
    }
    g_string_append(out, parts[all % steps]);
    return g_string_free(out, FALSE);
}

/* A row of the buckets `from` to `to`; with bars, `most` is what is longest in each column. */
static void add_row(struct lull_table *table, const struct lull_histogram_column *columns,
                    uint32_t n_columns, uint32_t from, uint32_t to, const uint64_t *most,
                    bool is_unicode)
{
    char end[LULL_TIME_TEXT_SIZE];
    format_end(lull_bucket_start_ns(to + 1), end);
    lull_table_add_row(table);
    lull_table_set_text(table, 0, end);
    for (uint32_t i = 0; i < n_columns; i++) {
        const uint64_t n = sum_of(columns[i].of, from, to);
        if (most) {
            g_autofree char *bar = bar_text(n, most[i], is_unicode);
            lull_table_set_text(table, i + 1, bar);
        } else {
            char number[24];
            g_snprintf(number, sizeof number, "%" PRIu64, n);
            lull_table_set_text(table, i + 1, number);
        }
    }
}

/* Rows are of so many buckets that no more than `limit` (0: any) are needed, and end at the same lengths each time. */
static uint32_t buckets_of_row(uint32_t first, uint32_t last, uint32_t limit)
{
    uint32_t step = 1;
    while (limit && last / step - first / step + 1 > limit) {
        step++;
    }
    return step;
}

/* The last bucket of the row that starts with this one. */
static uint32_t last_of_row(uint32_t bucket, uint32_t step, uint32_t last)
{
    return MIN((bucket / step + 1) * step - 1, last);
}

/* Of each column, what is longest. */
static void find_most(const struct lull_histogram_column *columns, uint32_t n_columns,
                      uint32_t step, uint64_t most[LULL_HISTOGRAM_COLUMNS])
{
    for (uint32_t i = 0; i < n_columns; i++) {
        most[i] = 0;
        for (uint32_t from = 0; from < LULL_TRACK_BUCKETS; from += step) {
            const uint32_t to = last_of_row(from, step, LULL_TRACK_BUCKETS - 1);
            most[i] = MAX(most[i], sum_of(columns[i].of, from, to));
        }
    }
}

/* The upper end of the bucket that so many are shorter than; with a share of 1 the longest itself. */
static int64_t length_of(const struct lull_track_histogram *histogram, double share)
{
    const int64_t end_ns = lull_histogram_percentile_ns(histogram, share);
    return share < 1 || end_ns < 0 ? end_ns : (int64_t)histogram->longest[0].ns;
}

/* A row of the lengths that this share is shorter than. */
static void add_lengths(struct lull_table *table, const struct lull_histogram_column *columns,
                        uint32_t n, const char *name, double share)
{
    lull_table_add_row(table);
    lull_table_set_text(table, 0, name);
    for (uint32_t i = 0; i < n; i++) {
        char text[LULL_TIME_TEXT_SIZE];
        const int64_t length_ns = length_of(columns[i].of, share);
        if (length_ns >= 0) {
            format_end(length_ns, text);
            lull_table_set_text(table, i + 1, text);
        }
    }
}

static struct lull_table *table_of(const struct lull_histogram_column *columns, uint32_t n,
                                   bool has_bars,
                                   struct lull_column out[LULL_HISTOGRAM_COLUMNS + 2])
{
    out[0] =
        (struct lull_column){.title = "BELOW", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP};
    for (uint32_t i = 0; i < n; i++) {
        out[i + 1] = (struct lull_column){.title = columns[i].title,
                                          .type = LULL_COLUMN_TEXT,
                                          .flags = has_bars ? 0 : LULL_COLUMN_RIGHT};
    }
    out[n + 1] = (struct lull_column){0};
    return lull_table_new(out);
}

bool lull_histograms_text(FILE *file, const struct lull_view_style *style,
                          const struct lull_histogram_column *columns, uint32_t n, uint32_t limit,
                          bool has_bars, GError **error)
{
    struct lull_column table_columns[LULL_HISTOGRAM_COLUMNS + 2];
    uint64_t most[LULL_HISTOGRAM_COLUMNS];
    uint32_t first = 0, last = LULL_TRACK_BUCKETS - 1;
    while (first < last && is_empty(columns, n, first)) {
        first++;
    }
    while (last > first && is_empty(columns, n, last)) {
        last--;
    }
    const uint32_t step = buckets_of_row(first, last, limit);
    struct lull_table *table = table_of(columns, n, has_bars, table_columns);
    find_most(columns, n, step, most);
    for (uint32_t from = first, to; from <= last; from = to + 1) {
        to = last_of_row(from, step, LULL_TRACK_BUCKETS - 1);
        add_row(table, columns, n, from, to, has_bars ? most : NULL, style->unicode);
    }
    add_lengths(table, columns, n, "half:", 0.5);
    add_lengths(table, columns, n, "99 %:", 0.99);
    add_lengths(table, columns, n, "longest", 1);
    const bool done = lull_table_print(table, file, style, error);
    lull_table_free(table);
    return done;
}

struct json_object *lull_histogram_json(const struct lull_track_histogram *histogram)
{
    struct json_object *buckets = json_object_new_array();
    for (uint32_t bucket = 0; bucket < LULL_TRACK_BUCKETS; bucket++) {
        json_object_array_add(buckets, json_object_new_uint64(histogram->n[bucket]));
    }
    return buckets;
}

struct json_object *lull_histogram_longest_json(const struct lull_track_histogram *histogram)
{
    const int64_t longest_ns = length_of(histogram, 1);
    return longest_ns >= 0 ? json_object_new_int64(longest_ns) : NULL;
}
