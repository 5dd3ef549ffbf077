/* SPDX-License-Identifier: MIT */
/* Which machines a request touched: those at the other end of the connections that its process, and the processes it
 * talked to on this machine, have used since the request started. */
#ifndef LULL_TRIGGER_TOUCHED_H
#define LULL_TRIGGER_TOUCHED_H

#include <lull/error.h>

#include "live/talks.h"
#include "trigger/peer.h"

struct lull_touched_question {
    int64_t pid; /* who served the request; -1: not known */
    /* By which it came, as this machine sees them. */
    const struct lull_peer_connection *connection;
    uint32_t n_connections;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    const struct lull_talks
        *talks; /* also connections that are closed, and processes that have ended; or NULL */
    /* Called with those that talks alone show, before the kernel is asked about its sockets, which takes a few us for each of
     * them; from then on the thread is not urgent (urgent.h). Not called if talks do not reach back to the start. Or
     * NULL. */
    void (*early)(void *user, const GArray *found);
    void *user;
};

/* A socket that asks the kernel about the sockets of this network namespace; -1 and an error. */
int lull_touched_open(GError **error);
/* Adds the connections to other machines (struct lull_peer_connection) to `found`. Needs CAP_SYS_PTRACE to
 * look at processes of others, and CAP_SYS_ADMIN for one in another network namespace. *is_known: whether a
 * process here, or one that has ended, has used the connections by which the request came, or is who served it.
 * False and an error if the kernel does not answer; a process that has gone has no connections. */
bool lull_touched_find(int socket, const struct lull_touched_question *question, GArray *found,
                       bool *is_known, GError **error);

/* Whether an interface of this network namespace has the address. */
bool lull_touched_is_here(const struct in6_addr *address);

#endif
