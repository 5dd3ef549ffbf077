/* SPDX-License-Identifier: MIT */
/* The whole terminal, for a table that is drawn again and again. Escape sequences of every terminal since
 * the VT100 are all it needs: no windows, no colours, single keys. */
#ifndef LULL_CMD_SCREEN_H
#define LULL_CMD_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct lull_screen {
    bool is_open;
    struct termios before;
};

/* False, and nothing has changed, if this program has no terminal to draw on. */
bool lull_screen_open(struct lull_screen *screen);
/* The terminal is as it was. */
void lull_screen_close(struct lull_screen *screen);
int lull_screen_height(void);
/* Shows lines of `text` from the top, as many as there is room for, and `status` below. */
void lull_screen_draw(const char *text, const char *status);
/* What was typed, without waiting for it. */
size_t lull_screen_read(char *keys, size_t size);

#endif
