/* SPDX-License-Identifier: MIT */
/* Files of the page: the bundle of web/, as strings. */
#include "server/page.h"

#include <string.h>

#include "view_assets.h"

static const struct {
    const char *path, *type, *text;
    size_t size;
} files[] = {
    {"", "text/html; charset=utf-8", index_html, sizeof index_html - 1},
    {"view.js", "text/javascript; charset=utf-8", view_js, sizeof view_js - 1},
    {"view.css", "text/css; charset=utf-8", view_css, sizeof view_css - 1},
};

bool server_has_page(void)
{
    return true;
}

void server_page(const char *path, struct server_answer *answer)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        if (strcmp(path, files[i].path) == 0) {
            answer->is_page = true;
            answer->type = files[i].type;
            g_string_append_len(answer->body, files[i].text, (gssize)files[i].size);
            return;
        }
    }
    server_refuse(answer, 404, "Not found", "there is nothing here");
}
