/* SPDX-License-Identifier: MIT */
/* --tid, --pid, --comm and --container: which tasks are meant. */
#ifndef LULL_CMD_WHOM_ARGS_H
#define LULL_CMD_WHOM_ARGS_H

#include <lull/waits.h>

#include "cmd/verb.h"

/* What they select; borrowed from the arguments. */
struct lull_selection lull_args_whom(const struct lull_args *args);
/* How many of these options were given. */
uint32_t lull_args_whom_given(const struct lull_args *args);
/* These options as they were given: "--tid 1,2 --comm 'a*'". Free with g_free(). */
char *lull_args_whom_text(const struct lull_args *args);

#endif
