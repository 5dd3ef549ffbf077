/* SPDX-License-Identifier: MIT */
/* Stacks as lines of text, the input of flame graph tools, and how all writers walk over the tree. */
#include <inttypes.h>

#include "view/flame/flame.h"
#include "view/out.h"
#include "view/words.h"

uint32_t flame_next(const struct lull_flame *flame, uint32_t node)
{
    if (flame->nodes[node].first) {
        return flame->nodes[node].first;
    }
    while (node && !flame->nodes[node].next) {
        node = flame->nodes[node].parent;
    }
    return flame->nodes[node].next;
}

GArray *flame_path(const struct lull_flame *flame, uint32_t node)
{
    GArray *path = g_array_new(FALSE, FALSE, sizeof node);
    for (; node; node = flame->nodes[node].parent) {
        g_array_append_val(path, node);
    }
    for (guint i = 0, k = path->len; i + 1 < k; i++) {
        const uint32_t other = g_array_index(path, uint32_t, --k);
        g_array_index(path, uint32_t, k) = g_array_index(path, uint32_t, i);
        g_array_index(path, uint32_t, i) = other;
    }
    return path;
}

/* The path of the node before is on the line: what differs is cut off, and the frame appended. */
static void append_frame(GString *line, GArray *ends, const struct lull_flame *flame, uint32_t node)
{
    guint depth = 0;
    for (uint32_t up = flame->nodes[node].parent; up; up = flame->nodes[up].parent) {
        depth++;
    }
    g_array_set_size(ends, depth);
    g_string_truncate(line, depth ? g_array_index(ends, gsize, depth - 1) : 0);
    if (depth) {
        g_string_append_c(line, ';');
    }
    const gsize start = line->len;
    lull_clean_append(line, lull_flame_name(flame, flame->nodes[node].name), false);
    for (char *c = line->str + start; *c; c++) {
        *c = *c == ';' ? ':' : *c == '\n' ? ' ' : *c;
    }
    const gsize end = line->len;
    g_array_append_val(ends, end);
}

bool lull_view_flame_folded(const struct lull_flame *flame, FILE *file, GError **error)
{
    g_autoptr(GString) line = g_string_new(NULL);
    g_autoptr(GArray) ends = g_array_new(FALSE, FALSE, sizeof(gsize));
    struct lull_out out;
    lull_out_start(&out, file);
    for (uint32_t node = flame_next(flame, 0); node; node = flame_next(flame, node)) {
        const struct lull_flame_node *it = &flame->nodes[node];
        append_frame(line, ends, flame, node);
        if (it->self <= 0 && it->other_self <= 0) {
            continue;
        }
        lull_out_bytes(&out, line->str, line->len);
        if (flame->is_difference) {
            lull_out_printf(&out, " %" PRId64, it->other_self);
        }
        lull_out_printf(&out, " %" PRId64 "\n", it->self);
    }
    return lull_out_end(&out, "the stacks", error);
}
