/* SPDX-License-Identifier: MIT */
/* Finds the requests of the public API (lull/requests.h). */
#ifndef LULL_ANALYSIS_REQUESTS_H
#define LULL_ANALYSIS_REQUESTS_H

#include <lull/requests.h>

#include "kernel/model.h"

struct lull_requests;

/* Subscribes to the model's facts; before lull_model_run(). */
struct lull_requests *lull_requests_new(struct lull_model *model);
void lull_requests_free(struct lull_requests *requests);
/* After lull_model_run(): ends what is open and numbers the requests. An exchange whose answer is
 * not in the trace is none. */
void lull_requests_finish(struct lull_requests *requests);
const struct lull_request *lull_requests_list(const struct lull_requests *requests,
                                              uint32_t *count);
/* Those of which no answer came, while whoever sent them still waited in a call that one could end, when the trace ended: in order
 * of their starts, without ids. Their ends are that of the trace. */
const struct lull_request *lull_requests_unanswered(const struct lull_requests *requests,
                                                    uint32_t *count);

#endif
