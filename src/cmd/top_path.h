/* SPDX-License-Identifier: MIT */
/* The critical path of a row of lull top. */
#ifndef LULL_CMD_TOP_PATH_H
#define LULL_CMD_TOP_PATH_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Has the flight recorder write what it has, shows on the terminal what `lull critpath` says of the process, and waits
 * for a key, or for a signal that is blocked. False and an error if there is no flight recorder, or it cannot. */
bool lull_top_path(uint32_t pid, GError **error);

#endif
