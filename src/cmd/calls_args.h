/* SPDX-License-Identifier: MIT */
/* What the verbs of call stacks share: whose calls, and a list of names for
 * addresses. */
#ifndef LULL_CMD_CALLS_ARGS_H
#define LULL_CMD_CALLS_ARGS_H

#include "cmd/verb.h"
#include "symbol/table.h"

#define LULL_OPTION_SYMBOLS                                                                        \
    {.name = "symbols",                                                                            \
     .kind = LULL_OPTION_FILE,                                                                     \
     .argument = "FILE",                                                                           \
     .help = "names for addresses of which the trace does not say in which file they lie: what "   \
             "nm prints of a program (address, kind, name)"}

#define LULL_OPTIONS_CALLERS                                                                       \
    {.name = "tid",                                                                                \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "LIST",                                                                           \
     .help = "only tasks with one of these thread ids (N,N,…)"},                                   \
        {.name = "pid",                                                                            \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "LIST",                                                                       \
         .help = "only tasks of these processes (N,N,…)"},                                         \
        {.name = "comm",                                                                           \
         .kind = LULL_OPTION_TEXT,                                                                 \
         .argument = "LIST",                                                                       \
         .help = "only tasks with one of these names (NAME,NAME,…), or names that match a "        \
                 "pattern, as in 'postgres*'"}

/* Reads the file of --symbols; *table is NULL without it. */
bool lull_args_symbols(const struct lull_args *args, struct lull_symbol_table **table,
                       GError **error);

#endif
