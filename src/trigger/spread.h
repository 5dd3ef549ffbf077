/* SPDX-License-Identifier: MIT */
/* Questions to other machines and from them, as a state machine: it is given datagrams, times and what the
 * daemon decides, and says what to send. It has no sockets, and its memory has a fixed size. */
#ifndef LULL_TRIGGER_SPREAD_H
#define LULL_TRIGGER_SPREAD_H

#include "trigger/peer.h"

/* Questions that wait for an answer at a time. */
#define LULL_SPREAD_ASKED 64
/* Questions of others that are remembered: at least as long as their datagrams are valid. */
#define LULL_SPREAD_HEARD 1024

/* What another machine is asked. Times are of CLOCK_MONOTONIC. */
struct lull_spread_question {
    struct in6_addr to;
    char set[LULL_SET_ID];
    char rule[LULL_TRIGGER_NAME];
    int64_t start_ns, end_ns;
    uint8_t hops;
    uint32_t n_connections;
    struct lull_peer_connection connection[LULL_PEER_CONNECTIONS]; /* as that machine sees them */
};

/* What came of it. */
struct lull_spread_outcome {
    struct in6_addr to;
    char set[LULL_SET_ID];
    enum lull_trigger_verdict verdict; /* LULL_TRIGGER_FAST: it did not answer */
    char made[LULL_SET_ID];            /* the snapshot there; "" */
};

/* Datagrams and questions that were not taken. */
struct lull_spread_counts {
    uint64_t damaged; /* of a foreign address, or no message */
    uint64_t forged;
    uint64_t clock;
    uint64_t limited; /* too many of one machine, or of all */
    uint64_t
        repeated; /* were taken before: lost answers have questions sent again, as who replays them does */
};

struct lull_spread_actions {
    void (*send)(void *user, const struct in6_addr *to, uint16_t port, const uint8_t *bytes,
                 size_t size);
    /* A new question, which lull_spread_answer() answers by its number. */
    void (*asked)(void *user, uint32_t number, const struct lull_spread_question *question);
    void (*outcome)(void *user, const struct lull_spread_outcome *outcome);
    void *user;
};

struct lull_spread_now {
    int64_t monotonic_ns, epoch_ns;
};

struct lull_spread;

/* All borrowed. `port` is where the others listen. */
struct lull_spread *lull_spread_new(const struct lull_trigger_config *config,
                                    const struct lull_peer_keys *keys,
                                    const struct lull_spread_actions *actions,
                                    struct lull_spread_counts *counts);
void lull_spread_free(struct lull_spread *spread);

/* Asks another machine. False if too many questions are open. */
bool lull_spread_ask(struct lull_spread *spread, const struct lull_spread_question *question,
                     const struct lull_spread_now *now);
/* A datagram has come. */
void lull_spread_take(struct lull_spread *spread, const struct in6_addr *from, uint16_t port,
                      const uint8_t *bytes, size_t size, const struct lull_spread_now *now);
/* What the daemon did about a question. */
void lull_spread_answer(struct lull_spread *spread, uint32_t number,
                        enum lull_trigger_verdict verdict, const char *made,
                        const struct lull_spread_now *now);
/* Sends again what is due, and gives up what is late. Returns when to call it again; INT64_MAX: when
 * something else happens. */
int64_t lull_spread_run(struct lull_spread *spread, const struct lull_spread_now *now);

#endif
