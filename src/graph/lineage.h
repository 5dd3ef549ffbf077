/* SPDX-License-Identifier: MIT */
/* Where a task comes from. */
#ifndef LULL_GRAPH_LINEAGE_H
#define LULL_GRAPH_LINEAGE_H

#include "kernel/model.h"

/* Who started the program of a task, oldest first: "cron/1 → sh/2", without threads of the program
 * itself; NULL: not known. Free with g_free(). */
char *lull_lineage_of(const struct lull_model *model, uint32_t task);
/* Whether two processes are workers of one server: a process of their name started both. */
bool lull_lineage_are_workers(const struct lull_model *model, uint32_t a, uint32_t b,
                              int64_t time_ns);
/* The command of the recording that it was, with its arguments, kept by the session; NULL: none. */
const char *const *lull_lineage_command(const struct lull_model *model,
                                        const struct lull_session *session, uint32_t task);

#endif
