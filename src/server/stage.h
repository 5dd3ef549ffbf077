/* SPDX-License-Identifier: MIT */
/* What is being served right now: parts of a store, one after the other, and at last the whole. Any
 * thread may call these. */
#ifndef LULL_SERVER_STAGE_H
#define LULL_SERVER_STAGE_H

#include "server/served.h"

struct server_stage;

/* `is_joined`: the clocks of the traces are. `periods` and `states` (either may be NULL) are borrowed. */
struct server_stage *server_stage_new(const char *const *traces, uint32_t count, bool is_joined,
                                      const struct lull_periods *periods,
                                      const struct lull_states *states);
void server_stage_free(struct server_stage *stage);

/* From now on `store` is served, which becomes the property of the stage. It will end at until_ns
 * when it is whole. What is being answered goes on with the one before. */
void server_stage_show(struct server_stage *stage, struct lull_store *store, int64_t until_ns,
                       bool is_whole);
/* What is served, until served_unuse(); NULL: nothing yet. */
struct served *server_stage_use(struct server_stage *stage);
const struct served_about *server_stage_about(const struct server_stage *stage);

#endif
