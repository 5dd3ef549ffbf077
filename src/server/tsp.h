/* SPDX-License-Identifier: MIT */
/* The Trace Server Protocol, version 0.6 (eclipse-cdt-cloud/trace-server-protocol), over what is
 * served: nothing is opened or deleted through it. */
#ifndef LULL_SERVER_TSP_H
#define LULL_SERVER_TSP_H

#include "server/http.h"
#include "server/served.h"

/* `path` is what follows "tsp/api/". */
void server_tsp(const struct served *served, const struct server_request *request, const char *path,
                struct server_answer *answer);

#endif
