/* SPDX-License-Identifier: MIT */
/* What the parts of the HTML view share: the page, its tables, its charts. */
#ifndef LULL_VIEW_RESULT_HTML_H
#define LULL_VIEW_RESULT_HTML_H

#include "view/result/private.h"

struct lull_html_view {
    struct lull_result_view view;
    struct lull_window window;
    uint32_t n_windows;  /* started */
    uint32_t n_left_out; /* that are too many for a page */
    const char *chapter; /* that is open, or NULL */
    uint32_t n_chapters;
    bool has_date, has_rows, in_grid;
    GString *empty;    /* titles of the part's tables without rows */
    GHashTable *notes; /* those that were written in this window */
    GString *text;     /* of one cell */
    GPtrArray *charts; /* of one class, host by host, which are to share a figure */
};

/* Cleans and escapes, for text and for attributes in double quotes. */
void lull_html_text(struct lull_html_view *html, const char *text);
/* Printf of what needs no escaping. */
void lull_html_put(struct lull_html_view *html, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* A number with up to two decimals and a point. */
void lull_html_number(struct lull_html_view *html, double value);
/* What a cell says; borrowed until the next call. */
const char *lull_html_cell(struct lull_html_view *html, const struct lull_cell *cell);
/* The same of a value in a column, with its unit. */
const char *lull_html_value(struct lull_html_view *html, const struct lull_result_column *column,
                            double value);
/* Title and subtitle. */
void lull_html_title(struct lull_html_view *html, const struct lull_result_table *table);

/* A table; its caption is the title, or hidden by `has_caption` if something else says it. */
void lull_html_table(struct lull_html_view *html, const struct lull_result_table *table,
                     bool has_caption);
/* Figures with the table folded away. */
void lull_html_histogram(struct lull_html_view *html, const struct lull_result_table *table);
/* Keeps it for the figure of all hosts, which lull_html_end_series() writes, if there is any. */
void lull_html_series(struct lull_html_view *html, const struct lull_result_table *table);
void lull_html_end_series(struct lull_html_view *html);
/* For html->charts. */
GPtrArray *lull_html_charts_new(void);

#endif
