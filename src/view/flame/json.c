/* SPDX-License-Identifier: MIT */
/* A flame graph as JSON: Lull's own, a tree as a list; and speedscope's, stacks of frames by number. */
#include <inttypes.h>

#include "view/flame/flame.h"
#include "view/out.h"

static void put_source(GString *text, struct lull_source_line start)
{
    if (start.file) {
        g_string_append(text, ",\"file\":");
        lull_json_append(text, start.file, strlen(start.file));
    }
    if (start.file && start.line > 0) {
        g_string_append_printf(text, ",\"line\":%" PRIu32, start.line);
    }
}

/* [{"name":…,"file":…,"line":…},…] */
static void put_frames(struct lull_out *out, const struct lull_flame *flame)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (uint32_t i = 0; i < lull_flame_name_count(flame); i++) {
        const char *name = lull_flame_name(flame, i);
        g_string_assign(text, i ? ",\n{\"name\":" : "{\"name\":");
        lull_json_append(text, name, strlen(name));
        put_source(text, lull_flame_source(flame, i));
        g_string_append_c(text, '}');
        lull_out_bytes(out, text->str, text->len);
    }
}

bool lull_view_flame_json(const struct lull_flame *flame, FILE *file, GError **error)
{
    struct lull_out out;
    g_autoptr(GString) unit = g_string_new(NULL);
    lull_json_append(unit, flame->unit, strlen(flame->unit));
    lull_out_start(&out, file);
    lull_out_printf(&out, "{\"version\":1,\"unit\":%s,\"broken\":%" PRIu64 ",\"frames\":[",
                    unit->str, flame->n_broken);
    put_frames(&out, flame);
    lull_out_text(&out, "],\n\"nodes\":[");
    for (uint32_t i = 0; i < flame->n_nodes; i++) {
        const struct lull_flame_node *node = &flame->nodes[i];
        lull_out_printf(&out, "%s{\"parent\":", i ? ",\n" : "");
        if (i > 0) {
            lull_out_printf(&out, "%" PRIu32, node->parent);
        } else {
            lull_out_text(&out, "null");
        }
        lull_out_printf(&out, ",\"frame\":%" PRIu32 ",\"self\":%" PRId64 ",\"total\":%" PRId64,
                        node->name, node->self, node->total);
        if (flame->is_difference) {
            lull_out_printf(&out, ",\"other_self\":%" PRId64 ",\"other_total\":%" PRId64,
                            node->other_self, node->other_total);
        }
        lull_out_text(&out, "}");
    }
    lull_out_text(&out, "]}\n");
    return lull_out_end(&out, "JSON", error);
}

/* ---- speedscope ---- */

static bool is_within(const struct lull_flame *flame, uint32_t node, uint32_t root)
{
    return node && (node == root || flame->nodes[node].parent != flame->nodes[root].parent);
}

/* The profile of what is below a child of the root: its stacks, then their weights. */
static void put_profile(struct lull_out *out, const struct lull_flame *flame, uint32_t root)
{
    g_autoptr(GString) weights = g_string_new(NULL);
    g_autoptr(GString) name = g_string_new(NULL);
    const char *text = lull_flame_name(flame, flame->nodes[root].name);
    lull_json_append(name, text, strlen(text));
    lull_out_printf(out,
                    "{\"type\":\"sampled\",\"name\":%s,\"unit\":\"%s\",\"startValue\":0,"
                    "\"endValue\":%" PRId64 ",\"samples\":[",
                    name->str,
                    g_str_equal(flame->unit, "ns")      ? "nanoseconds"
                    : g_str_equal(flame->unit, "bytes") ? "bytes"
                                                        : "none",
                    flame->nodes[root].total);
    for (uint32_t node = root; is_within(flame, node, root); node = flame_next(flame, node)) {
        if (flame->nodes[node].self <= 0) {
            continue;
        }
        g_autoptr(GArray) path = flame_path(flame, node);
        lull_out_text(out, weights->len ? ",\n[" : "[");
        for (guint i = 0; i < path->len; i++) {
            lull_out_printf(out, "%s%" PRIu32, i ? "," : "",
                            flame->nodes[g_array_index(path, uint32_t, i)].name);
        }
        lull_out_text(out, "]");
        g_string_append_printf(weights, "%s%" PRId64, weights->len ? "," : "",
                               flame->nodes[node].self);
    }
    lull_out_text(out, "],\"weights\":[");
    lull_out_bytes(out, weights->str, weights->len);
    lull_out_text(out, "]}");
}

bool lull_view_flame_speedscope(const struct lull_flame *flame, FILE *file, GError **error)
{
    struct lull_out out;
    lull_out_start(&out, file);
    lull_out_text(&out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                        "\"exporter\":\"lull\",\"shared\":{\"frames\":[");
    put_frames(&out, flame);
    lull_out_text(&out, "]},\n\"profiles\":[");
    for (uint32_t child = flame->nodes[0].first; child; child = flame->nodes[child].next) {
        put_profile(&out, flame, child);
        lull_out_text(&out, flame->nodes[child].next ? ",\n" : "");
    }
    lull_out_text(&out, "]}\n");
    return lull_out_end(&out, "the profile", error);
}
