/* SPDX-License-Identifier: MIT */
/* What is kept of TCP's waits: tcp_waits.c reads it from headers, tcp_waits_bare.c goes without. */
#ifndef LULL_CLOCK_TCP_WAITS_PRIVATE_H
#define LULL_CLOCK_TCP_WAITS_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "clock/tcp_pieces.h"
#include "clock/tcp_waits.h"

/* The kernel delays no acknowledgement for less than 40 ms, by a timer that may be a tick early. */
#define DELAYED_NS INT64_C(10000000)

/* What was sent again. */
struct again {
    uint32_t times; /* 0: nothing was */
    int64_t first_ns, last_ns;
};

/* One direction of a connection on one host. */
struct half {
    struct lull_tcp_pieces pieces; /* sent */
    struct again data, syn;        /* sent again last */
    bool has_syn;
    int64_t syn_ns;
    uint32_t syn_seq, syn_number;
    /* what fills a segment at least (0: not known), and what was sent last */
    uint32_t full, last_payload, last_end;
    int64_t last_ns;
    /* up to where the other end certainly has room, if has_room; the same before the latest acknowledgement without data; the
     * least that its windows are shifted by */
    uint32_t room_end, held_room_end;
    bool has_room, had_room;
    uint8_t shift;
    /* received; INT64_MIN: none */
    int64_t unacked_ns;             /* the oldest that the host has not acknowledged */
    int64_t data_ns;                /* the latest */
    uint32_t unacked, came, closed; /* numbers of these packets */
    uint32_t data_end;              /* after the last byte */
    uint32_t answered;              /* what the host acknowledged last, if has_answered */
    bool has_answered;
    uint32_t first_window; /* of its SYN, if has_first_window */
    bool has_first_window;
    int64_t closed_ns; /* since when its sender's window is closed */
    int64_t ack_ns;    /* the latest acknowledgement without data */
    uint32_t ack_sent; /* number of that packet where it was sent, or LULL_NONE */
    /* the packet that opened a window last, which may come in on several devices */
    int64_t opened_ns, opened_since_ns;
    /* the packet that came last of what was sent again, with the number of what had it first; LULL_NONE: none has */
    uint32_t late_seq, late_length, late_original;
    uint64_t late_skb;
    uint32_t opened_seq, opened_ack;
    /* where only this end was recorded; INT64_MIN: none */
    int64_t trip_ns;     /* sent: how long its SYN was under way, there and back */
    int64_t ack_late_ns; /* received: when what the latest acknowledgement is about was sent */
    struct again held;   /* sent: the acknowledgement that more had waited for, times: 1 */
};

/* Of bytes that were sent more than once: which packets came. */
struct arrivals {
    uint32_t first;     /* number of the packet that brought them first */
    uint32_t last_sent; /* the number that the last one had where it was sent */
    uint32_t more;      /* how many came after the first */
};

/* One direction of a connection without headers. */
struct resent {
    struct again data; /* sent again, and not yet arrived if */
    bool is_under_way;
    bool has_arrived;
    int64_t arrived_ns; /* data, last */
    uint32_t arrived;   /* number of that packet */
};

/* A window that was closed and has opened, as a host saw it. */
struct window {
    struct lull_tcp_wait_note note;
    uint32_t host;
};

/* Of a flow, in the order in which they opened. */
struct flow_windows {
    LULL_VEC(struct window) list;
};

/* Of a flow, what was looked for last. */
struct last_half {
    uint32_t host, number; /* LULL_NONE: nothing was */
    uint32_t back;         /* the other direction on that host; LULL_NONE: nothing is known of it */
};

struct lull_tcp_waits {
    const struct lull_flows *flows;
    LULL_VEC(struct half) halves;
    struct lull_map by_key;
    LULL_VEC(struct last_half) by_flow;
    LULL_VEC(struct lull_tcp_wait_note) notes;
    struct lull_map by_number;
    struct lull_map
        by_lost; /* of packets whose bytes were sent again: number → note of the last time */
    LULL_VEC(struct arrivals) arrivals;
    struct lull_map
        by_original; /* number of the packet that was lost, or late, and the first byte of a part of it → arrivals */
    LULL_VEC(struct resent) resent; /* by flow */
    LULL_VEC(struct flow_windows) windows;
    struct lull_map windows_of; /* flow → those */
    struct lull_map by_timer;   /* packets that timers sent: number → their times */
    LULL_VEC(int64_t) timer_ns;
};

/* Says of the packet with that number what TCP waited for, unless that is known already. */
void tcp_note(struct lull_tcp_waits *waits, uint32_t number, enum lull_tcp_wait_kind kind,
              int64_t first_ns, int64_t last_ns, uint32_t times);
/* A timer sends the packet; the one with the number `delayed` had started it. */
void tcp_note_timer(struct lull_tcp_waits *waits, uint32_t number, enum lull_tcp_wait_kind kind,
                    uint32_t delayed, int64_t first_ns, int64_t last_ns);

#endif
