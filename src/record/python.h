/* SPDX-License-Identifier: MIT */
/* Python programs that write their calls and returns into the recording: what hook/python does in
 * the command and all that it starts. Their trace is the folder "calls": a stream of each thread. */
#ifndef LULL_RECORD_PYTHON_H
#define LULL_RECORD_PYTHON_H

#include "record/keeper.h"

/* Makes the folder. What the environment of the command has to have for it, as "NAME=VALUE", to be
 * freed with g_strfreev(); NULL and an error. `with_c`: functions of C that Python calls, too. */
char **lull_python_prepare(const struct lull_keeper *keeper, bool with_c, GError **error);
/* Writes the metadata, when the recording starts. */
bool lull_python_describe(const struct lull_keeper *keeper, int64_t epoch_offset_ns,
                          GError **error);
/* Bytes of all streams; 0: no program has written any. */
bool lull_python_measure(const struct lull_keeper *keeper, uint64_t *bytes, GError **error);

#endif
