/* SPDX-License-Identifier: MIT */
/* The language of periods, line by line of language.txt: what a text means, or where and why it is
 * refused. */
#include <stdlib.h>
#include <string.h>

#include "period/definition.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const before[] = {"p : $evt.x == 1", "c(p) : $evt.y == 1", "d(c) : $evt.z == 1"};

/* ---- canonical forms ---- */

static void append_path(GString *out, const struct lull_field_path *path)
{
    static const char *const scopes[] = {
        [LULL_IN_ANY] = "", [LULL_IN_PAYLOAD] = "payload.", [LULL_IN_CONTEXT] = "context."};
    g_string_append(out, scopes[path->scope]);
    for (uint32_t i = 0; i < path->n_steps; i++) {
        if (!path->steps[i].name) {
            g_string_append_printf(out, "[%u]", (unsigned)path->steps[i].index);
        } else {
            g_string_append_printf(out, "%s%s", i > 0 ? "." : "", path->steps[i].name);
        }
    }
}

static void append_literal(GString *out, const struct lull_value *value)
{
    if (value->kind == LULL_VALUE_TEXT) {
        g_string_append_c(out, '"');
        for (uint32_t i = 0; i < value->text.length; i++) {
            if ((unsigned char)value->text.data[i] < ' ') {
                g_string_append_printf(out, "<%02x>", value->text.data[i]);
            } else {
                g_string_append_c(out, value->text.data[i]);
            }
        }
        g_string_append_c(out, '"');
    } else if (value->kind == LULL_VALUE_REAL) {
        g_string_append_printf(out, value->real == 1000 ? "%.1f" : "%g", value->real);
    } else if (value->is_signed) {
        g_string_append_printf(out, "%" G_GINT64_FORMAT, (int64_t)value->bits);
    } else {
        g_string_append_printf(out, "%" G_GUINT64_FORMAT, value->bits);
    }
}

static void append_operand(GString *out, const struct lull_terms *terms,
                           const struct lull_operand *operand)
{
    static const char *const now[] = {
        [LULL_NOW_TID] = "$tid", [LULL_NOW_COMM] = "$comm", [LULL_NOW_CPU] = "$cpu"};
    switch (operand->kind) {
    case LULL_OPERAND_VALUE:
        append_literal(out, &operand->value);
        break;
    case LULL_OPERAND_FIELD:
        append_path(out, &terms->fields[operand->index]);
        break;
    case LULL_OPERAND_RUNNING:
        for (uint32_t i = 0; i < operand->n_fields; i++) {
            append_path(out, &terms->fields[operand->index + i]);
            g_string_append_c(out, '|');
        }
        g_string_append(out, now[operand->given]);
        break;
    case LULL_OPERAND_GIVEN:
        if (operand->group == LULL_PERIOD_OWN) {
            g_string_append_printf(out, "own1.%u", operand->index);
        } else {
            g_string_append_printf(out, "up%u.%u", operand->group - LULL_PERIOD_OWN,
                                   operand->index);
        }
        break;
    default:
        g_string_append(out, operand->kind == LULL_OPERAND_NAME   ? "$name"
                             : operand->kind == LULL_OPERAND_HOST ? "$host"
                             : operand->kind == LULL_OPERAND_CPU  ? "$cpu"
                                                                  : "$timestamp");
    }
}

static void append_node(GString *out, const struct lull_terms *terms, const struct lull_node *node)
{
    static const char *const relations[] = {"==", "!=", "<", "<=", ">", ">="};
    if (node->kind == LULL_NODE_COMPARE) {
        g_string_append_printf(out, "(%s ", relations[node->relation]);
        append_operand(out, terms, &node->left);
        g_string_append_c(out, ' ');
        append_operand(out, terms, &node->right);
    } else if (node->kind == LULL_NODE_MATCH) {
        g_string_append(out, "(=* ");
        append_operand(out, terms, &node->left);
    } else {
        g_string_append(out, node->kind == LULL_NODE_AND  ? "(&&"
                             : node->kind == LULL_NODE_OR ? "(||"
                                                          : "(!");
        for (uint32_t i = 0; i < node->n; i++) {
            g_string_append_c(out, ' ');
            append_node(out, terms, node->children[i]);
        }
    }
    g_string_append_c(out, ')');
}

static char *canonical_definition(const struct lull_periods *periods, uint32_t number)
{
    const struct lull_period_definition *definition = lull_period_definition(periods, number);
    const struct lull_period *public = &definition->public;
    GString *out = g_string_new(public->name ? public->name : "-");
    if (public->parent != LULL_NO_PERIOD) {
        g_string_append_printf(out, " < %s", lull_periods_at(periods, public->parent)->name);
    }
    g_string_append(out, " : ");
    append_node(out, &periods->terms, definition->start);
    g_string_append(out, " : ");
    append_node(out, &periods->terms, definition->end);
    return g_string_free(out, FALSE);
}

static char *canonical_captures(const struct lull_periods *periods)
{
    GString *out = g_string_new(NULL);
    for (uint32_t i = 0; i < lull_periods_count(periods); i++) {
        const struct lull_period_definition *definition = lull_period_definition(periods, i);
        if (!definition->captures[0]) {
            continue;
        }
        g_string_append(out, definition->public.name);
        for (int side = 0; side < 2; side++) {
            const uint32_t n =
                side ? definition->public.n_end_captures : definition->public.n_start_captures;
            g_string_append(out, " :");
            for (uint32_t k = 0; k < n; k++) {
                g_string_append_printf(out, " %s=", definition->captures[side][k].name);
                append_operand(out, &periods->terms, &definition->captures[side][k].operand);
            }
        }
    }
    return g_string_free(out, FALSE);
}

/* ---- the table ---- */

static struct lull_periods *parse(const char *text, GError **error)
{
    bool is_captures = g_str_has_prefix(text, "captures ");
    const char *const definitions[] = {before[0], before[1], before[2], is_captures ? NULL : text,
                                       NULL};
    return lull_periods_parse(definitions, is_captures ? LIST(text + strlen("captures ")) : NULL,
                              error);
}

static void check_accepted(const char *text, const char *expected)
{
    GError *error = NULL;
    struct lull_periods *periods = parse(text, &error);
    if (error) {
        g_test_fail_printf("%s: %s", text, error->message);
        g_error_free(error);
        return;
    }
    g_autofree char *got = g_str_has_prefix(text, "captures ") ? canonical_captures(periods)
                                                               : canonical_definition(periods, 3);
    if (strcmp(got, expected) != 0) {
        g_test_fail_printf("%s: %s instead of %s", text, got, expected);
    }
    lull_periods_free(periods);
}

static void check_refused(int column, const char *part, const char *text)
{
    g_autoptr(GError) error = NULL;
    struct lull_periods *periods = parse(text, &error);
    if (periods) {
        g_test_fail_printf("accepted: %s", text);
        lull_periods_free(periods);
        return;
    }
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    bool is_captures = g_str_has_prefix(text, "captures ");
    g_autofree char *start =
        g_strdup_printf("the %s, column %d: ", is_captures ? "captures" : "period", column);
    g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
    if (!g_str_has_prefix(lines[0], start) || !strstr(lines[0], part)) {
        g_test_fail_printf("column %d: %s: %s", column, text, error->message);
    }
    /* A caret stands below the column; the text begins behind two blanks. */
    g_assert_cmpuint(g_strv_length(lines), ==, 3);
    g_assert_cmpint((int)g_utf8_strlen(lines[2], -1), ==,
                    2 + atoi(strstr(lines[0], "column ") + 7));
}

static void test_table(void)
{
    g_autofree char *path = g_test_build_filename(G_TEST_DIST, "period", "language.txt", NULL);
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    unsigned checked = 0;
    for (char **line = lines; *line; line++) {
        if (**line == '\0' || **line == '#') {
            continue;
        }
        g_auto(GStrv) parts = g_strsplit(*line, "\t", -1);
        if (**line == '!') {
            check_refused(atoi(parts[0] + 1), parts[1], parts[2]);
        } else {
            check_accepted(parts[0], parts[1]);
        }
        checked++;
    }
    g_assert_cmpuint(checked, >, 90);
}

/* ---- the rest ---- */

static void check_error(char *text, const char *part)
{
    g_autoptr(GError) error = NULL;
    struct lull_periods *periods = lull_periods_parse(LIST(text), NULL, &error);
    g_assert_null(periods);
    g_assert_error(error, LULL_ERROR, LULL_ERROR_USAGE);
    if (!strstr(error->message, part)) {
        g_error("%s", error->message);
    }
    g_free(text);
}

static char *repeat(const char *head, const char *text, unsigned n, const char *tail)
{
    GString *all = g_string_new(head);
    for (unsigned i = 0; i < n; i++) {
        g_string_append(all, text);
    }
    g_string_append(all, tail);
    return g_string_free(all, FALSE);
}

static void test_limits(void)
{
    check_error(repeat(": ", "(", 5000, "$evt.a == 1"), "nested too deep");
    check_error(repeat(": ", "!", 5000, "$evt.a == 1"), "nested too deep");
    check_error(repeat(": $evt.a == 1", " || $evt.a == 1", 6000, ""), "longer than 65536 bytes");
    GString *fields = g_string_new(": $evt.f0 == 1");
    for (unsigned i = 1; i < 70; i++) {
        g_string_append_printf(fields, " || $evt.f%u == 1", i);
    }
    /* An event binds 64; who runs takes ten of them. */
    check_error(g_string_free(fields, FALSE), "all periods together mention at most 54");
    g_autoptr(GPtrArray) deep = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(deep, g_strdup("p0 : $evt.a == 1"));
    for (unsigned i = 1; i < 70; i++) {
        g_ptr_array_add(deep, g_strdup_printf("p%u(p%u) : $evt.a == 1", i, i - 1));
    }
    g_ptr_array_add(deep, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(lull_periods_parse((const char *const *)deep->pdata, NULL, &error));
    g_assert_nonnull(strstr(error->message, "nested deeper than 60"));
    g_clear_error(&error);
    g_assert_null(lull_periods_parse(LIST(before[0]), LIST("p : $evt.a", "p : $evt.b"), &error));
    g_assert_nonnull(strstr(error->message, "the period “p” has captures already"));
}

/* The deprecated options, as section 4.9 of the specification of lttng-analyses has them. */
static void test_translation(void)
{
    static const struct {
        const char *start, *end, *start_keys, *end_keys, *values, *expected; /* or "!" and why */
    } cases[] = {
        {"a", NULL, NULL, NULL, NULL,
         ": $evt.$name == \"a\" : $evt.$name == \"a\" && $evt.cpu_id == $begin.$evt.cpu_id"},
        {"a", "b", "x,y", NULL, NULL,
         ": $evt.$name == \"a\" : $evt.$name == \"b\" && $evt.x == $begin.$evt.x && $evt.y == "
         "$begin.$evt.y"},
        {"a", "b", "x,y", "u,v", "7,it\"s",
         ": $evt.$name == \"a\" && $evt.x == 7 && $evt.y == \"it\\\"s\" : $evt.$name == \"b\" && "
         "$evt.u == $begin.$evt.x && $evt.v == $begin.$evt.y"},
        {NULL, "b", NULL, NULL, NULL, "!period-begin: it is needed for period-end"},
        {"a", "b", "x,y", "u", NULL, "!as many fields"},
        {"a", "b", "x,y", NULL, "1", "!as many values"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GError) error = NULL;
        g_autofree char *text =
            lull_periods_translate(cases[i].start, cases[i].end, cases[i].start_keys,
                                   cases[i].end_keys, cases[i].values, &error);
        if (cases[i].expected[0] == '!') {
            g_assert_null(text);
            g_assert_nonnull(strstr(error->message, cases[i].expected + 1));
            continue;
        }
        g_assert_cmpstr(text, ==, cases[i].expected);
        struct lull_periods *periods = lull_periods_parse(LIST(text), NULL, &error);
        g_assert_no_error(error);
        lull_periods_free(periods);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/period/language/table", test_table);
    g_test_add_func("/period/language/limits", test_limits);
    g_test_add_func("/period/language/translation", test_translation);
    return g_test_run();
}
