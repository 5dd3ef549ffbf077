/* SPDX-License-Identifier: MIT */
/* A critical path as one page of HTML that needs nothing but itself: style, script and the path are in
 * it, and a policy in its head allows these two alone. What comes from the trace is JSON, which the
 * script makes texts of. */
#include "view/view.h"

#include <lull/version.h>

#include "answers/flow.h"
#include "path_assets.h"
#include "view/out.h"
#include "view/words.h"

static char *hash_of(const char *text, size_t size)
{
    guint8 digest[32];
    gsize length = sizeof digest;
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)text, (gssize)size);
    g_checksum_get_digest(checksum, digest, &length);
    g_checksum_free(checksum);
    return g_base64_encode(digest, length);
}

static void write_head(struct lull_out *out, const struct lull_path *path)
{
    g_autofree char *style = hash_of(view_css, sizeof view_css - 1);
    g_autofree char *script = hash_of(pathpage_js, sizeof pathpage_js - 1);
    g_autoptr(GString) name = g_string_new(NULL);
    lull_task_append(name, path->comm, path->tid, false);
    g_string_append(name, " on ");
    lull_clean_append(name, lull_path_host_name(path, path->host), false);
    g_autofree char *title = g_markup_escape_text(name->str, -1);
    lull_out_printf(out,
                    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action "
                    "'none'\">\n",
                    style, script);
    lull_out_text(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"generator\" content=\"Lull " LULL_VERSION "\">\n<title>"
                       "Critical path of ");
    lull_out_text(out, title);
    lull_out_text(out, "</title>\n<style>");
    lull_out_bytes(out, view_css, sizeof view_css - 1);
    lull_out_text(out, "</style>\n</head>\n<body>\n<noscript>This page needs JavaScript."
                       "</noscript>\n");
}

bool lull_view_path_html(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error)
{
    const struct lull_flow_options options = {.origin_ns = path->start_ns};
    g_autoptr(GString) flow = g_string_new(NULL);
    struct lull_out out;
    lull_flow_append(flow, path, &options);
    /* Only texts have it, and there it could end the element. */
    g_string_replace(flow, "<", "\\u003c", 0);
    lull_out_start(&out, file);
    write_head(&out, path);
    lull_out_text(&out, "<script type=\"application/json\" id=\"flow\">");
    lull_out_bytes(&out, flow->str, flow->len);
    lull_out_text(&out, "</script>\n<script>");
    lull_out_bytes(&out, pathpage_js, sizeof pathpage_js - 1);
    lull_out_text(&out, "</script>\n</body>\n</html>\n");
    return lull_out_end(&out, "the page", error);
}
