/* SPDX-License-Identifier: MIT */
/* Quotes fields of tables for programs. */
#include "view/csv.h"

#include <string.h>

static void append_quoted(struct lull_linebuf *line, const char *text)
{
    lull_linebuf_char(line, '"');
    for (; *text; text++) {
        if (*text == '"') {
            lull_linebuf_char(line, '"');
        }
        lull_linebuf_char(line, *text);
    }
    lull_linebuf_char(line, '"');
}

static void append_escaped(struct lull_linebuf *line, const char *text)
{
    static const char special[] = "\t\n\r\\", letters[] = "tnr\\";
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found) {
            lull_linebuf_char(line, '\\');
        }
        lull_linebuf_char(line, found ? letters[found - special] : *text);
    }
}

void lull_csv_append(struct lull_linebuf *line, const char *text, char separator)
{
    if (!text) {
        return;
    }
    if (separator == '\t') {
        append_escaped(line, text);
    } else if (strpbrk(text, ",\"\r\n")) {
        append_quoted(line, text);
    } else {
        lull_linebuf_string(line, text);
    }
}
