/* SPDX-License-Identifier: MIT */
/* The filter language, line by line of language.txt: what passes, in all ways of reading; and what
 * is refused, with column, message and caret. */
#include <stddef.h>
#include <string.h>

#include "filter/events.h"
#include "filter/filter.h"
#include "source/session/event_filter.h"
#include "lib/scratch.h"

static const char *const everything[] = {"*", NULL};

static struct lull_session *open_events(const char *dir)
{
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    return session;
}

static void attach(struct lull_session *session, const char *expression)
{
    GError *error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    if (error) {
        g_error("%s", error->message);
    }
    lull_filter_attach(filter, session);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

/* Fields of a subscriber, some of them the same as the filters'. */
struct fields {
    uint64_t have;
    int64_t byte, one;
    struct lull_text text, next_comm;
};

static const struct lull_binding bindings[] = {
    {(const char *const[]){"byte", NULL}, LULL_BIND_INT, offsetof(struct fields, byte)},
    {(const char *const[]){"choice.one", NULL}, LULL_BIND_INT, offsetof(struct fields, one)},
    {(const char *const[]){"text", NULL}, LULL_BIND_TEXT, offsetof(struct fields, text)},
    {(const char *const[]){"next_comm", NULL}, LULL_BIND_TEXT, offsetof(struct fields, next_comm)},
};

static bool is_text(struct lull_text text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.data, expected, text.length) == 0;
}

/* A filter must not disturb what the subscriber gets. */
static void check_fields(struct lull_session *session)
{
    struct lull_event event;
    while (lull_session_next(session, &event) == 1) {
        const struct fields *fields = event.fields;
        switch (event.time_ns - EVENTS_T0) {
        case 0:
            g_assert_cmphex(fields->have, ==, 7);
            g_assert_cmpint(fields->byte, ==, 200);
            g_assert_cmpint(fields->one, ==, 9);
            g_assert_true(is_text(fields->text, "hello*w\303\266rld"));
            break;
        case 1000:
            g_assert_cmphex(fields->have, ==, 5);
            g_assert_cmpint(fields->one, ==, 0);
            break;
        case 1000000000:
            g_assert_cmphex(fields->have, ==, 8);
            g_assert_true(is_text(fields->next_comm, "postgres: wal"));
            break;
        default:
            break;
        }
    }
}

static void check_passes(struct lull_session *session, const char *expected, const char *expression)
{
    uint64_t counted = 0;
    attach(session, expression);
    lull_session_unsubscribe_all(session);
    lull_session_subscribe(session, everything, NULL, 0, 0);
    for (int round = 0; round < 2; round++) { /* also after rewinding */
        g_autofree char *got = read_letters(session);
        if (strcmp(got, expected) != 0) {
            g_error("%s: %s instead of %s", expression, got, expected);
        }
        lull_session_rewind(session);
    }
    lull_session_unsubscribe_all(session);
    lull_session_subscribe(session, everything, bindings, G_N_ELEMENTS(bindings),
                           sizeof(struct fields));
    g_autofree char *bound = read_letters(session);
    g_assert_cmpstr(bound, ==, expected);
    lull_session_rewind(session);
    check_fields(session);
    lull_session_count(session, add_count, &counted);
    g_assert_cmpuint(counted, ==, strcmp(expected, "-") == 0 ? 0 : strlen(expected));
}

static void test_passes(gconstpointer data)
{
    g_autofree char *dir = scratch_dir();
    g_auto(GStrv) lines = read_language();
    unsigned checked = 0;
    write_events(dir, data);
    struct lull_session *session = open_events(dir);
    for (char **line = lines; *line; line++) {
        char *tab = strchr(*line, '\t');
        if (**line == '!') {
            continue;
        }
        g_assert_nonnull(tab);
        *tab = '\0';
        check_passes(session, *line, tab + 1);
        checked++;
    }
    g_assert_cmpuint(checked, >, 150);
    /* Without a filter all is there again. */
    lull_session_unsubscribe_all(session);
    lull_session_subscribe(session, everything, NULL, 0, 0);
    lull_session_set_filter(session, NULL);
    g_autofree char *got = read_letters(session);
    g_assert_cmpstr(got, ==, "abcde");
    lull_session_free(session);
    scratch_remove(dir);
}

static void check_refused(const char *column, const char *part, const char *expression)
{
    g_autoptr(GError) error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    if (filter) {
        g_error("accepted: %s", expression);
    }
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    g_autofree char *start = g_strdup_printf("the filter, column %s: ", column);
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    if (!g_str_has_prefix(lines[0], start) || !strstr(lines[0], part)) {
        g_error("%s: %s", expression, error->message);
    }
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    /* The caret stands below the column; the expression begins behind two blanks. */
    g_assert_cmpint((int)g_utf8_strlen(lines[2], -1), ==, 2 + atoi(column));
    g_assert_true(g_str_has_suffix(lines[2], " ^"));
    g_assert_cmpstr(lines[1] + 2, ==, expression);
}

static void test_refused(void)
{
    g_auto(GStrv) lines = read_language();
    unsigned checked = 0;
    for (char **line = lines; *line; line++) {
        if (**line != '!') {
            continue;
        }
        g_auto(GStrv) parts = g_strsplit(*line + 1, "\t", 3);
        g_assert_cmpuint(g_strv_length(parts), ==, 3);
        check_refused(parts[0], parts[1], parts[2]);
        checked++;
    }
    g_assert_cmpuint(checked, >, 40);
}

/* text, n times, between head and tail */
static char *repeat(const char *head, const char *text, unsigned n, const char *tail)
{
    GString *all = g_string_new(head);
    for (unsigned i = 0; i < n; i++) {
        g_string_append(all, text);
    }
    g_string_append(all, tail);
    return g_string_free(all, FALSE);
}

static void check_error(char *expression, const char *part)
{
    g_autoptr(GError) error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    if (!part) {
        g_assert_no_error(error);
        lull_filter_free(filter);
    } else {
        g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
        g_assert_nonnull(strstr(error->message, part));
    }
    g_free(expression);
}

static void test_limits(void)
{
    GString *fields = g_string_new("f0 == 1");
    check_error(repeat("", "(", 50, "true))))))))))))))))))))))))))))))))))))))))))))))))))"),
                NULL);
    check_error(repeat("", "(", 5000, "true"), "nested too deep");
    check_error(repeat("", "!", 5000, "true"), "nested too deep");
    check_error(repeat("cpu == 1", " && cpu != 2 || tid == 3", 2000, ""), NULL);
    check_error(repeat("tid == 1", " || tid == 1", 6000, ""), "longer than 65536 bytes");
    check_error(repeat("a", ".a", 80, " == 1"), "more than 64 steps");
    for (unsigned i = 1; i < 64; i++) {
        g_string_append_printf(fields, " || f%u == 1", i);
    }
    check_error(g_strdup(fields->str), NULL);
    g_string_append(fields, " || f64 == 1");
    check_error(g_string_free(fields, FALSE), "at most 64 different fields");
    /* Of a long expression only the neighbourhood is shown. */
    g_autofree char *long_one = repeat("", "tid == 1 || ", 100, "tid = 2");
    g_autoptr(GError) error = NULL;
    g_assert_null(lull_filter_parse(long_one, false, &error));
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    g_assert_true(g_str_has_prefix(lines[0], "the filter, column 1205: "));
    g_assert_cmpint(g_utf8_strlen(lines[1], -1), <, 130);
    const char *caret = g_utf8_offset_to_pointer(lines[1], g_utf8_strlen(lines[2], -1) - 1);
    g_assert_true(g_str_has_prefix(caret, "= 2"));
}

int main(int argc, char **argv)
{
    static const struct ctf_options little, big = {.big_endian = true, .large_header = true},
                                            natural = {.natural_align = true, .no_index = true};
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/filter/language/little-endian", &little, test_passes);
    g_test_add_data_func("/filter/language/big-endian", &big, test_passes);
    g_test_add_data_func("/filter/language/natural-alignment", &natural, test_passes);
    g_test_add_func("/filter/language/refused", test_refused);
    g_test_add_func("/filter/language/limits", test_limits);
    return g_test_run();
}
