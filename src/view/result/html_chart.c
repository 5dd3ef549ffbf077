/* SPDX-License-Identifier: MIT */
/* Charts of the HTML view, as SVG that stretches with the page; text is beside it
 * as text, so that it keeps its size. Histograms are bars, values over time are steps: shares one
 * strip for each column, others in one chart. */
#include "view/result/html.h"

#include <math.h>
#include <string.h>

#include "view/result/cells.h"

enum {
    BIN_WIDTH = 4,      /* of the drawing */
    CHART_HEIGHT = 100, /* of the drawing */
    MOST_NAMED = 24,    /* strips with a name of their own */
    MOST_SHOWN = 16,    /* columns whose values a tooltip shows */
    MOST_COLUMNS = 12,  /* of a folded table */
    MOST_LINES = 6,     /* in one chart: so many colours there are */
};

static void put_attribute(struct lull_html_view *html, const char *name, double value)
{
    lull_html_put(html, " %s=\"", name);
    lull_html_number(html, value);
    lull_html_put(html, "\"");
}

static void put_rect(struct lull_html_view *html, double x, double y, double width, double height)
{
    lull_html_put(html, "<rect");
    put_attribute(html, "x", x);
    put_attribute(html, "y", y);
    put_attribute(html, "width", width);
    put_attribute(html, "height", height);
}

static void start_svg(struct lull_html_view *html, const struct lull_result_table *table,
                      uint64_t n_bins, double height, uint32_t pixels)
{
    lull_html_put(html, "<svg role=\"img\" preserveAspectRatio=\"none\" style=\"height:%upx\"",
                  pixels);
    lull_html_put(html, " viewBox=\"0 0 %u ", (uint32_t)n_bins * BIN_WIDTH);
    lull_html_number(html, height);
    lull_html_put(html, "\" aria-label=\"");
    lull_html_title(html, table);
    lull_html_put(html, "\">\n");
}

static void put_rule(struct lull_html_view *html, uint64_t n_bins, double y)
{
    lull_html_put(html, "<path class=\"rule\" d=\"M0 ");
    lull_html_number(html, y);
    lull_html_put(html, "H%u\"/>", (uint32_t)n_bins * BIN_WIDTH);
}

/* A word at the left of the chart, `share` of its height from the top. */
static void put_y(struct lull_html_view *html, double share, const char *text)
{
    lull_html_put(html, "<span style=\"top:");
    lull_html_number(html, share * 100);
    lull_html_put(html, "%%\">");
    lull_html_text(html, text);
    lull_html_put(html, "</span>");
}

/* A word below the chart; those at its ends stay within. */
static void put_x(struct lull_html_view *html, double share, const char *text)
{
    lull_html_put(html, "<span%s style=\"left:",
                  share < 0.02   ? " class=\"l\""
                  : share > 0.95 ? " class=\"r\""
                                 : "");
    lull_html_number(html, share * 100);
    lull_html_put(html, "%%\">");
    lull_html_text(html, text);
    lull_html_put(html, "</span>");
}

/* Half and whole of the largest value. */
static void put_scale(struct lull_html_view *html, const struct lull_result_column *column,
                      double largest)
{
    lull_html_put(html, "<div class=\"y\">");
    put_y(html, 0, lull_html_value(html, column, largest));
    put_y(html, 0.5, lull_html_value(html, column, largest / 2));
    put_y(html, 1, "0");
    lull_html_put(html, "</div>\n");
}

static void put_fold(struct lull_html_view *html, const struct lull_result_table *table)
{
    lull_html_put(html, "<details><summary>Numbers");
    if (table->class->kind == LULL_TABLE_SERIES && table->subtitle) {
        lull_html_put(html, " of ");
        lull_html_text(html, table->subtitle);
    }
    lull_html_put(html, "</summary>\n");
    lull_html_table(html, table, false);
    lull_html_put(html, "</details>\n");
}

/* ---- histograms: lower bound, upper bound, count ---- */

enum { LOWER, UPPER, COUNT };

static void put_bars(struct lull_html_view *html, struct lull_result_rows *rows, uint64_t n,
                     double largest)
{
    for (uint64_t i = 0; i < n; i++) {
        lull_result_rows_read(rows, i);
        const double count = lull_cell_value(&rows->cells[COUNT]);
        const double height = count > 0 ? MAX(count / largest * CHART_HEIGHT, 0.75) : 0;
        const double x = (double)i * BIN_WIDTH;
        put_rect(html, x + 0.2, CHART_HEIGHT - height, BIN_WIDTH - 0.4, height);
        lull_html_put(html, " class=\"a0\"/>");
    }
    lull_html_put(html, "\n<g class=\"hit\">\n");
    for (uint64_t i = 0; i < n; i++) {
        lull_result_rows_read(rows, i);
        put_rect(html, (double)i * BIN_WIDTH, 0, BIN_WIDTH, CHART_HEIGHT);
        lull_html_put(html, "><title>");
        lull_html_text(html, lull_html_cell(html, &rows->cells[LOWER]));
        lull_html_put(html, " – ");
        lull_html_text(html, lull_html_cell(html, &rows->cells[UPPER]));
        lull_html_put(html, ": ");
        lull_html_text(html, lull_html_cell(html, &rows->cells[COUNT]));
        lull_html_put(html, "</title></rect>\n");
    }
    lull_html_put(html, "</g>\n");
}

/* Four at most, as far apart as their words are wide on a narrow page. */
static void put_bounds(struct lull_html_view *html, struct lull_result_rows *rows, uint64_t n)
{
    const uint64_t step = (n + 2) / 3;
    lull_html_put(html, "<div class=\"x\">");
    for (uint64_t i = 0; i < n && (i == 0 || (double)i / (double)n < 0.72); i += step) {
        lull_result_rows_read(rows, i);
        put_x(html, (double)i / (double)n, lull_html_cell(html, &rows->cells[LOWER]));
    }
    lull_result_rows_read(rows, n - 1);
    put_x(html, 1, lull_html_cell(html, &rows->cells[UPPER]));
    lull_html_put(html, "</div>\n");
}

void lull_html_histogram(struct lull_html_view *html, const struct lull_result_table *table)
{
    struct lull_result_rows rows;
    double largest = 0;
    const uint64_t n = MIN(table->n_rows, LULL_HTML_ROWS);
    lull_result_rows_init(&rows, table);
    for (uint64_t i = 0; i < n && rows.n_columns > COUNT; i++) {
        lull_result_rows_read(&rows, i);
        largest = MAX(largest, lull_cell_value(&rows.cells[COUNT]));
    }
    lull_html_put(html, "<figure>\n<figcaption>");
    lull_html_title(html, table);
    if (rows.n_columns > COUNT && rows.columns[COUNT].unit) {
        lull_html_put(html, " <span class=\"key\">");
        lull_html_text(html, rows.columns[COUNT].unit);
        lull_html_put(html, " in each bin</span>");
    }
    lull_html_put(html, "</figcaption>\n");
    if (largest > 0) {
        lull_html_put(html, "<div class=\"plot\">");
        const struct lull_result_column count = {.class = rows.columns[COUNT].class};
        put_scale(html, &count, largest); /* its unit is in the caption */
        start_svg(html, table, n, CHART_HEIGHT, 150);
        put_rule(html, n, 0);
        put_rule(html, n, CHART_HEIGHT / 2.0);
        put_rule(html, n, CHART_HEIGHT);
        put_bars(html, &rows, n, largest);
        lull_html_put(html, "</svg>\n");
        put_bounds(html, &rows, n);
        lull_html_put(html, "</div>\n");
    }
    lull_result_rows_clear(&rows);
    put_fold(html, table);
    lull_html_put(html, "</figure>\n");
}

/* ---- values over time: start, values ---- */

struct chart {
    struct lull_html_view *html;
    struct lull_result_table head; /* class and subtitle, which is the host */
    struct lull_result_column *columns;
    uint32_t n_columns;      /* the first is the start of the bin */
    uint64_t n;              /* bins */
    struct lull_cell *cells; /* of bin and column: cells[bin * n_columns + column] */
    double *values;          /* in the same order; NAN: not known */
    double *largest;         /* by column */
    double largest_all;      /* over all columns */
    int64_t start_ns, width_ns;
};

static void chart_free(void *data)
{
    struct chart *chart = data;
    for (uint32_t i = 0; i < chart->n_columns; i++) {
        g_free((char *)chart->columns[i].title);
    }
    g_free((char *)chart->head.subtitle);
    g_free(chart->columns);
    g_free(chart->cells);
    g_free(chart->values);
    g_free(chart->largest);
    g_free(chart);
}

static struct chart *chart_new(struct lull_html_view *html, const struct lull_result_class *class,
                               uint32_t n_columns, uint64_t n)
{
    struct chart *chart = g_new0(struct chart, 1);
    chart->html = html;
    chart->head.class = class;
    chart->n_columns = n_columns;
    chart->n = n;
    chart->columns = g_new0(struct lull_result_column, n_columns + 1);
    chart->values = g_new0(double, n *n_columns);
    chart->largest = g_new0(double, n_columns);
    return chart;
}

/* Values are texts nowhere, so that their cells can be kept. */
static struct chart *read_chart(struct lull_html_view *html, const struct lull_result_table *table)
{
    struct lull_result_rows rows;
    lull_result_rows_init(&rows, table);
    struct chart *chart =
        chart_new(html, table->class, rows.n_columns, MIN(table->n_rows, LULL_HTML_ROWS));
    chart->head.subtitle = g_strdup(table->subtitle);
    chart->width_ns = html->window.end_ns - html->window.start_ns;
    chart->cells = g_new0(struct lull_cell, chart->n * chart->n_columns);
    for (uint32_t i = 0; i < chart->n_columns; i++) {
        chart->columns[i] = rows.columns[i];
        chart->columns[i].title = g_strdup(rows.columns[i].title);
        chart->columns[i].heading = chart->columns[i].key = NULL;
    }
    for (uint64_t bin = 0; bin < chart->n; bin++) {
        lull_result_rows_read(&rows, bin);
        memcpy(&chart->cells[bin * chart->n_columns], rows.cells,
               chart->n_columns * sizeof *chart->cells);
        if (bin == 0) {
            chart->start_ns = rows.cells[0].integer;
        } else if (bin == 1) {
            chart->width_ns = rows.cells[0].integer - chart->start_ns;
        }
        for (uint32_t i = 1; i < chart->n_columns; i++) {
            const bool is_known = rows.cells[i].class == rows.columns[i].class;
            const double value = is_known ? lull_cell_value(&rows.cells[i]) : NAN;
            chart->values[bin * chart->n_columns + i] = value;
            chart->largest[i] = is_known ? MAX(chart->largest[i], value) : chart->largest[i];
        }
    }
    for (uint32_t i = 1; i < chart->n_columns; i++) {
        chart->largest_all = MAX(chart->largest_all, chart->largest[i]);
    }
    lull_result_rows_clear(&rows);
    return chart;
}

/* The charts of all hosts over one another; their columns are named after their hosts. */
static struct chart *overlay(const GPtrArray *charts, uint32_t n_columns)
{
    const struct chart *first = charts->pdata[0];
    struct chart *all = chart_new(first->html, first->head.class, n_columns + 1, first->n);
    all->start_ns = first->start_ns;
    all->width_ns = first->width_ns;
    all->columns[0] = first->columns[0];
    all->columns[0].title = g_strdup(first->columns[0].title);
    for (guint c = 0, at = 1; c < charts->len; c++) {
        const struct chart *chart = charts->pdata[c];
        for (uint32_t i = 1; i < chart->n_columns; i++, at++) {
            all->columns[at] = chart->columns[i];
            all->columns[at].title =
                g_strdup_printf("%s %s", chart->head.subtitle ? chart->head.subtitle : "?",
                                chart->columns[i].title);
            all->largest[at] = chart->largest[i];
            all->largest_all = MAX(all->largest_all, chart->largest[i]);
            for (uint64_t bin = 0; bin < all->n; bin++) {
                all->values[bin * all->n_columns + at] = chart->values[bin * chart->n_columns + i];
            }
        }
    }
    return all;
}

static double value_of(const struct chart *chart, uint64_t bin, uint32_t column)
{
    return chart->values[bin * chart->n_columns + column];
}

/* Steps of one column between `top` and `base`; closed down to the base if `is_area`. */
static void put_steps(const struct chart *chart, uint32_t column, double top, double base,
                      double scale, bool is_area, const char *class)
{
    struct lull_html_view *html = chart->html;
    bool is_open = false;
    lull_html_put(html, "<path class=\"%s\" d=\"", class);
    for (uint64_t bin = 0; bin < chart->n; bin++) {
        const double value = value_of(chart, bin, column);
        if (isnan(value)) {
            if (is_open && is_area) {
                lull_html_put(html, "V");
                lull_html_number(html, base);
                lull_html_put(html, "z");
            }
            is_open = false;
            continue;
        }
        if (!is_open) {
            lull_html_put(html, "M%u ", (uint32_t)bin * BIN_WIDTH);
            lull_html_number(html, is_area ? base : base - value / scale * (base - top));
        }
        lull_html_put(html, "V");
        lull_html_number(html, base - value / scale * (base - top));
        lull_html_put(html, "H%u", (uint32_t)(bin + 1) * BIN_WIDTH);
        is_open = true;
    }
    if (is_open && is_area) {
        lull_html_put(html, "V");
        lull_html_number(html, base);
        lull_html_put(html, "z");
    }
    lull_html_put(html, "\"/>\n");
}

/* "+12.5 s: CPU 0 76.20 %, CPU 1 12.00 %" over each bin. */
static void put_hits(const struct chart *chart, double height)
{
    struct lull_html_view *html = chart->html;
    lull_html_put(html, "<g class=\"hit\">\n");
    for (uint64_t bin = 0; bin < chart->n; bin++) {
        const struct lull_cell since =
            lull_cell_integer(LULL_CELL_DURATION, (int64_t)bin * chart->width_ns);
        put_rect(html, (double)bin * BIN_WIDTH, 0, BIN_WIDTH, height);
        lull_html_put(html, "><title>+%s", lull_html_cell(html, &since));
        for (uint32_t i = 1; i < chart->n_columns && i <= MOST_SHOWN; i++) {
            const double value = value_of(chart, bin, i);
            lull_html_put(html, "\n");
            lull_html_text(html, chart->columns[i].title);
            lull_html_put(html, ": ");
            lull_html_text(html,
                           isnan(value) ? "?" : lull_html_value(html, &chart->columns[i], value));
        }
        lull_html_put(html, "</title></rect>\n");
    }
    lull_html_put(html, "</g>\n");
}

/* The time since the start, in steps of 1, 2 or 5 times a power of ten. */
static void put_times(const struct chart *chart)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    struct lull_html_view *html = chart->html;
    const double whole_ns = (double)chart->n * (double)chart->width_ns;
    double step_ns = 1;
    for (uint32_t i = 0; whole_ns / step_ns > 8; i++) {
        step_ns *= i % 3 == 1 ? 2.5 : 2;
    }
    uint32_t unit = 0;
    while (unit + 1 < G_N_ELEMENTS(units) && units[unit].ns > step_ns) {
        unit++;
    }
    lull_html_put(html, "<div class=\"x times\">");
    for (double at_ns = 0; at_ns < whole_ns * 0.97; at_ns += step_ns) {
        char number[LULL_DECIMAL_SIZE], text[LULL_DECIMAL_SIZE + 8];
        lull_decimal_format(at_ns / units[unit].ns, 0, number);
        g_snprintf(text, sizeof text, "+%s %s", number, units[unit].name);
        put_x(html, at_ns / whole_ns, text);
    }
    lull_html_put(html, "</div>\n");
}

static void put_unknown(const struct chart *chart, uint32_t column, double top, double height)
{
    for (uint64_t bin = 0; bin < chart->n; bin++) {
        if (isnan(value_of(chart, bin, column))) {
            put_rect(chart->html, (double)bin * BIN_WIDTH, top, BIN_WIDTH, height);
            lull_html_put(chart->html, " class=\"gap\"/>");
        }
    }
}

/* So wide that the ends of names, which tell CPUs apart, are seen as long as there is room. */
static void start_names(const struct chart *chart)
{
    glong longest = 0;
    for (uint32_t i = 1; i < chart->n_columns; i++) {
        longest = MAX(longest, g_utf8_strlen(chart->columns[i].title, -1));
    }
    lull_html_put(chart->html, "<div class=\"plot\" style=\"--y:%ld\"><div class=\"y\">", longest);
}

/* One strip for each column, its height being the whole. */
static void put_strips(const struct chart *chart)
{
    struct lull_html_view *html = chart->html;
    const uint32_t n = chart->n_columns - 1;
    const uint32_t strip = n <= 8 ? 36 : n <= 24 ? 20 : 8, gap = n <= 24 ? 4 : 1;
    const uint32_t height = n * (strip + gap) - gap, step = (n + MOST_NAMED - 1) / MOST_NAMED;
    start_names(chart);
    for (uint32_t i = 0; i < n; i += step) {
        put_y(html, (i * (strip + gap) + strip / 2.0) / height, chart->columns[i + 1].title);
    }
    lull_html_put(html, "</div>\n");
    start_svg(html, &chart->head, chart->n, height, height);
    for (uint32_t i = 0; i < n; i++) {
        const double top = i * (strip + gap), base = top + strip;
        put_unknown(chart, i + 1, top, strip);
        put_steps(chart, i + 1, top, base, 1, true, "a0");
        put_rule(html, chart->n, base);
    }
    put_hits(chart, height);
    lull_html_put(html, "</svg>\n");
}

static void put_lines(const struct chart *chart)
{
    static const char *const areas[] = {"area a0", "area a1"};
    struct lull_html_view *html = chart->html;
    const double scale = chart->largest_all > 0 ? chart->largest_all : 1;
    lull_html_put(html, "<div class=\"plot\">");
    put_scale(html, &chart->columns[1], chart->largest_all);
    start_svg(html, &chart->head, chart->n, CHART_HEIGHT, 140);
    put_rule(html, chart->n, 0);
    put_rule(html, chart->n, CHART_HEIGHT / 2.0);
    put_rule(html, chart->n, CHART_HEIGHT);
    for (uint32_t i = 1; i < chart->n_columns; i++) {
        const char line[] = {'l', (char)('0' + (i - 1) % MOST_LINES), '\0'};
        if (chart->n_columns <= 3) { /* of more lines they would be a blur */
            put_steps(chart, i, 0, CHART_HEIGHT, scale, true, areas[(i - 1) % 2]);
        }
        put_steps(chart, i, 0, CHART_HEIGHT, scale, false, line);
    }
    put_hits(chart, CHART_HEIGHT);
    lull_html_put(html, "</svg>\n");
}

static void put_key(const struct chart *chart)
{
    struct lull_html_view *html = chart->html;
    for (uint32_t i = 1; i < chart->n_columns; i++) {
        lull_html_put(html, " <span class=\"key\"><i style=\"--c:var(--line%u)\"></i>",
                      (i - 1) % MOST_LINES);
        lull_html_text(html, chart->columns[i].title);
        lull_html_put(html, ", up to ");
        lull_html_text(html, lull_html_value(html, &chart->columns[i], chart->largest[i]));
        lull_html_put(html, "</span>");
    }
}

static void put_kept_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct chart *chart = user;
    memcpy(cells, &chart->cells[row * chart->n_columns], chart->n_columns * sizeof *cells);
}

/* The numbers of each host below the figure of all. */
static void put_numbers(const struct chart *chart)
{
    struct lull_result_table table = chart->head;
    table.columns = chart->columns;
    table.n_rows = chart->n;
    table.row = put_kept_row;
    table.user = chart;
    if (chart->n_columns <= MOST_COLUMNS) {
        put_fold(chart->html, &table);
    }
}

static void put_figure(const struct chart *chart, struct chart *const *numbers, guint n)
{
    struct lull_html_view *html = chart->html;
    const bool is_share = chart->columns[1].class == LULL_CELL_RATIO;
    lull_html_put(html, "<figure>\n<figcaption>");
    lull_html_title(html, &chart->head);
    if (is_share) {
        lull_html_put(html, "</figcaption>\n");
        put_strips(chart);
    } else {
        put_key(chart);
        lull_html_put(html, "</figcaption>\n");
        put_lines(chart);
    }
    put_times(chart);
    lull_html_put(html, "</div>\n");
    for (guint i = 0; i < n; i++) {
        put_numbers(numbers[i]);
    }
    lull_html_put(html, "</figure>\n");
}

/* Hosts share a figure if their values can still be told apart in it. */
void lull_html_end_series(struct lull_html_view *html)
{
    struct chart **charts = (struct chart **)html->charts->pdata;
    const guint n_charts = html->charts->len;
    uint32_t n_columns = 0;
    bool is_alike = n_charts > 1;
    for (guint i = 0; i < n_charts; i++) {
        n_columns += charts[i]->n_columns - 1;
        is_alike = is_alike && charts[i]->n == charts[0]->n &&
                   charts[i]->start_ns == charts[0]->start_ns &&
                   charts[i]->width_ns == charts[0]->width_ns;
    }
    const uint32_t most =
        n_charts && charts[0]->columns[1].class == LULL_CELL_RATIO ? MOST_NAMED : MOST_LINES;
    if (is_alike && n_columns <= most) {
        struct chart *all = overlay(html->charts, n_columns);
        put_figure(all, charts, n_charts);
        chart_free(all);
    } else {
        for (guint i = 0; i < n_charts; i++) {
            put_figure(charts[i], &charts[i], 1);
        }
    }
    g_ptr_array_set_size(html->charts, 0);
}

void lull_html_series(struct lull_html_view *html, const struct lull_result_table *table)
{
    if (html->charts->len > 0 &&
        ((const struct chart *)html->charts->pdata[0])->head.class != table->class) {
        lull_html_end_series(html);
    }
    struct chart *chart = read_chart(html, table);
    if (chart->n_columns > 1 && chart->n > 0) {
        g_ptr_array_add(html->charts, chart);
    } else {
        chart_free(chart);
    }
}

GPtrArray *lull_html_charts_new(void)
{
    return g_ptr_array_new_with_free_func(chart_free);
}
