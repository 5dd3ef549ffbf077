/* SPDX-License-Identifier: MIT */
/* Programs that write their calls and returns into the recording: what hook/ does in the command and
 * all that it starts. Their trace is the folder "calls": streams of each thread. */
#ifndef LULL_RECORD_HOOKS_H
#define LULL_RECORD_HOOKS_H

#include "record/keeper.h"

enum lull_hook {
    LULL_HOOK_PYTHON = 1 << 0,
    LULL_HOOK_PYTHON_C = 1 << 1,  /* and functions of C that Python calls */
    LULL_HOOK_FUNCTIONS = 1 << 2, /* what was compiled with -finstrument-functions */
    LULL_HOOK_HEAP = 1 << 3,      /* allocations, with FUNCTIONS */
};

/* Counters that are read with each event, from a list of their names: a bit for each. 0 and an error if
 * there is one that programs cannot read themselves, or twice. */
unsigned lull_hooks_parse_counters(const char *list, GError **error);
/* Makes the folder. What the environment of the command has to have for it, as "NAME=VALUE", to be
 * freed with g_strfreev(); NULL and an error. `hooks`: enum lull_hook; `read`: counters, 0: none. *objects is open, if it is not
 * -1: programs write there in which files the functions lie that they call. */
char **lull_hooks_prepare(const struct lull_keeper *keeper, unsigned hooks, unsigned read,
                          int *objects, GError **error);
/* Writes the metadata, when the recording starts. */
bool lull_hooks_describe(const struct lull_keeper *keeper, unsigned read, int64_t epoch_offset_ns,
                         GError **error);
/* At the end, adds the functions of these files to the recording, and closes `objects`. What there is no
 * room or time for has no names elsewhere. */
bool lull_hooks_save_symbols(const struct lull_keeper *keeper, int objects, GError **error);
/* Bytes of all streams; 0: no program has written any. */
bool lull_hooks_measure(const struct lull_keeper *keeper, uint64_t *bytes, GError **error);

#endif
