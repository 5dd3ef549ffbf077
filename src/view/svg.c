/* SPDX-License-Identifier: MIT */
/* Elements of SVG, texts that must fit, and the axis of time. */
#include "view/svg.h"

#include <math.h>
#include <string.h>

#define TICK_PX 95 /* least distance of ticks */

/* ---- elements ---- */

void lull_svg_number(struct lull_out *out, const char *before, double value)
{
    char text[LULL_DECIMAL_SIZE];
    lull_decimal_format(value, 2, text);
    char *zeros = strstr(text, ".00");
    if (zeros) {
        *zeros = '\0';
    }
    lull_out_printf(out, "%s%s", before, text);
}

void lull_svg_escaped(struct lull_out *out, const char *clean)
{
    g_autofree char *text = g_markup_escape_text(clean, -1);
    lull_out_text(out, text);
}

void lull_svg_text(struct lull_out *out, double x, double y, const char *attributes,
                   const char *clean)
{
    lull_svg_number(out, "<text x=\"", x);
    lull_svg_number(out, "\" y=\"", y);
    lull_out_printf(out, "\"%s%s>", *attributes ? " " : "", attributes);
    lull_svg_escaped(out, clean);
    lull_out_text(out, "</text>\n");
}

void lull_svg_rect(struct lull_out *out, double x, double y, double width, double height,
                   const char *attributes)
{
    lull_svg_number(out, "<rect x=\"", x);
    lull_svg_number(out, "\" y=\"", y);
    lull_svg_number(out, "\" width=\"", width);
    lull_svg_number(out, "\" height=\"", height);
    lull_out_printf(out, "\" %s", attributes);
}

void lull_svg_line(struct lull_out *out, double x1, double y1, double x2, double y2,
                   const char *attributes)
{
    lull_svg_number(out, "<line x1=\"", x1);
    lull_svg_number(out, "\" y1=\"", y1);
    lull_svg_number(out, "\" x2=\"", x2);
    lull_svg_number(out, "\" y2=\"", y2);
    lull_out_printf(out, "\" %s/>\n", attributes);
}

/* ---- texts ---- */

double lull_svg_text_width(const char *text, double size)
{
    double width = 0;

    for (; *text; text = g_utf8_next_char(text)) {
        gunichar c = g_utf8_get_char(text);
        if (g_unichar_iswide(c)) {
            width += 1.05;
        } else if (strchr("iljtfI.,:;|'/ ()[]-", (int)MIN(c, 127))) {
            width += 0.38;
        } else {
            width += c == 'm' || c == 'w' || c == 'M' || c == 'W' || c == '%' ? 0.95 : 0.61;
        }
    }
    return width * size;
}

void lull_svg_fit(GString *text, double width, double size)
{
    if (lull_svg_text_width(text->str, size) <= width) {
        return;
    }
    double used = size; /* of the ellipsis */
    const char *end = text->str;
    while (*end) {
        char one[8] = {0};
        const char *next = g_utf8_next_char(end);
        memcpy(one, end, (size_t)MIN(next - end, 6));
        used += lull_svg_text_width(one, size);
        if (used > width) {
            break;
        }
        end = next;
    }
    g_string_truncate(text, (gsize)(end - text->str));
    g_string_append(text, "…");
}

/* ---- time ---- */

void lull_svg_axis_init(struct lull_svg_axis *axis, double ns_per_px, int64_t total_ns)
{
    static const int factors[] = {1, 2, 5};
    double least_ns = ns_per_px * TICK_PX;
    int64_t power = 1;
    int factor = 0;

    total_ns = MAX(total_ns, 1);
    while ((double)factors[factor] * (double)power < least_ns && power < INT64_MAX / 100) {
        factor = (factor + 1) % 3;
        if (factor == 0) {
            power *= 10;
        }
    }
    axis->step_ns = factors[factor] * power;
    axis->last = total_ns / axis->step_ns;
    bool is_s = total_ns >= 2000000000, is_ms = total_ns >= 2000000, is_us = total_ns >= 2000;
    axis->unit = is_s ? "s" : is_ms ? "ms" : is_us ? "µs" : "ns";
    axis->unit_ns = is_s ? 1e9 : is_ms ? 1e6 : is_us ? 1e3 : 1;
    axis->digits = 0;
    while (axis->digits < 9 && (double)power * pow(10, axis->digits) < axis->unit_ns) {
        axis->digits++;
    }
}

void lull_svg_axis_label(const struct lull_svg_axis *axis, int64_t tick,
                         char out[static LULL_SVG_LABEL_SIZE])
{
    char number[LULL_DECIMAL_SIZE];

    if (tick == 0) {
        g_strlcpy(out, "0", LULL_SVG_LABEL_SIZE);
        return;
    }
    lull_decimal_format((double)(tick * axis->step_ns) / axis->unit_ns, axis->digits, number);
    g_snprintf(out, LULL_SVG_LABEL_SIZE, "%s %s", number, axis->unit);
}
