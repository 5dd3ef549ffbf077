/* SPDX-License-Identifier: MIT */
/* Declared states as a picture: below the name of each group a line for each row, boxes in the colours of
 * the file, its numbers as lines over them, and how many rows are in a state as an area. What is narrower
 * than a pixel is merged, so that the size of the file is bounded by that of the picture. */
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "view/result/states.h"
#include "view/svg.h"
#include "view/words.h"

enum {
    WIDTH = 1280,
    MARGIN = 20,
    TOP = 92, /* of the axis */
    HEADING = 26,
    KEY_LINE = 20,
    KEY_GAP = 22,
    GAP = 14, /* between blocks */
    LANE = 22,
    LANE_OF_NUMBERS = 36,
    STRIP = 46, /* of a count */
    NOTE = 20,
    MIN_NAME = 90,
    MAX_NAME = 240,
};
#define LEAST_PX 1.0
#define UNKNOWN 255 /* place of it among the sums of a pixel */

/* Unknown, lines of numbers and what is around them, areas of counts. */
#define LIGHT                                                                                      \
    ".lull .u{fill:#d8dee4}.lull .n{fill:none;stroke:#1f2328;stroke-width:1.6;pointer-events:none" \
    "}.lull .o{fill:none;stroke:#fff;stroke-width:3.4;pointer-events:none}"                        \
    ".lull .c{fill:#656d76;fill-opacity:.3}"
#define DARK                                                                                       \
    ".lull .u{fill:#30363d}.lull .n{stroke:#e6edf3}.lull .o{stroke:#0d1117}"                       \
    ".lull .c{fill:#9198a1;fill-opacity:.35}"

struct scale {
    bool is_known;                 /* there is a value */
    double low, high, top, bottom; /* values, and where they lie */
};

struct drawing {
    struct lull_out out;
    const struct lull_states_picture *picture;
    const struct lull_view_style *style;
    const struct lull_states_block *block; /* that is drawn */
    struct scale *scales;                  /* of the block's numbers */
    double plot_x, plot_width, ns_per_px, y, height, lane_height;
    bool is_dry; /* only the height is wanted */
};

/* ---- where things are ---- */

static double x_of(const struct drawing *drawing, int64_t time_ns)
{
    const struct lull_states_picture *picture = drawing->picture;
    const int64_t inside = CLAMP(time_ns, picture->start_ns, picture->end_ns) - picture->start_ns;
    return drawing->plot_x + (double)inside / drawing->ns_per_px;
}

/* From 0, or less, to the largest that any row of the block has. */
static struct scale scale_of(const struct lull_states_block *block, uint32_t number)
{
    struct scale scale = {0};
    for (uint32_t l = 0; l < block->n_lanes; l++) {
        const struct lull_states_curve *curve = &block->lanes[l].numbers[number];
        scale.is_known |= curve->n_steps > 0;
        for (size_t i = 0; i < curve->n_steps; i++) {
            scale.low = MIN(scale.low, curve->steps[i].value);
            scale.high = MAX(scale.high, curve->steps[i].value);
        }
    }
    scale.high = scale.high > scale.low ? scale.high : scale.low + 1;
    return scale;
}

static uint32_t count_numbers(const struct lull_states_group *group)
{
    return group->n_names - group->n_keys;
}

static void measure(struct drawing *drawing, const struct lull_states_block *block)
{
    const uint32_t n = count_numbers(block->group);
    drawing->block = block;
    drawing->scales = g_renew(struct scale, drawing->scales, MAX(n, 1));
    drawing->lane_height = LANE;
    for (uint32_t i = 0; i < n; i++) {
        drawing->scales[i] = scale_of(block, i);
        if (drawing->scales[i].is_known) { /* lines need more room */
            drawing->lane_height = LANE_OF_NUMBERS;
        }
    }
}

static char *fitted(const char *text, double width, double size)
{
    GString *out = g_string_new(NULL);
    lull_clean_append(out, text, false);
    lull_svg_fit(out, width, size);
    return g_string_free(out, FALSE);
}

static double name_width(const struct lull_states_picture *picture)
{
    double width = MIN_NAME;
    for (uint32_t b = 0; b < picture->n_blocks; b++) {
        const struct lull_states_block *block = &picture->blocks[b];
        for (uint32_t i = 0; i < block->n_lanes; i++) {
            g_autofree char *title = fitted(block->lanes[i].title, MAX_NAME, 12);
            width = MAX(width, lull_svg_text_width(title, 12));
        }
        for (uint32_t i = 0; i < block->group->n_counts; i++) {
            g_autofree char *title = fitted(block->group->counts[i].label, MAX_NAME, 12);
            width = MAX(width, lull_svg_text_width(title, 12));
        }
    }
    return width;
}

/* ---- boxes ---- */

/* What is gathered until a pixel is full. */
struct pixel {
    int64_t start_ns, end_ns;
    uint32_t n;
    int64_t sums_ns[256];
};

static const char *label_of(const struct lull_states_group *group, uint32_t state)
{
    return state < group->n_states ? group->states[state].label : "unknown";
}

static void put_tip(struct drawing *drawing, const struct pixel *pixel, const char *title)
{
    char took[LULL_TIME_TEXT_SIZE], at[LULL_TIME_TEXT_SIZE], clock[LULL_TIME_TEXT_SIZE];
    g_autoptr(GString) tip = g_string_new(NULL);
    lull_clean_append(tip, title, false);
    for (uint32_t i = 0; i < G_N_ELEMENTS(pixel->sums_ns); i++) {
        if (pixel->sums_ns[i]) {
            lull_duration_format(pixel->sums_ns[i], took);
            g_string_append_c(tip, '\n');
            lull_clean_append(tip, label_of(drawing->block->group, i), false);
            g_string_append_printf(tip, ": %s", took);
        }
    }
    if (pixel->n > 1) {
        g_string_append_printf(tip, "\n%u intervals", pixel->n);
    }
    lull_duration_format(pixel->start_ns - drawing->picture->start_ns, at);
    lull_time_format_clock(pixel->start_ns, drawing->style->local_time, clock);
    g_string_append_printf(tip, "\nat %s (%s)", at, clock);
    lull_out_text(&drawing->out, "<title>");
    lull_svg_escaped(&drawing->out, tip->str);
    lull_out_text(&drawing->out, "</title></rect>\n");
}

/* In the colour of what took most of it. */
static void flush(struct drawing *drawing, struct pixel *pixel, const struct lull_states_lane *lane)
{
    const struct lull_states_group *group = drawing->block->group;
    const double x = x_of(drawing, pixel->start_ns), width = x_of(drawing, pixel->end_ns) - x;
    const double height = drawing->lane_height - 5;
    uint32_t most = UNKNOWN;
    if (pixel->n == 0) {
        return;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(pixel->sums_ns); i++) {
        most = pixel->sums_ns[i] > pixel->sums_ns[most] ? i : most;
    }
    const char *colour = most < group->n_states ? lull_states_colour(group, most) : NULL;
    g_autofree char *attributes =
        colour ? g_strdup_printf("fill=\"%s\">", colour) : g_strdup("class=\"u\">");
    lull_svg_rect(&drawing->out, x, drawing->y + 2, MAX(width, LEAST_PX), height, attributes);
    put_tip(drawing, pixel, lane->title);
    g_autofree char *label = fitted(label_of(group, most), MAX_NAME, 10);
    if (height <= LANE && colour && width >= lull_svg_text_width(label, 10) + 8) {
        g_autofree char *ink = g_strdup_printf("class=\"t m %s\"", lull_svg_ink(colour));
        lull_svg_text(&drawing->out, x + width / 2, drawing->y + 2 + height / 2 + 3.5, ink, label);
    }
    memset(pixel, 0, sizeof *pixel);
}

static void put_boxes(struct drawing *drawing, const struct lull_states_lane *lane)
{
    struct pixel pixel = {0};
    for (size_t i = 0; i < lane->n_spans && !drawing->out.error; i++) {
        const struct lull_states_span *span = &lane->spans[i];
        const bool is_wide = (double)(span->end_ns - span->start_ns) >= drawing->ns_per_px;
        if (pixel.n && (is_wide || (double)(span->end_ns - pixel.start_ns) > drawing->ns_per_px)) {
            flush(drawing, &pixel, lane);
        }
        if (pixel.n++ == 0) {
            pixel.start_ns = span->start_ns;
        }
        pixel.end_ns = span->end_ns;
        pixel.sums_ns[MIN(span->state, UNKNOWN)] += span->end_ns - span->start_ns;
        if (is_wide) {
            flush(drawing, &pixel, lane);
        }
    }
    flush(drawing, &pixel, lane);
}

/* ---- curves ---- */

static double y_of(const struct scale *scale, double value)
{
    return scale->bottom -
           (value - scale->low) / (scale->high - scale->low) * (scale->bottom - scale->top);
}

/* Where there are several steps in a pixel, the line goes from the lowest to the highest. */
static void append_curve(const struct drawing *drawing, const struct lull_states_curve *curve,
                         const struct scale *scale, bool is_area, GString *path)
{
    char x[LULL_DECIMAL_SIZE], y[LULL_DECIMAL_SIZE];
    size_t i = 0;
    int64_t end_ns = INT64_MIN;
    while (i < curve->n_steps) {
        const struct lull_states_step *first = &curve->steps[i];
        const int64_t start_ns = first->start_ns;
        const bool goes_on = start_ns == end_ns;
        double low = first->value, high = first->value, last;
        do {
            last = curve->steps[i].value;
            low = MIN(low, last);
            high = MAX(high, last);
            end_ns = curve->steps[i++].end_ns;
        } while (i < curve->n_steps && curve->steps[i].start_ns == end_ns &&
                 (double)(curve->steps[i].end_ns - start_ns) < drawing->ns_per_px);
        if (!goes_on) {
            lull_decimal_format(y_of(scale, is_area ? scale->low : first->value), 1, y);
            lull_decimal_format(x_of(drawing, start_ns), 1, x);
            g_string_append_printf(path, "M%s %s", x, y);
        }
        const double values[] = {first->value, low, high, last};
        for (size_t k = low < high ? 0 : 3; k < G_N_ELEMENTS(values); k++) {
            g_string_append_printf(path, "V%s", lull_decimal_format(y_of(scale, values[k]), 1, y));
        }
        g_string_append_printf(path, "H%s", lull_decimal_format(x_of(drawing, end_ns), 1, x));
        if (is_area && (i == curve->n_steps || curve->steps[i].start_ns != end_ns)) {
            lull_decimal_format(scale->bottom, 1, y);
            g_string_append_printf(path, "V%sz", y);
        }
    }
}

static void put_curve(struct drawing *drawing, const char *path, const char *colour)
{
    lull_out_printf(
        &drawing->out, "<path class=\"o\" d=\"%s\"/>\n<path class=\"n\"%s%s%s d=\"%s\"/>\n", path,
        colour ? " style=\"stroke:" : "", colour ? colour : "", colour ? "\"" : "", path);
}

static void put_numbers(struct drawing *drawing, const struct lull_states_lane *lane)
{
    const struct lull_states_group *group = drawing->block->group;
    for (uint32_t i = 0; i < count_numbers(group); i++) {
        if (!lane->numbers[i].n_steps) {
            continue;
        }
        g_autoptr(GString) path = g_string_new(NULL);
        struct scale scale = drawing->scales[i];
        scale.top = drawing->y + 4;
        scale.bottom = drawing->y + drawing->lane_height - 5;
        append_curve(drawing, &lane->numbers[i], &scale, false, path);
        put_curve(drawing, path->str, group->names[group->n_keys + i].colour);
    }
}

/* ---- a block ---- */

/* An item of the key; those that do not fit into the line go into the next one. */
static void put_key(struct drawing *drawing, double *x, const char *text, const char *colour,
                    bool is_line)
{
    g_autofree char *label = fitted(text, 3 * MAX_NAME, 11);
    const double width = 18 + lull_svg_text_width(label, 11);
    if (*x > MARGIN + 8 && *x + width > WIDTH - MARGIN) {
        *x = MARGIN + 8;
        drawing->y += KEY_LINE;
    }
    if (!drawing->is_dry) {
        const char *fill = colour ? colour : "";
        g_autofree char *attributes =
            is_line  ? g_strdup_printf("class=\"n\"%s%s%s", colour ? " style=\"stroke:" : "", fill,
                                      colour ? "\"" : "")
            : colour ? g_strdup_printf("rx=\"2\" fill=\"%s\"/>\n", colour)
                     : g_strdup("rx=\"2\" class=\"u\"/>\n");
        if (is_line) {
            lull_svg_line(&drawing->out, *x, drawing->y + 10, *x + 13, drawing->y + 10, attributes);
        } else {
            lull_svg_rect(&drawing->out, *x, drawing->y + 4, 12, 12, attributes);
        }
        lull_svg_text(&drawing->out, *x + 18, drawing->y + 14, "class=\"s\"", label);
    }
    *x += width + KEY_GAP;
}

/* Decimals only where they say something. */
static void append_value(GString *text, double value)
{
    char number[LULL_DECIMAL_SIZE];
    g_string_append(text, value == trunc(value) ? lull_decimal_format(value, 0, number)
                                                : lull_decimal_format_short(value, 3, number));
}

/* Only what is in the picture. */
static void put_keys(struct drawing *drawing)
{
    const struct lull_states_block *block = drawing->block;
    const struct lull_states_group *group = block->group;
    bool is_used[256] = {false};
    double x = MARGIN + 8;
    for (uint32_t l = 0; l < block->n_lanes; l++) {
        for (size_t i = 0; i < block->lanes[l].n_spans; i++) {
            is_used[MIN(block->lanes[l].spans[i].state, UNKNOWN)] = true;
        }
    }
    for (uint32_t i = 0; i < group->n_states; i++) {
        if (is_used[i]) {
            put_key(drawing, &x, group->states[i].label, lull_states_colour(group, i), false);
        }
    }
    if (is_used[UNKNOWN]) {
        put_key(drawing, &x, "unknown", NULL, false);
    }
    for (uint32_t i = group->n_keys; i < group->n_names; i++) {
        const struct lull_states_name *name = &group->names[i];
        const struct scale *scale = &drawing->scales[i - group->n_keys];
        if (scale->is_known) {
            g_autoptr(GString) text = g_string_new(name->label);
            append_value(g_string_append(text, ": "), scale->low);
            append_value(g_string_append(text, " to "), scale->high);
            g_string_append_printf(text, "%s%s", name->unit ? " " : "",
                                   name->unit ? name->unit : "");
            put_key(drawing, &x, text->str, name->colour, true);
        }
    }
    drawing->y += KEY_LINE + 2;
}

static void put_heading(struct drawing *drawing)
{
    if (!drawing->is_dry) {
        g_autofree char *text =
            drawing->picture->has_hosts
                ? g_strdup_printf("%s on %s", drawing->block->group->label, drawing->block->host)
                : g_strdup(drawing->block->group->label);
        g_autofree char *label = fitted(text, WIDTH - 4 * MARGIN, 12);
        lull_svg_rect(&drawing->out, MARGIN, drawing->y, WIDTH - 2 * MARGIN, HEADING - 2,
                      "class=\"b\" rx=\"3\"/>\n");
        lull_svg_text(&drawing->out, MARGIN + 8, drawing->y + 16, "class=\"h\"", label);
    }
    drawing->y += HEADING;
}

static void put_name(struct drawing *drawing, const char *text, double height)
{
    g_autofree char *label = fitted(text, MAX_NAME, 12);
    lull_svg_line(&drawing->out, MARGIN, drawing->y + height, drawing->plot_x + drawing->plot_width,
                  drawing->y + height, "class=\"l\"");
    lull_svg_text(&drawing->out, MARGIN + 8, drawing->y + height / 2 + 4, "", label);
}

static void put_lanes(struct drawing *drawing)
{
    const struct lull_states_block *block = drawing->block;
    const double height = drawing->lane_height;
    for (uint32_t i = 0; i < block->n_lanes; i++) {
        if (!drawing->is_dry) {
            put_name(drawing, block->lanes[i].title, height);
            lull_out_text(&drawing->out, "<g shape-rendering=\"crispEdges\">\n");
            put_boxes(drawing, &block->lanes[i]);
            lull_out_text(&drawing->out, "</g>\n");
            put_numbers(drawing, &block->lanes[i]);
        }
        drawing->y += height;
    }
    if (block->n_left_out) {
        g_autofree char *note =
            g_strdup_printf("%u more row%s", block->n_left_out, block->n_left_out == 1 ? "" : "s");
        if (!drawing->is_dry) {
            lull_svg_text(&drawing->out, MARGIN + 8, drawing->y + 14, "class=\"f s\"", note);
        }
        drawing->y += NOTE;
    }
}

static void put_counts(struct drawing *drawing)
{
    const struct lull_states_block *block = drawing->block;
    for (uint32_t i = 0; i < block->group->n_counts; i++) {
        const struct lull_states_count *count = &block->group->counts[i];
        struct scale scale = {true, 0, 0, drawing->y + 6, drawing->y + STRIP - 3};
        char most[LULL_DECIMAL_SIZE];
        for (size_t s = 0; s < block->counts[i].n_steps; s++) {
            scale.high = MAX(scale.high, block->counts[i].steps[s].value);
        }
        if (!drawing->is_dry) {
            g_autoptr(GString) area = g_string_new(NULL);
            const char *colour =
                count->colour ? count->colour : lull_states_colour(block->group, count->state);
            lull_decimal_format(scale.high, 0, most);
            scale.high = MAX(scale.high, 1);
            append_curve(drawing, &block->counts[i], &scale, true, area);
            put_name(drawing, count->label, STRIP);
            lull_svg_text(&drawing->out, drawing->plot_x - 6, scale.top + 4, "class=\"f s e\"",
                          most);
            lull_svg_text(&drawing->out, drawing->plot_x - 6, scale.bottom + 3, "class=\"f s e\"",
                          "0");
            lull_out_printf(
                &drawing->out,
                "<path class=\"c\" style=\"fill:%s;fill-opacity:.45;stroke:%s\" d=\"%s\"/>\n",
                colour, colour, area->str);
        }
        drawing->y += STRIP;
    }
}

static void put_blocks(struct drawing *drawing)
{
    drawing->y = TOP + 8;
    for (uint32_t i = 0; i < drawing->picture->n_blocks; i++) {
        measure(drawing, &drawing->picture->blocks[i]);
        put_heading(drawing);
        put_keys(drawing);
        put_lanes(drawing);
        put_counts(drawing);
        drawing->y += GAP;
    }
}

/* ---- the picture ---- */

static void put_title(struct drawing *drawing, const struct lull_svg_form *form)
{
    const struct lull_states_picture *picture = drawing->picture;
    const bool local = drawing->style->local_time;
    char took[LULL_TIME_TEXT_SIZE], start[LULL_TIME_TEXT_SIZE], end[LULL_TIME_TEXT_SIZE];
    g_autoptr(GString) title = g_string_new(NULL), text = g_string_new(NULL);
    for (uint32_t i = 0; i < picture->n_blocks; i++) {
        if (i == 0 || picture->blocks[i].group != picture->blocks[i - 1].group) {
            g_string_append(title, i ? ", " : "");
            lull_clean_append(title, picture->blocks[i].group->label, false);
        }
    }
    g_string_append(title, title->len ? "" : "No row was seen");
    lull_svg_fit(title, WIDTH - 2 * MARGIN, 18);
    lull_duration_format(picture->end_ns - picture->start_ns, took);
    lull_time_format_iso(picture->start_ns, local, start);
    lull_time_format_iso(picture->end_ns, local, end);
    g_string_printf(text, "%s, from %s to %s", took, start, end);
    if (picture->lost_events || picture->lost_packets) {
        g_string_append_printf(
            text, " · lost: %" G_GUINT64_FORMAT " events, %" G_GUINT64_FORMAT " packets",
            picture->lost_events, picture->lost_packets);
    }
    g_string_append(text, picture->is_cut ? " · there was more than is shown" : "");
    lull_svg_describe(&drawing->out, form, title->str, text->str);
    lull_svg_text(&drawing->out, MARGIN, 34, "class=\"h\" font-size=\"18\"", title->str);
    lull_svg_text(&drawing->out, MARGIN, 55, "class=\"f\"", text->str);
}

static void put_axis(struct drawing *drawing)
{
    const double bottom = drawing->height - 2 * MARGIN + 4;
    struct lull_svg_axis axis;
    lull_svg_axis_init(&axis, drawing->ns_per_px,
                       drawing->picture->end_ns - drawing->picture->start_ns);
    for (int64_t tick = 0; tick <= axis.last; tick++) {
        char label[LULL_SVG_LABEL_SIZE];
        const double x = drawing->plot_x + (double)tick * (double)axis.step_ns / drawing->ns_per_px;
        lull_svg_axis_label(&axis, tick, label);
        lull_svg_line(&drawing->out, x, TOP, x, bottom, "class=\"g\"");
        lull_svg_text(&drawing->out, x, TOP - 6, "class=\"f s m\"", label);
        if (drawing->height > 480) {
            lull_svg_text(&drawing->out, x, bottom + 15, "class=\"f s m\"", label);
        }
    }
}

bool lull_view_states_svg(const struct lull_states_picture *picture, FILE *file,
                          const struct lull_view_style *style, GError **error)
{
    struct drawing drawing = {.picture = picture, .style = style, .is_dry = true};
    lull_out_start(&drawing.out, file);
    drawing.plot_x = MARGIN + 8 + name_width(picture) + 34;
    drawing.plot_width = WIDTH - MARGIN - 16 - drawing.plot_x;
    drawing.ns_per_px = MAX((double)(picture->end_ns - picture->start_ns), 1) / drawing.plot_width;
    put_blocks(&drawing);
    drawing.height = drawing.y + 2 * MARGIN - GAP;
    drawing.is_dry = false;
    const struct lull_svg_form form = {.id = "",
                                       .class = "",
                                       .width = WIDTH,
                                       .height = floor(drawing.height),
                                       .light = LIGHT,
                                       .dark = DARK};
    lull_svg_start(&drawing.out, &form);
    put_title(&drawing, &form);
    put_axis(&drawing);
    put_blocks(&drawing);
    g_free(drawing.scales);
    lull_out_text(&drawing.out, "</svg>\n");
    return lull_out_end(&drawing.out, "the picture", error);
}
