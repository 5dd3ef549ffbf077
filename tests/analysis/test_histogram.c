/* SPDX-License-Identifier: MIT */
/* Histograms of several sets, in tables of their own and side by side. Values are counted into the
 * bins by hand. */
#include "analysis/histogram.h"
#include "lib/table_sink.h"

static const struct lull_result_column columns[] = {
    {"Lower", "LOWER", "lower", LULL_CELL_NUMBER, NULL, 0},
    {"Upper", "UPPER", "upper", LULL_CELL_NUMBER, NULL, 0},
    {"Count", "COUNT", "count", LULL_CELL_NUMBER, NULL, LULL_USE_BAR},
    {0}};
static const struct lull_result_class class = {
    .name = "freq", .title = "Histogram", .columns = columns, .kind = LULL_TABLE_HISTOGRAM};

struct set {
    const char *title;
    int64_t values[3]; /* < 0: none */
};

/* Between params->min_ns and max_ns, where they are given. */
static char *emit(const struct set *sets, uint32_t n, const struct lull_question_params *params)
{
    struct table_sink sink = table_sink_new();
    struct lull_histograms list = {.is_bounded = true};
    struct lull_distribution distributions[4];
    for (uint32_t i = 0; i < n; i++) {
        distributions[i] = (struct lull_distribution){.keep_values = true};
        for (uint32_t k = 0; k < 3; k++) {
            if (sets[i].values[k] >= 0) {
                lull_distribution_add(&distributions[i], sets[i].values[k]);
            }
        }
        lull_histograms_add(&list, sets[i].title, &distributions[i]);
    }
    lull_histograms_emit(&list, params, &class, "Series", &sink.sink);
    lull_histograms_clear(&list);
    for (uint32_t i = 0; i < n; i++) {
        lull_distribution_clear(&distributions[i]);
    }
    return g_string_free(sink.text, FALSE);
}

static struct lull_question_params bins(uint32_t count)
{
    return (struct lull_question_params){
        .min_ns = INT64_MIN, .max_ns = INT64_MAX, .freq_resolution = count};
}

#define EXPECT(sets, params, expected)                                                             \
    do {                                                                                           \
        g_autofree char *found_ = emit(sets, G_N_ELEMENTS(sets), params);                          \
        g_assert_cmpstr(found_, ==, expected);                                                     \
    } while (0)

static const struct set two[] = {{"a", {0, 12, 30}}, {"none", {-1, -1, -1}}, {"b", {6, 27, -1}}};

/* Over the values of each set, and over those of all. */
static void test_linear(void)
{
    struct lull_question_params params = bins(3);
    EXPECT(two, &params,
           "freq [a]\n0.000 10.000 1\n10.000 20.000 1\n20.000 30.000 1\n"
           "freq [b]\n6.000 13.000 1\n13.000 20.000 0\n20.000 27.000 1\n");
    params.freq_uniform = true;
    EXPECT(two, &params,
           "freq [a]\n0.000 10.000 1\n10.000 20.000 1\n20.000 30.000 1\n"
           "freq [b]\n0.000 10.000 1\n10.000 20.000 0\n20.000 30.000 1\n");
}

static void test_linear_series(void)
{
    struct lull_question_params params = bins(3);
    params.freq_series = true;
    EXPECT(two, &params, "freq-series\n0.000 10.000 1 1\n10.000 20.000 1 0\n20.000 30.000 1 1\n");
}

/* Powers of two, from that of the least to that of the greatest value of all sets. */
static void test_logarithmic_series(void)
{
    static const struct set sets[] = {{"a", {4, 5, 40}}, {"b", {2, 9, -1}}};
    struct lull_question_params params = bins(3);
    params.freq_series = params.freq_logarithmic = true;
    EXPECT(sets, &params,
           "freq-series\n2.000 4.000 0 1\n4.000 8.000 2 0\n8.000 16.000 0 1\n16.000 32.000 0 0\n"
           "32.000 64.000 1 0\n");
}

/* Values that are all the same have a bin of no width, but no table in LAMI. */
static void test_no_width(void)
{
    static const struct set same[] = {{"a", {7, 7, 7}}};
    struct lull_question_params params = bins(3);
    EXPECT(same, &params, "freq [a]\n7.000 7.000 3\n");
    params.is_lami = true;
    EXPECT(same, &params, "");
}

/* Bounds that leave some values out, or all. */
static void test_bounded(void)
{
    struct lull_question_params params = bins(2);
    params.min_ns = 10;
    params.max_ns = 30;
    EXPECT(two, &params,
           "freq [a]\n10.000 20.000 1\n20.000 30.000 1\n"
           "freq [b]\n10.000 20.000 0\n20.000 30.000 1\n");
    params.max_ns = 10;
    EXPECT(two, &params, "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/histogram/linear", test_linear);
    g_test_add_func("/analysis/histogram/linear-series", test_linear_series);
    g_test_add_func("/analysis/histogram/logarithmic-series", test_logarithmic_series);
    g_test_add_func("/analysis/histogram/no-width", test_no_width);
    g_test_add_func("/analysis/histogram/bounded", test_bounded);
    return g_test_run();
}
