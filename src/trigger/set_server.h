/* SPDX-License-Identifier: MIT */
/* Sends snapshots to who has the key: the part of the process that listens which speaks TLS. It cannot open a snapshot
 * itself; the daemon writes it into a pipe. */
#ifndef LULL_TRIGGER_SET_SERVER_H
#define LULL_TRIGGER_SET_SERVER_H

#include "trigger/peer.h"

struct lull_set_server;

struct lull_set_question {
    const struct lull_trigger_config *config;
    const struct lull_peer_keys *keys;
    int socket; /* listens */
    /* Asks the daemon to write the set into `out`, which stays the caller's; called in threads. */
    void (*ask)(void *user, const char *set, int out);
    void *user;
};

/* The question is copied, what it names is borrowed. */
struct lull_set_server *lull_set_server_new(const struct lull_set_question *question);
/* Somebody connects. */
void lull_set_server_accept(struct lull_set_server *server);

#endif
