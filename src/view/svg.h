/* SPDX-License-Identifier: MIT */
/* What pictures share: their light and their dark form, elements of SVG, texts that must fit, and the axis of time. */
#ifndef LULL_VIEW_SVG_H
#define LULL_VIEW_SVG_H

#include "view/out.h"

#define LULL_SVG_LABEL_SIZE 64

/* The form of a picture. Classes of all: paper p, band b, grid g, line l; texts are faint f, bold h, small s, in a box t,
 * end e or have their middle m at their place, and are white w or black d whatever the form. */
struct lull_svg_form {
    const char *id;    /* before the ids in it, which must be unique in a page of HTML */
    const char *class; /* besides `lull`, which rules start with; "" if none */
    double left, width, height;
    /* Rules of its own classes; those of the dark form replace the light ones. */
    const char *light, *dark;
};

/* The element svg up to its background, with the XML declaration before it. */
void lull_svg_start(struct lull_out *out, const struct lull_svg_form *form);
/* What it is about and what it shows, for who hears it; clean texts. */
void lull_svg_describe(struct lull_out *out, const struct lull_svg_form *form, const char *title,
                       const char *description);
/* The class of text in a box of that colour ("#6600cc"), black or white: one of them has a contrast of at least 4.5. */
const char *lull_svg_ink(const char *colour);

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
