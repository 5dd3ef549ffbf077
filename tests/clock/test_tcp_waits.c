/* SPDX-License-Identifier: MIT */
/* What TCP waited for, against packets that were made to show it: a client and a server whose
 * packets are lost, whose acknowledgements come late, whose windows close. What nothing happened to
 * must stay plain. */
#include "clock/tcp_waits.h"

#include <glib.h>

#include "kernel/states.h"

enum { CLIENT, SERVER };
enum { SYN = 2, PSH = 8, ACK = 16, FULL = 1000 };

#define MS INT64_C(1000000)

struct wire {
    struct lull_flows *flows;
    struct lull_tcp_waits *waits;
    uint32_t number; /* of the next packet */
};

static struct wire start(void)
{
    struct wire wire = {.flows = lull_flows_new()};

    wire.waits = lull_tcp_waits_new(wire.flows);
    return wire;
}

static void end(struct wire *wire)
{
    lull_tcp_waits_free(wire->waits);
    lull_flows_free(wire->flows);
}

struct shape {
    uint32_t seq, bytes, ack;
    uint16_t flags; /* 0: ACK */
    bool is_closed;
    uint8_t context;    /* enum lull_cause of the interrupt it was seen in; 0: of a task */
    bool is_translated; /* the client has another address here */
    bool is_numbers;    /* of inet_sock_local_*: no addresses, no size, no window */
    uint64_t skb;
    uint32_t window; /* 0: FULL */
};

/* Seen on `host`; what the client sends goes from port 40000 to 80. Returns its number. */
static uint32_t see(struct wire *wire, uint32_t host, bool from_client, bool is_send, int64_t t,
                    struct shape shape, uint32_t sent)
{
    struct lull_net_packet packet = {
        .time_ns = t,
        .host = host,
        .task = LULL_NONE,
        .is_send = is_send,
        .ip_version = 4,
        .protocol = 6,
        .source = {10, 0, 0, from_client ? 1 : 2},
        .destination = {10, 0, 0, from_client ? 2 : 1},
        .source_port = from_client ? 40000 : 80,
        .destination_port = from_client ? 80 : 40000,
        .seq = shape.seq,
        .ack = shape.ack,
        .payload = shape.bytes,
        .tcp_flags = shape.flags ? shape.flags : ACK,
        .has_window = true,
        .window = shape.is_closed ? 0
                  : shape.window  ? shape.window
                                  : FULL,
        .skb = shape.skb,
    };
    if (shape.is_translated) {
        packet.source[3] += from_client ? 7 : 0;
        packet.destination[3] += from_client ? 0 : 7;
    }
    if (shape.is_numbers) {
        packet = (struct lull_net_packet){.time_ns = t,
                                          .host = host,
                                          .task = LULL_NONE,
                                          .is_send = is_send,
                                          .has_numbers = true,
                                          .protocol = 6,
                                          .socket = host == CLIENT ? 0x1000 : 0x2000,
                                          .seq = shape.seq,
                                          .tcp_flags = packet.tcp_flags};
    }
    struct lull_packet_fact fact = {.packet = &packet,
                                    .number = wire->number++,
                                    .in_interrupt = shape.context != LULL_CAUSE_NONE,
                                    .context_start_ns = t - 1000,
                                    .context_cause = shape.context};

    packet.flow = shape.is_numbers ? LULL_NONE : lull_flows_number(wire->flows, &packet);
    lull_tcp_waits_feed(wire->waits, &fact, sent, from_client ? CLIENT : SERVER);
    return fact.number;
}

static uint32_t sends(struct wire *wire, uint32_t host, int64_t t, struct shape shape)
{
    return see(wire, host, host == CLIENT, true, t, shape, LULL_NONE);
}

/* On the other host, if it was sent as `sent`; LULL_NONE: its sender was not traced. */
static uint32_t comes(struct wire *wire, uint32_t host, int64_t t, struct shape shape,
                      uint32_t sent)
{
    shape.context = LULL_CAUSE_NETWORK;
    return see(wire, host, host != CLIENT, false, t, shape, sent);
}

static void plain(struct wire *wire, uint32_t number)
{
    g_assert_null(lull_tcp_waits_find(wire->waits, number));
}

static void noted(struct wire *wire, uint32_t number, enum lull_tcp_wait_kind kind,
                  int64_t first_ns, int64_t last_ns, uint32_t times)
{
    const struct lull_tcp_wait_note *note = lull_tcp_waits_find(wire->waits, number);

    g_assert_nonnull(note);
    g_assert_cmpint(note->kind, ==, kind);
    g_assert_cmpint(note->first_ns, ==, first_ns);
    g_assert_cmpint(note->last_ns, ==, last_ns);
    g_assert_cmpuint(note->times, ==, times);
}

/* The handshake, so that both directions are known. */
static void connect_both(struct wire *wire)
{
    uint32_t syn = sends(wire, CLIENT, 1 * MS, (struct shape){.seq = 99, .flags = SYN});
    uint32_t come = comes(wire, SERVER, 2 * MS, (struct shape){.seq = 99, .flags = SYN}, syn);
    uint32_t back = sends(wire, SERVER, 2 * MS, (struct shape){.seq = 499, .flags = SYN | ACK});
    uint32_t done =
        comes(wire, CLIENT, 3 * MS, (struct shape){.seq = 499, .flags = SYN | ACK}, back);

    plain(wire, syn);
    plain(wire, come);
    plain(wire, back);
    plain(wire, done);
}

static void test_plain(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50}, answer = {.seq = 500, .bytes = 70};

    connect_both(&wire);
    uint32_t asked = sends(&wire, CLIENT, 10 * MS, request);
    uint32_t heard = comes(&wire, SERVER, 11 * MS, request, asked);
    uint32_t answered = sends(&wire, SERVER, 900 * MS, answer);
    uint32_t got = comes(&wire, CLIENT, 901 * MS, answer, answered);

    plain(&wire, asked);
    plain(&wire, heard);
    plain(&wire, answered);
    plain(&wire, got);
    end(&wire);
}

/* The second of three packets is lost twice. */
static void test_lost(void)
{
    struct wire wire = start();
    const struct shape one = {.seq = 100, .bytes = 50}, two = {.seq = 150, .bytes = 50},
                       three = {.seq = 200, .bytes = 50};
    struct shape timer = two;

    timer.context = LULL_CAUSE_TIMER;
    connect_both(&wire);
    uint32_t first = sends(&wire, CLIENT, 10 * MS, one);
    uint32_t second = sends(&wire, CLIENT, 11 * MS, two);
    uint32_t third = sends(&wire, CLIENT, 12 * MS, three);
    uint32_t first_came = comes(&wire, SERVER, 13 * MS, one, first);
    uint32_t third_came = comes(&wire, SERVER, 14 * MS, three, third);
    uint32_t again = sends(&wire, CLIENT, 211 * MS, timer);
    uint32_t twice = sends(&wire, CLIENT, 611 * MS, timer);
    uint32_t second_came = comes(&wire, SERVER, 612 * MS, two, second);

    plain(&wire, first_came);
    plain(&wire, third_came);
    plain(&wire, second);
    noted(&wire, again, LULL_TCP_SENT_AGAIN, 11 * MS, 211 * MS, 1);
    noted(&wire, twice, LULL_TCP_SENT_AGAIN, 11 * MS, 611 * MS, 2);
    noted(&wire, second_came, LULL_TCP_SENT_AGAIN, 11 * MS, 611 * MS, 2);
    /* What follows is plain again. */
    const struct shape four = {.seq = 250, .bytes = 50};
    uint32_t fourth = sends(&wire, CLIENT, 700 * MS, four);
    plain(&wire, comes(&wire, SERVER, 701 * MS, four, fourth));
    end(&wire);
}

/* The end of a connection is under way for 31 ms, and sent again meanwhile, as a server did it in traces/django: each copy comes,
 * so the first came as fast as the network is. Were one of them lost, which of them is not known. */
static void test_late(void)
{
    const struct shape last = {.seq = 500, .flags = ACK | 1, .skb = 0x1000};
    struct shape copy = last;

    copy.skb = 0x2000;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned lost = i % 2, is_matched = i / 2;
        struct wire wire = start();
        connect_both(&wire);
        uint32_t first = sends(&wire, SERVER, 197 * MS, last);
        uint32_t again = sends(&wire, SERVER, 211 * MS, last);
        if (lost) {
            sends(&wire, SERVER, 225 * MS, last);
        }
        uint32_t came = comes(&wire, CLIENT, 229 * MS, last, first);
        noted(&wire, came, LULL_TCP_SENT_AGAIN, 197 * MS, (lost ? 225 : 211) * MS, 1 + lost);
        comes(&wire, CLIENT, 229 * MS + 1, last,
              is_matched ? first : LULL_NONE); /* on another device */
        noted(&wire, came, LULL_TCP_SENT_AGAIN, 197 * MS, (lost ? 225 : 211) * MS, 1 + lost);
        comes(&wire, CLIENT, 229 * MS + 2, copy, is_matched ? again : LULL_NONE);
        if (lost) {
            noted(&wire, came, LULL_TCP_SENT_AGAIN, 197 * MS, 225 * MS, 2);
        } else {
            plain(&wire, came);
        }
        end(&wire);
    }
}

/* The request is lost, and the server is not traced. */
static void test_lost_request(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50};

    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, request);
    sends(&wire, CLIENT, 213 * MS, request);
    noted(&wire, comes(&wire, CLIENT, 215 * MS, (struct shape){.seq = 500, .bytes = 70}, LULL_NONE),
          LULL_TCP_SENT_AGAIN, 10 * MS, 213 * MS, 1);
    plain(&wire,
          comes(&wire, CLIENT, 216 * MS, (struct shape){.seq = 570, .bytes = 70}, LULL_NONE));
    end(&wire);
}

/* One packet on its way through two devices of its host is not sent again. */
static void test_devices(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50};

    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, request);
    plain(&wire, sends(&wire, CLIENT, 10 * MS + 9000, request));
    end(&wire);
}

/* Of forty packets the first is lost; its end is 39 packets back when it is sent again. */
static void test_long_burst(void)
{
    struct wire wire = start();
    uint32_t numbers[40];

    connect_both(&wire);
    for (uint32_t i = 0; i < 40; i++) {
        numbers[i] = sends(&wire, CLIENT, (10 + i) * MS,
                           (struct shape){.seq = 100 + i * 1000, .bytes = 1000});
    }
    for (uint32_t i = 1; i < 40; i++) {
        plain(&wire, comes(&wire, SERVER, (50 + i) * MS,
                           (struct shape){.seq = 100 + i * 1000, .bytes = 1000}, numbers[i]));
    }
    const struct shape first = {.seq = 100, .bytes = 1000};
    noted(&wire, sends(&wire, CLIENT, 110 * MS, first), LULL_TCP_SENT_AGAIN, 10 * MS, 110 * MS, 1);
    noted(&wire, comes(&wire, SERVER, 111 * MS, first, numbers[0]), LULL_TCP_SENT_AGAIN, 10 * MS,
          110 * MS, 1);
    end(&wire);
}

/* Two packets that were lost are sent again, one right after the other; each was lost. The numbers
 * wrap between them. */
static void test_lost_twice(void)
{
    struct wire wire = start();
    const struct shape one = {.seq = UINT32_MAX - 49, .bytes = 50}, two = {.seq = 0, .bytes = 50};

    sends(&wire, CLIENT, 1 * MS, (struct shape){.seq = UINT32_MAX - 50, .flags = SYN});
    uint32_t first = sends(&wire, CLIENT, 10 * MS, one),
             second = sends(&wire, CLIENT, 12 * MS, two);
    uint32_t again = sends(&wire, CLIENT, 212 * MS, one);
    uint32_t also = sends(&wire, CLIENT, 212 * MS + 1000, two);

    noted(&wire, again, LULL_TCP_SENT_AGAIN, 10 * MS, 212 * MS, 1);
    noted(&wire, also, LULL_TCP_SENT_AGAIN, 12 * MS, 212 * MS + 1000, 1);
    noted(&wire, comes(&wire, SERVER, 213 * MS, one, first), LULL_TCP_SENT_AGAIN, 10 * MS, 212 * MS,
          1);
    noted(&wire, comes(&wire, SERVER, 213 * MS + 1000, two, second), LULL_TCP_SENT_AGAIN, 12 * MS,
          212 * MS + 1000, 1);
    end(&wire);
}

/* A large packet is cut on the wire. Of its pieces the second is lost; then it comes with the third,
 * which was not, in one that is cut again. */
static void test_cut(void)
{
    struct wire wire = start();

    connect_both(&wire);
    uint32_t all = sends(&wire, CLIENT, 10 * MS, (struct shape){.seq = 100, .bytes = 3000});
    plain(&wire, comes(&wire, SERVER, 11 * MS, (struct shape){.seq = 100, .bytes = 1000}, all));
    uint32_t again = sends(&wire, CLIENT, 210 * MS, (struct shape){.seq = 1100, .bytes = 2000});
    noted(&wire, again, LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS, 1);
    noted(&wire, comes(&wire, SERVER, 211 * MS, (struct shape){.seq = 1100, .bytes = 1000}, all),
          LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS, 1);
    noted(&wire, comes(&wire, SERVER, 212 * MS, (struct shape){.seq = 2100, .bytes = 1000}, all),
          LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS, 1);
    /* Its first part was received, and is not among what was sent again. */
    plain(&wire,
          comes(&wire, SERVER, 213 * MS, (struct shape){.seq = 100, .bytes = 1000}, LULL_NONE));
    end(&wire);
}

/* A timer sends something again, on two devices, less than a millisecond after it was sent first. */
static void test_soon(void)
{
    struct wire wire = start();
    struct shape request = {.seq = 100, .bytes = 50, .context = LULL_CAUSE_TIMER};

    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, (struct shape){.seq = 100, .bytes = 50});
    noted(&wire, sends(&wire, CLIENT, 10 * MS + 300000, request), LULL_TCP_SENT_AGAIN, 10 * MS,
          10 * MS + 300000, 1);
    noted(&wire, sends(&wire, CLIENT, 10 * MS + 300500, request), LULL_TCP_SENT_AGAIN, 10 * MS,
          10 * MS + 300000, 1);
    end(&wire);
}

/* The end of the connection is lost: who reads waits for it. */
static void test_lost_end(void)
{
    struct wire wire = start();
    const struct shape fin = {.seq = 100, .flags = ACK | 1};

    connect_both(&wire);
    uint32_t first = sends(&wire, CLIENT, 10 * MS, fin);
    noted(&wire, sends(&wire, CLIENT, 210 * MS, fin), LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS, 1);
    noted(&wire, comes(&wire, SERVER, 211 * MS, fin, first), LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS,
          1);
    end(&wire);
}

/* What is sent again crosses two devices each time: it was sent again twice. So does what opens a
 * window. */
static void test_again_on_devices(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50}, open = {.seq = 500, .flags = ACK};
    struct shape closed = open;

    closed.is_closed = true;
    connect_both(&wire);
    for (int64_t at = 10; at < 700; at = at * 3 + 180) { /* 10, 210, 810 */
        sends(&wire, CLIENT, at * MS, request);
        uint32_t second = sends(&wire, CLIENT, at * MS + 9000, request);
        if (at > 10) {
            noted(&wire, second, LULL_TCP_SENT_AGAIN, 10 * MS, at * MS, 1);
        }
    }
    noted(&wire, sends(&wire, CLIENT, 810 * MS, request), LULL_TCP_SENT_AGAIN, 10 * MS, 810 * MS,
          2);
    comes(&wire, CLIENT, 900 * MS, closed, LULL_NONE);
    comes(&wire, CLIENT, 900 * MS + 9000, closed, LULL_NONE);
    noted(&wire, comes(&wire, CLIENT, 1000 * MS, open, LULL_NONE), LULL_TCP_ZERO_WINDOW, 900 * MS,
          1000 * MS, 0);
    noted(&wire, comes(&wire, CLIENT, 1000 * MS + 9000, open, LULL_NONE), LULL_TCP_ZERO_WINDOW,
          900 * MS, 1000 * MS, 0);
    end(&wire);
}

/* The same ports again: this connection has nothing of the one before. */
static void test_reused(void)
{
    struct wire wire = start();
    struct shape closed = {.seq = 500, .is_closed = true};

    connect_both(&wire);
    comes(&wire, CLIENT, 10 * MS, closed, LULL_NONE);
    sends(&wire, CLIENT, 20 * MS, (struct shape){.seq = 900100, .bytes = 50});
    comes(&wire, CLIENT, 21 * MS, (struct shape){.seq = 500, .is_closed = true}, LULL_NONE);
    connect_both(&wire);
    plain(&wire, comes(&wire, CLIENT, 2000 * MS, (struct shape){.seq = 500}, LULL_NONE));
    end(&wire);

    /* Its start was not recorded, and its numbers are lower. */
    wire = start();
    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, (struct shape){.seq = 90000100, .bytes = 50});
    see(&wire, CLIENT, false, false, 11 * MS, (struct shape){.seq = 500, .ack = 90000150},
        LULL_NONE);
    plain(&wire, sends(&wire, CLIENT, 1000 * MS, (struct shape){.seq = 100, .bytes = 50}));
    plain(&wire, sends(&wire, CLIENT, 1001 * MS, (struct shape){.seq = 150, .bytes = 50}));
    noted(&wire, sends(&wire, CLIENT, 1300 * MS, (struct shape){.seq = 150, .bytes = 50}),
          LULL_TCP_SENT_AGAIN, 1001 * MS, 1300 * MS, 1);
    end(&wire);

    /* What was sent again without need, after it was acknowledged, is of this connection. */
    wire = start();
    const struct shape one = {.seq = 100, .bytes = 50}, two = {.seq = 150, .bytes = 50};
    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, one);
    see(&wire, CLIENT, false, false, 11 * MS, (struct shape){.seq = 500, .ack = 150}, LULL_NONE);
    sends(&wire, CLIENT, 12 * MS, two);
    sends(&wire, CLIENT, 13 * MS, one);
    noted(&wire, sends(&wire, CLIENT, 212 * MS, two), LULL_TCP_SENT_AGAIN, 12 * MS, 212 * MS, 1);
    end(&wire);
}

/* The first packet of a recorded connection that had started before: nothing came back yet. */
static void test_one_way(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50};

    sends(&wire, CLIENT, 10 * MS, request);
    noted(&wire, sends(&wire, CLIENT, 213 * MS, request), LULL_TCP_SENT_AGAIN, 10 * MS, 213 * MS,
          1);
    noted(&wire, comes(&wire, CLIENT, 215 * MS, (struct shape){.seq = 500, .bytes = 70}, LULL_NONE),
          LULL_TCP_SENT_AGAIN, 10 * MS, 213 * MS, 1);
    end(&wire);
}

/* On its way the client's address is translated: the packet itself says what it is. */
static void test_translated(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .bytes = 50};
    struct shape there = request;

    there.is_translated = true;
    connect_both(&wire);
    uint32_t first = sends(&wire, CLIENT, 10 * MS, request);
    uint32_t again = sends(&wire, CLIENT, 210 * MS, request);
    noted(&wire, comes(&wire, CLIENT, 211 * MS, there, again), LULL_TCP_SENT_AGAIN, 10 * MS,
          210 * MS, 1);
    noted(&wire, comes(&wire, CLIENT, 212 * MS, there, first), LULL_TCP_SENT_AGAIN, 10 * MS,
          210 * MS, 1);
    end(&wire);
}

/* Sockets tell the numbers alone. */
static void test_numbers(void)
{
    struct wire wire = start();
    const struct shape request = {.seq = 100, .flags = ACK | PSH, .is_numbers = true};
    struct shape more = request;

    more.seq = 150;
    uint32_t first = sends(&wire, CLIENT, 10 * MS, request);
    uint32_t second = sends(&wire, CLIENT, 11 * MS, more);
    noted(&wire, sends(&wire, CLIENT, 210 * MS, request), LULL_TCP_SENT_AGAIN, 10 * MS, 210 * MS,
          1);
    noted(&wire, comes(&wire, SERVER, 211 * MS, request, first), LULL_TCP_SENT_AGAIN, 10 * MS,
          210 * MS, 1);
    plain(&wire, comes(&wire, SERVER, 212 * MS, more, second));
    end(&wire);
}

static void test_syn(void)
{
    struct wire wire = start();
    const struct shape syn = {.seq = 99, .flags = SYN}, answer = {.seq = 499, .flags = SYN | ACK};

    uint32_t first = sends(&wire, CLIENT, 1 * MS, syn);
    uint32_t again = sends(&wire, CLIENT, 1025 * MS, syn);
    uint32_t twice = sends(&wire, CLIENT, 3041 * MS, syn);
    uint32_t come = comes(&wire, SERVER, 3042 * MS, syn, first);
    uint32_t back = sends(&wire, SERVER, 3042 * MS, answer);
    uint32_t done = comes(&wire, CLIENT, 3043 * MS, answer, back);

    plain(&wire, first);
    noted(&wire, again, LULL_TCP_SYN_AGAIN, 1 * MS, 1025 * MS, 1);
    noted(&wire, twice, LULL_TCP_SYN_AGAIN, 1 * MS, 3041 * MS, 2);
    noted(&wire, come, LULL_TCP_SYN_AGAIN, 1 * MS, 3041 * MS, 2);
    plain(&wire, back);
    noted(&wire, done, LULL_TCP_SYN_AGAIN, 1 * MS, 3041 * MS, 2);
    end(&wire);
}

/* A way of 1.2 s: the SYN was sent again meanwhile, but its answer had left before. Were it not known when, it may be for that. */
static void test_slow_syn(void)
{
    const struct shape syn = {.seq = 99, .flags = SYN}, answer = {.seq = 499, .flags = SYN | ACK};
    const struct shape refusal = {.seq = 0, .flags = 4 | ACK};

    for (unsigned is_matched = 0; is_matched < 2; is_matched++) {
        struct wire wire = start();
        comes(&wire, SERVER, 601 * MS, syn, sends(&wire, CLIENT, 1 * MS, syn));
        uint32_t back = sends(&wire, SERVER, 602 * MS, answer);
        sends(&wire, CLIENT, 1025 * MS, syn);
        uint32_t done = comes(&wire, CLIENT, 1202 * MS, answer, is_matched ? back : LULL_NONE);
        if (is_matched) {
            plain(&wire, done);
        } else {
            noted(&wire, done, LULL_TCP_SYN_AGAIN, 1 * MS, 1025 * MS, 1);
        }
        end(&wire);
    }
    /* It is refused in the end. */
    struct wire wire = start();
    sends(&wire, CLIENT, 1 * MS, syn);
    sends(&wire, CLIENT, 1025 * MS, syn);
    noted(&wire, comes(&wire, CLIENT, 1026 * MS, refusal, LULL_NONE), LULL_TCP_SYN_AGAIN, 1 * MS,
          1025 * MS, 1);
    end(&wire);
}

/* A byte before the first that is not acknowledged asks whether the other end still lives. The same byte is lost where it is
 * not acknowledged. */
static void test_keepalive(void)
{
    struct wire wire = start();
    const struct shape data = {.seq = 100, .bytes = 50}, last = {.seq = 149, .bytes = 1};

    connect_both(&wire);
    sends(&wire, CLIENT, 10 * MS, data);
    noted(&wire, sends(&wire, CLIENT, 300 * MS, last), LULL_TCP_SENT_AGAIN, 10 * MS, 300 * MS, 1);
    see(&wire, CLIENT, false, false, 301 * MS, (struct shape){.seq = 500, .ack = 150}, LULL_NONE);
    plain(&wire, sends(&wire, CLIENT, 7501 * MS, last));
    end(&wire);
}

static void late_ack(struct wire *wire, bool is_held_back, uint32_t *late)
{
    const struct shape half = {.seq = 100, .bytes = 50}, ack = {.seq = 500};
    struct shape timer = ack, rest = {.seq = 150, .bytes = 50};

    connect_both(wire);
    timer.context = LULL_CAUSE_TIMER;
    comes(wire, SERVER, 11 * MS, half, sends(wire, CLIENT, 10 * MS, half));
    *late = sends(wire, SERVER, 50 * MS, timer);
    plain(wire, comes(wire, CLIENT, 51 * MS, ack, *late));
    rest.context = is_held_back ? LULL_CAUSE_NETWORK : LULL_CAUSE_NONE;
    plain(wire, sends(wire, CLIENT, 51 * MS + 20000, rest));
}

static void test_delayed_ack(void)
{
    uint32_t late;
    struct wire wire = start();

    late_ack(&wire, true, &late);
    noted(&wire, late, LULL_TCP_DELAYED_ACK, 11 * MS, 50 * MS, 0);
    g_assert_true(lull_tcp_waits_find(wire.waits, late)->is_nagle);
    end(&wire);

    /* A task sent more by itself: nothing was held back. */
    wire = start();
    late_ack(&wire, false, &late);
    noted(&wire, late, LULL_TCP_DELAYED_ACK, 11 * MS, 50 * MS, 0);
    g_assert_false(lull_tcp_waits_find(wire.waits, late)->is_nagle);
    end(&wire);
}

/* A request in two parts, of 300 and 1000 bytes, of which the second leaves with a delayed acknowledgement. The server's windows are
 * those of Linux, 502 with a shift of 7: whether there was room for 1300 bytes shows the SYN's, which is not shifted, or what was
 * under way at once before. */
static void test_room(void)
{
    static const struct {
        bool has_syn;
        uint32_t before; /* bytes under way at once before */
        uint32_t syn_window;
        bool is_nagle;
    } cases[] = {
        {true, 0, 64240, true},
        {true, 0, 1000, false},
        {true, 64000, 64240, true},
        {false, 0, 0, false},
        {false, 9000, 0, true},
        {false, 700, 0, false}, /* a shift of 1 is enough for them, which makes 1004 */
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct wire wire = start();
        uint32_t seq = 100, late;
        if (cases[i].has_syn) {
            const struct shape answer = {
                .seq = 499, .ack = 100, .flags = SYN | ACK, .window = cases[i].syn_window};
            comes(&wire, SERVER, 2 * MS, (struct shape){.seq = 99, .flags = SYN},
                  sends(&wire, CLIENT, 1 * MS, (struct shape){.seq = 99, .flags = SYN}));
            comes(&wire, CLIENT, 3 * MS, answer, sends(&wire, SERVER, 2 * MS, answer));
        }
        if (!cases[i].has_syn) { /* both ways are known, and the first window */
            const struct shape ack = {.seq = 500, .ack = seq, .window = 502};
            sends(&wire, CLIENT, 3 * MS, (struct shape){.seq = seq, .ack = 500});
            comes(&wire, CLIENT, 4 * MS, ack, sends(&wire, SERVER, 4 * MS, ack));
        }
        if (cases[i].before) {
            const struct shape bulk = {.seq = seq, .bytes = cases[i].before, .ack = 500};
            const struct shape half = {
                .seq = 500, .ack = seq += cases[i].before / 2, .window = 502};
            comes(&wire, SERVER, 6 * MS, bulk, sends(&wire, CLIENT, 5 * MS, bulk));
            comes(&wire, CLIENT, 7 * MS, half, sends(&wire, SERVER, 7 * MS, half));
            seq += cases[i].before / 2;
            const struct shape all = {.seq = 500, .ack = seq, .window = 502};
            comes(&wire, CLIENT, 8 * MS, all, sends(&wire, SERVER, 8 * MS, all));
        }
        const struct shape first = {.seq = seq, .bytes = 300, .ack = 500};
        const struct shape ack = {
            .seq = 500, .ack = seq + 300, .window = 502, .context = LULL_CAUSE_TIMER};
        comes(&wire, SERVER, 101 * MS, first, sends(&wire, CLIENT, 100 * MS, first));
        late = sends(&wire, SERVER, 141 * MS, ack);
        comes(&wire, CLIENT, 142 * MS, ack, late);
        sends(&wire, CLIENT, 142 * MS + 20000,
              (struct shape){
                  .seq = seq + 300, .bytes = 1000, .ack = 500, .context = LULL_CAUSE_NETWORK});
        noted(&wire, late, LULL_TCP_DELAYED_ACK, 101 * MS, 141 * MS, 0);
        g_assert_cmpint(lull_tcp_waits_find(wire.waits, late)->is_nagle, ==, cases[i].is_nagle);
        end(&wire);
    }
}

/* Of the same only the client was recorded: its handshake took 2 ms, its acknowledgement 42. An answer
 * after a slow way of 40 ms is plain. */
static void test_one_end(void)
{
    for (int64_t way = 2; way <= 40; way += 38) {
        struct wire wire = start();
        const struct shape half = {.seq = 100, .bytes = 50}, ack = {.seq = 500, .ack = 150};
        struct shape rest = {.seq = 150, .bytes = 50, .context = LULL_CAUSE_NETWORK};

        sends(&wire, CLIENT, 1 * MS, (struct shape){.seq = 99, .flags = SYN});
        comes(&wire, CLIENT, (1 + way) * MS, (struct shape){.seq = 499, .flags = SYN | ACK},
              LULL_NONE);
        sends(&wire, CLIENT, 100 * MS, half);
        plain(&wire, comes(&wire, CLIENT, 142 * MS, ack, LULL_NONE));
        plain(&wire, sends(&wire, CLIENT, 142 * MS + 20000, rest));
        uint32_t answer = comes(&wire, CLIENT, 150 * MS,
                                (struct shape){.seq = 500, .bytes = 70, .ack = 200}, LULL_NONE);
        if (way == 2) {
            noted(&wire, answer, LULL_TCP_DELAYED_ACK, 101 * MS, 141 * MS, 0);
            g_assert_true(lull_tcp_waits_find(wire.waits, answer)->is_nagle);
        } else {
            plain(&wire, answer);
        }
        plain(&wire,
              comes(&wire, CLIENT, 151 * MS, (struct shape){.seq = 570, .bytes = 70}, LULL_NONE));
        end(&wire);
    }
}

/* An acknowledgement at once, or by a task that reads, is not delayed. */
static void test_prompt_ack(void)
{
    struct wire wire = start();
    const struct shape half = {.seq = 100, .bytes = 50};

    connect_both(&wire);
    comes(&wire, SERVER, 11 * MS, half, sends(&wire, CLIENT, 10 * MS, half));
    plain(&wire, sends(&wire, SERVER, 70 * MS, (struct shape){.seq = 500, .ack = 150}));
    plain(&wire, sends(&wire, SERVER, 170 * MS,
                       (struct shape){.seq = 500, .ack = 150, .context = LULL_CAUSE_TIMER}));
    end(&wire);
}

/* Three packets come before the first two are acknowledged; the third is later. Then there is no room for one, which comes
 * again. */
static void test_partial_ack(void)
{
    struct wire wire = start();
    const struct shape timer = {.seq = 500, .ack = 250, .context = LULL_CAUSE_TIMER};
    struct shape again = timer;

    connect_both(&wire);
    for (unsigned i = 0; i < 3; i++) {
        const struct shape data = {.seq = 100 + 50 * i, .bytes = 50};
        comes(&wire, SERVER, (11 + i) * MS, data, sends(&wire, CLIENT, (10 + i) * MS, data));
    }
    plain(&wire, sends(&wire, SERVER, 14 * MS, (struct shape){.seq = 500, .ack = 200}));
    noted(&wire, sends(&wire, SERVER, 53 * MS, timer), LULL_TCP_DELAYED_ACK, 13 * MS, 53 * MS, 0);

    comes(&wire, SERVER, 61 * MS, (struct shape){.seq = 250, .bytes = 50}, LULL_NONE);
    plain(&wire, sends(&wire, SERVER, 61 * MS + 1, (struct shape){.seq = 500, .ack = 250}));
    comes(&wire, SERVER, 261 * MS, (struct shape){.seq = 250, .bytes = 50}, LULL_NONE);
    again.ack = 300;
    noted(&wire, sends(&wire, SERVER, 301 * MS, again), LULL_TCP_DELAYED_ACK, 261 * MS, 301 * MS,
          0);
    end(&wire);
}

static void test_window(void)
{
    struct wire wire = start();
    const struct shape bulk = {.seq = 100, .bytes = 60000}, ack = {.seq = 500};
    struct shape closed = ack;

    closed.is_closed = true;
    connect_both(&wire);
    comes(&wire, SERVER, 11 * MS, bulk, sends(&wire, CLIENT, 10 * MS, bulk));
    plain(&wire, comes(&wire, CLIENT, 13 * MS, closed, sends(&wire, SERVER, 12 * MS, closed)));
    plain(&wire, comes(&wire, CLIENT, 113 * MS, closed, sends(&wire, SERVER, 112 * MS, closed)));
    noted(&wire, comes(&wire, CLIENT, 313 * MS, ack, sends(&wire, SERVER, 312 * MS, ack)),
          LULL_TCP_ZERO_WINDOW, 13 * MS, 313 * MS, 0);
    plain(&wire, comes(&wire, CLIENT, 413 * MS, ack, sends(&wire, SERVER, 412 * MS, ack)));
    end(&wire);
}

static void test_words(void)
{
    const struct lull_tcp_wait_note note = {
        .first_ns = 0, .last_ns = 203 * MS, .times = 2, .kind = LULL_TCP_SENT_AGAIN};
    g_autoptr(GString) out = g_string_new(NULL);

    lull_tcp_wait_append(&note, out);
    g_assert_cmpstr(out->str, ==, "sent again 203.0 ms after it was sent first (2 times)");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/tcp-waits/plain", test_plain);
    g_test_add_func("/clock/tcp-waits/lost", test_lost);
    g_test_add_func("/clock/tcp-waits/late", test_late);
    g_test_add_func("/clock/tcp-waits/lost-request", test_lost_request);
    g_test_add_func("/clock/tcp-waits/devices", test_devices);
    g_test_add_func("/clock/tcp-waits/long-burst", test_long_burst);
    g_test_add_func("/clock/tcp-waits/lost-twice", test_lost_twice);
    g_test_add_func("/clock/tcp-waits/cut", test_cut);
    g_test_add_func("/clock/tcp-waits/soon", test_soon);
    g_test_add_func("/clock/tcp-waits/lost-end", test_lost_end);
    g_test_add_func("/clock/tcp-waits/again-on-devices", test_again_on_devices);
    g_test_add_func("/clock/tcp-waits/reused", test_reused);
    g_test_add_func("/clock/tcp-waits/one-way", test_one_way);
    g_test_add_func("/clock/tcp-waits/translated", test_translated);
    g_test_add_func("/clock/tcp-waits/numbers", test_numbers);
    g_test_add_func("/clock/tcp-waits/syn", test_syn);
    g_test_add_func("/clock/tcp-waits/slow-syn", test_slow_syn);
    g_test_add_func("/clock/tcp-waits/keepalive", test_keepalive);
    g_test_add_func("/clock/tcp-waits/delayed-ack", test_delayed_ack);
    g_test_add_func("/clock/tcp-waits/room", test_room);
    g_test_add_func("/clock/tcp-waits/one-end", test_one_end);
    g_test_add_func("/clock/tcp-waits/prompt-ack", test_prompt_ack);
    g_test_add_func("/clock/tcp-waits/partial-ack", test_partial_ack);
    g_test_add_func("/clock/tcp-waits/window", test_window);
    g_test_add_func("/clock/tcp-waits/words", test_words);
    return g_test_run();
}
