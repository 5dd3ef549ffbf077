/* SPDX-License-Identifier: MIT */
/* Results as CSV or TSV: for each table a line of headings, then a line for each row, an empty line
 * between tables. Each line says of which analysis, table and time it is, so that lines of one table
 * may be cut out and joined. Headings are the keys of JSON. */
#include <math.h>

#include "base/time.h"
#include "view/csv.h"
#include "view/result/private.h"
#include "view/words.h"

struct csv_view {
    struct lull_result_view view;
    struct lull_window window;
    char *analysis, *period, *captures;
    const struct lull_result_column *columns; /* of the headings printed last; NULL: none yet */
    const struct lull_result_class *class;
    GHashTable *notes; /* those that were printed */
};

static void put_separator(struct csv_view *csv)
{
    lull_linebuf_char(&csv->view.line, csv->view.options.separator);
}

static void put_text(struct csv_view *csv, const char *text)
{
    lull_csv_append(&csv->view.line, text, csv->view.options.separator);
}

static void put_time(struct csv_view *csv, int64_t time_ns)
{
    if (csv->view.options.has_iso_times) {
        char text[LULL_TIME_TEXT_SIZE];
        lull_time_format_iso(time_ns, csv->view.options.style.local_time, text);
        put_text(csv, text);
    } else {
        lull_linebuf_signed(&csv->view.line, time_ns);
    }
}

static void csv_start(struct lull_sink *sink, const char *analysis,
                      const struct lull_window *window)
{
    struct csv_view *csv = (struct csv_view *)sink;
    g_free(csv->analysis);
    g_free(csv->period);
    g_free(csv->captures);
    csv->window = *window;
    csv->analysis = g_strdup(analysis);
    csv->period = g_strdup(window->period);
    csv->captures = g_strdup(window->captures);
}

/* Each once: beside the tables, where no program takes it for a row. */
static void csv_note(struct lull_sink *sink, const char *note)
{
    struct csv_view *csv = (struct csv_view *)sink;
    if (csv->view.options.notes && g_hash_table_add(csv->notes, g_strdup(note))) {
        g_autofree char *clean = lull_clean_text(note, false);
        fprintf(csv->view.options.notes, "lull: %s\n", clean);
    }
}

static void csv_end(struct lull_sink *sink)
{
}

/* ---- headings ---- */

/* Cells that hold several things are several fields. */
static const char *const *parts_of(enum lull_cell_class class)
{
    static const char *const whole[] = {"", NULL};
    static const char *const process[] = {".comm", ".pid", ".tid", NULL};
    static const char *const irq[] = {".hard", ".number", ".name", NULL};
    static const char *const range[] = {".begin_ns", ".end_ns", NULL};
    return class == LULL_CELL_PROCESS      ? process
           : class == LULL_CELL_IRQ        ? irq
           : class == LULL_CELL_TIME_RANGE ? range
                                           : whole;
}

static bool has_period(const struct csv_view *csv)
{
    return csv->period;
}

static void put_headings(struct csv_view *csv, const struct lull_result_rows *rows)
{
    static const char *const first[] = {"analysis", "table", "of", "begin_ns", "end_ns", NULL};
    struct lull_linebuf *line = &csv->view.line;
    if (csv->columns) {
        lull_linebuf_char(line, '\n');
    }
    for (uint32_t i = 0; first[i]; i++) {
        if (i) {
            put_separator(csv);
        }
        lull_linebuf_string(line, first[i]);
    }
    for (uint32_t i = 0; has_period(csv) && i < 2; i++) {
        put_separator(csv);
        lull_linebuf_string(line, i ? "captures" : "period");
    }
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (!lull_result_shows(&csv->view, &rows->columns[i], LULL_USE_LAMI)) {
            continue;
        }
        for (const char *const *part = parts_of(rows->columns[i].class); *part; part++) {
            put_separator(csv);
            g_autofree char *key = g_strconcat(rows->columns[i].key, *part, NULL);
            put_text(csv, key);
        }
    }
    lull_linebuf_char(line, '\n');
    csv->columns = rows->columns;
    csv->class = rows->table->class;
}

/* ---- rows ---- */

static void put_process(struct csv_view *csv, const struct lull_cell *cell)
{
    put_text(csv, cell->text);
    put_separator(csv);
    if (cell->pid >= 0) {
        lull_linebuf_signed(&csv->view.line, cell->pid);
    }
    put_separator(csv);
    if (cell->tid >= 0) {
        lull_linebuf_signed(&csv->view.line, cell->tid);
    }
}

static void put_value(struct csv_view *csv, const struct lull_cell *cell)
{
    struct lull_linebuf *line = &csv->view.line;
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_EMPTY:
    case LULL_CELL_UNKNOWN:
        break;
    case LULL_CELL_BOOL:
        lull_linebuf_string(line, cell->integer ? "true" : "false");
        break;
    case LULL_CELL_NUMBER:
    case LULL_CELL_RATIO:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        if (!(cell->is_real || cell->class == LULL_CELL_RATIO) || isfinite(cell->real)) {
            lull_result_json_number(line, cell);
        }
        break;
    case LULL_CELL_TIMESTAMP:
        put_time(csv, cell->integer);
        break;
    case LULL_CELL_TIME_RANGE:
        put_time(csv, cell->integer);
        put_separator(csv);
        put_time(csv, cell->end);
        break;
    case LULL_CELL_PROCESS:
        put_process(csv, cell);
        break;
    case LULL_CELL_IRQ:
        lull_linebuf_string(line, cell->is_hard ? "true" : "false");
        put_separator(csv);
        lull_linebuf_signed(line, cell->integer);
        put_separator(csv);
        put_text(csv, cell->text);
        break;
    case LULL_CELL_STRING:
    case LULL_CELL_SYSCALL:
    case LULL_CELL_PATH:
    case LULL_CELL_DISK:
    case LULL_CELL_NETIF:
    case LULL_CELL_HOST:
        put_text(csv, cell->text);
        break;
    }
}

/* As many fields as the headings of its column, also if it is empty. */
static void put_cell(struct csv_view *csv, enum lull_cell_class class, const struct lull_cell *cell)
{
    put_separator(csv);
    if (cell->class == class || !parts_of(class)[1]) {
        put_value(csv, cell);
        return;
    }
    for (const char *const *part = parts_of(class) + 1; *part; part++) {
        put_separator(csv);
    }
}

static void put_row(struct csv_view *csv, const struct lull_result_rows *rows)
{
    put_text(csv, csv->analysis);
    put_separator(csv);
    put_text(csv, rows->table->class->name);
    put_separator(csv);
    put_text(csv, rows->table->subtitle);
    put_separator(csv);
    put_time(csv, csv->window.start_ns);
    put_separator(csv);
    put_time(csv, csv->window.end_ns);
    if (has_period(csv)) {
        put_separator(csv);
        put_text(csv, csv->period);
        put_separator(csv);
        put_text(csv, csv->captures);
    }
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (lull_result_shows(&csv->view, &rows->columns[i], LULL_USE_LAMI)) {
            put_cell(csv, rows->columns[i].class, &rows->cells[i]);
        }
    }
    lull_linebuf_char(&csv->view.line, '\n');
}

static void csv_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct csv_view *csv = (struct csv_view *)sink;
    struct lull_result_rows rows;
    lull_result_rows_init(&rows, table);
    if (table->n_rows && (rows.columns != csv->columns || table->class != csv->class)) {
        put_headings(csv, &rows);
    }
    for (uint64_t row = 0; row < table->n_rows && !csv->view.out.error; row++) {
        lull_result_rows_read(&rows, row);
        put_row(csv, &rows);
        lull_result_flush(&csv->view);
    }
    lull_result_rows_clear(&rows);
}

/* What is in no table at all. */
static void put_gaps(const struct csv_view *csv)
{
    const struct lull_result_report *report = csv->view.options.report;
    for (size_t i = 0; report && i < report->gaps.count; i++) {
        fprintf(csv->view.options.notes, "lull: %s: not recorded: %s\n",
                report->gaps.items[i].part->analysis->title, report->gaps.items[i].missing);
    }
    if (!csv->columns) {
        fputs("lull: nothing was found in this time\n", csv->view.options.notes);
    }
}

static void csv_finish(struct lull_result_view *view)
{
    struct csv_view *csv = (struct csv_view *)view;
    if (csv->view.options.notes && csv->analysis) {
        put_gaps(csv);
    }
    g_free(csv->analysis);
    g_free(csv->period);
    g_free(csv->captures);
    g_hash_table_unref(csv->notes);
}

struct lull_result_view *lull_result_csv_new(const struct lull_result_options *options)
{
    struct csv_view *csv = g_new0(struct csv_view, 1);
    lull_result_view_init(&csv->view, options, options->separator == ',' ? "CSV" : "TSV",
                          csv_finish);
    csv->notes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    csv->view.sink = (struct lull_sink){csv_start, csv_note, csv_table, csv_end};
    return &csv->view;
}
