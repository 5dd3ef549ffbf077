/* SPDX-License-Identifier: MIT */
/* The bytes that one end of a TCP connection has sent and that are not acknowledged: when they were
 * sent first, when again, and how often. */
#ifndef LULL_CLOCK_TCP_PIECES_H
#define LULL_CLOCK_TCP_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

/* A packet that crosses several devices of a host is seen again at once; TCP is never that quick to
 * give one up that mattered. */
#define LULL_TCP_AGAIN_NS INT64_C(1000000)

/* Sequence numbers, of which the nearest is meant: they wrap at 2^32. */
struct lull_tcp_piece {
    uint32_t start, end;
    uint32_t number; /* of the packet that had them first */
    uint32_t times;  /* sent again */
    int64_t first_ns, last_ns;
};

/* In order, without overlap. Zeroed: nothing was sent. */
struct lull_tcp_pieces {
    LULL_VEC(struct lull_tcp_piece) all;
    size_t first; /* those before are forgotten */
    uint32_t end; /* after all that was sent */
    uint32_t acked;
    bool has_end, has_acked;
    bool has_again; /* some were sent again */
};

void lull_tcp_pieces_clear(struct lull_tcp_pieces *pieces);
/* The other end has all that is before `ack`. It stays known until more is sent. */
void lull_tcp_pieces_ack(struct lull_tcp_pieces *pieces, uint32_t ack);
/* A packet leaves with these bytes. False: all are new. Otherwise sets the first of them that have
 * left before. What has left at or after since_ns is the same packet on another device; times: 0 if
 * that is all. */
bool lull_tcp_pieces_send(struct lull_tcp_pieces *pieces, uint32_t start, uint32_t length,
                          int64_t t, int64_t since_ns, uint32_t number,
                          struct lull_tcp_piece *again);
/* Where packets do not say how many bytes they have: what was sent last goes up to where the next starts. */
void lull_tcp_pieces_reach(struct lull_tcp_pieces *pieces, uint32_t start);
/* Which of these bytes were sent again last. False: none were. */
bool lull_tcp_pieces_again(const struct lull_tcp_pieces *pieces, uint32_t start, uint32_t length,
                           struct lull_tcp_piece *again);

#endif
