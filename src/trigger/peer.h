/* SPDX-License-Identifier: MIT */
/* What daemons say to each other: one datagram asks another machine to freeze its buffers, one answers. Both end
 * with a MAC, so that only who has the key is heard. docs/DAEMON.md has the format. */
#ifndef LULL_TRIGGER_PEER_H
#define LULL_TRIGGER_PEER_H

#include <netinet/in.h>

#include "trigger/key.h"
#include "trigger/limits.h"
#include "trigger/sets.h"

#define LULL_PEER_MOST_BYTES 1200u
#define LULL_PEER_CONNECTIONS 24
/* A question may be passed on so often. */
#define LULL_PEER_HOPS 8
/* A request that ended longer ago is in no buffer. */
#define LULL_PEER_MOST_AGE_NS (INT64_C(3600) * 1000000000)
/* Clocks of machines differ by so much at most; what is older is not taken, whoever sends it again. */
#define LULL_PEER_MOST_SKEW_NS (INT64_C(30) * 1000000000)

/* A TCP connection as its machine sees it. IPv4 addresses are mapped (::ffff:10.9.0.3). */
struct lull_peer_connection {
    struct in6_addr local, remote;
    uint16_t local_port, remote_port;
};

enum lull_peer_kind {
    LULL_PEER_ASK = 1, /* freeze: something was slow, and these connections were part of it */
    LULL_PEER_ANSWER,
};

struct lull_peer_message {
    enum lull_peer_kind kind;
    int64_t sent_ns;       /* since the epoch, by the sender's clock */
    uint64_t nonce;        /* of a question, and of its answer */
    char set[LULL_SET_ID]; /* of the snapshots that belong together */
    /* Of a question. */
    uint8_t hops; /* it may be passed on so often still */
    char rule[LULL_TRIGGER_NAME];
    int64_t start_age_ns, end_age_ns; /* of what was slow, when this was sent */
    uint32_t n_connections;
    struct lull_peer_connection connection[LULL_PEER_CONNECTIONS]; /* as the receiver sees them */
    /* Of an answer. */
    uint8_t verdict;        /* enum lull_trigger_verdict */
    char made[LULL_SET_ID]; /* the snapshot there that shows it; "" */
};

/* Why a datagram is not taken. */
enum lull_peer_fault {
    LULL_PEER_SOUND,
    LULL_PEER_DAMAGED, /* no such message */
    LULL_PEER_FORGED,  /* its MAC is not of a key of ours */
    LULL_PEER_CLOCK,   /* too old, or from the future */
};

/* The bytes of a message, signed with the first key; how many. */
size_t lull_peer_write(const struct lull_peer_message *message, const struct lull_peer_keys *keys,
                       uint8_t bytes[static LULL_PEER_MOST_BYTES]);
/* Reads one, at `now_ns` since the epoch. Nothing in it is trusted before its MAC, and nothing taken as
 * meant afterwards: what is sound lies in its ranges, and its texts end. */
enum lull_peer_fault lull_peer_read(const uint8_t *bytes, size_t size,
                                    const struct lull_peer_keys *keys, int64_t now_ns,
                                    struct lull_peer_message *message);

#endif
