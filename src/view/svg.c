/* SPDX-License-Identifier: MIT */
/* The two forms of pictures, elements of SVG, texts that must fit, and the axis of time. */
#include "view/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INK "#1f2328"
#define LIGHT                                                                                      \
    ".lull .f{fill:#656d76}.lull .h{font-weight:bold}.lull .e{text-anchor:end}"                    \
    ".lull .m{text-anchor:middle}.lull .s{font-size:11px}"                                         \
    ".lull .t{font-size:10px;pointer-events:none}.lull .w{fill:#fff}.lull .d{fill:#000}"           \
    ".lull .p{fill:#fff}.lull .b{fill:#eaeef2}.lull .l{stroke:#eaeef2}"                            \
    ".lull .g{stroke:#d0d7de;stroke-width:.6}"
/* For who has a dark desktop. */
#define DARK                                                                                                   \
    ".lull{fill:#e6edf3;background:#0d1117}.lull .f{fill:#9198a1}.lull .p{fill:#0d1117}.lull .b{fill:#21262d}" \
    ".lull .l{stroke:#21262d}.lull .g{stroke:#30363d}"

#define TICK_PX 95 /* least distance of ticks */

/* ---- the picture ---- */

void lull_svg_start(struct lull_out *out, const struct lull_svg_form *form)
{
    lull_out_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    lull_svg_number(out, " width=\"", form->width);
    lull_svg_number(out, "\" height=\"", form->height);
    lull_svg_number(out, "\" viewBox=\"", form->left);
    lull_svg_number(out, " 0 ", form->width);
    lull_svg_number(out, " ", form->height);
    lull_out_printf(out,
                    "\" class=\"lull%s%s\" role=\"img\" aria-labelledby=\"%slull-title "
                    "%slull-desc\" font-family=\"'DejaVu Sans', Verdana, Arial, sans-serif\" "
                    "font-size=\"12\" fill=\"" INK "\">\n<style>\n" LIGHT "\n%s\n"
                    "@media (prefers-color-scheme:dark){" DARK "%s}\n</style>\n"
                    "<rect width=\"100%%\" height=\"100%%\" class=\"p\"/>\n",
                    *form->class ? " " : "", form->class, form->id, form->id, form->light,
                    form->dark);
}

void lull_svg_describe(struct lull_out *out, const struct lull_svg_form *form, const char *title,
                       const char *description)
{
    lull_out_printf(out, "<title id=\"%slull-title\">", form->id);
    lull_svg_escaped(out, title);
    lull_out_printf(out, "</title>\n<desc id=\"%slull-desc\">", form->id);
    lull_svg_escaped(out, description);
    lull_out_text(out, "</desc>\n");
}

/* Light of one of the three colours of sRGB, 0 to 1 (IEC 61966-2-1). */
static double linear(const char *hex)
{
    const char digits[] = {hex[0], hex[1], 0};
    const double value = (double)strtol(digits, NULL, 16) / 255;
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* The contrast of two colours is the quotient of their lights, each and 0.05 (WCAG 2). That with black and with white are
 * equal, 4.58, where the light is this. */
#define MIDDLE 0.179
const char *lull_svg_ink(const char *colour)
{
    const double light =
        0.2126 * linear(colour + 1) + 0.7152 * linear(colour + 3) + 0.0722 * linear(colour + 5);
    return light > MIDDLE ? "d" : "w";
}

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
