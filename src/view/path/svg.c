/* SPDX-License-Identifier: MIT */
/* A critical path as a picture: a row per task grouped by host, boxes coloured by state, arrows
 * where the path jumps from task to task, a legend and a time axis. Written by hand, without a
 * drawing library. What is narrower than a pixel is merged, so that the file's size is bounded by
 * the picture's and not by the path's. */
#include "view/view.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "base/time.h"
#include "view/out.h"
#include "view/path/svg_layout.h"
#include "view/svg.h"
#include "view/words.h"

/* The arrows of jumps in a host and between hosts, with their heads. */
#define LIGHT                                                                                      \
    ".lull .a{stroke:#3d444d;stroke-width:1;fill:none;marker-end:url(#a)}.lull .i{fill:#3d444d}"   \
    ".lull .x{stroke:#c2185b;stroke-width:1.2;fill:none;marker-end:url(#x)}"                       \
    ".lull .j{fill:#c2185b}"
#define DARK                                                                                       \
    ".lull .a{stroke:#b1bac4}.lull .i{fill:#b1bac4}.lull .x{stroke:#ff7eb6}.lull .j{fill:#ff7eb6}"

#define MIN_BOX_PX 1.0

struct drawing {
    struct lull_out out;
    const struct lull_path *path;
    const struct lull_view_style *style;
    struct lull_svg_layout layout;
};

static void put_prologue(struct drawing *drawing, const struct lull_svg_form *form)
{
    lull_svg_start(&drawing->out, form);
    lull_out_printf(&drawing->out,
                    "<defs><marker id=\"%sa\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" "
                    "markerWidth=\"6\" markerHeight=\"6\" markerUnits=\"userSpaceOnUse\" "
                    "orient=\"auto\"><path d=\"M0 0 6 3 0 6z\" class=\"i\"/></marker>"
                    "<marker id=\"%sx\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" "
                    "markerWidth=\"7\" markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" "
                    "orient=\"auto\"><path d=\"M0 0 6 3 0 6z\" class=\"j\"/></marker></defs>\n",
                    form->id, form->id);
}

static void put_title(struct drawing *drawing, const struct lull_svg_form *form)
{
    const struct lull_path *path = drawing->path;
    const bool is_narrow = drawing->style->is_narrow;
    char total[LULL_TIME_TEXT_SIZE], start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE];
    g_autoptr(GString) title = g_string_new("What was "), text = g_string_new(NULL);

    lull_task_append(title, path->comm, path->tid, false);
    g_string_append(title, " on ");
    lull_clean_append(title, lull_path_host_name(path, path->host), false);
    g_string_append(title, " waiting for?");
    lull_svg_fit(title, drawing->layout.width - 2 * LULL_SVG_MARGIN, 18);
    lull_duration_format(path->end_ns - path->start_ns, total);
    lull_time_format_iso(path->start_ns, drawing->style->local_time, start);
    lull_time_format_iso(path->end_ns, drawing->style->local_time, end);
    g_string_printf(text, "Critical path of %s, from %s to %s", total, start, end);
    if (path->lost_events || path->lost_packets) {
        g_string_append(text, " · ");
        lull_losses_append(text, path);
        g_string_append(text, " lost");
    }
    lull_svg_describe(&drawing->out, form, title->str, text->str);
    if (is_narrow) {
        g_string_assign(title, "What ");
        lull_task_append(title, path->comm, path->tid, false);
        g_string_append(title, " waited for");
        lull_svg_fit(title, drawing->layout.width - 2 * LULL_SVG_MARGIN, 18);
        g_string_printf(text, "Critical path of %s", total);
    }
    lull_svg_text(&drawing->out, LULL_SVG_MARGIN, 34,
                  is_narrow ? "class=\"h\" font-size=\"15\"" : "class=\"h\" font-size=\"18\"",
                  title->str);
    lull_svg_text(&drawing->out, LULL_SVG_MARGIN, 55, "class=\"f\"", text->str);
}

static void put_legend(struct drawing *drawing)
{
    const struct lull_svg_layout *layout = &drawing->layout;

    for (uint32_t i = 0; i < layout->n_legend; i++) {
        const struct lull_svg_legend *item = &layout->legend[i];
        g_autofree char *attributes =
            g_strdup_printf("rx=\"2\" class=\"%s\"/>\n", lull_look_at(item->look)->style);
        lull_svg_rect(&drawing->out, item->x, item->y - 10, 12, 12, attributes);
        lull_svg_text(&drawing->out, item->x + 18, item->y, "class=\"s\"", item->text);
    }
}

/* Grid lines with labels above, and below the last row of a tall picture. */
static void put_axis(struct drawing *drawing)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    struct lull_svg_axis axis;

    lull_svg_axis_init(&axis, layout->ns_per_px, drawing->path->end_ns - drawing->path->start_ns);
    for (int64_t tick = 0; tick <= axis.last; tick++) {
        char label[LULL_SVG_LABEL_SIZE];
        double x = layout->plot_x + (double)tick * axis.step_ns / layout->ns_per_px;
        lull_svg_axis_label(&axis, tick, label);
        lull_svg_line(&drawing->out, x, layout->plot_y, x, layout->plot_y + layout->plot_height,
                      "class=\"g\"");
        lull_svg_text(&drawing->out, x, layout->plot_y - 6, "class=\"f s m\"", label);
        if (layout->n_rows > 12) {
            lull_svg_text(&drawing->out, x, layout->plot_y + layout->plot_height + 15,
                          "class=\"f s m\"", label);
        }
    }
}

static void put_host_heading(struct drawing *drawing, const struct lull_svg_row *row)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    GString *text = g_string_new(NULL);

    lull_clean_append(text, lull_path_host_name(drawing->path, row->host), false);
    const double y = row->y - layout->name_height - LULL_SVG_HOST_HEIGHT;
    const double end = layout->name_height > 0 ? layout->width : layout->plot_x;
    lull_svg_fit(text, end - 2 * LULL_SVG_MARGIN, 12);
    lull_svg_rect(&drawing->out, LULL_SVG_MARGIN, y, layout->width - 2 * LULL_SVG_MARGIN,
                  LULL_SVG_HOST_HEIGHT - 2, "class=\"b\" rx=\"3\"/>\n");
    lull_svg_text(&drawing->out, LULL_SVG_MARGIN + 8, y + 15, "class=\"h\"", text->str);
    g_string_free(text, TRUE);
}

static void put_row_label(struct drawing *drawing, const struct lull_svg_row *row)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    char duration[LULL_TIME_TEXT_SIZE];
    const bool is_above = layout->name_height > 0;
    double baseline = row->y + (is_above ? -2 : layout->row_height / 2 + 4);
    double end = is_above ? layout->plot_x + layout->plot_width : layout->plot_x - 12;

    lull_duration_format(row->total_ns, duration);
    lull_svg_line(&drawing->out, LULL_SVG_MARGIN, row->y + layout->row_height,
                  layout->plot_x + layout->plot_width, row->y + layout->row_height, "class=\"l\"");
    lull_svg_text(&drawing->out, is_above ? layout->plot_x : LULL_SVG_MARGIN + 8, baseline, "",
                  row->label);
    lull_svg_text(&drawing->out, end, baseline, "class=\"f s e\"", duration);
}

static double x_of(const struct drawing *drawing, int64_t time_ns)
{
    const struct lull_path *path = drawing->path;
    int64_t inside = CLAMP(time_ns, path->start_ns, path->end_ns) - path->start_ns;

    return drawing->layout.plot_x + (double)inside / drawing->layout.ns_per_px;
}

/* A box; `tip` has been cleaned. */
static void put_box(struct drawing *drawing, uint32_t row, uint32_t look, int64_t start_ns,
                    int64_t end_ns, const char *tip)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    double x = x_of(drawing, start_ns), width = x_of(drawing, end_ns) - x;
    double y = layout->rows[row].y + 3, height = layout->row_height - 6;
    const struct lull_look *paint = lull_look_at(look);
    g_autofree char *attributes = g_strdup_printf("class=\"%s\"><title>", paint->style);

    lull_svg_rect(&drawing->out, x, y, MAX(width, MIN_BOX_PX), height, attributes);
    lull_svg_escaped(&drawing->out, tip);
    lull_out_text(&drawing->out, "</title></rect>\n");
    if (height >= 12 && width >= lull_svg_text_width(paint->label, 10) + 8) {
        g_autofree char *ink = g_strdup_printf("class=\"t m %s\"", lull_svg_ink(paint->fill));
        lull_svg_text(&drawing->out, x + width / 2, y + height / 2 + 3.5, ink, paint->label);
    }
}

static void append_span(const struct drawing *drawing, GString *tip, int64_t start_ns,
                        int64_t end_ns)
{
    char took[LULL_TIME_TEXT_SIZE], at[LULL_TIME_TEXT_SIZE], clock[LULL_TIME_TEXT_SIZE];

    lull_duration_format(end_ns - start_ns, took);
    lull_duration_format(start_ns - drawing->path->start_ns, at);
    lull_time_format_clock(start_ns, drawing->style->local_time, clock);
    g_string_append_printf(tip, "\n%s, at %s (%s)", took, at, clock);
}

static void put_segment(struct drawing *drawing, uint32_t row, const struct lull_segment *segment)
{
    GString *tip = g_string_new(NULL);

    /* Cleaning takes line ends out of what comes from the trace; those of the tip are our own. */
    lull_task_append(tip, segment->comm, segment->tid, false);
    g_string_append(tip, " on ");
    lull_clean_append(tip, lull_path_host_name(drawing->path, segment->host), false);
    g_string_append_c(tip, '\n');
    lull_segment_append(tip, segment, false);
    append_span(drawing, tip, segment->start_ns, segment->end_ns);
    if (segment->cpu >= 0) {
        g_string_append_printf(tip, ", CPU %d", segment->cpu);
    }
    put_box(drawing, row, lull_look_index(segment->state, segment->cause), segment->start_ns,
            segment->end_ns, tip->str);
    g_string_free(tip, TRUE);
}

/* Draws what a pixel of a row has gathered, in the colour that has the most of it. */
static void flush_pixel(struct drawing *drawing, uint32_t row)
{
    struct lull_svg_pixel *pixel = &drawing->layout.rows[row].pixel;
    uint32_t most = 0;

    if (pixel->count == 0) {
        return;
    }
    if (pixel->count == 1) {
        put_segment(drawing, row, pixel->first);
        memset(pixel, 0, sizeof *pixel);
        return;
    }
    GString *tip = g_string_new(drawing->layout.rows[row].label);
    g_string_append_printf(tip, "\n%u steps:", pixel->count);
    for (uint32_t i = 0; i < LULL_LOOK_COUNT; i++) {
        char duration[LULL_TIME_TEXT_SIZE];
        if (!pixel->sums_ns[i]) {
            continue;
        }
        lull_duration_format(pixel->sums_ns[i], duration);
        g_string_append_printf(tip, " %s %s;", lull_look_at(i)->phrase, duration);
        if (pixel->sums_ns[i] > pixel->sums_ns[most]) {
            most = i;
        }
    }
    append_span(drawing, tip, pixel->first->start_ns, pixel->end_ns);
    put_box(drawing, row, most, pixel->first->start_ns, pixel->end_ns, tip->str);
    g_string_free(tip, TRUE);
    memset(pixel, 0, sizeof *pixel);
}

static void put_boxes(struct drawing *drawing)
{
    const struct lull_path *path = drawing->path;
    struct lull_svg_layout *layout = &drawing->layout;

    for (uint32_t i = 0; i < path->n_segments && !drawing->out.error; i++) {
        const struct lull_segment *segment = &path->segments[i];
        uint32_t row = layout->row_of_segment[i];
        struct lull_svg_pixel *pixel = &layout->rows[row].pixel;
        int64_t length_ns = segment->end_ns - segment->start_ns;
        bool is_wide = (double)length_ns >= layout->ns_per_px;
        if (is_wide || (pixel->count &&
                        (double)(segment->end_ns - pixel->first->start_ns) > layout->ns_per_px)) {
            flush_pixel(drawing, row);
        }
        if (is_wide) {
            put_segment(drawing, row, segment);
            continue;
        }
        if (pixel->count++ == 0) {
            pixel->first = segment;
        }
        pixel->end_ns = segment->end_ns;
        pixel->sums_ns[lull_look_index(segment->state, segment->cause)] += length_ns;
    }
    for (uint32_t row = 0; row < layout->n_rows; row++) {
        flush_pixel(drawing, row);
    }
}

/* The wait that the path goes into with this segment, or NULL. */
static const struct lull_wait *entered(const struct lull_path *path, uint32_t segment)
{
    const uint32_t wait = path->segments[segment].wait;

    if (wait == LULL_NONE || !path->waits[wait].detail ||
        path->waits[wait].start_ns != path->segments[segment].start_ns) {
        return NULL;
    }
    return &path->waits[wait];
}

static void put_arrow(struct drawing *drawing, uint32_t from, uint32_t to, double x)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    const struct lull_svg_row *source = &layout->rows[from], *target = &layout->rows[to];
    bool is_down = target->y > source->y;

    lull_svg_line(&drawing->out, x, source->y + (is_down ? layout->row_height - 3 : 3), x,
                  target->y + (is_down ? 3 : layout->row_height - 3),
                  source->host == target->host ? "class=\"a\"" : "class=\"x\"");
}

/* Many arrows must not hide the boxes behind them. */
static const char *arrow_opacity(const struct drawing *drawing)
{
    uint32_t jumps = 0;

    for (uint32_t i = 1; i < drawing->path->n_segments; i++) {
        jumps += drawing->layout.row_of_segment[i - 1] != drawing->layout.row_of_segment[i];
    }
    return jumps <= 100 ? "1" : jumps <= 400 ? ".55" : ".3";
}

/* Arrows of one pair of rows that would cover each other are drawn once. */
static void put_arrows(struct drawing *drawing)
{
    const struct lull_svg_layout *layout = &drawing->layout;
    GHashTable *last = g_hash_table_new_full(lull_hash_word, g_int64_equal, g_free, NULL);

    lull_out_printf(&drawing->out, "<g opacity=\"%s\">\n", arrow_opacity(drawing));
    for (uint32_t i = 1; i < drawing->path->n_segments && !drawing->out.error; i++) {
        uint32_t from = layout->row_of_segment[i - 1], to = layout->row_of_segment[i];
        gint64 key = (gint64)((uint64_t)from << 32 | to);
        double x = x_of(drawing, drawing->path->segments[i].start_ns);
        gint position = (gint)(x / 3) + 1;
        if (from == to || GPOINTER_TO_INT(g_hash_table_lookup(last, &key)) == position) {
            continue;
        }
        g_hash_table_insert(last, g_memdup2(&key, sizeof key), GINT_TO_POINTER(position));
        const struct lull_wait *wait = entered(drawing->path, i);
        if (wait) {
            g_autoptr(GString) tip = g_string_new(NULL);
            lull_wait_append(tip, wait, false);
            lull_out_text(&drawing->out, "<g><title>");
            lull_svg_escaped(&drawing->out, tip->str);
            lull_out_text(&drawing->out, "</title>");
        }
        put_arrow(drawing, from, to, x);
        lull_out_text(&drawing->out, wait ? "</g>\n" : "");
    }
    lull_out_text(&drawing->out, "</g>\n");
    g_hash_table_unref(last);
}

bool lull_view_path_svg(const struct lull_path *path, FILE *file,
                        const struct lull_view_style *style, GError **error)
{
    struct drawing drawing = {.path = path, .style = style};
    const struct lull_svg_layout *layout = &drawing.layout;
    g_autoptr(GString) light = g_string_new(LIGHT);

    lull_svg_layout_init(&drawing.layout, path, style->is_narrow);
    for (uint32_t i = 0; i < LULL_LOOK_COUNT; i++) {
        const struct lull_look *look = lull_look_at(i);
        g_string_append_printf(light, ".lull .%s{fill:%s}", look->style, look->fill);
    }
    if (style->is_narrow) {
        g_string_append(light, ".narrow .a{marker-end:url(#na)}.narrow .x{marker-end:url(#nx)}");
    }
    const struct lull_svg_form form = {.id = style->is_narrow ? "n" : "",
                                       .class = style->is_narrow ? "narrow" : "",
                                       .left = layout->left,
                                       .width = layout->width - 2 * layout->left,
                                       .height = layout->height,
                                       .light = light->str,
                                       .dark = DARK};
    lull_out_start(&drawing.out, file);
    put_prologue(&drawing, &form);
    put_title(&drawing, &form);
    put_legend(&drawing);
    for (uint32_t i = 0; i < drawing.layout.n_rows; i++) {
        if (drawing.layout.rows[i].starts_host) {
            put_host_heading(&drawing, &drawing.layout.rows[i]);
        }
        put_row_label(&drawing, &drawing.layout.rows[i]);
    }
    put_axis(&drawing);
    /* Neighbours would show a seam if their edges were smoothed. */
    lull_out_text(&drawing.out, "<g shape-rendering=\"crispEdges\">\n");
    put_boxes(&drawing);
    lull_out_text(&drawing.out, "</g>\n");
    put_arrows(&drawing);
    lull_out_text(&drawing.out, "</svg>\n");
    lull_svg_layout_clear(&drawing.layout);
    return lull_out_end(&drawing.out, "the picture", error);
}
