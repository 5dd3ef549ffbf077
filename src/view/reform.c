/* SPDX-License-Identifier: MIT */
/* Times are replaced in the text, which otherwise stays as it is; tables are made of the parsed
 * document. */
#include "view/reform.h"

#include <string.h>

#include <lull/error.h>

#include "base/json.h"
#include "base/time.h"
#include "view/csv.h"
#include "view/out.h"

/* ---- times ---- */

static bool is_time(const char *key, size_t length)
{
    static const char *const keys[] = {"begin_ns",       "end_ns",   "asked_begin_ns",
                                       "asked_end_ns",   "zero_ns",  "time_ns",
                                       "first_event_ns", "first_ns", "last_ns"};
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        if (strlen(keys[i]) == length && memcmp(keys[i], key, length) == 0) {
            return true;
        }
    }
    return false;
}

/* After the quote that opens a text: where the one is that closes it. */
static const char *end_of_text(const char *at, const char *end)
{
    while (at < end && *at != '"') {
        at += *at == '\\' ? 2 : 1;
    }
    return MIN(at, end);
}

char *lull_reform_times(const char *json, size_t length, bool local_time)
{
    GString *out = g_string_sized_new(length + length / 8);
    const char *end = json + length, *done = json;
    for (const char *at = json; at < end; at++) {
        if (*at != '"') {
            continue;
        }
        const char *key = at + 1;
        at = end_of_text(key, end);
        const char *value = at + 1 + strspn(MIN(at + 1, end), ": ");
        const char *rest = value;
        if (value == at + 1 || !is_time(key, (size_t)(at - key))) {
            continue;
        }
        const int64_t time_ns = g_ascii_strtoll(value, (char **)&rest, 10);
        char text[LULL_TIME_TEXT_SIZE];
        if (rest == value) {
            continue; /* null */
        }
        lull_time_format_iso(time_ns, local_time, text);
        g_string_append_len(out, done, value - done);
        g_string_append_printf(out, "\"%s\"", text);
        done = rest;
        at = rest - 1;
    }
    g_string_append_len(out, done, end - done);
    return g_string_free(out, FALSE);
}

/* ---- tables ---- */

struct reform {
    const char *name;
    char separator;
    bool is_first; /* table */
    struct lull_out out;
    struct lull_linebuf line;
};

/* A list, and the object that it is in. */
struct part {
    const char *of;
    struct json_object *list;
};

/* The lists of one name: a table. */
struct table {
    char *name;
    GArray *parts;      /* struct part */
    GPtrArray *columns; /* char *, paths of members */
};

static bool is_list_of_objects(struct json_object *value)
{
    return json_object_is_type(value, json_type_array) && json_object_array_length(value) > 0 &&
           json_object_is_type(json_object_array_get_idx(value, 0), json_type_object);
}

static char *joined(const char *first, const char *second)
{
    return *first ? g_strconcat(first, ".", second, NULL) : g_strdup(second);
}

static void add_column(GPtrArray *columns, const char *path)
{
    if (!g_ptr_array_find_with_equal_func(columns, path, g_str_equal, NULL)) {
        g_ptr_array_add(columns, g_strdup(path));
    }
}

/* What says which object it is. */
static const char *label_of(struct json_object *object)
{
    json_object_object_foreach(object, key, value)
    {
        (void)key;
        return value ? json_object_get_string(value) : NULL;
    }
    return NULL;
}

static void collect_columns(GPtrArray *columns, struct json_object *object, const char *prefix)
{
    json_object_object_foreach(object, key, value)
    {
        g_autofree char *path = joined(prefix, key);
        if (json_object_is_type(value, json_type_object)) {
            collect_columns(columns, value, path);
        } else if (!is_list_of_objects(value)) {
            add_column(columns, path);
        }
    }
}

static void free_table(gpointer data)
{
    struct table *table = data;
    g_free(table->name);
    g_array_unref(table->parts);
    g_ptr_array_unref(table->columns);
    g_free(table);
}

static struct table *table_of(GPtrArray *tables, const char *name)
{
    for (guint i = 0; i < tables->len; i++) {
        struct table *table = tables->pdata[i];
        if (strcmp(table->name, name) == 0) {
            return table;
        }
    }
    struct table *table = g_new(struct table, 1);
    *table = (struct table){.name = g_strdup(name),
                            .parts = g_array_new(FALSE, FALSE, sizeof(struct part)),
                            .columns = g_ptr_array_new_with_free_func(g_free)};
    g_ptr_array_add(tables, table);
    return table;
}

/* The lists in an object, whose own name is `prefix`. */
static void collect_tables(GPtrArray *tables, struct json_object *object, const char *prefix,
                           const char *of)
{
    json_object_object_foreach(object, key, value)
    {
        g_autofree char *path = joined(prefix, key);
        if (is_list_of_objects(value)) {
            const struct part part = {of, value};
            g_array_append_val(table_of(tables, path)->parts, part);
        } else if (json_object_is_type(value, json_type_object)) {
            collect_tables(tables, value, path, of);
        }
    }
}

/* A member that is null or an empty list in one row, and an object or a list of them in another,
 * has the columns, or the table, of the latter only. */
static bool is_elsewhere(const struct table *table, const GPtrArray *inner, const char *column)
{
    g_autofree char *name = joined(table->name, column);
    g_autofree char *prefix = g_strconcat(column, ".", NULL);
    for (guint i = 0; i < inner->len; i++) {
        if (strcmp(((struct table *)inner->pdata[i])->name, name) == 0) {
            return true;
        }
    }
    for (guint i = 0; i < table->columns->len; i++) {
        if (g_str_has_prefix(table->columns->pdata[i], prefix)) {
            return true;
        }
    }
    return false;
}

static void drop_empty_columns(struct table *table, const GPtrArray *inner)
{
    for (guint i = table->columns->len; i-- > 0;) {
        if (is_elsewhere(table, inner, table->columns->pdata[i])) {
            g_ptr_array_remove_index(table->columns, i);
        }
    }
}

static struct json_object *member(struct json_object *object, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (uint32_t i = 0; keys[i] && object; i++) {
        if (!json_object_is_type(object, json_type_object) ||
            !json_object_object_get_ex(object, keys[i], &object)) {
            return NULL;
        }
    }
    return object;
}

static void put(struct reform *r, const char *text)
{
    if (r->line.length > 0) {
        lull_linebuf_char(&r->line, r->separator);
    }
    lull_csv_append(&r->line, text, r->separator);
}

static void end_line(struct reform *r)
{
    lull_linebuf_char(&r->line, '\n');
    lull_out_bytes(&r->out, r->line.data, r->line.length);
    r->line.length = 0;
}

/* The elements of lists with blanks between; objects are elsewhere. */
static void append_words(GString *words, struct json_object *value)
{
    if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            append_words(words, json_object_array_get_idx(value, i));
        }
    } else if (value && !json_object_is_type(value, json_type_object)) {
        g_string_append_printf(words, "%s%s", words->len ? " " : "", json_object_get_string(value));
    }
}

static void put_value(struct reform *r, struct json_object *value)
{
    g_autoptr(GString) words = g_string_new(NULL);
    append_words(words, value);
    put(r, words->str);
}

static void put_headings(struct reform *r, const struct table *table)
{
    static const char *const first[] = {"analysis", "table", "of", NULL};
    if (!r->is_first) {
        end_line(r);
    }
    r->is_first = false;
    for (uint32_t i = 0; first[i]; i++) {
        put(r, first[i]);
    }
    for (guint i = 0; i < table->columns->len; i++) {
        put(r, table->columns->pdata[i]);
    }
    end_line(r);
}

static void put_rows(struct reform *r, const struct table *table, const struct part *part)
{
    for (size_t i = 0; i < json_object_array_length(part->list); i++) {
        put(r, r->name);
        put(r, table->name);
        put(r, part->of ? part->of : "");
        for (guint c = 0; c < table->columns->len; c++) {
            put_value(r,
                      member(json_object_array_get_idx(part->list, i), table->columns->pdata[c]));
        }
        end_line(r);
    }
}

static void put_tables(struct reform *r, GPtrArray *tables);

static void put_table(struct reform *r, struct table *table)
{
    g_autoptr(GPtrArray) inner = g_ptr_array_new_with_free_func(free_table);
    for (guint p = 0; p < table->parts->len; p++) {
        const struct part *part = &g_array_index(table->parts, struct part, p);
        for (size_t i = 0; i < json_object_array_length(part->list); i++) {
            struct json_object *row = json_object_array_get_idx(part->list, i);
            collect_columns(table->columns, row, "");
            collect_tables(inner, row, table->name, label_of(row));
        }
    }
    drop_empty_columns(table, inner);
    put_headings(r, table);
    for (guint p = 0; p < table->parts->len; p++) {
        put_rows(r, table, &g_array_index(table->parts, struct part, p));
    }
    put_tables(r, inner);
}

static void put_tables(struct reform *r, GPtrArray *tables)
{
    for (guint i = 0; i < tables->len; i++) {
        put_table(r, tables->pdata[i]);
    }
}

bool lull_reform_tables(const char *json, const char *name, char separator, FILE *file,
                        bool *is_empty, GError **error)
{
    struct json_object *root = json_tokener_parse(json);
    struct reform r = {.name = name, .separator = separator, .is_first = true};
    g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func(free_table);
    lull_out_start(&r.out, file);
    if (root) {
        collect_tables(tables, root, "", NULL);
    }
    put_tables(&r, tables);
    *is_empty = r.is_first;
    json_object_put(root);
    lull_linebuf_free(&r.line);
    return lull_out_end(&r.out, separator == ',' ? "CSV" : "TSV", error);
}
