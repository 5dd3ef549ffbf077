/* SPDX-License-Identifier: MIT */
/* Lines of source code as text. */
#include <glib.h>
#include <string.h>

#include "symbol/lines.h"

char *lull_source_line_text(const struct lull_source_line *line)
{
    const char *slash = line->file ? strrchr(line->file, '/') : NULL;
    const char *name = slash ? slash + 1 : line->file;
    return !name             ? NULL
           : line->line == 0 ? g_strdup(name)
                             : g_strdup_printf("%s:%" G_GUINT32_FORMAT, name, line->line);
}
