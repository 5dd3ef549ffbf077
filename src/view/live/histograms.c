/* SPDX-License-Identifier: MIT */
/* The table of histograms, with the range of lengths that occur. */
#include "view/live/histograms.h"

#include <string.h>

#include "base/time.h"
#include "view/table.h"
#include "view/words.h"

/* By column after the first. */
static const struct kind {
    enum lull_track_measure measure;
    const char *name;
} kinds[] = {
    {LULL_TRACK_WAKEUP, "wakeup"},   {LULL_TRACK_PREEMPT, "preempt"}, {LULL_TRACK_OFFCPU, "offcpu"},
    {LULL_TRACK_FORK, "fork"},       {LULL_TRACK_BLOCK, "block"},     {LULL_TRACK_IRQ, "irq"},
    {LULL_TRACK_SOFTIRQ, "softirq"},
};

static const struct lull_column columns[] = {
    {.title = "SHORTER THAN", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
    {.title = "WAKEUP", .type = LULL_COLUMN_COUNT},
    {.title = "PREEMPT", .type = LULL_COLUMN_COUNT},
    {.title = "OFFCPU", .type = LULL_COLUMN_COUNT},
    {.title = "FORK", .type = LULL_COLUMN_COUNT},
    {.title = "BLOCK", .type = LULL_COLUMN_COUNT},
    {.title = "IRQ", .type = LULL_COLUMN_COUNT},
    {.title = "SOFTIRQ", .type = LULL_COLUMN_COUNT},
    {0},
};

static bool is_empty(const struct lull_track_histogram *histogram, uint32_t bucket)
{
    bool empty = true;
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        empty = empty && histogram[kinds[i].measure].n[bucket] == 0;
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

static void add_bucket(struct lull_table *table, const struct lull_track_histogram *histogram,
                       uint32_t from, uint32_t to)
{
    char end[LULL_TIME_TEXT_SIZE];
    format_end(lull_bucket_start_ns(to + 1), end);
    lull_table_add_row(table);
    lull_table_set_text(table, 0, end);
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        uint64_t n = 0;
        for (uint32_t bucket = from; bucket <= to; bucket++) {
            n += histogram[kinds[i].measure].n[bucket];
        }
        lull_table_set_number(table, i + 1, (int64_t)n);
    }
}

static void print_percentile(FILE *file, const struct lull_view_style *style,
                             const struct lull_track_histogram *histogram, const char *name,
                             double share)
{
    g_autoptr(GString) out = g_string_new(name);
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        char end[LULL_TIME_TEXT_SIZE];
        const int64_t end_ns = lull_histogram_percentile_ns(&histogram[kinds[i].measure], share);
        if (end_ns >= 0) {
            format_end(end_ns, end);
            g_string_append_printf(out, "%s %s %s", out->len > strlen(name) ? "," : ":",
                                   kinds[i].name, end);
        }
    }
    g_autofree char *folded = lull_fold_text(out->str, style->width, 0);
    fprintf(file, "%s\n", style->width ? folded : out->str);
}

bool lull_histograms_text(FILE *file, const struct lull_view_style *style,
                          const struct lull_track_histogram histogram[LULL_TRACK_MEASURES],
                          uint32_t limit, GError **error)
{
    uint32_t first = 0, last = LULL_TRACK_BUCKETS - 1;
    while (first < last && is_empty(histogram, first)) {
        first++;
    }
    while (last > first && is_empty(histogram, last)) {
        last--;
    }
    const uint32_t shown = limit ? MIN(limit, last - first + 1) : last - first + 1;
    struct lull_table *table = lull_table_new(columns);
    add_bucket(table, histogram, first, last + 1 - shown);
    for (uint32_t bucket = last + 2 - shown; bucket <= last; bucket++) {
        add_bucket(table, histogram, bucket, bucket);
    }
    const bool done = lull_table_print(table, file, style, error);
    lull_table_free(table);
    print_percentile(file, style, histogram, "half shorter than", 0.5);
    print_percentile(file, style, histogram, "99 % shorter than", 0.99);
    return done;
}

struct json_object *
lull_histograms_json(const struct lull_track_histogram histogram[LULL_TRACK_MEASURES])
{
    struct json_object *object = json_object_new_object();
    for (uint32_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        struct json_object *buckets = json_object_new_array();
        for (uint32_t bucket = 0; bucket < LULL_TRACK_BUCKETS; bucket++) {
            const uint64_t n = histogram[kinds[i].measure].n[bucket];
            json_object_array_add(buckets, json_object_new_uint64(n));
        }
        json_object_object_add(object, kinds[i].name, buckets);
    }
    return object;
}
