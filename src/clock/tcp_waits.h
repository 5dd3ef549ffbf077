/* SPDX-License-Identifier: MIT */
/* What TCP itself waits for: packets that were lost and sent again, acknowledgements that were
 * delayed, windows that were closed. Found in the packets' headers, one packet after the other. */
#ifndef LULL_CLOCK_TCP_WAITS_H
#define LULL_CLOCK_TCP_WAITS_H

#include "kernel/facts.h"
#include "kernel/flow.h"

enum lull_tcp_wait_kind {
    LULL_TCP_SENT_AGAIN,  /* its bytes were sent first at first_ns, again until last_ns */
    LULL_TCP_SYN_AGAIN,   /* the same for the SYN of its connection */
    LULL_TCP_DELAYED_ACK, /* at last_ns it acknowledges what came at first_ns */
    LULL_TCP_ZERO_WINDOW, /* its sender had no room for more from first_ns on, and now has */
};

struct lull_tcp_wait_note {
    int64_t first_ns, last_ns;
    uint32_t times;   /* sent again; otherwise 0 */
    uint8_t kind;     /* enum lull_tcp_wait_kind */
    bool is_nagle;    /* DELAYED_ACK: its receiver sent more as soon as it came */
    bool is_before;   /* DELAYED_ACK: the packet answers what its receiver sent then */
    uint32_t delayed; /* of the packet that came at first_ns and started a timer, or LULL_NONE */
    uint32_t lost; /* of what is sent again: number of the packet that had it first, or LULL_NONE */
};

struct lull_tcp_waits;

struct lull_tcp_waits *lull_tcp_waits_new(const struct lull_flows *flows);
void lull_tcp_waits_free(struct lull_tcp_waits *waits);
/* The next packet, in joined order. sent: number and host of the sent packet that a received one
 * was matched with, or LULL_NONE. */
void lull_tcp_waits_feed(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                         uint32_t sent, uint32_t sent_host);
/* The same where packets have no headers: what TCP does by itself; a segment arrived, in a packet
 * that was matched with the sent one of that number, or with none (LULL_NONE). */
void lull_tcp_waits_learn(struct lull_tcp_waits *waits, const struct lull_tcp_fact *fact);
void lull_tcp_waits_arrived(struct lull_tcp_waits *waits, const struct lull_packet_fact *fact,
                            uint32_t sent);
/* What is known of the packet with this number, or NULL. Valid until the next packet. */
const struct lull_tcp_wait_note *lull_tcp_waits_find(const struct lull_tcp_waits *waits,
                                                     uint32_t number);
/* The last window that opened in that time, in which the packets of this flow arrived at that host; or NULL. */
const struct lull_tcp_wait_note *lull_tcp_waits_window(const struct lull_tcp_waits *waits,
                                                       uint32_t flow, uint32_t host,
                                                       int64_t start_ns, int64_t end_ns);
/* "sent-again", "syn-again", "delayed-ack", "zero-window" */
const char *lull_tcp_wait_kind_name(enum lull_tcp_wait_kind kind);
/* What is the same each time: "sent again". */
const char *lull_tcp_wait_subject(enum lull_tcp_wait_kind kind);
/* In words: "sent again 203.0 ms after it was sent first". */
void lull_tcp_wait_append(const struct lull_tcp_wait_note *note, GString *out);

#endif
