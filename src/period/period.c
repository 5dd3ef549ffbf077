/* SPDX-License-Identifier: MIT */
/* The list of definitions, and the deprecated options that define one. */
#include "period/period.h"

#include <lull/error.h>
#include <string.h>

#include "period/definition.h"

/* ---- the list ---- */

static void free_definition(gpointer data)
{
    struct lull_period_definition *definition = data;
    g_array_unref(definition->kept);
}

static bool complain(GError **error, const char *what)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, what);
    return false;
}

static bool parse_one(struct lull_periods *periods, const char *text, GError **error)
{
    const bool is_state = lull_period_is_state(text) > 0;
    if (periods->definitions->len > 0 && is_state != (periods->states != NULL)) {
        return complain(error, "period: states of a file and other periods cannot be followed at "
                               "the same time; ask for one kind, then for the other");
    }
    return is_state ? lull_period_parse_state(periods, text, error)
                    : lull_period_parse(periods, text, error);
}

struct lull_periods *lull_periods_parse(const char *const *definitions, const char *const *captures,
                                        GError **error)
{
    static const char *const none[] = {NULL};
    struct lull_periods *periods = g_new0(struct lull_periods, 1);
    periods->terms.arena = lull_arena_new();
    periods->definitions = g_ptr_array_new_with_free_func(free_definition);
    lull_who_reserve(&periods->terms);
    bool is_right = true;
    for (const char *const *text = definitions; *text && is_right; text++) {
        is_right = parse_one(periods, *text, error);
    }
    if (is_right && periods->states && captures && *captures) {
        is_right = complain(error, "period-captures: the captures of a state are the key, the "
                                   "variables and the numbers of its row");
    }
    for (const char *const *text = captures ? captures : none; *text && is_right; text++) {
        is_right = lull_period_parse_captures(periods, *text, error);
    }
    if (is_right) {
        return periods;
    }
    lull_periods_free(periods);
    return NULL;
}

bool lull_periods_parse_given(const char *const *definitions, const char *const *captures,
                              struct lull_periods **periods, GError **error)
{
    *periods = definitions ? lull_periods_parse(definitions, captures, error) : NULL;
    return definitions ? *periods != NULL
                       : !captures || complain(error, "period-captures: needs a period");
}

void lull_periods_free(struct lull_periods *periods)
{
    if (!periods) {
        return;
    }
    g_ptr_array_unref(periods->definitions);
    lull_states_free(periods->states);
    if (periods->states_warnings) {
        g_string_free(periods->states_warnings, TRUE);
    }
    lull_arena_free(periods->terms.arena);
    g_free(periods);
}

uint32_t lull_periods_count(const struct lull_periods *periods)
{
    return periods->definitions->len;
}

const struct lull_period *lull_periods_at(const struct lull_periods *periods, uint32_t number)
{
    g_return_val_if_fail(number < periods->definitions->len, NULL);
    return &lull_period_definition(periods, number)->public;
}

uint32_t lull_periods_find(const struct lull_periods *periods, const char *name, size_t length)
{
    for (uint32_t i = 0; i < periods->definitions->len; i++) {
        const char *path = lull_periods_at(periods, i)->path;
        size_t whole = strlen(path);
        if (length > 0 && length <= whole && memcmp(path + whole - length, name, length) == 0 &&
            (length == whole || path[whole - length - 1] == '/')) {
            return i;
        }
    }
    return LULL_NO_PERIOD;
}

/* ---- deprecated options ---- */

static void append_quoted(GString *out, const char *text)
{
    g_string_append_c(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            g_string_append_c(out, '\\');
        }
        g_string_append_c(out, *text);
    }
    g_string_append_c(out, '"');
}

/* What can be read as a number is one, as with lttng-analyses. */
static bool is_number(const char *text)
{
    char *end = NULL;
    g_ascii_strtod(text, &end);
    return *text != '\0' && *end == '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
}

static bool check_options(const char *start, const char *const *start_keys,
                          const char *const *end_keys, const char *const *values, GError **error)
{
    uint32_t n = g_strv_length((char **)start_keys);
    if (!start) {
        return complain(error, "period-begin: it is needed for period-end and the keys");
    }
    if (g_strv_length((char **)end_keys) != n) {
        return complain(error, "period-end-key: it needs as many fields as period-begin-key");
    }
    if (values && g_strv_length((char **)values) != n) {
        return complain(error, "period-key-value: it needs as many values as there are keys");
    }
    return true;
}

char *lull_periods_translate(const char *start, const char *end, const char *start_keys,
                             const char *end_keys, const char *key_values, GError **error)
{
    const char *start_list = start_keys ? start_keys : "cpu_id";
    g_auto(GStrv) starts = g_strsplit(start_list, ",", -1);
    g_auto(GStrv) ends = g_strsplit(end_keys ? end_keys : start_list, ",", -1);
    g_auto(GStrv) values = key_values ? g_strsplit(key_values, ",", -1) : NULL;
    if (!check_options(start, (const char *const *)starts, (const char *const *)ends,
                       (const char *const *)values, error)) {
        return NULL;
    }
    GString *out = g_string_new(": $evt.$name == ");
    append_quoted(out, start);
    for (uint32_t i = 0; values && values[i]; i++) {
        g_string_append_printf(out, " && $evt.%s == ", starts[i]);
        if (is_number(values[i])) {
            g_string_append(out, values[i]);
        } else {
            append_quoted(out, values[i]);
        }
    }
    g_string_append(out, " : $evt.$name == ");
    append_quoted(out, end ? end : start);
    for (uint32_t i = 0; starts[i]; i++) {
        g_string_append_printf(out, " && $evt.%s == $begin.$evt.%s", ends[i], starts[i]);
    }
    return g_string_free(out, FALSE);
}
