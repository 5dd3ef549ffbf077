/* SPDX-License-Identifier: MIT */
/* What the device of a FILE* can show. */
#include "view/view.h"

#include <langinfo.h>
#include <string.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80
#define MIN_WIDTH 40
/* Of the environment, as there is no state of the whole program. */
#define PAGED "LULL_PAGER_IN_USE"

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

/* Names the pipe itself, so that a command which the pager starts, and whose output goes elsewhere,
 * is not misled by the variable that it inherits. */
static char *pipe_name(int descriptor)
{
    struct stat st;
    return fstat(descriptor, &st) == 0 && S_ISFIFO(st.st_mode)
               ? g_strdup_printf("%llu:%llu", (unsigned long long)st.st_dev,
                                 (unsigned long long)st.st_ino)
               : NULL;
}

void lull_view_set_paged(int pipe)
{
    g_autofree char *name = pipe_name(pipe);
    if (name) {
        setenv(PAGED, name, 1);
    }
}

bool lull_view_is_terminal(int descriptor)
{
    if (descriptor < 0 || isatty(descriptor)) {
        return descriptor >= 0;
    }
    const char *paged = g_getenv(PAGED);
    g_autofree char *name = paged ? pipe_name(descriptor) : NULL;
    return name && strcmp(name, paged) == 0;
}

bool lull_view_is_unicode(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void lull_view_style_init(struct lull_view_style *style, FILE *file, const char *color)
{
    int descriptor = fileno(file);
    bool is_terminal = lull_view_is_terminal(descriptor);

    memset(style, 0, sizeof *style);
    style->color = wants_color(color, is_terminal);
    style->unicode = lull_view_is_unicode();
    style->width = is_terminal ? terminal_width(descriptor) : 0;
}
