/* SPDX-License-Identifier: MIT */
/* Filters made of pieces that were thrown together: each is refused with a message whose column
 * lies in the expression, or it reads the events without a fault, and the three ways of reading –
 * event by event, counting, and the opposite of the opposite – agree. */
#include <string.h>

#include "filter/events.h"
#include "filter/filter.h"
#include "lib/scratch.h"
#include "source/session/event_filter.h"

#define ROUNDS 6000

static const char *const everything[] = {"*", NULL};

static const char *const words[] = {
    "name",
    "host",
    "cpu",
    "time",
    "$name",
    "$x",
    "in",
    "exists",
    "true",
    "false",
    "tid",
    "byte",
    "choice",
    ".one",
    ".two.s",
    "list",
    "[0]",
    "[9]",
    ".x",
    "fields.",
    "context.",
    "pair",
    "text",
    "state",
    "bits",
    "words",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=~",
    "!~",
    "&&",
    "||",
    "!",
    "(",
    ")",
    ",",
    "[",
    "]",
    ".",
    "-",
    "+",
    "\"all\"",
    "\"\\x41*\"",
    "\"[a-\"",
    "'[!x]?'",
    "\"\\",
    "0",
    "1",
    "0x1f",
    "0b",
    "1.5",
    "1e400",
    "3ms",
    "64KiB",
    "+1s",
    "\"+1h\"",
    "\xff",
    "\xc3",
    "\"01:23:00\"",
    "9e9h",
    "1795224179432835564",
    "18446744073709551615",
    "\n",
    " ",
};

static struct lull_session *open_events(const char *dir)
{
    GError *error = NULL;
    struct lull_session *session = lull_session_new();
    lull_session_add(session, dir, &error);
    g_assert_no_error(error);
    lull_session_subscribe(session, everything, NULL, 0, 0);
    return session;
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    *(uint64_t *)user += count;
}

static char *letters_of(struct lull_session *session, const char *expression)
{
    GError *error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    g_assert_no_error(error);
    lull_filter_attach(filter, session);
    return read_letters(session);
}

static void check_accepted(struct lull_session *session, const char *expression)
{
    uint64_t counted = 0;
    g_autofree char *got = letters_of(session, expression);
    lull_session_count(session, add_count, &counted);
    g_assert_cmpuint(counted, ==, strcmp(got, "-") == 0 ? 0 : strlen(got));
    g_autofree char *doubled = g_strdup_printf("!(!(%s))", expression);
    g_autofree char *again = letters_of(session, doubled);
    g_assert_cmpstr(again, ==, got);
    g_autofree char *opposite = g_strdup_printf("!(%s)", expression);
    g_autofree char *others = letters_of(session, opposite);
    for (const char *letter = "abcde"; *letter != '\0'; letter++) {
        g_assert_true((!strchr(got, *letter)) != (!strchr(others, *letter)));
    }
}

/* True if it was accepted. */
static bool try(struct lull_session *session, const char *expression)
{
    g_autoptr(GError) error = NULL;
    struct lull_filter *filter = lull_filter_parse(expression, false, &error);
    if (filter) {
        lull_filter_free(filter);
        check_accepted(session, expression);
        return true;
    }
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    const char *prefix = "the filter, column ";
    g_assert_true(g_str_has_prefix(error->message, prefix));
    guint64 column = g_ascii_strtoull(error->message + strlen(prefix), NULL, 10);
    g_assert_cmpuint(column, >=, 1);
    g_assert_cmpuint(column, <=, strlen(expression) + 1);
    return false;
}

/* Words of the language in any order. */
static void test_soup(void)
{
    g_autofree char *dir = scratch_dir();
    static const struct ctf_options how;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    write_events(dir, &how);
    struct lull_session *session = open_events(dir);
    for (int i = 0; i < ROUNDS; i++) {
        g_autoptr(GString) text = g_string_new(NULL);
        int n = g_rand_int_range(rand, 1, 12);
        for (int k = 0; k < n; k++) {
            g_string_append(text, words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))]);
            if (g_rand_boolean(rand)) {
                g_string_append_c(text, ' ');
            }
        }
        try(session, text->str);
    }
    lull_session_free(session);
    scratch_remove(dir);
}

/* Takes something away from an expression, doubles, exchanges or adds something. */
static void mutate(GString *text, GRand *rand)
{
    gint at = g_rand_int_range(rand, 0, (gint32)text->len + 1);
    gint most = g_rand_int_range(rand, 0, 8), length = MIN(most, (gint)text->len - at);
    switch (g_rand_int_range(rand, 0, 4)) {
    case 0:
        g_string_erase(text, at, length);
        break;
    case 1: {
        g_autofree char *piece = g_strndup(text->str + at, (gsize)length);
        g_string_insert(text, g_rand_int_range(rand, 0, (gint32)text->len + 1), piece);
        break;
    }
    case 2:
        if (at < (gint)text->len) {
            text->str[at] = (char)g_rand_int_range(rand, 1, 256);
        }
        break;
    default:
        g_string_insert(text, at, words[g_rand_int_range(rand, 0, G_N_ELEMENTS(words))]);
    }
}

/* Accepted expressions, slightly changed, and joined. */
static void test_mutations(void)
{
    g_autofree char *dir = scratch_dir();
    g_auto(GStrv) lines = read_language();
    guint n = g_strv_length(lines), accepted = 0;
    static const struct ctf_options how = {.big_endian = true};
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    write_events(dir, &how);
    struct lull_session *session = open_events(dir);
    for (int i = 0; i < ROUNDS; i++) {
        const char *line = lines[g_rand_int_range(rand, 0, (gint32)n)];
        g_autoptr(GString) text = g_string_new(strrchr(line, '\t') + 1);
        if (g_rand_int_range(rand, 0, 3) == 0) {
            const char *other = lines[g_rand_int_range(rand, 0, (gint32)n)];
            g_string_append_printf(text, " %s %s", g_rand_boolean(rand) ? "&&" : "||",
                                   strrchr(other, '\t') + 1);
        }
        for (int k = g_rand_int_range(rand, 0, 3); k > 0; k--) {
            mutate(text, rand);
        }
        accepted += try(session, text->str);
    }
    /* Else the mutations say nothing about reading. */
    g_assert_cmpuint(accepted, >, ROUNDS / 10);
    lull_session_free(session);
    scratch_remove(dir);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/filter/mutations/soup", test_soup);
    g_test_add_func("/filter/mutations/language", test_mutations);
    return g_test_run();
}
