/* SPDX-License-Identifier: MIT */
/* What the parts of the Trace Server Protocol share: a question on its way to its answer. */
#ifndef LULL_SERVER_TSP_PRIVATE_H
#define LULL_SERVER_TSP_PRIVATE_H

#include "server/http.h"
#include "server/states.h"

enum { TSP_PARTS_MOST = 6 };

struct tsp_call {
    const struct served *served;
    const struct server_request *request;
    struct server_answer *answer;
    const char *parts[TSP_PARTS_MOST + 1]; /* of the path, NULL-terminated */
    struct server_range range;
    int64_t *items;
    uint32_t n_items;
};

/* Refuse it: 404, and 400; false. */
void tsp_not_found(struct tsp_call *call, const char *what);
bool tsp_bad(struct tsp_call *call, const char *why);

/* experiments/E/outputs, and what is below: tsp_outputs.c. */
void tsp_list_outputs(const struct tsp_call *call, GString *out);
void tsp_route_output(struct tsp_call *call);

#endif
