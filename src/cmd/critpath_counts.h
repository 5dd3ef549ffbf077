/* SPDX-License-Identifier: MIT */
/* lull critpath --counters: what counters counted on a path. */
#ifndef LULL_CMD_CRITPATH_COUNTS_H
#define LULL_CMD_CRITPATH_COUNTS_H

#include "analysis/path_counts.h"
#include "cmd/verb.h"

#define LULL_OPTION_PATH_COUNTS                                                                    \
    {.name = "counters",                                                                           \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "what counters counted on the path, by task; with --json also by segment and state "  \
             "('lull record --counters')"}

/* Reads the session again for them, if --counters asks for it, and says on standard error what is not known;
 * NULL if it does not. */
struct lull_path_counts *lull_args_path_counts(const struct lull_args *args,
                                               struct lull_session *session,
                                               const struct lull_path *path);

#endif
