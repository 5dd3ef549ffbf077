/* SPDX-License-Identifier: MIT */
/* A build without the pages of web/. */
#include "view/view.h"

bool lull_view_path_html(const struct lull_path *path, FILE *file,
                         const struct lull_view_style *style, GError **error)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "this Lull was built without its pages; building them needs "
                        "node-typescript and esbuild");
    return false;
}
