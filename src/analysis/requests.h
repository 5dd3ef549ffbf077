/* SPDX-License-Identifier: MIT */
/* Requests found from packets alone: on a TCP connection a client sends payload, waits, and has
 * received the last payload of the answer before it sends again. */
#ifndef LULL_ANALYSIS_REQUESTS_H
#define LULL_ANALYSIS_REQUESTS_H

#include "kernel/model.h"

struct lull_request {
    uint32_t id;      /* 1, 2, … in order of begin; the same for the same input */
    uint32_t host;    /* of the client */
    uint32_t task;    /* that sent the first payload, or LULL_NONE */
    uint32_t flow;    /* from client to server */
    int64_t start_ns; /* first payload sent */
    int64_t end_ns; /* last payload of the answer received: when the client, if it was waiting, ran
                       again */
    int64_t blocked_ns;                  /* of that the client's task was blocked */
    uint64_t bytes_sent, bytes_received; /* payload, each byte once */
};

struct lull_requests;

/* Subscribes to the model's facts; before lull_model_run(). */
struct lull_requests *lull_requests_new(struct lull_model *model);
void lull_requests_free(struct lull_requests *requests);
/* After lull_model_run(): ends what is open and numbers the requests. An exchange whose answer is
 * not in the trace is none. */
void lull_requests_finish(struct lull_requests *requests);
const struct lull_request *lull_requests_list(const struct lull_requests *requests,
                                              uint32_t *count);

#endif
