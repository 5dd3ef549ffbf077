/* SPDX-License-Identifier: MIT */
/* lull critpath --calls: in which calls paths were spent. */
#ifndef LULL_CMD_CRITPATH_CALLS_H
#define LULL_CMD_CRITPATH_CALLS_H

#include "analysis/path_calls.h"
#include "cmd/verb.h"

#define LULL_OPTION_PATH_CALLS                                                                     \
    {.name = "calls",                                                                              \
     .kind = LULL_OPTION_FLAG,                                                                     \
     .help = "in which functions the path ran and waited, and below each step their callers, if "  \
             "calls of functions were recorded ('lull calls')"}

/* Reads the session again for them, if --calls asks for it, and says on standard error what is missing; NULL
 * if it does not. */
struct lull_paths_calls *lull_args_path_calls(const struct lull_args *args,
                                              struct lull_session *session,
                                              const struct lull_path *const *paths, uint32_t n);

#endif
