/* SPDX-License-Identifier: MIT */
/* What the views of results share: columns, rows, pieces of JSON. */
#include <errno.h>
#include <math.h>

#include "view/result/private.h"

void lull_result_view_init(struct lull_result_view *view, const struct lull_result_options *options,
                           const char *what, void (*finish)(struct lull_result_view *view))
{
    view->options = *options;
    view->what = what;
    view->finish = finish;
    lull_out_start(&view->out, options->file);
}

struct lull_sink *lull_result_sink(struct lull_result_view *view)
{
    return &view->sink;
}

bool lull_result_finish(struct lull_result_view *view, GError **error)
{
    view->finish(view);
    lull_result_flush(view);
    const bool is_written = lull_out_end(&view->out, view->what, error);
    lull_linebuf_free(&view->line);
    g_free(view);
    return is_written;
}

void lull_result_drop(struct lull_result_view *view)
{
    view->out.error = EPIPE; /* nobody listens */
    lull_result_finish(view, NULL);
}

void lull_result_flush(struct lull_result_view *view)
{
    lull_out_bytes(&view->out, view->line.data, view->line.length);
    view->line.length = 0;
}

void lull_result_rows_init(struct lull_result_rows *rows, const struct lull_result_table *table)
{
    rows->table = table;
    rows->columns = table->columns ? table->columns : table->class->columns;
    rows->n_columns = 0;
    while (rows->columns[rows->n_columns].title) {
        rows->n_columns++;
    }
    rows->cells = g_new0(struct lull_cell, MAX(rows->n_columns, 1));
}

void lull_result_rows_clear(struct lull_result_rows *rows)
{
    g_free(rows->cells);
}

void lull_result_rows_read(struct lull_result_rows *rows, uint64_t row)
{
    static const struct lull_cell empty = {.class = LULL_CELL_EMPTY, .pid = -1, .tid = -1};
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        rows->cells[i] = empty;
    }
    rows->table->row(rows->table->user, row, rows->cells);
}

void lull_result_json_text(struct lull_linebuf *line, const char *text)
{
    if (text) {
        lull_linebuf_json(line, text, strlen(text));
    } else {
        lull_linebuf_literal(line, "null");
    }
}

void lull_result_json_key(struct lull_linebuf *line, const char *key)
{
    lull_linebuf_json(line, key, strlen(key));
    lull_linebuf_char(line, ':');
}

void lull_result_json_real(struct lull_linebuf *line, double value)
{
    if (isfinite(value)) {
        lull_linebuf_real(line, value);
    } else {
        lull_linebuf_literal(line, "null");
    }
}

void lull_result_json_number(struct lull_linebuf *line, const struct lull_cell *cell)
{
    if (cell->is_real || cell->class == LULL_CELL_RATIO) {
        lull_result_json_real(line, cell->real);
    } else {
        lull_linebuf_signed(line, cell->integer);
    }
}
