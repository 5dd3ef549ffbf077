/* SPDX-License-Identifier: MIT */
/* From facts to the execution graph of a session, and from the graph to critical paths with names
 * and evidence. */
#ifndef LULL_GRAPH_EXECGRAPH_H
#define LULL_GRAPH_EXECGRAPH_H

#include "graph/critpath.h"
#include "graph/graph.h"
#include "graph/path.h"
#include "clock/sync.h"
#include "kernel/model.h"

struct lull_execgraph;
struct lull_recorded_holder;
struct lull_wait_reason;

/* Subscribes to the model's facts; build it before lull_model_run(). Model and `sync` are borrowed.
 * Packets between hosts whose clocks are not joined explain nothing: when they were sent is
 * unknown. Without `sync` (NULL) all clocks are taken as they are. */
struct lull_execgraph *lull_execgraph_new(struct lull_model *model, const struct lull_sync *sync);
void lull_execgraph_free(struct lull_execgraph *eg);

/* Before and after lull_model_run(): what recordings say of CPU quotas. */
void lull_execgraph_watch_quotas(struct lull_execgraph *eg, const struct lull_session *session);
void lull_execgraph_learn_quotas(struct lull_execgraph *eg, const struct lull_session *session);
/* After it: what they say of who held the locks that tasks still waited for at their ends. */
void lull_execgraph_learn_holders(struct lull_execgraph *eg, const struct lull_session *session);

/* Whether a wait for that is the one of which the recorder knew who could end it. */
bool lull_stuck_is_for(const struct lull_model *model, const struct lull_wait_reason *reason,
                       const struct lull_recorded_holder *known);

/* Lines are the model's task numbers. */
const struct lull_graph *lull_execgraph_graph(const struct lull_execgraph *eg);

/* The critical path of a task over start_ns <= t < end_ns. `session` gives host names and losses,
 * `sync` (or NULL) how clocks were joined. Free with lull_path_free(). */
struct lull_path *lull_execgraph_path(const struct lull_execgraph *eg,
                                      const struct lull_session *session,
                                      const struct lull_sync *sync, uint32_t task, int64_t start_ns,
                                      int64_t end_ns, enum lull_path_kind kind);

#endif
