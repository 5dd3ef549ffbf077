/* SPDX-License-Identifier: MIT */
/* Results for people: what time they cover and what was lost in it, then tables with aligned
 * columns. The widths of a log are measured on its first rows, so that its length costs no memory;
 * a longer cell further down moves what follows it. */
#include "view/result/private.h"

#include <inttypes.h>

#include "base/time.h"
#include "view/result/cells.h"
#include "view/words.h"

#define BOLD "\033[1m"
#define YELLOW "\033[33m"
#define CYAN "\033[36m"
#define RESET "\033[0m"

/* How titles of tables start whose rows may be of groups of tasks. */
static const char *const per_task[] = {"Per-TID", "Per-process", NULL};

enum {
    MEASURED_ROWS = 1000, /* of a log */
    GAP = 2,
    BAR_CELLS = 30,
    MIN_BAR_CELLS = 8,
    MIN_TEXT_CELLS = 12, /* to which texts are cut on a narrow terminal */
    DATE_LENGTH = 10,
};

struct text_view {
    struct lull_result_view view;
    struct lull_window window;
    bool has_date;       /* times of the window need their date */
    bool has_window;     /* one was printed before */
    const char *chapter; /* of a report */
    bool has_rows;       /* some table of the window has any */
    GString *empty;      /* titles of the window's tables without rows */
    GHashTable *notes;   /* those that were printed already */
    GString *cell;
};

/* A column that is shown. */
struct position {
    uint32_t index;
    int width;
    bool is_right, has_bar;
    double largest;
};

struct layout {
    struct lull_result_rows rows;
    struct position *positions;
    uint32_t n_positions;
    int bar_width;
    const char *rows_of; /* heading of what rows are of, if that is groups of tasks; or NULL */
    GString *left_out;   /* headings of columns there is no room for */
};

static const char *paint(const struct text_view *text, const char *ansi)
{
    return text->view.options.style.color ? ansi : "";
}

/* ---- what is shown of a window ---- */

/* "00:37:17.1 to 00:38:59.5 (1 min 42.4 s)" */
static void print_range(struct text_view *text, const struct lull_window *window)
{
    const bool local = text->view.options.style.local_time;
    char start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE], took[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(window->start_ns, local, start);
    lull_time_format_iso(window->end_ns, local, end);
    lull_duration_format(window->end_ns - window->start_ns, took);
    text->has_date = strncmp(start, end, DATE_LENGTH) != 0;
    if (!text->has_date) {
        lull_time_format_clock(window->end_ns, local, end);
    }
    lull_out_printf(&text->view.out, "%s to %s (%s)", start, end, took);
}

static void print_heading(struct text_view *text, const char *analysis,
                          const struct lull_window *window)
{
    const struct lull_analysis_class *known = text->view.options.analysis;
    if (!known) {
        known = lull_analysis_find(analysis);
    }
    g_autofree char *period =
        window->period ? lull_clean_text(window->period, !text->view.options.style.unicode) : NULL;
    g_autofree char *captures =
        window->captures ? lull_clean_text(window->captures, !text->view.options.style.unicode)
                         : NULL;
    struct lull_out *out = &text->view.out;
    lull_out_printf(out, "%s%s%s%s", text->has_window ? "\n" : "", paint(text, BOLD),
                    known ? known->title : analysis, paint(text, RESET));
    if (period) {
        lull_out_printf(out, " in %s", period);
    }
    if (captures && *captures) {
        lull_out_printf(out, " (%s)", captures);
    }
    lull_out_text(out, ", from ");
    print_range(text, window);
    lull_out_text(out, window->is_complete ? "\n" : ", the end was not seen\n");
}

static void print_losses(struct text_view *text, const struct lull_window *window)
{
    if (!window->lost_events && !window->lost_packets) {
        return;
    }
    lull_out_text(&text->view.out, paint(text, YELLOW));
    if (window->lost_events) {
        lull_out_printf(&text->view.out, "%" PRIu64 " event%s", window->lost_events,
                        window->lost_events == 1 ? "" : "s");
    }
    if (window->lost_packets) {
        lull_out_printf(&text->view.out, "%s%" PRIu64 " packet%s",
                        window->lost_events ? " and " : "", window->lost_packets,
                        window->lost_packets == 1 ? "" : "s");
    }
    lull_out_printf(&text->view.out, " %s lost in this time: what they recorded is missing%s\n",
                    window->lost_events + window->lost_packets == 1 ? "was" : "were",
                    paint(text, RESET));
}

/* ---- what is shown of a report ---- */

static void print_line(struct text_view *text, const char *label, const char *value)
{
    g_autofree char *clean = lull_clean_text(value, !text->view.options.style.unicode);
    lull_out_printf(&text->view.out, "%-8s%s\n", label, clean);
}

/* What all parts share: before the first of each window. */
static void print_report(struct text_view *text, const struct lull_window *window)
{
    const struct lull_result_report *report = text->view.options.report;
    struct lull_out *out = &text->view.out;
    if (text->has_window) {
        lull_out_text(out, "\n\n");
    }
    for (size_t i = 0; i < report->lines.count && !text->has_window; i++) {
        print_line(text, report->lines.items[i].label, report->lines.items[i].text);
    }
    lull_out_text(out, "Time    ");
    print_range(text, window);
    g_autofree char *period =
        window->period ? lull_clean_text(window->period, !text->view.options.style.unicode) : NULL;
    g_autofree char *captures =
        window->captures ? lull_clean_text(window->captures, !text->view.options.style.unicode)
                         : NULL;
    lull_out_printf(out, "%s%s%s%s%s%s\n", period ? " of " : "", period ? period : "",
                    captures && *captures ? " (" : "", captures ? captures : "",
                    captures && *captures ? ")" : "",
                    window->is_complete ? "" : ", the end was not seen");
    print_losses(text, window);
    g_autofree char *limit = lull_result_report_limit(report);
    if (limit && !text->has_window) {
        print_line(text, "Rows", limit);
    }
    text->chapter = NULL;
}

/* A chapter has a heading, its analyses have none: their tables say what they are. */
static void print_part(struct text_view *text, const char *analysis,
                       const struct lull_window *window)
{
    const struct lull_report_part *part = lull_report_find(analysis);
    if (!text->has_window || window->number != text->window.number) {
        print_report(text, window);
    }
    if (part && (!text->chapter || strcmp(part->chapter, text->chapter) != 0)) {
        text->chapter = part->chapter;
        lull_out_printf(&text->view.out, "\n%s%s%s\n", paint(text, BOLD), part->chapter,
                        paint(text, RESET));
        for (const char *c = part->chapter; *c; c++) {
            lull_out_text(&text->view.out, "=");
        }
        lull_out_text(&text->view.out, "\n");
    }
}

static void text_start(struct lull_sink *sink, const char *analysis,
                       const struct lull_window *window)
{
    struct text_view *text = (struct text_view *)sink;
    if (text->view.options.report) {
        print_part(text, analysis, window);
    } else {
        print_heading(text, analysis, window);
        print_losses(text, window);
    }
    text->window = *window;
    text->has_window = true;
    text->has_rows = false;
    g_string_truncate(text->empty, 0);
}

/* Each once: they are the same for each slice. */
static void text_note(struct lull_sink *sink, const char *note)
{
    struct text_view *text = (struct text_view *)sink;
    if (g_hash_table_add(text->notes, g_strdup(note))) {
        g_autofree char *clean = lull_clean_text(note, !text->view.options.style.unicode);
        lull_out_printf(&text->view.out, "%sNote: %s%s\n", paint(text, YELLOW), clean,
                        paint(text, RESET));
    }
}

/* ---- a table ---- */

static const char *format_cell(struct text_view *text, const struct layout *layout,
                               const struct position *position)
{
    g_string_truncate(text->cell, 0);
    lull_cell_append(text->cell, &layout->rows.cells[position->index], &text->view.options.style,
                     text->has_date);
    return text->cell->str;
}

/* What the rows of tables of tasks are of. */
static bool is_subject(const struct lull_result_column *column)
{
    return column->class == LULL_CELL_PROCESS &&
           (strcmp(column->title, "Process") == 0 || strcmp(column->title, "Task") == 0);
}

static const char *heading_of(const struct layout *layout, const struct position *position)
{
    const struct lull_result_column *column = &layout->rows.columns[position->index];
    return layout->rows_of && is_subject(column) ? layout->rows_of
           : column->heading                     ? column->heading
                                                 : column->title;
}

static void choose_columns(const struct text_view *text, struct layout *layout)
{
    layout->positions = g_new0(struct position, MAX(layout->rows.n_columns, 1));
    for (uint32_t i = 0; i < layout->rows.n_columns; i++) {
        const struct lull_result_column *column = &layout->rows.columns[i];
        if (!lull_result_shows(&text->view, column,
                               LULL_USE_LAMI | LULL_USE_NOT_TEXT |
                                   (layout->rows_of ? LULL_USE_TASK : 0))) {
            continue;
        }
        struct position *position = &layout->positions[layout->n_positions++];
        position->index = i;
        position->is_right = lull_cell_is_right(column->class);
        position->has_bar = column->use & LULL_USE_BAR;
        position->width = lull_text_width(heading_of(layout, position));
    }
}

static void measure(struct text_view *text, struct layout *layout)
{
    const struct lull_result_table *table = layout->rows.table;
    const uint64_t n =
        table->class->kind == LULL_TABLE_LOG ? MIN(table->n_rows, MEASURED_ROWS) : table->n_rows;
    for (uint64_t row = 0; row < n; row++) {
        lull_result_rows_read(&layout->rows, row);
        for (uint32_t i = 0; i < layout->n_positions; i++) {
            struct position *position = &layout->positions[i];
            position->width =
                MAX(position->width, lull_text_width(format_cell(text, layout, position)));
            position->largest =
                MAX(position->largest, lull_cell_value(&layout->rows.cells[position->index]));
        }
    }
}

/* By how many columns of the terminal the table is too wide. */
static int excess(const struct layout *layout, int terminal)
{
    int width = 0;
    for (uint32_t i = 0; i < layout->n_positions; i++) {
        width += layout->positions[i].width + GAP +
                 (layout->positions[i].has_bar ? layout->bar_width + GAP : 0);
    }
    return terminal > 0 ? MAX(width - GAP - terminal, 0) : 0;
}

static bool is_cuttable(const struct layout *layout, const struct position *position)
{
    const enum lull_cell_class class = layout->rows.columns[position->index].class;
    return !position->is_right && class != LULL_CELL_TIMESTAMP && class != LULL_CELL_TIME_RANGE;
}

static struct position *widest_text(const struct layout *layout)
{
    struct position *widest = NULL;
    for (uint32_t i = 0; i < layout->n_positions; i++) {
        struct position *position = &layout->positions[i];
        if (is_cuttable(layout, position) && position->width > MIN_TEXT_CELLS &&
            (!widest || position->width > widest->width)) {
            widest = position;
        }
    }
    return widest;
}

/* What cutting texts can gain. */
static int spare(const struct layout *layout)
{
    int width = 0;
    for (uint32_t i = 0; i < layout->n_positions; i++) {
        const struct position *position = &layout->positions[i];
        width += is_cuttable(layout, position) ? MAX(position->width - MIN_TEXT_CELLS, 0) : 0;
    }
    return width;
}

/* The column that is needed least: the last of the details, else the last. What a row is about stays. */
static uint32_t least_needed(const struct layout *layout)
{
    const struct lull_result_column *columns = layout->rows.columns;
    const uint32_t kept = columns[layout->positions[0].index].use & LULL_USE_HOST ? 2 : 1;
    for (uint32_t i = layout->n_positions; i-- > kept;) {
        if (columns[layout->positions[i].index].use & LULL_USE_DETAIL) {
            return i;
        }
    }
    return layout->n_positions > kept ? layout->n_positions - 1 : layout->n_positions;
}

static void leave_out(struct layout *layout, uint32_t position)
{
    g_string_append_printf(layout->left_out, "%s%s", layout->left_out->len ? ", " : "",
                           heading_of(layout, &layout->positions[position]));
    layout->n_positions--;
    memmove(&layout->positions[position], &layout->positions[position + 1],
            (layout->n_positions - position) * sizeof layout->positions[0]);
}

/* Bars get narrow first, and go if that is not enough; then columns go that texts could not be cut far
 * enough for; then texts are cut, the widest first. Numbers and times are never cut. */
static void fit(struct layout *layout, int terminal)
{
    layout->bar_width = BAR_CELLS;
    while (layout->bar_width > MIN_BAR_CELLS && excess(layout, terminal) > 0) {
        layout->bar_width--;
    }
    for (uint32_t i = 0; i < layout->n_positions && excess(layout, terminal) > 0; i++) {
        layout->positions[i].has_bar = false;
    }
    while (excess(layout, terminal) > spare(layout)) {
        const uint32_t least = least_needed(layout);
        if (least == layout->n_positions) {
            break;
        }
        leave_out(layout, least);
    }
    struct position *widest;
    while (excess(layout, terminal) > 0 && (widest = widest_text(layout))) {
        widest->width--;
    }
}

static void put_blanks(struct lull_linebuf *line, int n)
{
    if (n > 0) {
        memset(lull_linebuf_reserve(line, (size_t)n), ' ', (size_t)n);
        line->length += (size_t)n;
    }
}

/* The end of a text that fits into `width` columns; *used: how many it has. */
static const char *end_of(const char *text, int width, int *used)
{
    int cells;
    *used = lull_text_width(text);
    while (*used > width) {
        text = lull_text_next(text, &cells);
        *used -= cells;
    }
    return text;
}

/* What fits into `width` of a text, with a sign where the rest is missing: of a path a third from its start, and its end, which
 * tells it from others; else the start. */
static void put_cut(struct lull_linebuf *line, const char *text, int width, bool unicode)
{
    int used = 0, n_end = 0, cells;
    const bool is_path = *text == '/' && strchr(text + 1, '/');
    const char *end = is_path ? end_of(text, (width - 1) - (width - 1) / 3, &n_end) : "";
    while (*text) {
        const char *next = lull_text_next(text, &cells);
        if (used + cells > width - 1 - n_end) {
            break;
        }
        lull_linebuf_bytes(line, text, (size_t)(next - text));
        used += cells;
        text = next;
    }
    lull_linebuf_string(line, unicode ? "…" : "~");
    lull_linebuf_string(line, end);
    put_blanks(line, width - 1 - n_end - used);
}

static void put_aligned(struct text_view *text, const struct position *position, const char *cell)
{
    struct lull_linebuf *line = &text->view.line;
    const int width = lull_text_width(cell);
    if (width > position->width && !position->is_right && text->view.options.style.width > 0) {
        put_cut(line, cell, position->width, text->view.options.style.unicode);
        return;
    }
    if (position->is_right) {
        put_blanks(line, position->width - width);
    }
    lull_linebuf_string(line, cell);
    if (!position->is_right) {
        put_blanks(line, position->width - width);
    }
}

static void put_bar(struct text_view *text, double share, int width)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    struct lull_linebuf *line = &text->view.line;
    const bool unicode = text->view.options.style.unicode;
    const int eighths = (int)(CLAMP(share, 0.0, 1.0) * width * 8 + 0.5);
    const int whole = unicode ? eighths / 8 : (eighths + 4) / 8;
    for (int i = 0; i < whole; i++) {
        lull_linebuf_string(line, unicode ? "█" : "#");
    }
    const bool has_part = unicode && eighths % 8;
    if (has_part) {
        lull_linebuf_string(line, parts[eighths % 8]);
    }
    put_blanks(line, width - whole - has_part);
}

static void end_row(struct text_view *text)
{
    struct lull_linebuf *line = &text->view.line;
    while (line->length > 0 && line->data[line->length - 1] == ' ') {
        line->length--;
    }
    lull_linebuf_char(line, '\n');
    lull_result_flush(&text->view);
}

static void print_headings(struct text_view *text, const struct layout *layout)
{
    struct lull_linebuf *line = &text->view.line;
    for (uint32_t i = 0; i < layout->n_positions; i++) {
        put_blanks(line, i ? GAP : 0);
        put_aligned(text, &layout->positions[i], heading_of(layout, &layout->positions[i]));
        put_blanks(line, layout->positions[i].has_bar ? GAP + layout->bar_width : 0);
    }
    end_row(text);
}

static void print_row(struct text_view *text, const struct layout *layout)
{
    struct lull_linebuf *line = &text->view.line;
    for (uint32_t i = 0; i < layout->n_positions; i++) {
        const struct position *position = &layout->positions[i];
        put_blanks(line, i ? GAP : 0);
        put_aligned(text, position, format_cell(text, layout, position));
        if (position->has_bar) {
            const double value = lull_cell_value(&layout->rows.cells[position->index]);
            put_blanks(line, GAP);
            lull_linebuf_string(line, paint(text, CYAN));
            put_bar(text, position->largest > 0 ? value / position->largest : 0, layout->bar_width);
            lull_linebuf_string(line, paint(text, RESET));
        }
    }
    end_row(text);
}

static void print_title(struct text_view *text, const struct lull_result_table *table)
{
    const char *rows_of = text->view.options.rows_of, *title = table->class->title;
    size_t start = 0; /* of the part of the title that says what rows are of */
    for (uint32_t i = 0; rows_of && per_task[i]; i++) {
        start = g_str_has_prefix(title, per_task[i]) ? strlen(per_task[i]) : start;
    }
    lull_out_printf(&text->view.out, "\n%s%s%s%s", paint(text, BOLD), start ? "Per " : "",
                    start ? rows_of : "", title + start);
    if (table->subtitle) {
        g_autofree char *clean =
            lull_clean_text(table->subtitle, !text->view.options.style.unicode);
        lull_out_printf(&text->view.out, ": %s", clean);
    }
    lull_out_printf(&text->view.out, "%s\n", paint(text, RESET));
}

/* Whether a row is of one call, or one wait: tasks are called by their own names there. */
static bool has_times(const struct lull_result_table *table)
{
    struct lull_result_rows rows;
    bool has = false;
    lull_result_rows_init(&rows, table);
    for (uint32_t i = 0; i < rows.n_columns; i++) {
        has |= rows.columns[i].class == LULL_CELL_TIMESTAMP ||
               rows.columns[i].class == LULL_CELL_TIME_RANGE;
    }
    lull_result_rows_clear(&rows);
    return has;
}

static void text_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    struct text_view *text = (struct text_view *)sink;
    if (table->n_rows == 0) {
        g_string_append_printf(text->empty, "%s%s%s%s", text->empty->len ? "; " : "",
                               table->class->title, table->subtitle ? ": " : "",
                               table->subtitle ? table->subtitle : "");
        return;
    }
    text->has_rows = true;
    print_title(text, table);
    if (table->class->kind == LULL_TABLE_SERIES) {
        lull_result_series_print(&text->view, table);
        return;
    }
    const char *rows_of = has_times(table) ? NULL : text->view.options.rows_of;
    g_autofree char *heading = rows_of ? g_ascii_strup(rows_of, -1) : NULL;
    struct layout layout = {.rows_of = heading, .left_out = g_string_new(NULL)};
    lull_result_rows_init(&layout.rows, table);
    choose_columns(text, &layout);
    measure(text, &layout);
    fit(&layout, text->view.options.style.width);
    print_headings(text, &layout);
    for (uint64_t row = 0; row < table->n_rows && !text->view.out.error; row++) {
        lull_result_rows_read(&layout.rows, row);
        print_row(text, &layout);
    }
    if (table->n_left_out) {
        lull_out_printf(&text->view.out, "(%" PRIu64 " more; --limit 0 shows all)\n",
                        table->n_left_out);
    }
    if (layout.left_out->len) {
        lull_out_printf(&text->view.out, "(no room for %s)\n", layout.left_out->str);
    }
    lull_result_rows_clear(&layout.rows);
    g_string_free(layout.left_out, TRUE);
    g_free(layout.positions);
}

static void text_end(struct lull_sink *sink)
{
    struct text_view *text = (struct text_view *)sink;
    if (!text->has_rows) {
        lull_out_text(&text->view.out, "Nothing was found in this time");
    } else if (text->empty->len) {
        lull_out_text(&text->view.out, "\nNothing was found for");
    } else {
        return;
    }
    if (text->empty->len) {
        g_autofree char *clean =
            lull_clean_text(text->empty->str, !text->view.options.style.unicode);
        lull_out_printf(&text->view.out, "%s %s", text->has_rows ? ":" : " for:", clean);
    }
    lull_out_text(&text->view.out, "\n");
}

static void print_gaps(struct text_view *text)
{
    const struct lull_result_report *report = text->view.options.report;
    lull_out_printf(&text->view.out, "\n%sNot answered%s\n", paint(text, BOLD), paint(text, RESET));
    for (size_t i = 0; i < report->gaps.count; i++) {
        const struct lull_analysis_class *analysis = report->gaps.items[i].part->analysis;
        lull_out_printf(&text->view.out, "%s: not recorded: %s\n", analysis->title,
                        report->gaps.items[i].missing);
    }
}

static void text_finish(struct lull_result_view *view)
{
    struct text_view *text = (struct text_view *)view;
    if (!text->has_window) {
        lull_out_text(&view->out, "Nothing was recorded in this time\n");
    }
    if (view->options.report && view->options.report->gaps.count) {
        print_gaps(text);
    }
    g_string_free(text->empty, TRUE);
    g_string_free(text->cell, TRUE);
    g_hash_table_unref(text->notes);
}

struct lull_result_view *lull_result_text_new(const struct lull_result_options *options)
{
    struct text_view *text = g_new0(struct text_view, 1);
    lull_result_view_init(&text->view, options, "text", text_finish);
    lull_out_fold(&text->view.out, options->style.width);
    text->view.sink = (struct lull_sink){text_start, text_note, text_table, text_end};
    text->empty = g_string_new(NULL);
    text->cell = g_string_new(NULL);
    text->notes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return &text->view;
}
