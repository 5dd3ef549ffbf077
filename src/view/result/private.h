/* SPDX-License-Identifier: MIT */
/* What the views of results share. */
#ifndef LULL_VIEW_RESULT_PRIVATE_H
#define LULL_VIEW_RESULT_PRIVATE_H

#include "view/linebuf.h"
#include "view/out.h"
#include "view/result/view.h"

/* The head of each view. */
struct lull_result_view {
    struct lull_sink sink; /* first: a sink is a view */
    struct lull_out out;
    struct lull_result_options options;
    struct lull_linebuf line;                      /* collected before it goes to `out` */
    void (*finish)(struct lull_result_view *view); /* writes the end, frees what it owns */
    const char *what;                              /* "JSON" */
};

/* Fills the head of a zeroed view. */
void lull_result_view_init(struct lull_result_view *view, const struct lull_result_options *options,
                           const char *what, void (*finish)(struct lull_result_view *view));

/* The columns of a table, and one row of it. */
struct lull_result_rows {
    const struct lull_result_table *table;
    const struct lull_result_column *columns;
    uint32_t n_columns;
    struct lull_cell *cells; /* one of each column */
};

void lull_result_rows_init(struct lull_result_rows *rows, const struct lull_result_table *table);
void lull_result_rows_clear(struct lull_result_rows *rows);
/* Makes `rows->cells` those of the row. */
void lull_result_rows_read(struct lull_result_rows *rows, uint64_t row);

/* Whether a column is shown where those with one of the uses in `hidden` are not. */
static inline bool lull_result_shows(const struct lull_result_view *view,
                                     const struct lull_result_column *column, unsigned hidden)
{
    hidden |= view->options.has_hosts ? 0 : LULL_USE_HOST;
    hidden |= view->options.has_guests ? 0 : LULL_USE_GUEST;
    return !(column->use & hidden);
}

/* Text of a LULL_TABLE_SERIES: a line of small bars for each column. Its times are not written. */
void lull_result_series_print(struct lull_result_view *view, const struct lull_result_table *table);

/* Writes out what `line` holds and empties it. */
void lull_result_flush(struct lull_result_view *view);

/* `text` as a JSON string, or null. */
void lull_result_json_text(struct lull_linebuf *line, const char *text);
void lull_result_json_key(struct lull_linebuf *line, const char *key);
/* A number; null if it is not finite. */
void lull_result_json_real(struct lull_linebuf *line, double value);
/* The number in a cell, integer or real. */
void lull_result_json_number(struct lull_linebuf *line, const struct lull_cell *cell);

#endif
