/* SPDX-License-Identifier: MIT */
/* A flame graph as a picture: a box for each frame above that of its caller, as wide as it weighs, in order
 * of names. Boxes say more when the pointer is on them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "view/flame/flame.h"
#include "view/svg.h"
#include "view/words.h"

enum { WIDTH = 1200, ROW = 17, MARGIN = 10, HEAD = 38, MOST_ROWS = 2000, LEAST_NAMED_PX = 26 };
#define LEAST_PX 0.3

/* What weighs more than before, and what less. */
#define LIGHT ".lull .x{fill:#ff7b72}.lull .y{fill:#79a8ff}"
#define DARK ".lull .x{fill:#b62324}.lull .y{fill:#1158c7}"

struct picture {
    struct lull_out out;
    const struct lull_flame *flame;
    int64_t *starts; /* of each node, in what the root weighs */
    uint32_t *depths;
    uint32_t n_rows;
};

static double px_of(const struct picture *picture, int64_t weight)
{
    return (double)weight / (double)MAX(picture->flame->nodes[0].total, 1) * (WIDTH - 2 * MARGIN);
}

/* Parents have smaller numbers than their children. */
static void lay_out(struct picture *picture)
{
    const struct lull_flame *flame = picture->flame;
    for (uint32_t i = 0; i < flame->n_nodes; i++) {
        int64_t start = picture->starts[i];
        for (uint32_t child = flame->nodes[i].first; child; child = flame->nodes[child].next) {
            picture->starts[child] = start;
            picture->depths[child] = picture->depths[i] + 1;
            start += flame->nodes[child].total;
            if (px_of(picture, flame->nodes[child].total) >= LEAST_PX) {
                picture->n_rows = MAX(picture->n_rows, picture->depths[child]);
            }
        }
    }
    picture->n_rows = MIN(picture->n_rows, MOST_ROWS);
}

/* Waits are blue, the rest warm, each name always the same: light enough for black text. */
static void colour_of(const char *name, char colour[static 8])
{
    const unsigned hash =
        g_str_hash(name) * 2654435769u >> 8; /* names that are alike differ, too */
    if (*name == '[') {
        g_snprintf(colour, 8, "#%02x%02xe6", 110 + hash % 40, 160 + hash / 64 % 40);
    } else {
        g_snprintf(colour, 8, "#%02x%02x%02x", 215 + hash % 40, 110 + hash / 64 % 110,
                   50 + hash / 8192 % 40);
    }
}

/* Of a difference: by how much its share grew, up to 1, where that is seen best. */
static double change_of(const struct picture *picture, const struct lull_flame_node *node)
{
    const struct lull_flame_node *root = &picture->flame->nodes[0];
    const double change = (double)node->total / (double)MAX(root->total, 1) -
                          (double)node->other_total / (double)MAX(root->other_total, 1);
    return CLAMP(change * 8, -1, 1);
}

/* "819.2 ms (819200123 ns)", "16.0 KiB (16416 bytes)", "617 cycles". */
static void append_weight(const struct picture *picture, GString *text, int64_t weight)
{
    const char *unit = picture->flame->unit;
    const bool is_time = g_str_equal(unit, "ns"), is_size = g_str_equal(unit, "bytes");
    char time[LULL_TIME_TEXT_SIZE];
    if (is_time) {
        lull_duration_format(weight, time);
        g_string_append(text, time);
    } else if (is_size) {
        lull_bytes_append(text, (double)weight);
    }
    g_string_append_printf(text, is_time || is_size ? " (%" PRId64 " %s)" : "%" PRId64 " %s",
                           weight, unit);
}

/* The weight, and how much of `whole` that is. */
static void append_share(const struct picture *picture, GString *text, int64_t weight,
                         int64_t whole)
{
    char share[LULL_DECIMAL_SIZE];
    append_weight(picture, text, weight);
    lull_decimal_format(100.0 * (double)weight / (double)MAX(whole, 1), 2, share);
    g_string_append_printf(text, ", %s %%", share);
}

static void put_title(struct picture *picture, const struct lull_flame_node *node,
                      const char *clean)
{
    const struct lull_flame_node *root = &picture->flame->nodes[0];
    g_autoptr(GString) text = g_string_new(clean);
    append_share(picture, g_string_append(text, ": "), node->total, root->total);
    if (picture->flame->is_difference) {
        append_share(picture, g_string_append(text, ", was "), node->other_total,
                     root->other_total);
    }
    lull_out_text(&picture->out, "<title>");
    lull_svg_escaped(&picture->out, text->str);
    lull_out_text(&picture->out, "</title>");
}

static void put_rect(struct picture *picture, double x, unsigned y, double width,
                     const char *attributes)
{
    char left[LULL_DECIMAL_SIZE], w[LULL_DECIMAL_SIZE];
    lull_decimal_format(x, 1, left);
    lull_decimal_format(width, 1, w);
    lull_out_printf(&picture->out, "<rect x=\"%s\" y=\"%u\" width=\"%s\" height=\"%d\" %s/>", left,
                    y, w, ROW - 1, attributes);
}

static void put_boxes(struct picture *picture, const struct lull_flame_node *node,
                      const char *colour, double x, unsigned y)
{
    const double width = px_of(picture, node->total), change = change_of(picture, node);
    char opacity[LULL_DECIMAL_SIZE], attributes[64];
    if (!picture->flame->is_difference) {
        g_snprintf(attributes, sizeof attributes, "fill=\"%s\"", colour);
        put_rect(picture, x, y, width, attributes);
        return;
    }
    put_rect(picture, x, y, width, "class=\"b\"");
    if (fabs(change) >= 0.005) {
        lull_decimal_format(fabs(change), 2, opacity);
        g_snprintf(attributes, sizeof attributes, "class=\"%s\" fill-opacity=\"%s\"",
                   change > 0 ? "x" : "y", opacity);
        put_rect(picture, x, y, width, attributes);
    }
}

static void put_frame(struct picture *picture, uint32_t number)
{
    const struct lull_flame_node *node = &picture->flame->nodes[number];
    const char *name = lull_flame_name(picture->flame, node->name);
    const double width = px_of(picture, node->total);
    const double x = MARGIN + px_of(picture, picture->starts[number]);
    const uint32_t row = picture->depths[number];
    char colour[8], attributes[32] = "class=\"s\"";
    if (width < LEAST_PX || row > picture->n_rows) {
        return;
    }
    const unsigned y = HEAD + (picture->n_rows - row) * ROW;
    g_autoptr(GString) clean = g_string_new(NULL);
    lull_clean_append(clean, name, false);
    colour_of(name, colour);
    lull_out_text(&picture->out, "<g>");
    put_boxes(picture, node, colour, x, y);
    put_title(picture, node, clean->str);
    if (width >= LEAST_NAMED_PX) {
        if (!picture->flame->is_difference) {
            g_snprintf(attributes, sizeof attributes, "class=\"s %s\"", lull_svg_ink(colour));
        }
        lull_svg_fit(clean, width - 4, 11);
        lull_svg_text(&picture->out, x + 2, y + ROW - 5, attributes, clean->str);
    }
    lull_out_text(&picture->out, "</g>\n");
}

static void put_headline(struct picture *picture, const struct lull_svg_form *form)
{
    const struct lull_flame *flame = picture->flame;
    g_autofree char *title =
        flame->is_difference ? g_strdup("What changed: red weighs more than before, blue less")
        : g_str_equal(flame->unit, "ns")
            ? g_strdup("Where the time went: callers below, what they called above")
        : g_str_equal(flame->unit, "bytes")
            ? g_strdup("Where memory was allocated: callers below, what they called above")
            : g_strdup_printf("Where %s were counted: callers below, what they called above",
                              flame->unit);
    g_autoptr(GString) text = g_string_new("A flame graph of ");
    append_weight(picture, text, flame->nodes[0].total);
    lull_svg_describe(&picture->out, form, title, text->str);
    lull_svg_text(&picture->out, MARGIN, 24, "class=\"h\" font-size=\"15\"", title);
}

bool lull_view_flame_svg(const struct lull_flame *flame, FILE *file, GError **error)
{
    struct picture picture = {.flame = flame,
                              .starts = g_new0(int64_t, flame->n_nodes),
                              .depths = g_new0(uint32_t, flame->n_nodes)};
    lull_out_start(&picture.out, file);
    lay_out(&picture);
    const struct lull_svg_form form = {.id = "",
                                       .class = "",
                                       .width = WIDTH,
                                       .height = HEAD + (picture.n_rows + 1) * ROW + MARGIN,
                                       .light = LIGHT,
                                       .dark = DARK};
    lull_svg_start(&picture.out, &form);
    put_headline(&picture, &form);
    for (uint32_t i = 0; i < flame->n_nodes; i++) {
        put_frame(&picture, i);
    }
    lull_out_text(&picture.out, "</svg>\n");
    g_free(picture.starts);
    g_free(picture.depths);
    return lull_out_end(&picture.out, "the picture", error);
}
