/* SPDX-License-Identifier: MIT */
/* A server of the traces on the command line, for the verbs that start one. */
#ifndef LULL_CMD_SERVING_H
#define LULL_CMD_SERVING_H

#include <signal.h>

#include "cmd/verb.h"
#include "period/period.h"
#include "server/guard.h"
#include "server/server.h"
#include "states/states.h"
#include "store/place.h"

struct lull_serving {
    const struct lull_args *args;
    struct server_stage *stage;
    struct server_http *http;
    struct server_settings settings;
    struct lull_periods *periods; /* NULL: none are defined */
    struct lull_states *states;   /* NULL: none are declared */
    char token[SERVER_TOKEN_LENGTH + 1], entrance[SERVER_TOKEN_LENGTH + 1];
    char *fragment;
    sigset_t ends, before; /* signals that end it, which are blocked; what was blocked before */
    /* The thread that makes the store; NULL: it was there. */
    GThread *indexer;
    struct lull_store_place place;
    gint is_stopped, is_over; /* atomic: it must end, it has ended */
    int status;
    GError *failure; /* why there is no store; when it has ended */
};

/* Opens the store, or makes it: then it listens as soon as there is something to see, and what is
 * seen grows. Returns after `wait` did. Without --port it takes `usual_port`, or the next that is
 * free; 0: any. The exit status. */
int lull_args_serve(const struct lull_args *args, uint16_t usual_port,
                    void (*wait)(struct lull_serving *serving), GError **error);

/* For `wait`: true after a second, false when a signal or a store that cannot be made ends it. */
bool lull_serving_goes_on(struct lull_serving *serving);

#endif
