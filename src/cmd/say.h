/* SPDX-License-Identifier: MIT */
/* Messages to standard error. */
#ifndef LULL_CMD_SAY_H
#define LULL_CMD_SAY_H

#include <glib.h>

/* One that may have texts of traces, of other machines or of programs in it: what a terminal would obey is replaced. Ends
 * of lines stay. */
void lull_say(const char *format, ...) G_GNUC_PRINTF(1, 2);

#endif
