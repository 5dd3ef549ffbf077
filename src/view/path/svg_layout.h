/* SPDX-License-Identifier: MIT */
/* Where things are in the picture of a path: rows, legend, time axis. No drawing. */
#ifndef LULL_VIEW_PATH_SVG_LAYOUT_H
#define LULL_VIEW_PATH_SVG_LAYOUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/path.h"
#include "view/words.h"

#define LULL_SVG_MARGIN 20
#define LULL_SVG_HOST_HEIGHT 26

/* Segments of one row that are narrower than a pixel, gathered until a pixel is full. */
struct lull_svg_pixel {
    const struct lull_segment *first;
    uint32_t count;
    int64_t end_ns;
    int64_t sums_ns[LULL_LOOK_COUNT];
};

/* A task. */
struct lull_svg_row {
    /* Only while the rows are made: the last name so far, and those before it, each with an arrow. */
    const char *comm;
    int32_t tid;
    GString *before;
    uint32_t host, task;
    uint32_t host_order; /* hosts and rows are in the order in which the path reaches them */
    uint32_t order;
    bool starts_host;
    char *label; /* cleaned */
    int64_t total_ns;
    double y; /* top */
    struct lull_svg_pixel pixel;
};

struct lull_svg_legend {
    uint32_t look;
    double x, y; /* of the baseline of the text */
    char *text;
};

struct lull_svg_layout {
    double width, height;
    double left;        /* what is left of it is cut off, and as much on the right */
    double name_height; /* of names above their rows; 0: they are on the left */
    double plot_x, plot_y, plot_width, plot_height;
    double row_height;
    double ns_per_px; /* > 0 */
    struct lull_svg_row *rows;
    uint32_t n_rows;
    uint32_t *row_of_segment;
    struct lull_svg_legend legend[LULL_LOOK_COUNT];
    uint32_t n_legend;
};

void lull_svg_layout_init(struct lull_svg_layout *layout, const struct lull_path *path,
                          bool is_narrow);
void lull_svg_layout_clear(struct lull_svg_layout *layout);

#endif
