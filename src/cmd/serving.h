/* SPDX-License-Identifier: MIT */
/* A server of the traces on the command line, for the verbs that start one. */
#ifndef LULL_CMD_SERVING_H
#define LULL_CMD_SERVING_H

#include <signal.h>

#include "cmd/verb.h"
#include "server/guard.h"
#include "server/server.h"

struct lull_serving {
    struct served *served;
    struct server_http *http;
    struct server_settings settings;
    char token[SERVER_TOKEN_LENGTH + 1], entrance[SERVER_TOKEN_LENGTH + 1];
    char *fragment;
    sigset_t ends, before; /* signals that end it, which are blocked; what was blocked before */
};

/* Makes or opens the store, listens, and returns after `wait` did. Without --port it takes
 * `usual_port`, or the next that is free; 0: any. The exit status. */
int lull_args_serve(const struct lull_args *args, uint16_t usual_port,
                    void (*wait)(const struct lull_args *args, struct lull_serving *serving),
                    GError **error);

#endif
