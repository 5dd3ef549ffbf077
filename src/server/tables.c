/* SPDX-License-Identifier: MIT */
/* Lines are read as they are asked for, some at a time. A search reads on until something matches; it
 * gives up after some seconds, and says how far it came. */
#include "server/tables.h"

#include <inttypes.h>
#include <string.h>

#include <lull/path.h>

#include "base/json.h"
#include "server/match.h"
#include "server/params.h"

enum { LINES_MOST = 5000, COLUMNS_MOST = 32, PATTERN_MOST = 256, SEARCH_S = 10 };
enum { AT_FIRST = 500, AT_MOST = 1 << 14 }; /* lines that a search reads at once, which grow */
#define HIGHLIGHTED 8                       /* a tag of the protocol: it was searched for */

struct question {
    const struct server_table *table;
    uint64_t first;
    uint32_t count;
    uint32_t columns[COLUMNS_MOST], n_columns;
    GRegex *patterns[COLUMNS_MOST]; /* by column; NULL: anything matches */
    bool is_search;
    int direction; /* 1, -1; 0: what matches is marked */
};

static bool bad(GError **error, const char *why)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, why);
    return false;
}

void server_table_columns(const struct server_table *table, GString *out)
{
    g_string_append_c(out, '[');
    for (uint32_t i = 0; i < table->n_columns; i++) {
        g_string_append_printf(
            out, "%s{\"id\":%u,\"name\":\"%s\",\"description\":\"\",\"type\":\"STRING\"}",
            i ? "," : "", i, table->columns[i]);
    }
    g_string_append_c(out, ']');
}

/* ---- parameters ---- */

static bool take_place(struct question *question, struct json_object *params, GError **error)
{
    struct json_object *times;
    int64_t number;
    if (server_param_number(params, "requested_table_index", &number)) {
        question->first = (uint64_t)MAX(number, 0);
    } else if (json_object_object_get_ex(params, "requested_times", &times) &&
               json_object_is_type(times, json_type_array) && json_object_array_length(times)) {
        const int64_t time_ns = json_object_get_int64(json_object_array_get_idx(times, 0));
        if (!question->table->find(question->table->user, time_ns, &question->first, error)) {
            return false;
        }
    } else {
        return bad(error, "requested_table_index or requested_times is missing");
    }
    if (!server_param_number(params, "requested_table_count", &number) || number < 1 ||
        number > LINES_MOST) {
        return bad(error, "requested_table_count needs a number from 1 to 5000");
    }
    question->count = (uint32_t)number;
    return true;
}

static bool take_columns(struct question *question, struct json_object *params, GError **error)
{
    struct json_object *list;
    const bool has_list = json_object_object_get_ex(params, "requested_table_column_ids", &list) &&
                          json_object_is_type(list, json_type_array) &&
                          json_object_array_length(list);
    const size_t n = has_list ? json_object_array_length(list) : question->table->n_columns;
    if (n > COLUMNS_MOST) {
        return bad(error, "there are too many columns");
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t id =
            has_list ? json_object_get_int64(json_object_array_get_idx(list, i)) : (int64_t)i;
        if (id < 0 || id >= question->table->n_columns) {
            return bad(error, "there is no such column");
        }
        question->columns[question->n_columns++] = (uint32_t)id;
    }
    return true;
}

static bool take_pattern(struct question *question, const char *column, struct json_object *given,
                         GError **error)
{
    uint64_t id;
    const char *text =
        json_object_is_type(given, json_type_string) ? json_object_get_string(given) : NULL;
    if (!g_ascii_string_to_unsigned(column, 10, 0, question->table->n_columns - 1, &id, NULL)) {
        return bad(error, "table_search_expressions names a column that does not exist");
    }
    if (!text || strlen(text) > PATTERN_MOST) {
        return bad(error, "a search expression is a text of at most 256 bytes");
    }
    g_clear_pointer(&question->patterns[id], g_regex_unref);
    question->patterns[id] = server_pattern(text);
    question->is_search = true;
    return question->patterns[id] || bad(error, "a search expression is not a regular expression");
}

static bool take_search(struct question *question, struct json_object *params, GError **error)
{
    struct json_object *expressions;
    const char *direction = server_param_text(params, "table_search_direction");
    if (!json_object_object_get_ex(params, "table_search_expressions", &expressions) ||
        !json_object_is_type(expressions, json_type_object)) {
        return true;
    }
    json_object_object_foreach(expressions, column, text)
    {
        if (!take_pattern(question, column, text, error)) {
            return false;
        }
    }
    question->direction = !direction || !question->is_search   ? 0
                          : strcmp(direction, "PREVIOUS") == 0 ? -1
                                                               : 1;
    return true;
}

/* ---- lines ---- */

static bool has_match(const struct question *question, uint32_t column, char *const *line)
{
    GRegex *pattern = question->patterns[column];
    return pattern && g_regex_match(pattern, line[column], 0, NULL);
}

/* Whether all patterns do. */
static bool matches(const struct question *question, char *const *line)
{
    for (uint32_t i = 0; i < question->table->n_columns; i++) {
        if (question->patterns[i] && !has_match(question, i, line)) {
            return false;
        }
    }
    return question->is_search;
}

static GPtrArray *read_lines(const struct question *question, uint64_t first, uint64_t count,
                             uint32_t wanted, GError **error)
{
    const struct server_table *table = question->table;
    GPtrArray *lines = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    first = MIN(first, table->size);
    if (!table->read(table->user, first, (uint32_t)MIN(count, table->size - first), wanted, lines,
                     error)) {
        g_ptr_array_unref(lines);
        return NULL;
    }
    return lines;
}

/* The index of the first line that matches, from question->first on or back from it. */
static bool search(const struct question *question, uint64_t *found, bool *is_found, GError **error)
{
    const int64_t until_us = g_get_monotonic_time() + SEARCH_S * G_USEC_PER_SEC;
    const uint64_t size = question->table->size;
    const bool is_back = question->direction < 0;
    uint64_t at = is_back ? MIN(question->first + 1, size) : question->first; /* back: exclusive */
    uint64_t at_once = AT_FIRST;
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < question->table->n_columns; i++) {
        wanted |= question->patterns[i] ? UINT32_C(1) << i : 0;
    }
    *is_found = false;
    while (!*is_found && (is_back ? at > 0 : at < size)) {
        const uint64_t count = MIN(is_back ? at : size - at, at_once);
        const uint64_t first = is_back ? at - count : at;
        g_autoptr(GPtrArray) lines = read_lines(question, first, count, wanted, error);
        for (uint64_t i = 0; lines && i < lines->len && !*is_found; i++) {
            const uint64_t n = is_back ? lines->len - 1 - i : i;
            *is_found = matches(question, lines->pdata[n]);
            *found = first + n;
        }
        if (!lines) {
            return false;
        }
        at = is_back ? first : first + count;
        at_once = MIN(2 * at_once, AT_MOST);
        if (!*is_found && g_get_monotonic_time() > until_us) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                        "nothing matched up to line %" PRIu64 ": search on from there", at);
            return false;
        }
    }
    return true;
}

static void append_line(const struct question *question, uint64_t index, char *const *line,
                        GString *out)
{
    const bool is_match = matches(question, line);
    g_string_append_printf(out, "%s{\"index\":%" PRIu64 ",\"cells\":[",
                           out->str[out->len - 1] == '[' ? "" : ",", index);
    for (uint32_t i = 0; i < question->n_columns; i++) {
        const uint32_t column = question->columns[i];
        g_string_append(out, i ? ",{\"content\":" : "{\"content\":");
        lull_json_append(out, line[column], strlen(line[column]));
        if (is_match && has_match(question, column, line)) {
            g_string_append_printf(out, ",\"tags\":%d", HIGHLIGHTED);
        }
        g_string_append_c(out, '}');
    }
    g_string_append_c(out, ']');
    if (is_match) {
        g_string_append_printf(out, ",\"tags\":%d", HIGHLIGHTED);
    }
    g_string_append_c(out, '}');
}

static bool append_lines(struct question *question, GString *out, GError **error)
{
    bool is_found = true;
    uint64_t first = MIN(question->first, question->table->size);
    if (question->direction && !search(question, &first, &is_found, error)) {
        return false;
    }
    g_autoptr(GPtrArray) lines =
        read_lines(question, first, is_found ? question->count : 0, UINT32_MAX, error);
    if (!lines) {
        return false;
    }
    g_string_append_printf(out, "{\"size\":%" PRIu64 ",\"lowIndex\":%" PRIu64 ",\"columnIds\":[",
                           question->table->size, first);
    for (uint32_t i = 0; i < question->n_columns; i++) {
        g_string_append_printf(out, "%s%u", i ? "," : "", question->columns[i]);
    }
    g_string_append(out, "],\"lines\":[");
    for (guint i = 0; i < lines->len; i++) {
        append_line(question, first + i, lines->pdata[i], out);
    }
    g_string_append(out, "]}");
    return true;
}

bool server_table_lines(const struct server_table *table, struct json_object *params, GString *out,
                        GError **error)
{
    struct question question = {.table = table};
    const bool is_done =
        take_place(&question, params, error) && take_columns(&question, params, error) &&
        take_search(&question, params, error) && append_lines(&question, out, error);
    for (uint32_t i = 0; i < COLUMNS_MOST; i++) {
        g_clear_pointer(&question.patterns[i], g_regex_unref);
    }
    return is_done;
}
