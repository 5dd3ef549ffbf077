/* SPDX-License-Identifier: MIT */
/* Typed tables as text and as JSON. Expected text is laid out by hand from the rules in table.h:
 * two blanks between columns, numbers to the right, nothing cut without a terminal. */
#include <json-c/json.h>
#include <locale.h>
#include <string.h>

#include "view/table.h"

enum { HOST, ID, BEGIN, TOOK, SHARE, SENT, DRIFT, NOTE, PEER, N_COLUMNS };

static const struct lull_column columns[] = {
    [HOST] = {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT},
    [ID] = {.title = "ID", .key = "id", .type = LULL_COLUMN_NUMBER},
    [BEGIN] = {.title = "BEGIN",
               .key = "begin_ns",
               .type = LULL_COLUMN_TIME,
               .flags = LULL_COLUMN_JSON_ONLY},
    [TOOK] = {.title = "TOOK", .key = "duration_ns", .type = LULL_COLUMN_DURATION},
    [SHARE] = {.title = "SHARE", .key = "share", .type = LULL_COLUMN_SHARE},
    [SENT] = {.title = "SENT", .key = "bytes_sent", .type = LULL_COLUMN_BYTES},
    [DRIFT] = {.title = "DRIFT",
               .key = "drift_ppm",
               .type = LULL_COLUMN_REAL,
               .unit = "ppm",
               .digits = 2},
    [NOTE] = {.title = "NOTE", .key = "note", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
    [PEER] = {.title = "PEER",
              .key = "peer",
              .type = LULL_COLUMN_TEXT,
              .flags = LULL_COLUMN_TEXT_ONLY},
    {0},
};

static struct lull_table *make_table(void)
{
    struct lull_table *table = lull_table_new(columns);

    lull_table_add_row(table);
    lull_table_set_text(table, HOST, "caf\xc3\xa9");
    lull_table_set_number(table, ID, 7);
    lull_table_set_number(table, BEGIN, INT64_C(1795224979000000001));
    lull_table_set_number(table, TOOK, 1500000);
    lull_table_set_real(table, SHARE, 0.123456789);
    lull_table_set_number(table, SENT, 1536);
    lull_table_set_real(table, DRIFT, -0.001);
    lull_table_set_text(table, NOTE, "two words");
    lull_table_set_text(table, PEER, "x");
    lull_table_add_row(table);
    lull_table_set_text(table, HOST, "b\x1b[1m");
    lull_table_set_number(table, ID, 1234567);
    return table;
}

static char *print(struct lull_table *table, const struct lull_view_style *style)
{
    GError *error = NULL;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    bool ok = style ? lull_table_print(table, file, style, &error)
                    : lull_table_print_json(table, file, &error);
    g_assert_no_error(error);
    g_assert_true(ok);
    fclose(file);
    return text;
}

static void test_text(void)
{
    struct lull_table *table = make_table();
    const struct lull_view_style style = {.unicode = true};
    g_autofree char *text = print(table, &style);

    g_assert_cmpuint(lull_table_row_count(table), ==, 2);
    g_assert_cmpstr(text, ==,
                    "HOST        ID      TOOK   SHARE     SENT  DRIFT (ppm)  NOTE       PEER\n"
                    "caf\xc3\xa9         7  1.500 ms  12.3 %  1.5 KiB         0.00  two words  x\n"
                    "b\xef\xbf\xbd[1m  1234567\n");
    lull_table_free(table);
}

static void test_ascii_without_headings(void)
{
    struct lull_table *table = make_table();
    const struct lull_view_style style = {.unicode = false};

    lull_table_hide_headings(table);
    g_autofree char *text = print(table, &style);
    g_assert_cmpstr(text, ==,
                    "caf?         7  1.500 ms  12.3 %  1.5 KiB  0.00  two words  x\n"
                    "b?[1m  1234567\n");
    lull_table_free(table);
}

static void test_json(void)
{
    struct lull_table *table = make_table();
    g_autofree char *text = print(table, NULL);
    struct json_object *rows = json_tokener_parse(text);

    g_assert_cmpuint(json_object_array_length(rows), ==, 2);
    g_assert_cmpstr(json_object_to_json_string_ext(json_object_array_get_idx(rows, 0), 0), ==,
                    "{\"host\":\"caf\xc3\xa9\",\"id\":7,\"begin_ns\":1795224979000000001,"
                    "\"duration_ns\":1500000,\"share\":0.123457,\"bytes_sent\":1536,"
                    "\"drift_ppm\":-0.001,\"note\":\"two words\"}");
    g_assert_cmpstr(json_object_to_json_string_ext(json_object_array_get_idx(rows, 1), 0), ==,
                    "{\"host\":\"b\\u001b[1m\",\"id\":1234567,\"begin_ns\":null,"
                    "\"duration_ns\":null,\"share\":null,\"bytes_sent\":null,\"drift_ppm\":null,"
                    "\"note\":null}");
    json_object_put(rows);
    lull_table_free(table);
}

static void test_empty(void)
{
    struct lull_table *table = lull_table_new(columns);
    const struct lull_view_style style = {.unicode = true};
    g_autofree char *text = print(table, &style);
    g_autofree char *json = print(table, NULL);

    g_assert_cmpstr(text, ==, "");
    g_assert_cmpstr(json, ==, "[]");
    lull_table_free(table);
}

/* Long text is folded between words into what the other columns leave, and none of it is lost. */
static void test_terminal(void)
{
    static const struct lull_column few[] = {
        {.title = "HOST", .key = "host", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_KEEP},
        {.title = "NOTE", .key = "note", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_WRAP},
        {0},
    };
    const struct lull_view_style style = {.unicode = true, .width = 40};
    struct lull_table *table = lull_table_new(few);

    lull_table_add_row(table);
    lull_table_set_text(table, 0, "a-long-host");
    /* 40 - 11 - 2 = 27 columns: "one two three four five six" has 27, "sevenseven…" none to break
     * at. */
    lull_table_set_text(table, 1,
                        "one two three four five six seven 0123456789012345678901234567890");
    g_autofree char *text = print(table, &style);
    g_assert_cmpstr(text, ==,
                    "HOST         NOTE\n"
                    "a-long-host  one two three four five six\n"
                    "             seven\n"
                    "             012345678901234567890123456\n"
                    "             7890\n");
    lull_table_free(table);
}

/* Texts of 27 and 20 columns have 34 of the 40 left: the longer one is cut to the other, then both to 17 each. A blank
 * before what is left out goes, too. */
static void test_cut(void)
{
    static const struct lull_column few[] = {
        {.title = "A", .type = LULL_COLUMN_TEXT},
        {.title = "B", .type = LULL_COLUMN_TEXT},
        {.title = "N", .type = LULL_COLUMN_TEXT, .flags = LULL_COLUMN_RIGHT},
        {0},
    };
    static const char *const expected[] = {
        "A                 B                   N\none two three...  seven eight ni...  12\n",
        "A                  B                   N\none two three fo…  seven eight nine…  12\n"};
    for (int unicode = 0; unicode < 2; unicode++) {
        const struct lull_view_style style = {.unicode = unicode, .width = 40};
        struct lull_table *table = lull_table_new(few);
        lull_table_add_row(table);
        lull_table_set_text(table, 0, "one two three four five six");
        lull_table_set_text(table, 1, "seven eight nine ten");
        lull_table_set_text(table, 2, "12");
        g_autofree char *text = print(table, &style);
        g_assert_cmpstr(text, ==, expected[unicode]);
        lull_table_free(table);
    }
}

static void test_color(void)
{
    struct lull_table *table = make_table();
    const struct lull_view_style style = {.unicode = true, .color = true};

    lull_table_set_color(table, ID, "\033[32m");
    g_autofree char *text = print(table, &style);
    g_assert_nonnull(strstr(text, "\033[32m1234567\033[0m"));
    const struct lull_view_style plain = {.unicode = true};
    g_autofree char *bare = print(table, &plain);
    g_assert_null(strchr(bare, '\033'));
    lull_table_free(table);
}

static void test_bytes(void)
{
    static const struct lull_column bytes[] = {
        {.title = "B", .key = "b", .type = LULL_COLUMN_BYTES},
        {0},
    };
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B\n"},
        {1023, "1023 B\n"},
        {1024, "1.0 KiB\n"},
        {1048575, "1.0 MiB\n"}, /* 1023.999 KiB */
        {INT64_C(266338304), "254.0 MiB\n"},
        {-2048, "-2.0 KiB\n"},
        {INT64_MAX, "8.0 EiB\n"},
    };
    const struct lull_view_style style = {.unicode = true};

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_table *table = lull_table_new(bytes);
        lull_table_hide_headings(table);
        lull_table_add_row(table);
        lull_table_set_number(table, 0, cases[i].bytes);
        g_autofree char *text = print(table, &style);
        g_assert_cmpstr(text, ==, cases[i].text);
        lull_table_free(table);
    }
}

/* In a locale that has no arrow. */
static void test_ascii(void)
{
    static const struct lull_column arrows[] = {
        {.title = "A→B", .key = "ab", .type = LULL_COLUMN_COUNT, .unit = "packets"},
        {.title = "B→A", .key = "ba", .type = LULL_COLUMN_COUNT},
        {0},
    };
    struct lull_table *table = lull_table_new(arrows);
    lull_table_add_row(table);
    lull_table_set_number(table, 0, 1);
    lull_table_set_number(table, 1, 2);
    setlocale(LC_ALL, "C");
    g_autofree char *plain = print(table, &(struct lull_view_style){.unicode = false});
    setlocale(LC_ALL, "C.UTF-8");
    g_autofree char *wide = print(table, &(struct lull_view_style){.unicode = true});
    g_assert_cmpstr(plain, ==, "A->B (packets)  B->A\n             1     2\n");
    g_assert_cmpstr(wide, ==, "A→B (packets)  B→A\n            1    2\n");
    lull_table_free(table);
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C.UTF-8");
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/table/text", test_text);
    g_test_add_func("/table/ascii-without-headings", test_ascii_without_headings);
    g_test_add_func("/table/json", test_json);
    g_test_add_func("/table/empty", test_empty);
    g_test_add_func("/table/terminal", test_terminal);
    g_test_add_func("/table/cut", test_cut);
    g_test_add_func("/table/color", test_color);
    g_test_add_func("/table/bytes", test_bytes);
    g_test_add_func("/view/table/ascii", test_ascii);
    return g_test_run();
}
