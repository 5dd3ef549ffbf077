/* SPDX-License-Identifier: MIT */
/* A name in a trace can be any bytes: written as they are, they could clear the screen of whoever reads the trace, or
 * make a terminal answer for them. */
#include "cmd/say.h"

#include <stdio.h>

#include "view/view.h"
#include "view/words.h"

void lull_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autoptr(GString) clean = g_string_new(NULL);
    for (uint32_t i = 0; lines[i]; i++) {
        g_string_append(clean, i > 0 ? "\n" : "");
        lull_clean_append(clean, lines[i], !lull_view_is_unicode());
    }
    fputs(clean->str, stderr);
}
