/* SPDX-License-Identifier: MIT */
/* Tables of the HTML view. Each cell with a number carries it in data-v as JSON would write it: the
 * script sorts by it. */
#include "view/result/html.h"

#include <inttypes.h>
#include <math.h>

#include "view/result/cells.h"

enum { LONG_TEXT = 48 }; /* characters from which a text may wrap */

static bool is_shown(const struct lull_html_view *html, const struct lull_result_column *column)
{
    return lull_result_shows(&html->view, column, LULL_USE_LAMI);
}

static bool is_number(const struct lull_cell *cell)
{
    switch ((enum lull_cell_class)cell->class) {
    case LULL_CELL_NUMBER:
    case LULL_CELL_DURATION:
    case LULL_CELL_SIZE:
        return !cell->is_real || isfinite(cell->real);
    case LULL_CELL_RATIO:
        return isfinite(cell->real);
    case LULL_CELL_TIMESTAMP:
    case LULL_CELL_FD:
    case LULL_CELL_CPU:
        return true;
    default:
        return false;
    }
}

static void put_headings(struct lull_html_view *html, const struct lull_result_rows *rows)
{
    lull_html_put(html, "<thead><tr>");
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        const struct lull_result_column *column = &rows->columns[i];
        if (!is_shown(html, column)) {
            continue;
        }
        lull_html_put(html, "<th scope=\"col\"%s title=\"",
                      lull_cell_is_right(column->class) ? " class=\"n\"" : "");
        lull_html_text(html, column->title);
        lull_html_put(html, "\">");
        lull_html_text(html, column->heading ? column->heading : column->title);
        lull_html_put(html, "</th>");
    }
    lull_html_put(html, "</tr></thead>\n");
}

static void put_class(struct lull_html_view *html, const struct lull_result_column *column,
                      const char *text, bool has_bar)
{
    const bool is_right = lull_cell_is_right(column->class);
    if (is_right || has_bar) {
        lull_html_put(html, " class=\"%s%s\"", is_right ? "n" : "",
                      !has_bar   ? ""
                      : is_right ? " b"
                                 : "b");
    } else if (g_utf8_strlen(text, -1) > LONG_TEXT) {
        lull_html_put(html, " class=\"long\"");
    }
}

static void put_cell(struct lull_html_view *html, const struct lull_result_rows *rows, uint32_t i,
                     double largest, bool is_head)
{
    const struct lull_cell *cell = &rows->cells[i];
    const bool has_bar = (rows->columns[i].use & LULL_USE_BAR) && is_number(cell) && largest > 0;
    const char *text = lull_html_cell(html, cell);
    lull_html_put(html, is_head ? "<th scope=\"row\"" : "<td");
    put_class(html, &rows->columns[i], text, has_bar);
    if (has_bar) {
        lull_html_put(html, " style=\"--s:");
        lull_html_number(html, CLAMP(lull_cell_value(cell) / largest, 0.0, 1.0) * 100);
        lull_html_put(html, "%%\"");
    }
    if (is_number(cell)) {
        lull_html_put(html, " data-v=\"");
        lull_result_json_number(&html->view.line, cell);
        lull_html_put(html, "\"");
    } else if (cell->class == LULL_CELL_EMPTY || cell->class == LULL_CELL_UNKNOWN) {
        lull_html_put(html, " data-none");
    }
    lull_html_put(html, ">");
    lull_html_text(html, text);
    lull_html_put(html, is_head ? "</th>" : "</td>");
}

/* The first column that is not the host names the row, unless it is a value. */
static uint32_t head_of(const struct lull_html_view *html, const struct lull_result_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (is_shown(html, &rows->columns[i]) && rows->columns[i].class != LULL_CELL_HOST) {
            return lull_cell_is_right(rows->columns[i].class) &&
                           rows->columns[i].class != LULL_CELL_CPU
                       ? UINT32_MAX
                       : i;
        }
    }
    return UINT32_MAX;
}

static void put_rows(struct lull_html_view *html, struct lull_result_rows *rows, uint64_t n_rows)
{
    g_autofree double *largest = g_new0(double, MAX(rows->n_columns, 1));
    const uint32_t head = head_of(html, rows);
    for (uint64_t row = 0; row < n_rows; row++) {
        lull_result_rows_read(rows, row);
        for (uint32_t i = 0; i < rows->n_columns; i++) {
            largest[i] = MAX(largest[i], lull_cell_value(&rows->cells[i]));
        }
    }
    /* Bars of shares are shares where they can be seen. */
    for (uint32_t i = 0; i < rows->n_columns; i++) {
        if (rows->columns[i].class == LULL_CELL_RATIO && largest[i] > 0.5) {
            largest[i] = MAX(largest[i], 1);
        }
    }
    lull_html_put(html, "<tbody>\n");
    for (uint64_t row = 0; row < n_rows; row++) {
        lull_result_rows_read(rows, row);
        lull_html_put(html, "<tr>");
        for (uint32_t i = 0; i < rows->n_columns; i++) {
            if (is_shown(html, &rows->columns[i])) {
                put_cell(html, rows, i, largest[i], i == head);
            }
        }
        lull_html_put(html, "</tr>\n");
        lull_result_flush(&html->view);
    }
    lull_html_put(html, "</tbody>\n");
}

void lull_html_table(struct lull_html_view *html, const struct lull_result_table *table,
                     bool has_caption)
{
    struct lull_result_rows rows;
    const uint64_t n_rows = MIN(table->n_rows, LULL_HTML_ROWS);
    lull_result_rows_init(&rows, table);
    lull_html_put(html, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    lull_html_title(html, table);
    lull_html_put(html, "\"><table data-name=\"%s\">\n", table->class->name);
    if (has_caption) {
        lull_html_put(html, "<caption>");
        lull_html_title(html, table);
        lull_html_put(html, "</caption>\n");
    }
    put_headings(html, &rows);
    put_rows(html, &rows, n_rows);
    lull_html_put(html, "</table></div>\n");
    if (n_rows < table->n_rows) {
        lull_html_put(html, "<p class=\"none\">%" PRIu64 " more rows are left out.</p>\n",
                      table->n_rows - n_rows);
    }
    lull_result_rows_clear(&rows);
}
