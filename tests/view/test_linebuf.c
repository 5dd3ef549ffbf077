/* SPDX-License-Identifier: MIT */
/* The buffer that printers of events write into. Expectations: the C standard's escapes, RFC 8259
 * (JSON strings), and the decimal numbers by hand. */
#include <math.h>

#include "view/linebuf.h"

static void check(struct lull_linebuf *line, const char *expected)
{
    g_autofree char *got = g_strndup(line->data ? line->data : "", line->length);
    g_assert_cmpstr(got, ==, expected);
    line->length = 0;
}

static void test_numbers(void)
{
    struct lull_linebuf line = {0};
    lull_linebuf_unsigned(&line, 0);
    check(&line, "0");
    lull_linebuf_unsigned(&line, UINT64_MAX);
    check(&line, "18446744073709551615");
    lull_linebuf_signed(&line, INT64_MIN);
    check(&line, "-9223372036854775808");
    lull_linebuf_signed(&line, -1);
    check(&line, "-1");
    lull_linebuf_hex(&line, UINT64_C(0xFF1100007B8235C0));
    check(&line, "0xFF1100007B8235C0");
    lull_linebuf_hex(&line, 0);
    check(&line, "0x0");
    lull_linebuf_octal(&line, 0644);
    check(&line, "0644");
    lull_linebuf_octal(&line, UINT64_MAX);
    check(&line, "01777777777777777777777");
    lull_linebuf_nanoseconds(&line, 7);
    check(&line, "000000007");
    lull_linebuf_nanoseconds(&line, 999999999);
    check(&line, "999999999");
    lull_linebuf_free(&line);
}

static void test_reals(void)
{
    struct lull_linebuf line = {0};
    lull_linebuf_real(&line, 0.1);
    check(&line, "0.1");
    lull_linebuf_real(&line, 1.0 / 3);
    g_assert_cmpfloat(g_ascii_strtod((lull_linebuf_char(&line, '\0'), line.data), NULL), ==,
                      1.0 / 3);
    line.length = 0;
    lull_linebuf_real(&line, -INFINITY);
    check(&line, "-inf");
    lull_linebuf_real(&line, NAN);
    check(&line, "nan");
    lull_linebuf_free(&line);
}

static void escape(struct lull_linebuf *line, const char *text, size_t length, const char *expected)
{
    lull_linebuf_escaped(line, text, length);
    check(line, expected);
}

/* Nothing that a terminal would obey gets through, nothing that a person can read is lost. */
static void test_escapes(void)
{
    struct lull_linebuf line = {0};
    escape(&line, "plain, text", 11, "plain, text");
    escape(&line, "", 0, "");
    escape(&line, "a\tb\nc\r", 6, "a\\tb\\nc\\r");
    escape(&line, "say \"\\\"", 7, "say \\\"\\\\\\\"");
    escape(&line, "\x1b[31mred\x7f", 9, "\\x1b[31mred\\x7f");
    escape(&line, "a\0b", 3, "a\\x00b");
    escape(&line, "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f");
    escape(&line,
           "\xc2\x9b"
           "31m",
           5, "\\xc2\\x9b31m");                                /* C1 control sequence introducer */
    escape(&line, "\xe2\x80\xaegnp", 6, "\\xe2\\x80\\xaegnp"); /* right-to-left override */
    escape(&line, "\xc3", 1, "\\xc3");                         /* cut in the middle */
    escape(&line, "\xff\xfe", 2, "\\xff\\xfe");
    escape(&line, "\xc0\xaf", 2, "\\xc0\\xaf");          /* overlong */
    escape(&line, "\xed\xa0\x80", 3, "\\xed\\xa0\\x80"); /* surrogate */
    lull_linebuf_free(&line);
}

static void json(struct lull_linebuf *line, const char *text, size_t length, const char *expected)
{
    lull_linebuf_json(line, text, length);
    check(line, expected);
}

static void test_json(void)
{
    struct lull_linebuf line = {0};
    json(&line, "", 0, "\"\"");
    json(&line, "a/b", 3, "\"a/b\"");
    json(&line, "\"\\\n\x01", 4, "\"\\\"\\\\\\n\\u0001\"");
    json(&line, "\x1b\x7f", 2, "\"\\u001b\\u007f\"");
    json(&line, "\xc3\xbc", 2, "\"\xc3\xbc\"");
    json(&line,
         "a\xff"
         "b",
         3, "\"a\\ufffdb\"");
    json(&line, "a\0b", 3, "\"a\\u0000b\"");
    lull_linebuf_free(&line);
}

static void test_growth(void)
{
    struct lull_linebuf line = {0};
    GString *same = g_string_new(NULL);
    for (int i = 0; i < 5000; i++) {
        lull_linebuf_unsigned(&line, (uint64_t)i);
        lull_linebuf_char(&line, ' ');
        g_string_append_printf(same, "%d ", i);
    }
    check(&line, same->str);
    g_string_free(same, TRUE);
    lull_linebuf_free(&line);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/view/line/numbers", test_numbers);
    g_test_add_func("/view/line/reals", test_reals);
    g_test_add_func("/view/line/escapes", test_escapes);
    g_test_add_func("/view/line/json", test_json);
    g_test_add_func("/view/line/growth", test_growth);
    return g_test_run();
}
