/* SPDX-License-Identifier: MIT */
/* The terminal: its alternate screen, keys one at a time, drawing. */
#include "cmd/screen.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A line that is too long must not go on in the next: all below would move, and the first out of sight. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"

#define DEFAULT_HEIGHT 24

bool lull_screen_open(struct lull_screen *screen)
{
    const char *term = g_getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0 ||
        tcgetattr(STDIN_FILENO, &screen->before) != 0) {
        return false;
    }
    struct termios keys = screen->before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys.c_cc[VSUSP] = _POSIX_VDISABLE;
    screen->is_open = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    if (screen->is_open) {
        fputs(ENTER, stdout);
        fflush(stdout);
    }
    return screen->is_open;
}

void lull_screen_close(struct lull_screen *screen)
{
    if (screen->is_open) {
        fputs(LEAVE, stdout);
        fflush(stdout);
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
        screen->is_open = false;
    }
}

int lull_screen_height(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row
                                                                           : DEFAULT_HEIGHT;
}

void lull_screen_draw(const char *text, const char *status)
{
    const int height = lull_screen_height();
    fputs(HOME, stdout);
    for (int line = 1; line < height && *text; line++) {
        const size_t length = strcspn(text, "\n");
        /* Behind a text that fills the line the cursor is still on its last character. */
        printf(CLEAR_LINE "%.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
    printf(CLEAR_BELOW "\033[%d;1H%s", height, status);
    fflush(stdout);
}

size_t lull_screen_read(char *keys, size_t size)
{
    const ssize_t n = read(STDIN_FILENO, keys, size);
    return n > 0 ? (size_t)n : 0;
}
