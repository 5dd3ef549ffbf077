/* SPDX-License-Identifier: MIT */
/* What the device of a FILE* can show. */
#include "view/view.h"

#include <langinfo.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80
#define MIN_WIDTH 40

static int terminal_width(int descriptor)
{
    struct winsize size;
    const char *columns = g_getenv("COLUMNS");
    int width = columns ? (int)g_ascii_strtoll(columns, NULL, 10) : 0;

    if (width <= 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) {
        width = size.ws_col;
    }
    if (width <= 0) {
        width = DEFAULT_WIDTH;
    }
    return CLAMP(width, MIN_WIDTH, 10000);
}

static bool wants_color(const char *color, bool is_terminal)
{
    const char *term = g_getenv("TERM");
    const char *no_color = g_getenv("NO_COLOR");

    if (color && strcmp(color, "always") == 0) {
        return true;
    }
    if (color && strcmp(color, "never") == 0) {
        return false;
    }
    return is_terminal && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

void lull_view_style_init(struct lull_view_style *style, FILE *file, const char *color)
{
    int descriptor = fileno(file);
    bool is_terminal = descriptor >= 0 && isatty(descriptor);

    memset(style, 0, sizeof *style);
    style->color = wants_color(color, is_terminal);
    style->unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    style->width = is_terminal ? terminal_width(descriptor) : 0;
}
