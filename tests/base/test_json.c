/* SPDX-License-Identifier: MIT */
/* The rule for texts in JSON: they come back as they were, in every writer, and do no harm. What is
 * read back is read by json-c. */
#include "base/json.h"

#include <string.h>

#include "view/linebuf.h"

static const struct {
    const char *text, *back;
} cases[] = {
    {"", ""},
    {"plain/1:2", "plain/1:2"},
    {"\"quoted\\\"", "\"quoted\\\""},
    {"a\tb\nc\rd\be\ff", "a\tb\nc\rd\be\ff"},
    {"\x01\x1b[31mred\x1f\x7f", "\x01\x1b[31mred\x1f\x7f"},
    {"\xc2\x80\xc2\x9b\xc2\x9f", "\xc2\x80\xc2\x9b\xc2\x9f"}, /* C1 controls */
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x90\xa7"},
    {"\xe2\x80\xaegnp.exe\xe2\x80\xa8", "\xe2\x80\xaegnp.exe\xe2\x80\xa8"}, /* order, line end */
    {"\xef\xbf\xbe\xf4\x8f\xbf\xbf", "\xef\xbf\xbe\xf4\x8f\xbf\xbf"},       /* no characters */
    {"\xff-\xc3", "\xef\xbf\xbd-\xef\xbf\xbd"},               /* not UTF-8, cut short */
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
    {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
};

/* The text between the quotes has nothing that a terminal would act on. */
static void assert_harmless(const char *json)
{
    g_assert_true(g_utf8_validate(json, -1, NULL));
    for (const char *c = json; *c; c = g_utf8_next_char(c)) {
        GUnicodeType type = g_unichar_type(g_utf8_get_char(c));
        g_assert_true(type != G_UNICODE_CONTROL && type != G_UNICODE_FORMAT &&
                      type != G_UNICODE_LINE_SEPARATOR);
    }
}

static void assert_reads_back(const char *json, const char *expected)
{
    enum json_tokener_error status;
    struct json_object *value = json_tokener_parse_verbose(json, &status);

    g_assert_cmpint(status, ==, json_tokener_success);
    g_assert_cmpstr(json_object_get_string(value), ==, expected);
    json_object_put(value);
}

static void test_texts(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_linebuf line = {0};
        g_autoptr(GString) appended = g_string_new(NULL);
        g_autofree char *formatted = lull_json_format(lull_json_text(cases[i].text), false);

        lull_json_append(appended, cases[i].text, strlen(cases[i].text));
        lull_linebuf_json(&line, cases[i].text, strlen(cases[i].text));
        lull_linebuf_char(&line, '\0');
        const char *const writers[] = {appended->str, formatted, line.data};
        for (size_t writer = 0; writer < G_N_ELEMENTS(writers); writer++) {
            assert_harmless(writers[writer]);
            assert_reads_back(writers[writer], cases[i].back);
        }
        lull_linebuf_free(&line);
    }
}

static void test_objects(void)
{
    struct json_object *object = json_object_new_object();

    lull_json_add_text(object, "a\xc2\x9b", "x\xe2\x80\xa9y");
    lull_json_add_text(object, "none", NULL);
    lull_json_add_number(object, "least", INT64_MIN);
    g_autofree char *text = lull_json_format(object, false);
    g_assert_cmpstr(text, ==,
                    "{\"a\\u009b\":\"x\\u2029y\",\"none\":null,\"least\":-9223372036854775808}");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/json/texts", test_texts);
    g_test_add_func("/json/objects", test_objects);
    return g_test_run();
}
