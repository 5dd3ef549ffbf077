/* SPDX-License-Identifier: MIT */
/* The table of histograms where there is room for fewer rows than there are lengths. */
#include <string.h>

#include "view/live/histograms.h"

/* Eight lengths from 1 us on (below 2, 4, … 256 us), of which there are 1, 2, … 8. */
static char *table_of(uint32_t limit)
{
    struct lull_track_histogram histogram = {.longest = {{.ns = 250000}}};
    for (uint32_t bucket = 1; bucket <= 8; bucket++) {
        histogram.n[bucket] = bucket;
    }
    const struct lull_histogram_column column = {"WAKEUP", "wakeup", &histogram};
    const struct lull_view_style style = {0};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    g_assert_true(lull_histograms_text(file, &style, &column, 1, limit, false, NULL));
    fclose(file);
    return text;
}

static void test_rows(void)
{
    static const struct {
        uint32_t limit;
        const char *rows;
    } cases[] = {
        {0,
         "2.000 us:1 4.000 us:2 8.000 us:3 16.00 us:4 32.00 us:5 64.00 us:6 128.0 us:7 256.0 us:8 "},
        {8,
         "2.000 us:1 4.000 us:2 8.000 us:3 16.00 us:4 32.00 us:5 64.00 us:6 128.0 us:7 256.0 us:8 "},
        {5, "2.000 us:1 8.000 us:5 32.00 us:9 128.0 us:13 512.0 us:8 "},
        {4, "4.000 us:3 32.00 us:12 256.0 us:21 "},
        {1, "256.0 us:36 "},
    };
    for (uint32_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = table_of(cases[i].limit);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autoptr(GString) rows = g_string_new(NULL);
        for (uint32_t k = 1; lines[k] && !strstr(lines[k], "half:"); k++) {
            char number[16], unit[8];
            unsigned n;
            g_assert_cmpint(sscanf(lines[k], "%15s %7s %u", number, unit, &n), ==, 3);
            g_string_append_printf(rows, "%s %s:%u ", number, unit, n);
        }
        g_assert_cmpstr(rows->str, ==, cases[i].rows);
        g_assert_true(strstr(text, "\nhalf:     64.00 us\n")); /* the 18th of 36 */
        g_assert_true(strstr(text, "\nlongest   250.0 us\n"));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/histograms/rows", test_rows);
    return g_test_run();
}
