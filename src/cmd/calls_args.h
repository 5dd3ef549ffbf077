/* SPDX-License-Identifier: MIT */
/* What the verbs of call stacks share: whose calls, and a list of names for
 * addresses. */
#ifndef LULL_CMD_CALLS_ARGS_H
#define LULL_CMD_CALLS_ARGS_H

#include "calls/heap.h"
#include "cmd/verb.h"
#include "symbol/table.h"

#define LULL_OPTION_SYMBOLS                                                                        \
    {.name = "symbols",                                                                            \
     .kind = LULL_OPTION_FILE,                                                                     \
     .argument = "PATH",                                                                           \
     .takes_either = true,                                                                         \
     .help = "a directory with copies of the programs and libraries, for their names; or, for "    \
             "addresses of which the trace does not say in which file they lie, a file with what " \
             "nm prints of a program (address, kind, name)"},                                      \
        LULL_OPTION_PATH_MAP
/* For verbs that need no such list. */
#define LULL_OPTION_SYMBOLS_DIRECTORY                                                              \
    {.name = "symbols",                                                                            \
     .kind = LULL_OPTION_FILE,                                                                     \
     .argument = "DIR",                                                                            \
     .help = "a directory with copies of the programs and libraries, for names of functions: "     \
             "below it as they were on their machine, side by side, or in .build-id"},             \
        LULL_OPTION_PATH_MAP
/* Part of both. */
#define LULL_OPTION_PATH_MAP                                                                       \
    {.name = "path-map",                                                                           \
     .kind = LULL_OPTION_TEXTS,                                                                    \
     .argument = "OLD=NEW",                                                                        \
     .help = "programs and libraries that were below OLD on their machine are below NEW here; "    \
             "the first that fits counts"},                                                        \
        {.name = "debuginfod",                                                                     \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help = "ask the servers that the environment names (DEBUGINFOD_URLS) for programs and "  \
                 "debug symbols which are not here, by build-id; 20 s at most"},                   \
        {.name = "raw-names",                                                                      \
         .kind = LULL_OPTION_FLAG,                                                                 \
         .help =                                                                                   \
             "names of functions as compilers write them, with all types: _ZN3app4workEi, not "    \
             "app::work"}

#define LULL_OPTION_CALLS_WEIGHT                                                                   \
    {.name = "weight",                                                                             \
     .kind = LULL_OPTION_TEXT,                                                                     \
     .argument = "WHAT",                                                                           \
     .help = "what has most comes first: wall (time; if not given), cpu (time on a CPU), or a "    \
             "counter that was recorded, by its name, as 'page-faults'"}

/* For verbs that show stacks of samples and waits. */
#define LULL_OPTION_INLINES                                                                        \
    {.name = "inlines",                                                                            \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "show calls that the compiler put in line as frames of their own, marked [inlined]"}

/* The choices of an option that is an enum lull_heap_weight. */
extern const char *const lull_heap_weights[];
/* LULL_HEAP_LIVE if it is not given. */
enum lull_heap_weight lull_args_heap_weight(const struct lull_args *args, const char *option);

/* Reads the file of --symbols; *table is NULL without it. */
bool lull_args_symbols(const struct lull_args *args, struct lull_symbol_table **table,
                       GError **error);

/* Whether --symbols of the verb takes a file as well. */
bool lull_args_takes_symbols_file(const struct lull_args *args);

#endif
