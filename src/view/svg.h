/* SPDX-License-Identifier: MIT */
/* What pictures share: elements of SVG, texts that must fit, and the axis of time. */
#ifndef LULL_VIEW_SVG_H
#define LULL_VIEW_SVG_H

#include "view/out.h"

#define LULL_SVG_LABEL_SIZE 64

/* `before`, and a number with two decimals, or none if it is whole. */
void lull_svg_number(struct lull_out *out, const char *before, double value);
/* Texts were cleaned (lull_clean_append()); they are escaped here. */
void lull_svg_escaped(struct lull_out *out, const char *clean);
void lull_svg_text(struct lull_out *out, double x, double y, const char *attributes,
                   const char *clean);
/* Up to its attributes, which also close the element: "class=…/>". */
void lull_svg_rect(struct lull_out *out, double x, double y, double width, double height,
                   const char *attributes);
void lull_svg_line(struct lull_out *out, double x1, double y1, double x2, double y2,
                   const char *attributes);

/* Width of a text in pixels, estimated for a wide sans serif font of this size. */
double lull_svg_text_width(const char *text, double size);
/* Cuts a text that is wider than `width`, and ends it with "…". */
void lull_svg_fit(GString *text, double width, double size);

/* Ticks at 0, 1, … last times step_ns; the step is 1, 2 or 5 times a power of ten. */
struct lull_svg_axis {
    int64_t step_ns;
    int64_t last;
    const char *unit;
    double unit_ns;
    int digits;
};

void lull_svg_axis_init(struct lull_svg_axis *axis, double ns_per_px, int64_t total_ns);
void lull_svg_axis_label(const struct lull_svg_axis *axis, int64_t tick,
                         char out[static LULL_SVG_LABEL_SIZE]);

#endif
