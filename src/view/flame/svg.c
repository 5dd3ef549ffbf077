/* SPDX-License-Identifier: MIT */
/* A flame graph as a picture: a box for each frame above that of its caller, as wide as it weighs, in order
 * of names. Boxes say more when the pointer is on them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/time.h"
#include "view/flame/flame.h"
#include "view/out.h"
#include "view/words.h"

enum { WIDTH = 1200, ROW = 17, MARGIN = 10, HEAD = 34, MOST_ROWS = 2000, LETTER = 7 };
#define LEAST_PX 0.3

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

/* Waits are blue, the rest warm, each name always the same. A difference: red where it has a larger share
 * than before, blue where it has a smaller one. */
static void put_colour(struct picture *picture, const struct lull_flame_node *node,
                       const char *name)
{
    const struct lull_flame_node *root = &picture->flame->nodes[0];
    const unsigned hash = g_str_hash(name);
    if (picture->flame->is_difference) {
        const double change = (double)node->total / (double)MAX(root->total, 1) -
                              (double)node->other_total / (double)MAX(root->other_total, 1);
        const int pale = 255 - (int)lround(MIN(fabs(change) * 8, 1.0) * 150);
        lull_out_printf(&picture->out, change >= 0 ? "rgb(255,%d,%d)" : "rgb(%d,%d,255)", pale,
                        pale);
    } else if (*name == '[') {
        lull_out_printf(&picture->out, "rgb(%u,%u,230)", 110 + hash % 40, 160 + hash / 64 % 40);
    } else {
        lull_out_printf(&picture->out, "rgb(%u,%u,%u)", 215 + hash % 40, 110 + hash / 64 % 110,
                        50 + hash / 8192 % 40);
    }
}

static void put_text(struct picture *picture, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    lull_out_text(&picture->out, escaped);
}

/* "819.2 ms (819200123 ns)", "16.0 KiB (16416 bytes)", "617 cycles". */
static void put_weight(struct picture *picture, int64_t weight)
{
    const char *unit = picture->flame->unit;
    char time[LULL_TIME_TEXT_SIZE];
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_printf(text, "%" PRId64 " %s", weight, unit);
    if (g_str_equal(unit, "ns")) {
        lull_duration_format(weight, time);
        lull_out_printf(&picture->out, "%s (%s)", time, text->str);
    } else if (g_str_equal(unit, "bytes")) {
        g_autoptr(GString) bytes = g_string_new(NULL);
        lull_bytes_append(bytes, (double)weight);
        lull_out_printf(&picture->out, "%s (%s)", bytes->str, text->str);
    } else {
        lull_out_text(&picture->out, text->str);
    }
}

static void put_title(struct picture *picture, const struct lull_flame_node *node,
                      const char *clean)
{
    const struct lull_flame_node *root = &picture->flame->nodes[0];
    char share[LULL_DECIMAL_SIZE];
    lull_out_text(&picture->out, "<title>");
    put_text(picture, clean);
    lull_out_text(&picture->out, ": ");
    put_weight(picture, node->total);
    lull_decimal_format(100.0 * (double)node->total / (double)MAX(root->total, 1), 2, share);
    lull_out_printf(&picture->out, ", %s %%", share);
    if (picture->flame->is_difference) {
        const int64_t whole = MAX(root->other_total, 1);
        lull_out_text(&picture->out, ", was ");
        put_weight(picture, node->other_total);
        lull_decimal_format(100.0 * (double)node->other_total / (double)whole, 2, share);
        lull_out_printf(&picture->out, ", %s %%", share);
    }
    lull_out_text(&picture->out, "</title>");
}

static void put_box(struct picture *picture, uint32_t number)
{
    const struct lull_flame_node *node = &picture->flame->nodes[number];
    const char *name = lull_flame_name(picture->flame, node->name);
    const double width = px_of(picture, node->total);
    const uint32_t row = picture->depths[number];
    char x[LULL_DECIMAL_SIZE], w[LULL_DECIMAL_SIZE];
    if (width < LEAST_PX || row > picture->n_rows) {
        return;
    }
    const unsigned y = HEAD + (picture->n_rows - row) * ROW;
    g_autoptr(GString) clean = g_string_new(NULL);
    lull_clean_append(clean, name, false);
    lull_decimal_format(MARGIN + px_of(picture, picture->starts[number]), 1, x);
    lull_decimal_format(width, 1, w);
    lull_out_printf(&picture->out, "<g><rect x=\"%s\" y=\"%u\" width=\"%s\" height=\"%d\" fill=\"",
                    x, y, w, ROW - 1);
    put_colour(picture, node, name);
    lull_out_text(&picture->out, "\"/>");
    put_title(picture, node, clean->str);
    const glong room = (glong)((width - 4) / LETTER);
    if (room >= 3) {
        if (g_utf8_strlen(clean->str, -1) > room) {
            g_string_truncate(clean,
                              (gsize)(g_utf8_offset_to_pointer(clean->str, room - 1) - clean->str));
            g_string_append(clean, "…");
        }
        lull_decimal_format(MARGIN + px_of(picture, picture->starts[number]) + 2, 1, x);
        lull_out_printf(&picture->out, "<text x=\"%s\" y=\"%u\">", x, y + ROW - 5);
        put_text(picture, clean->str);
        lull_out_text(&picture->out, "</text>");
    }
    lull_out_text(&picture->out, "</g>\n");
}

static void put_headline(struct picture *picture)
{
    const struct lull_flame *flame = picture->flame;
    g_autofree char *text =
        flame->is_difference ? g_strdup("What changed: red weighs more than before, blue less")
        : g_str_equal(flame->unit, "ns")
            ? g_strdup("Where the time went: callers below, what they called above")
        : g_str_equal(flame->unit, "bytes")
            ? g_strdup("Where memory was allocated: callers below, what they called above")
            : g_strdup_printf("Where %s were counted: callers below, what they called above",
                              flame->unit);
    put_text(picture, text);
    lull_out_text(&picture->out, "</text>\n");
}

bool lull_view_flame_svg(const struct lull_flame *flame, FILE *file, GError **error)
{
    struct picture picture = {.flame = flame,
                              .starts = g_new0(int64_t, flame->n_nodes),
                              .depths = g_new0(uint32_t, flame->n_nodes)};
    lull_out_start(&picture.out, file);
    lay_out(&picture);
    const unsigned height = HEAD + (picture.n_rows + 1) * ROW + MARGIN;
    lull_out_printf(&picture.out,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
                    "viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"11\">\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
                    "<text x=\"%d\" y=\"20\" font-size=\"14\">",
                    WIDTH, height, WIDTH, height, MARGIN);
    put_headline(&picture);
    for (uint32_t i = 0; i < flame->n_nodes; i++) {
        put_box(&picture, i);
    }
    lull_out_text(&picture.out, "</svg>\n");
    g_free(picture.starts);
    g_free(picture.depths);
    return lull_out_end(&picture.out, "the picture", error);
}
