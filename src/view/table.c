/* SPDX-License-Identifier: MIT */
/* A table with typed columns, printed by libsmartcols as text or by json-c as JSON. */
#include "view/table.h"

#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>
#include <math.h>
#include <string.h>

#include <lull/error.h>

#include "base/digits.h"
#include "base/time.h"
#include "view/out.h"
#include "view/words.h"

#define MAX_COLUMNS 64
#define MIN_WRAP 24 /* columns */
#define MIN_TEXT 12 /* to which texts are cut */
#define GAP 2       /* between columns */

struct cell {
    bool is_set;
    const char *color;
    union {
        const char *text; /* in `strings` */
        int64_t number;
        double real;
    };
};

struct lull_table {
    const struct lull_column *columns;
    uint32_t n_columns;
    bool no_headings;
    GArray *cells; /* n_columns for each row */
    GStringChunk *strings;
};

struct lull_table *lull_table_new(const struct lull_column *columns)
{
    struct lull_table *table = g_new0(struct lull_table, 1);

    table->columns = columns;
    while (columns[table->n_columns].title) {
        table->n_columns++;
    }
    g_assert(table->n_columns > 0 && table->n_columns <= MAX_COLUMNS);
    table->cells = g_array_new(FALSE, TRUE, sizeof(struct cell));
    table->strings = g_string_chunk_new(4096);
    return table;
}

void lull_table_free(struct lull_table *table)
{
    if (!table) {
        return;
    }
    g_array_unref(table->cells);
    g_string_chunk_free(table->strings);
    g_free(table);
}

void lull_table_add_row(struct lull_table *table)
{
    g_array_set_size(table->cells, table->cells->len + table->n_columns);
}

static struct cell *last_row_cell(struct lull_table *table, uint32_t column)
{
    g_assert(column < table->n_columns && table->cells->len >= table->n_columns);
    return &g_array_index(table->cells, struct cell, table->cells->len - table->n_columns + column);
}

static bool is_text(const struct lull_column *column)
{
    return column->type == LULL_COLUMN_TEXT;
}

static bool is_real(const struct lull_column *column)
{
    return column->type == LULL_COLUMN_SHARE || column->type == LULL_COLUMN_REAL;
}

void lull_table_set_text(struct lull_table *table, uint32_t column, const char *text)
{
    struct cell *cell = last_row_cell(table, column);

    g_assert(is_text(&table->columns[column]));
    cell->is_set = text != NULL;
    cell->text = text ? g_string_chunk_insert(table->strings, text) : NULL;
}

void lull_table_set_number(struct lull_table *table, uint32_t column, int64_t number)
{
    struct cell *cell = last_row_cell(table, column);

    g_assert(!is_text(&table->columns[column]) && !is_real(&table->columns[column]));
    cell->is_set = true;
    cell->number = number;
}

void lull_table_set_real(struct lull_table *table, uint32_t column, double number)
{
    struct cell *cell = last_row_cell(table, column);

    g_assert(is_real(&table->columns[column]));
    cell->is_set = isfinite(number);
    cell->real = number;
}

void lull_table_set_color(struct lull_table *table, uint32_t column, const char *ansi)
{
    last_row_cell(table, column)->color = ansi;
}

void lull_table_hide_headings(struct lull_table *table)
{
    table->no_headings = true;
}

uint32_t lull_table_row_count(const struct lull_table *table)
{
    return table->cells->len / table->n_columns;
}

/* What a cell shows, cleaned; "" if it is empty. Free with g_free(). */
static char *format_cell(const struct lull_column *column, const struct cell *cell,
                         const struct lull_view_style *style)
{
    char text[MAX(LULL_DECIMAL_SIZE, LULL_TIME_TEXT_SIZE)];

    if (!cell->is_set) {
        return g_strdup("");
    }
    switch (column->type) {
    case LULL_COLUMN_TEXT:
        return lull_clean_text(cell->text, !style->unicode);
    case LULL_COLUMN_TIME:
        lull_time_format_iso(cell->number, style->local_time, text);
        return g_strdup(text);
    case LULL_COLUMN_DURATION:
        lull_duration_format(cell->number, text);
        return g_strdup(text);
    case LULL_COLUMN_BYTES: {
        GString *bytes = g_string_new(NULL);
        lull_bytes_append(bytes, (double)cell->number);
        return g_string_free(bytes, FALSE);
    }
    case LULL_COLUMN_SHARE:
        return g_strdup_printf("%s %%", lull_decimal_format(cell->real * 100, 1, text));
    case LULL_COLUMN_REAL:
        return g_strdup(lull_decimal_format(cell->real, column->digits, text));
    default: {
        GString *number = g_string_new(NULL);
        lull_append_signed(number, cell->number);
        return g_string_free(number, FALSE);
    }
    }
}

/* The layout library never ends on a heading that the locale cannot write. */
static char *heading(const struct lull_column *column, const struct lull_view_style *style)
{
    g_autofree char *title = lull_clean_text(column->title, !style->unicode);
    return column->unit ? g_strdup_printf("%s (%s)", title, column->unit) : g_steal_pointer(&title);
}

static bool is_right(const struct lull_column *column)
{
    return !is_text(column) || column->flags & LULL_COLUMN_RIGHT;
}

static int smartcols_flags(const struct lull_column *column)
{
    if (is_right(column)) {
        return SCOLS_FL_RIGHT;
    }
    if (column->flags & LULL_COLUMN_WRAP) {
        return SCOLS_FL_WRAP;
    }
    return column->flags & LULL_COLUMN_KEEP ? SCOLS_FL_STRICTWIDTH : SCOLS_FL_TRUNC;
}

static const struct cell *row_cells(const struct lull_table *table, uint32_t row)
{
    return &g_array_index(table->cells, struct cell, (size_t)row * table->n_columns);
}

/* What a column takes if nothing of it is cut. */
static int natural_width(const struct lull_table *table, uint32_t column,
                         const struct lull_view_style *style)
{
    g_autofree char *title = heading(&table->columns[column], style);
    int width = table->no_headings ? 0 : lull_text_width(title);
    for (uint32_t row = 0; row < lull_table_row_count(table); row++) {
        g_autofree char *text =
            format_cell(&table->columns[column], &row_cells(table, row)[column], style);
        width = MAX(width, lull_text_width(text));
    }
    return width;
}

/* A column as it is laid out. */
struct position {
    int index; /* in the library's table, or -1: not shown */
    int fold;  /* text is folded at this width, 0: never */
    int cut;   /* longer text is cut to this width, 0: never */
};

static int least_wrap(const struct lull_view_style *style)
{
    return MIN(MIN_WRAP, style->width * 2 / 5);
}

/* What the other columns leave of the terminal for `wrapped`; without terminal there is no bound.
 */
static int width_left(const struct lull_table *table, uint32_t wrapped,
                      const struct position positions[static MAX_COLUMNS],
                      const struct lull_view_style *style)
{
    int left = style->width;

    if (style->width <= 0) {
        return G_MAXINT;
    }
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (i != wrapped && positions[i].index >= 0) {
            left -= MIN(natural_width(table, i, style), style->width) + GAP;
        }
    }
    return MAX(left, least_wrap(style));
}

/* The column to leave out: a bar, else the last of the details, else the last that is neither wrapped nor
 * to be kept; -1: none. */
static int least_needed(const struct lull_table *table,
                        const struct position positions[static MAX_COLUMNS])
{
    int last = -1, detail = -1, n = 0;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const unsigned flags = table->columns[i].flags;
        if (positions[i].index >= 0 && flags & LULL_COLUMN_BAR) {
            return (int)i;
        }
        if (positions[i].index >= 0 && !(flags & (LULL_COLUMN_WRAP | LULL_COLUMN_KEEP))) {
            last = (int)i;
            detail = flags & LULL_COLUMN_DETAIL ? (int)i : detail;
        }
        n += positions[i].index >= 0;
    }
    return n <= 1 ? -1 : detail >= 0 ? detail : last;
}

/* Which columns are shown: on a narrow terminal as many as fit with texts cut to a readable rest. Appends
 * the headings of the others, without bars. */
static void choose_columns(const struct lull_table *table, const struct lull_view_style *style,
                           struct position positions[static MAX_COLUMNS], GString *left_out)
{
    int widths[MAX_COLUMNS], all = -GAP, least;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const unsigned flags = table->columns[i].flags;
        positions[i] = (struct position){.index = flags & LULL_COLUMN_JSON_ONLY ? -1 : 0};
        if (positions[i].index < 0 || style->width <= 0) {
            continue;
        }
        widths[i] = natural_width(table, i, style);
        if (!is_right(&table->columns[i]) && !(flags & LULL_COLUMN_KEEP)) {
            widths[i] = MIN(widths[i], flags & LULL_COLUMN_WRAP ? least_wrap(style) : MIN_TEXT);
        }
        all += widths[i] + GAP;
    }
    while (style->width > 0 && all > style->width &&
           (least = least_needed(table, positions)) >= 0) {
        positions[least].index = -1;
        all -= widths[least] + GAP;
        if (!(table->columns[least].flags & LULL_COLUMN_BAR)) {
            g_autofree char *title = heading(&table->columns[least], style);
            g_string_append_printf(left_out, "%s%s", left_out->len ? ", " : "", title);
        }
    }
}

/* Where texts are too long for a line, the longest are cut until all fit. What is wrapped takes what is left of itself. */
static void choose_cuts(const struct lull_table *table, const struct lull_view_style *style,
                        struct position positions[static MAX_COLUMNS])
{
    int widths[MAX_COLUMNS] = {0}, over = -GAP - style->width, widest;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (positions[i].index < 0) {
            continue;
        }
        if (table->columns[i].flags & LULL_COLUMN_WRAP) {
            return;
        }
        widths[i] = natural_width(table, i, style);
        over += widths[i] + GAP;
    }
    for (; style->width > 0 && over > 0; over--) {
        widest = -1;
        for (uint32_t i = 0; i < table->n_columns; i++) {
            const bool is_cuttable = !is_right(&table->columns[i]) &&
                                     !(table->columns[i].flags & LULL_COLUMN_KEEP) &&
                                     widths[i] > MIN_TEXT;
            widest = is_cuttable && (widest < 0 || widths[i] > widths[widest]) ? (int)i : widest;
        }
        if (widest < 0) {
            return;
        }
        positions[widest].cut = --widths[widest];
    }
}

static void add_columns(const struct lull_table *table, struct libscols_table *to,
                        struct position positions[static MAX_COLUMNS],
                        const struct lull_view_style *style)
{
    int n = 0;

    for (uint32_t i = 0; i < table->n_columns; i++) {
        const struct lull_column *column = &table->columns[i];
        if (positions[i].index < 0) {
            continue;
        }
        positions[i].index = n++;
        /* A heading that is not printed would still take its width. */
        g_autofree char *title = table->no_headings ? NULL : heading(column, style);
        struct libscols_column *added =
            scols_table_new_column(to, title ? title : "", 0, smartcols_flags(column));
        if (style->width <= 0 || !(column->flags & LULL_COLUMN_WRAP)) {
            continue;
        }
        positions[i].fold = width_left(table, i, positions, style);
        scols_column_set_wrapfunc(added, scols_wrapnl_chunksize, scols_wrapnl_nextchunk, NULL);
        scols_column_set_safechars(added, "\n");
    }
}

static void add_line(const struct lull_table *table, uint32_t row, struct libscols_table *to,
                     const struct position positions[static MAX_COLUMNS],
                     const struct lull_view_style *style)
{
    struct libscols_line *line = scols_table_new_line(to, NULL);
    const struct cell *cells = row_cells(table, row);

    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (positions[i].index < 0 || !cells[i].is_set) {
            continue;
        }
        g_autofree char *text = format_cell(&table->columns[i], &cells[i], style);
        g_autofree char *folded = positions[i].fold ? lull_fold_text(text, positions[i].fold, 0)
                                  : positions[i].cut
                                      ? lull_cut_text(text, positions[i].cut, !style->unicode)
                                      : NULL;
        scols_line_set_data(line, positions[i].index, folded ? folded : text);
        if (style->color && cells[i].color) {
            scols_cell_set_color(scols_line_get_cell(line, positions[i].index), cells[i].color);
        }
    }
}

static struct libscols_table *new_smartcols(const struct lull_table *table,
                                            const struct lull_view_style *style)
{
    struct libscols_table *to = scols_new_table();

    /* Terminal or not has been decided by the caller, not by what the library finds out about
     * stdout. */
    if (style->width > 0) {
        scols_table_set_termforce(to, SCOLS_TERMFORCE_ALWAYS);
        scols_table_set_termwidth(to, (size_t)style->width);
    } else {
        scols_table_set_termforce(to, SCOLS_TERMFORCE_NEVER);
    }
    scols_table_enable_colors(to, style->color);
    scols_table_enable_ascii(to, !style->unicode);
    scols_table_enable_noheadings(to, table->no_headings);
    /* Text has been cleaned; the library would escape what the C locale does not know. */
    scols_table_enable_noencoding(to, 1);
    scols_table_set_column_separator(to, "  ");
    return to;
}

/* Takes out the blanks with which the library fills up lines. */
static void strip_line_ends(char *text)
{
    char *to = text, *end = text;

    for (const char *from = text; *from; from++) {
        if (*from == '\n') {
            to = end;
        }
        *to++ = *from;
        if (*from != ' ') {
            end = to;
        }
    }
    *end = '\0';
}

/* ---- plain text ---- */

/* A table for a file or a pipe, which needs no colours and no folding. */
struct plain {
    const struct lull_table *table;
    GString *texts; /* headings, then the cells of each row, with a NUL after each */
    size_t widths[MAX_COLUMNS];
};

static bool is_shown(const struct lull_column *column)
{
    return !(column->flags & LULL_COLUMN_JSON_ONLY);
}

/* Takes `text`. False if it is not ASCII: how wide it is depends on the locale, which the library
 * knows. */
static bool add_plain(struct plain *plain, uint32_t column, char *text)
{
    const size_t length = strlen(text);
    const bool is_ascii = g_str_is_ascii(text);
    plain->widths[column] = MAX(plain->widths[column], length);
    g_string_append_len(plain->texts, text, (gssize)length + 1);
    g_free(text);
    return is_ascii;
}

static bool fill_plain(struct plain *plain, const struct lull_view_style *style)
{
    const struct lull_table *table = plain->table;
    bool is_ascii = true;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        if (is_shown(&table->columns[i])) {
            is_ascii &= add_plain(plain, i, heading(&table->columns[i], style));
        }
    }
    for (uint32_t row = 0; row < lull_table_row_count(table) && is_ascii; row++) {
        const struct cell *cells = row_cells(table, row);
        for (uint32_t i = 0; i < table->n_columns; i++) {
            if (is_shown(&table->columns[i])) {
                is_ascii &= add_plain(plain, i, format_cell(&table->columns[i], &cells[i], style));
            }
        }
    }
    return is_ascii;
}

/* Appends the row whose texts start at `text`; returns where the next ones do. */
static const char *append_plain_row(GString *line, const struct plain *plain, const char *text)
{
    static const char blanks[] = "                ";
    size_t start = 0; /* of the column */
    for (uint32_t i = 0; i < plain->table->n_columns; i++) {
        const struct lull_column *column = &plain->table->columns[i];
        if (!is_shown(column)) {
            continue;
        }
        const size_t length = strlen(text), width = plain->widths[i];
        const size_t at = start + (is_right(column) ? width - length : 0);
        while (line->len < at) {
            g_string_append_len(line, blanks, (gssize)MIN(at - line->len, sizeof blanks - 1));
        }
        g_string_append_len(line, text, (gssize)length);
        start += width + GAP;
        text += length + 1;
    }
    while (line->len > 0 && line->str[line->len - 1] == ' ') {
        g_string_truncate(line, line->len - 1);
    }
    g_string_append_c(line, '\n');
    return text;
}

/* False, and nothing is printed, if the table is not that simple. */
static bool print_plain(const struct lull_table *table, struct lull_out *out,
                        const struct lull_view_style *style)
{
    if (style->width > 0 || style->color || table->no_headings) {
        return false;
    }
    struct plain plain = {.table = table, .texts = g_string_new(NULL)};
    const bool is_simple = fill_plain(&plain, style);
    const char *text = plain.texts->str, *end = text + plain.texts->len;
    g_autoptr(GString) line = g_string_new(NULL);
    while (is_simple && text < end) {
        g_string_truncate(line, 0);
        text = append_plain_row(line, &plain, text);
        lull_out_bytes(out, line->str, line->len);
    }
    g_string_free(plain.texts, TRUE);
    return is_simple;
}

bool lull_table_print(const struct lull_table *table, FILE *file,
                      const struct lull_view_style *style, GError **error)
{
    struct position positions[MAX_COLUMNS];
    char *text = NULL;
    struct lull_out out;

    if (lull_table_row_count(table) == 0) {
        return true;
    }
    lull_out_start(&out, file);
    if (print_plain(table, &out, style)) {
        return lull_out_end(&out, "a table", error);
    }
    g_autoptr(GString) left_out = g_string_new(NULL);
    choose_columns(table, style, positions, left_out);
    choose_cuts(table, style, positions);
    struct libscols_table *to = new_smartcols(table, style);
    add_columns(table, to, positions, style);
    for (uint32_t row = 0; row < lull_table_row_count(table); row++) {
        add_line(table, row, to, positions, style);
    }
    int status = scols_print_table_to_string(to, &text);
    scols_unref_table(to);
    if (status != 0 || !text) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot lay out a table: %s",
                    g_strerror(status < 0 ? -status : status));
        return false;
    }
    strip_line_ends(text);
    lull_out_text(&out, text);
    lull_out_text(&out, "\n");
    free(text);
    if (left_out->len) {
        lull_out_fold(&out, style->width);
        lull_out_printf(&out, "(no room for %s)\n", left_out->str);
    }
    return lull_out_end(&out, "a table", error);
}

static struct json_object *cell_to_json(const struct lull_column *column, const struct cell *cell)
{
    if (!cell->is_set) {
        return NULL;
    }
    if (is_text(column)) {
        return lull_json_text(cell->text);
    }
    if (is_real(column)) {
        return lull_decimal_json(cell->real, column->type == LULL_COLUMN_SHARE ? 6 : 9);
    }
    return json_object_new_int64(cell->number);
}

bool lull_table_print_json(const struct lull_table *table, FILE *file, GError **error)
{
    struct lull_out out;

    lull_out_start(&out, file);
    lull_out_text(&out, "[");
    for (uint32_t row = 0; row < lull_table_row_count(table); row++) {
        const struct cell *cells = row_cells(table, row);
        struct json_object *object = json_object_new_object();
        for (uint32_t i = 0; i < table->n_columns; i++) {
            if (!(table->columns[i].flags & LULL_COLUMN_TEXT_ONLY)) {
                json_object_object_add(object, table->columns[i].key,
                                       cell_to_json(&table->columns[i], &cells[i]));
            }
        }
        lull_out_text(&out, row ? ",\n" : "\n");
        lull_out_json(&out, object);
    }
    lull_out_text(&out, "]");
    return lull_out_end(&out, "JSON", error);
}
