/* SPDX-License-Identifier: MIT */
/* Views of results: one small table in all three, with what each of them leaves out. The expected
 * texts are written by hand. */
#include <glib.h>
#include <json-c/json.h>

#include "view/result/view.h"

static const struct lull_result_column columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Count", "COUNT", "count", LULL_CELL_NUMBER, "things", LULL_USE_BAR},
    {"Share", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_OWN},
    {"Deviation", "STDEV", "stdev_ns", LULL_CELL_DURATION, NULL, 0},
    {0},
};
static const struct lull_result_class things = {
    .name = "things", .title = "Things", .columns = columns};
static const struct lull_result_class others = {
    .name = "others", .title = "Others", .columns = columns};
static const struct lull_result_class own = {
    .name = "own", .title = "Own", .columns = columns, .is_own = true};
static const struct lull_result_class summary = {
    .name = "summary", .title = "Summary", .columns = columns, .is_summary = true};

static void row(const void *user, uint64_t index, struct lull_cell *cells)
{
    cells[0] = lull_cell_text(LULL_CELL_HOST, "db");
    cells[1] = lull_cell_integer(LULL_CELL_PROCESS, 0);
    cells[1].text = index ? "b\"\x1b" : "a";
    cells[1].tid = (int32_t)index + 7;
    cells[2] = lull_cell_integer(LULL_CELL_NUMBER, index ? 2 : 8);
    cells[3] = lull_cell_real(LULL_CELL_RATIO, index ? 0.25 : 1);
    cells[4] = index ? lull_cell_integer(LULL_CELL_UNKNOWN, 0)
                     : lull_cell_real(LULL_CELL_DURATION, 1500.25);
}

static void report(struct lull_sink *sink, uint32_t number)
{
    const struct lull_window window = {.start_ns = number * 1000,
                                       .end_ns = number * 1000 + 1000,
                                       .number = number,
                                       .is_complete = true,
                                       .lost_events = number};
    struct lull_result_table table = {.class = &things, .n_rows = 2, .row = row};
    sink->start(sink, "test", &window);
    sink->note(sink, "something is not known");
    sink->table(sink, &table);
    table.class = &others;
    table.subtitle = "of x";
    sink->table(sink, &table);
    table.class = &own;
    table.n_rows = 0;
    sink->table(sink, &table);
    table.class = &summary;
    table.subtitle = NULL;
    table.n_rows = 1;
    sink->table(sink, &table);
    sink->end(sink);
}

/* What a view writes of n windows. */
static char *show(struct lull_result_view *(*view_new)(const struct lull_result_options *),
                  bool has_hosts, uint32_t n)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    const struct lull_result_options options = {.file = file, .has_hosts = has_hosts};
    struct lull_result_view *view = view_new(&options);
    g_autoptr(GError) error = NULL;
    for (uint32_t i = 0; i < n; i++) {
        report(lull_result_sink(view), i);
    }
    g_assert_true(lull_result_finish(view, &error));
    g_assert_no_error(error);
    fclose(file);
    return text;
}

static void test_text(void)
{
    g_autofree char *text = show(lull_result_text_new, false, 2);
    static const char table[] =
        "PROCESS  COUNT                                     SHARE     STDEV\n"
        "a/7          8  ##############################  100.00 %  1.500 us\n"
        "b\"?/8        2  ########                         25.00 %         ?\n";
    g_autofree char *first = g_strdup_printf(
        "test, from 1970-01-01T00:00:00.000000000Z to 00:00:00.000001000 (1.000 us)\n"
        "Note: something is not known\n"
        "\nThings\n%s"
        "\nOthers: of x\n%s"
        "\nSummary\n",
        table, table);
    g_assert_true(g_str_has_prefix(text, first));
    g_assert_nonnull(strstr(text, "\nNothing was found for: Own: of x\n"));
    /* The second window says what was lost, and not again what is the same. */
    g_assert_nonnull(strstr(text, "\n1 event was lost in this time"));
    g_assert_null(strstr(strstr(text, "Note:") + 1, "Note:"));
    g_assert_null(strstr(text, "HOST"));
}

static void test_nothing(void)
{
    g_autofree char *text = show(lull_result_text_new, false, 0);
    g_assert_cmpstr(text, ==, "Nothing was recorded in this time\n");
    g_autofree char *json = show(lull_result_json_new, false, 0);
    g_assert_cmpstr(json, ==, "{\"version\":1,\"windows\":[]}\n");
    g_autofree char *lami = show(lull_result_lami_new, false, 0);
    g_assert_cmpstr(lami, ==, "{\"results\":[]}\n");
}

static void test_json(void)
{
    g_autofree char *text = show(lull_result_json_new, true, 1);
    static const char expected[] =
        "{\"version\":1,\"windows\":[\n"
        "{\"analysis\":\"test\",\"begin_ns\":0,\"end_ns\":1000,\"number\":0,\"period\":null,"
        "\"captures\":null,\"is_complete\":true,\"lost_events\":0,\"lost_packets\":0,"
        "\"notes\":[\"something is not known\"],\"tables\":{\n"
        "\"things\":[\n"
        "{\"host\":\"db\",\"process\":{\"comm\":\"a\",\"tid\":7},\"count\":8,\"share\":1,"
        "\"stdev_ns\":1500.25},\n"
        "{\"host\":\"db\",\"process\":{\"comm\":\"b\\\"\\u001b\",\"tid\":8},\"count\":2,"
        "\"share\":0.25,\"stdev_ns\":null}],\n"
        "\"others\":[\n"
        "{\"of\":\"of x\",\"host\":\"db\",";
    g_assert_true(g_str_has_prefix(text, expected));
    struct json_object *document = json_tokener_parse(text);
    g_assert_nonnull(document);
    json_object_put(document);
}

#define RANGE(start, end)                                                                          \
    "\"time-range\":{\"class\":\"time-range\",\"begin\":{\"class\":\"timestamp\",\"value\":" start \
    "},\"end\":{\"class\":\"timestamp\",\"value\":" end "}},"
#define ROW_A                                                                                      \
    "[{\"class\":\"process\",\"name\":\"a\",\"tid\":7},{\"class\":\"number\",\"value\":8},"        \
    "{\"class\":\"duration\",\"value\":1500.25}]"
#define ROW_B                                                                                      \
    "[{\"class\":\"process\",\"name\":\"b\\\"\\u001b\",\"tid\":8},{\"class\":\"number\","          \
    "\"value\":2},{\"class\":\"unknown\"}]"

/* By class, then by window; the summary is one table; no columns and tables of Lull's own. */
static void test_lami(void)
{
    static const char other[] = "{\"inherit\":\"others\",\"title\":\"Others [of x]\"},";
    g_autofree char *text = show(lull_result_lami_new, false, 2);
    g_autofree char *expected =
        g_strconcat("{\"results\":[{\"class\":\"things\",", RANGE("0", "1000"),
                    "\"data\":[" ROW_A "," ROW_B "]},{\"class\":\"things\",", RANGE("1000", "2000"),
                    "\"data\":[" ROW_A "," ROW_B "]},{\"class\":", other, RANGE("0", "1000"),
                    "\"data\":[" ROW_A "," ROW_B "]},{\"class\":", other, RANGE("1000", "2000"),
                    "\"data\":[" ROW_A "," ROW_B "]},{\"class\":\"summary\",", RANGE("0", "2000"),
                    "\"data\":[" ROW_A "," ROW_A "]}]}\n", NULL);
    g_assert_cmpstr(text, ==, expected);
}

static void test_lami_hosts(void)
{
    g_autofree char *text = show(lull_result_lami_new, true, 1);
    g_assert_true(g_str_has_prefix(
        text, "{\"results\":[{\"class\":{\"inherit\":\"things\",\"title\":\"Things\","
              "\"column-descriptions\":[{\"title\":\"Host\",\"class\":\"string\"},"
              "{\"title\":\"Process\",\"class\":\"process\"},"
              "{\"title\":\"Count\",\"class\":\"number\",\"unit\":\"things\"},"
              "{\"title\":\"Deviation\",\"class\":\"duration\"}]},"));
}

/* Tables of a class between which others stand, and a first table that is a summary. */
static void report_mixed(struct lull_sink *sink)
{
    static const struct lull_result_class *const order[] = {&summary, &things, &others, &things,
                                                            &summary};
    const struct lull_window window = {.end_ns = 1000, .is_complete = true};
    sink->start(sink, "test", &window);
    for (uint32_t i = 0; i < G_N_ELEMENTS(order); i++) {
        sink->table(sink, &(struct lull_result_table){.class = order[i], .n_rows = 1, .row = row});
    }
    sink->end(sink);
}

static char *show_mixed(struct lull_result_view *(*view_new)(const struct lull_result_options *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    const struct lull_result_options options = {.file = file};
    struct lull_result_view *view = view_new(&options);
    report_mixed(lull_result_sink(view));
    g_assert_true(lull_result_finish(view, NULL));
    fclose(file);
    return text;
}

static void test_mixed(void)
{
    static const char row_a[] = "{\"process\":{\"comm\":\"a\",\"tid\":7},\"count\":8,\"share\":1,"
                                "\"stdev_ns\":1500.25}";
    g_autofree char *json = show_mixed(lull_result_json_new);
    g_autofree char *tables =
        g_strconcat("\"tables\":{\n\"summary\":[\n", row_a, ",\n", row_a, "],\n\"things\":[\n",
                    row_a, ",\n", row_a, "],\n\"others\":[\n", row_a, "]}}]}\n", NULL);
    g_assert_true(g_str_has_suffix(json, tables));
    g_autofree char *lami = show_mixed(lull_result_lami_new);
    g_autofree char *results =
        g_strconcat("{\"results\":[{\"class\":\"summary\",", RANGE("0", "1000"),
                    "\"data\":[" ROW_A "," ROW_A "]},{\"class\":\"things\",", RANGE("0", "1000"),
                    "\"data\":[" ROW_A "]},{\"class\":\"things\",", RANGE("0", "1000"),
                    "\"data\":[" ROW_A "]},{\"class\":\"others\",", RANGE("0", "1000"),
                    "\"data\":[" ROW_A "]}]}\n", NULL);
    g_assert_cmpstr(lami, ==, results);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/results/text", test_text);
    g_test_add_func("/results/nothing", test_nothing);
    g_test_add_func("/results/json", test_json);
    g_test_add_func("/results/lami", test_lami);
    g_test_add_func("/results/mixed", test_mixed);
    g_test_add_func("/results/lami-hosts", test_lami_hosts);
    return g_test_run();
}
