/* SPDX-License-Identifier: MIT */
/* Values over time as text: a line of small bars for each column, with its scale. */
#include "view/result/private.h"

#include "view/result/cells.h"
#include "view/words.h"

enum { MOST_CELLS = 60, LEVELS = 8, AROUND = 24 /* cells */ };

/* What falls into one cell of the line, and over all. */
struct reading {
    double sum, largest;
    uint32_t count;
};

static void take(struct reading *reading, double value)
{
    reading->sum += value;
    reading->largest = reading->count ? MAX(reading->largest, value) : value;
    reading->count++;
}

static double mean(const struct reading *reading)
{
    return reading->count ? reading->sum / reading->count : 0;
}

static void put_level(struct lull_linebuf *line, const struct reading *reading, double scale,
                      bool unicode)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    if (reading->count == 0) {
        lull_linebuf_string(line, "?");
        return;
    }
    const double share = scale > 0 ? mean(reading) / scale : 0;
    const int level = (int)(CLAMP(share, 0.0, 1.0) * LEVELS + 0.5);
    lull_linebuf_string(line, (unicode ? blocks : marks)[level == 0 && share > 0 ? 1 : level]);
}

/* What the line of one column shows. */
struct column_readings {
    struct reading cells[MOST_CELLS], all;
};

/* A row is made once, however many columns it has. */
static void read_columns(struct lull_result_rows *rows, uint32_t n_cells,
                         struct column_readings *readings)
{
    const uint64_t n_rows = rows->table->n_rows;
    for (uint64_t row = 0; row < n_rows; row++) {
        lull_result_rows_read(rows, row);
        for (uint32_t i = 1; i < rows->n_columns; i++) {
            if (rows->cells[i].class == rows->columns[i].class) {
                const double value = lull_cell_value(&rows->cells[i]);
                take(&readings[i].cells[row * n_cells / n_rows], value);
                take(&readings[i].all, value);
            }
        }
    }
}

void lull_result_series_print(struct lull_result_view *view, const struct lull_result_table *table)
{
    const struct lull_view_style *style = &view->options.style;
    struct lull_result_rows rows;
    int width = 0;
    lull_result_rows_init(&rows, table);
    for (uint32_t i = 1; i < rows.n_columns; i++) {
        width = MAX(width, lull_text_width(rows.columns[i].title));
    }
    const int room = style->width > 0 ? style->width - width - AROUND : MOST_CELLS;
    const uint32_t n_cells =
        (uint32_t)MIN(table->n_rows, room < 4 ? 0 : (uint64_t)MIN(room, MOST_CELLS));
    g_autofree struct column_readings *readings = g_new0(struct column_readings, rows.n_columns);
    read_columns(&rows, n_cells, readings);
    for (uint32_t i = 1; i < rows.n_columns; i++) {
        const struct reading *cells = readings[i].cells, all = readings[i].all;
        const bool is_share = rows.columns[i].class == LULL_CELL_RATIO;
        double scale = is_share ? 1 : 0;
        for (uint32_t c = 0; c < n_cells && !is_share; c++) {
            scale = MAX(scale, mean(&cells[c]));
        }
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text, "%-*s  ", width, rows.columns[i].title);
        lull_linebuf_bytes(&view->line, text->str, text->len);
        for (uint32_t c = 0; c < n_cells; c++) {
            put_level(&view->line, &cells[c], scale, style->unicode);
        }
        g_string_assign(text, "  up to ");
        lull_result_value_append(text, &rows.columns[i], all.largest, style);
        g_string_append_c(text, '\n');
        lull_linebuf_bytes(&view->line, text->str, text->len);
        lull_result_flush(view);
    }
    lull_result_rows_clear(&rows);
}
