/* SPDX-License-Identifier: MIT */
/* Charts of the HTML view, as SVG that stretches with the page; text is beside it
 * as text, so that it keeps its size. Histograms are bars, values over time are steps: shares one
 * strip for each column, others in one chart. */
#include "view/result/html.h"

#include <math.h>

#include "view/result/cells.h"

enum {
    BIN_WIDTH = 4,      /* of the drawing */
    CHART_HEIGHT = 100, /* of the drawing */
    MOST_NAMED = 24,    /* strips with a name of their own */
    MOST_SHOWN = 16,    /* columns whose values a tooltip shows */
    MOST_COLUMNS = 12,  /* of a folded table */
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
    lull_html_put(html, "<details><summary>Numbers</summary>\n");
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

static void put_bounds(struct lull_html_view *html, struct lull_result_rows *rows, uint64_t n)
{
    const uint64_t step = (n + 3) / 4;
    lull_html_put(html, "<div class=\"x\">");
    for (uint64_t i = 0; i < n && (i == 0 || (double)i / (double)n < 0.8); i += step) {
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
    struct lull_result_rows rows;
    uint64_t n;         /* bins */
    double *values;     /* of bin and column: values[bin * n_columns + column]; NAN: not known */
    double *largest;    /* by column */
    double largest_all; /* over all columns */
    int64_t start_ns, width_ns;
};

static void read_chart(struct chart *chart, const struct lull_result_table *table)
{
    lull_result_rows_init(&chart->rows, table);
    const uint32_t n_columns = chart->rows.n_columns;
    chart->n = MIN(table->n_rows, LULL_HTML_ROWS);
    chart->values = g_new(double, chart->n *n_columns);
    chart->largest = g_new0(double, n_columns);
    for (uint64_t bin = 0; bin < chart->n; bin++) {
        lull_result_rows_read(&chart->rows, bin);
        if (bin == 0) {
            chart->start_ns = chart->rows.cells[0].integer;
        } else if (bin == 1) {
            chart->width_ns = chart->rows.cells[0].integer - chart->start_ns;
        }
        for (uint32_t i = 1; i < n_columns; i++) {
            const struct lull_cell *cell = &chart->rows.cells[i];
            const bool is_known = cell->class == chart->rows.columns[i].class;
            const double value = is_known ? lull_cell_value(cell) : NAN;
            chart->values[bin * n_columns + i] = value;
            if (is_known) {
                chart->largest[i] = MAX(chart->largest[i], value);
            }
        }
    }
    for (uint32_t i = 1; i < n_columns; i++) {
        chart->largest_all = MAX(chart->largest_all, chart->largest[i]);
    }
}

static double value_of(const struct chart *chart, uint64_t bin, uint32_t column)
{
    return chart->values[bin * chart->rows.n_columns + column];
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
        for (uint32_t i = 1; i < chart->rows.n_columns && i <= MOST_SHOWN; i++) {
            const double value = value_of(chart, bin, i);
            lull_html_put(html, "\n");
            lull_html_text(html, chart->rows.columns[i].title);
            lull_html_put(html, ": ");
            lull_html_text(
                html, isnan(value) ? "?" : lull_html_value(html, &chart->rows.columns[i], value));
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
    lull_html_put(html, "<div class=\"x\">");
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

/* One strip for each column, its height being the whole. */
static void put_strips(const struct chart *chart, const struct lull_result_table *table)
{
    struct lull_html_view *html = chart->html;
    const uint32_t n = chart->rows.n_columns - 1;
    const uint32_t strip = n <= 8 ? 36 : n <= 24 ? 20 : 8, gap = n <= 24 ? 4 : 1;
    const uint32_t height = n * (strip + gap) - gap, step = (n + MOST_NAMED - 1) / MOST_NAMED;
    lull_html_put(html, "<div class=\"plot\"><div class=\"y\">");
    for (uint32_t i = 0; i < n; i += step) {
        put_y(html, (i * (strip + gap) + strip / 2.0) / height, chart->rows.columns[i + 1].title);
    }
    lull_html_put(html, "</div>\n");
    start_svg(html, table, chart->n, height, height);
    for (uint32_t i = 0; i < n; i++) {
        const double top = i * (strip + gap), base = top + strip;
        put_unknown(chart, i + 1, top, strip);
        put_steps(chart, i + 1, top, base, 1, true, "a0");
        put_rule(html, chart->n, base);
    }
    put_hits(chart, height);
    lull_html_put(html, "</svg>\n");
}

static void put_lines(const struct chart *chart, const struct lull_result_table *table)
{
    static const char *const areas[] = {"area a0", "area a1"}, *const lines[] = {"l0", "l1"};
    struct lull_html_view *html = chart->html;
    const double scale = chart->largest_all > 0 ? chart->largest_all : 1;
    lull_html_put(html, "<div class=\"plot\">");
    put_scale(html, &chart->rows.columns[1], chart->largest_all);
    start_svg(html, table, chart->n, CHART_HEIGHT, 140);
    put_rule(html, chart->n, 0);
    put_rule(html, chart->n, CHART_HEIGHT / 2.0);
    put_rule(html, chart->n, CHART_HEIGHT);
    for (uint32_t i = 1; i < chart->rows.n_columns; i++) {
        put_steps(chart, i, 0, CHART_HEIGHT, scale, true, areas[(i - 1) % 2]);
        put_steps(chart, i, 0, CHART_HEIGHT, scale, false, lines[(i - 1) % 2]);
    }
    put_hits(chart, CHART_HEIGHT);
    lull_html_put(html, "</svg>\n");
}

static void put_key(const struct chart *chart)
{
    static const char *const colors[] = {"--first", "--second"};
    struct lull_html_view *html = chart->html;
    for (uint32_t i = 1; i < chart->rows.n_columns; i++) {
        lull_html_put(html, " <span class=\"key\"><i style=\"--c:var(%s)\"></i>",
                      colors[(i - 1) % 2]);
        lull_html_text(html, chart->rows.columns[i].title);
        lull_html_put(html, ", up to ");
        lull_html_text(html, lull_html_value(html, &chart->rows.columns[i], chart->largest[i]));
        lull_html_put(html, "</span>");
    }
}

void lull_html_series(struct lull_html_view *html, const struct lull_result_table *table)
{
    struct chart chart = {.html = html, .width_ns = html->window.end_ns - html->window.start_ns};
    read_chart(&chart, table);
    if (chart.rows.n_columns > 1 && chart.n > 0) {
        const bool is_share = chart.rows.columns[1].class == LULL_CELL_RATIO;
        lull_html_put(html, "<figure>\n<figcaption>");
        lull_html_title(html, table);
        if (!is_share) {
            put_key(&chart);
        }
        lull_html_put(html, "</figcaption>\n");
        if (is_share) {
            put_strips(&chart, table);
        } else {
            put_lines(&chart, table);
        }
        put_times(&chart);
        lull_html_put(html, "</div>\n");
        if (chart.rows.n_columns <= MOST_COLUMNS) {
            put_fold(html, table);
        }
        lull_html_put(html, "</figure>\n");
    }
    lull_result_rows_clear(&chart.rows);
    g_free(chart.values);
    g_free(chart.largest);
}
