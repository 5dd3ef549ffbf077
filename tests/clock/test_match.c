/* SPDX-License-Identifier: MIT */
/* Which packets belong together: the event-matching fixture of Trace Compass (specification, 7.4),
 * and what offload, retransmission, wrapping numbers, several devices and other protocols make of
 * it. */
#include "clock/match.h"
#include "kernel/flow.h"
#include "kernel/states.h"

#include <glib.h>

enum { CLIENT, SERVER, ROUTER };
enum { FIN = 1, SYN = 2, ACK = 16 };

struct feeder {
    struct lull_matcher *matcher;
    struct lull_flows *flows;
    uint32_t id;
    struct lull_match match; /* of the last packet */
};

static struct lull_net_packet packet(uint32_t host, bool is_send, int64_t time_ns)
{
    struct lull_net_packet p = {
        .time_ns = time_ns,
        .host = host,
        .task = LULL_NONE,
        .is_send = is_send,
        .ip_version = 4,
        .protocol = 6,
        .source = {10, 0, 0, 1},
        .destination = {10, 0, 0, 2},
        .source_port = 40000,
        .destination_port = 80,
        .tcp_flags = ACK,
    };

    return p;
}

static struct lull_net_packet segment(uint32_t host, bool is_send, int64_t time_ns, uint32_t seq,
                                      uint32_t payload)
{
    struct lull_net_packet p = packet(host, is_send, time_ns);

    p.seq = seq;
    p.payload = payload;
    return p;
}

static struct lull_net_packet back(struct lull_net_packet p)
{
    p.source[3] = 2;
    p.destination[3] = 1;
    p.source_port = 80;
    p.destination_port = 40000;
    return p;
}

static bool feed(struct feeder *feeder, struct lull_net_packet p)
{
    p.flow = lull_flows_number(feeder->flows, &p);
    return lull_matcher_feed(feeder->matcher, &p, feeder->id++, &feeder->match);
}

/* Feeds a packet that must meet the one fed under `other`. */
static void meets(struct feeder *feeder, struct lull_net_packet p, uint32_t other)
{
    uint32_t id = feeder->id;

    g_assert_true(feed(feeder, p));
    g_assert_cmpuint(feeder->match.send, ==, p.is_send ? id : other);
    g_assert_cmpuint(feeder->match.receive, ==, p.is_send ? other : id);
    if (p.is_send) {
        g_assert_cmpint(feeder->match.send_ns, ==, p.time_ns);
        g_assert_cmpuint(feeder->match.send_host, ==, p.host);
    } else {
        g_assert_cmpint(feeder->match.receive_ns, ==, p.time_ns);
        g_assert_cmpuint(feeder->match.receive_host, ==, p.host);
    }
}

static void waits(struct feeder *feeder, struct lull_net_packet p)
{
    g_assert_false(feed(feeder, p));
}

static struct feeder start(bool ordered)
{
    return (struct feeder){.matcher = lull_matcher_new(ordered), .flows = lull_flows_new()};
}

static void end(struct feeder *feeder)
{
    lull_matcher_free(feeder->matcher);
    lull_flows_free(feeder->flows);
}

/* client: 15 sent, 20 received, 25 received, 30 sent; server: 50 received, 70 sent another; client:
 * 100 received, 105 and 110 sent, 115 received. Matches: 15-20, 30-50, 70-100, 105-115. */
static void test_fixture(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));

    waits(&f, segment(CLIENT, true, 15, 1000, 1));
    meets(&f, segment(CLIENT, false, 20, 1000, 1), 0);
    waits(&f, segment(CLIENT, false, 25, 1000, 1));
    waits(&f, segment(CLIENT, true, 30, 1000, 1));
    meets(&f, segment(SERVER, false, 50, 1000, 1), 3);
    waits(&f, back(segment(SERVER, true, 70, 500, 1)));
    meets(&f, back(segment(CLIENT, false, 100, 500, 1)), 5);
    waits(&f, back(segment(CLIENT, true, 105, 500, 1)));
    waits(&f, back(segment(CLIENT, true, 110, 500, 1)));
    meets(&f, back(segment(CLIENT, false, 115, 500, 1)), 7);
    end(&f);
}

/* Equal numbers in another connection, or in the other direction, are something else. */
static void test_flows(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet other = segment(SERVER, false, 2, 100, 10), other_host = other;

    waits(&f, segment(CLIENT, true, 1, 100, 10));
    other.source_port++;
    waits(&f, other);
    other_host.source[3] = 9;
    waits(&f, other_host);
    waits(&f, back(segment(SERVER, false, 3, 100, 10)));
    meets(&f, segment(SERVER, false, 4, 100, 10), 0);
    end(&f);
}

/* One large send, received in three pieces across the wrap of sequence numbers. */
static void test_segmentation(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    uint32_t seq = UINT32_MAX - 1999;

    waits(&f, segment(CLIENT, true, 1, seq, 3500));
    meets(&f, segment(SERVER, false, 2, seq, 1448), 0);
    meets(&f, segment(SERVER, false, 3, seq + 1448, 1448), 0);
    meets(&f, segment(SERVER, false, 4, seq + 2896, 604), 0);
    waits(&f, segment(SERVER, false, 5, seq + 2896, 604));
    /* the next byte is not part of it */
    waits(&f, segment(SERVER, false, 6, seq + 3500, 1));
    end(&f);
}

/* The bytes of a short send end where they end, whatever longer ones wait. */
static void test_end_of_send(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));

    waits(&f, segment(CLIENT, true, 1, 1000, 100));
    waits(&f, segment(CLIENT, true, 2, 2000, 500));
    waits(&f, segment(SERVER, false, 3, 1100, 1));
    meets(&f, segment(SERVER, false, 4, 2499, 1), 1);
    end(&f);
}

/* What was received of a send is not received again, while the rest of it waits. */
static void test_received_twice(void)
{
    struct feeder f = start(true);

    waits(&f, segment(CLIENT, true, 1, 1000, 300));
    meets(&f, segment(SERVER, false, 2, 1000, 100), 0);
    waits(&f, segment(SERVER, false, 3, 1000, 100));
    meets(&f, segment(SERVER, false, 4, 1100, 200), 0);
    end(&f);
}

/* Three sends, received as one: the receive is that of the last byte, and nothing is left over. */
static void test_receive_offload(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    uint32_t seq = UINT32_MAX - 150;

    waits(&f, segment(CLIENT, true, 1, seq, 100));
    waits(&f, segment(CLIENT, true, 2, seq + 100, 100));
    waits(&f, segment(CLIENT, true, 3, seq + 200, 100));
    meets(&f, segment(SERVER, false, 4, seq, 300), 2);
    waits(&f, segment(SERVER, false, 5, seq, 100));
    waits(&f, segment(SERVER, false, 6, seq + 100, 200));
    end(&f);
}

/* Sent again after a loss, cut differently: the first send of the bytes counts. */
static void test_retransmission(void)
{
    struct feeder f = start(true);

    waits(&f, segment(CLIENT, true, 1, 0, 100));
    waits(&f, segment(CLIENT, true, 2, 100, 100));
    waits(&f, segment(CLIENT, true, 300, 0, 150));
    waits(&f, segment(CLIENT, true, 301, 150, 50));
    meets(&f, segment(SERVER, false, 302, 0, 150), 1);
    meets(&f, segment(SERVER, false, 303, 150, 50), 1);
    waits(&f, segment(CLIENT, true, 400, 200, 10));
    meets(&f, segment(SERVER, false, 401, 200, 10), 6);
    end(&f);
}

/* While clocks are unknown, nothing that was sent or received twice may be taken for another. */
static void test_retransmission_unordered(void)
{
    struct feeder f = start(false);

    waits(&f, segment(SERVER, false, 5, 0, 100));
    waits(&f, segment(SERVER, false, 6, 0, 100));
    meets(&f, segment(CLIENT, true, 1000, 0, 100), 0);
    waits(&f, segment(CLIENT, true, 1300, 0, 100));
    waits(&f, segment(SERVER, false, 7, 0, 100));
    waits(&f, segment(CLIENT, true, 1301, 100, 100));
    meets(&f, segment(SERVER, false, 8, 100, 100), 5);
    /* a keep-alive repeats what was acknowledged long ago; the first after the begin of a trace
     * says nothing */
    struct feeder g = start(false);

    for (int i = 0; i < 3; i++) {
        waits(&g, segment(SERVER, false, 10 + i, 99, 0));
    }
    for (int i = 0; i < 3; i++) {
        waits(&g, segment(CLIENT, true, 1000 + i, 99, 0));
    }
    end(&f);
    end(&g);
}

/* Receiver's clock behind: all receives come first, the large send meets all its pieces. */
static void test_receive_first(void)
{
    struct feeder f = start(false);
    struct lull_match more;

    waits(&f, segment(SERVER, false, 2, 0, 100));
    waits(&f, segment(SERVER, false, 3, 100, 100));
    waits(&f, segment(SERVER, false, 4, 200, 100));
    meets(&f, segment(CLIENT, true, 1000, 0, 250), 0);
    g_assert_true(lull_matcher_more(f.matcher, &more));
    g_assert_cmpuint(more.send, ==, 3);
    g_assert_cmpuint(more.receive, ==, 1);
    g_assert_false(lull_matcher_more(f.matcher, &more));
    meets(&f, segment(CLIENT, true, 1001, 250, 50), 2);
    end(&f);
}

/* SYN, SYN-ACK, acknowledgements and FIN have no payload. */
static void test_handshake(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet syn = segment(CLIENT, true, 1, 999, 0), syn_ack, fin, ack;

    syn.tcp_flags = SYN;
    waits(&f, syn);
    syn.host = SERVER;
    syn.is_send = false;
    meets(&f, syn, 0);
    syn_ack = back(segment(SERVER, true, 3, 77, 0));
    syn_ack.ack = 1000;
    syn_ack.tcp_flags = SYN | ACK;
    waits(&f, syn_ack);
    syn_ack.host = CLIENT;
    syn_ack.is_send = false;
    meets(&f, syn_ack, 2);
    ack = segment(CLIENT, true, 5, 1000, 0);
    ack.ack = 78;
    waits(&f, ack);
    ack.host = SERVER;
    ack.is_send = false;
    ack.ack = 79; /* not this one */
    waits(&f, ack);
    ack.ack = 78;
    if (GPOINTER_TO_INT(data)) {
        meets(&f, ack, 4);
    } else {
        waits(&f, ack); /* acknowledges less than one received before: it was overtaken */
    }
    fin = segment(CLIENT, true, 7, 1000, 0);
    fin.ack = 79;
    fin.tcp_flags = FIN | ACK;
    waits(&f, fin);
    fin.host = SERVER;
    fin.is_send = false;
    meets(&f, fin, 7);
    end(&f);
}

static struct lull_net_packet datagram(uint32_t host, bool is_send, int64_t time_ns, uint16_t ip_id,
                                       uint32_t payload)
{
    struct lull_net_packet p = packet(host, is_send, time_ns);

    p.protocol = 17;
    p.ip_id = ip_id;
    p.payload = payload;
    return p;
}

static void test_udp(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));

    waits(&f, datagram(CLIENT, true, 1, 7, 50));
    waits(&f, datagram(CLIENT, true, 2, 8, 50));
    waits(&f, datagram(SERVER, false, 3, 9, 50));
    waits(&f, datagram(SERVER, false, 3, 8, 51));
    meets(&f, datagram(SERVER, false, 4, 8, 50), 1);
    meets(&f, datagram(SERVER, false, 5, 7, 50), 0);
    waits(&f, datagram(SERVER, false, 6, 7, 50));
    end(&f);
}

/* The same key twice. Not ordered: neither. Ordered, the one before may be lost: the last one that has been under way for as
 * long as it takes, which a packet that is like no other shows. */
static void test_udp_repeated(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));

    waits(&f, datagram(CLIENT, true, 1, 7, 50));
    waits(&f, datagram(CLIENT, true, 2, 7, 50));
    if (GPOINTER_TO_INT(data)) {
        meets(&f, datagram(SERVER, false, 5, 7, 50), 1);
        meets(&f, datagram(SERVER, false, 6, 7, 50), 0);
        waits(&f, datagram(CLIENT, true, 10, 6, 50));
        meets(&f, datagram(SERVER, false, 15, 6, 50), 4);
        waits(&f, datagram(CLIENT, true, 20, 7, 50));
        waits(&f, datagram(CLIENT, true, 24, 7, 50));
        meets(&f, datagram(SERVER, false, 25, 7, 50), 6);
        waits(&f, datagram(CLIENT, true, 28, 7, 50));
        meets(&f, datagram(SERVER, false, 33, 7, 50), 9); /* that between was lost */
        waits(&f, datagram(CLIENT, true, 40, 7, 50));
        meets(&f, datagram(SERVER, false, 44, 7, 50), 11); /* faster than any before */
    } else {
        waits(&f, datagram(SERVER, false, 5, 7, 50));
    }
    end(&f);
}

static void test_icmp(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet p = packet(CLIENT, true, 1);

    p.protocol = 1;
    p.icmp_rest = 8u << 24 ^ 0x00010002;
    waits(&f, p);
    p.icmp_rest++;
    waits(&f, p);
    p.host = SERVER;
    p.is_send = false;
    meets(&f, p, 1);
    p.icmp_rest--;
    meets(&f, p, 0);
    end(&f);
}

/* One buffer on one host, without headers: from one end of a veth pair to the other, over a bridge,
 * and a network card that receives into a buffer that it has sent. */
static void test_virtual_devices(gconstpointer data)
{
    enum { VETH_A = 11, VETH_B, VETH_C, VETH_D, CARD };
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet p = {
        .time_ns = 1000, .is_send = true, .skb = 0x1000, .device = VETH_A, .length = 80};

    waits(&f, p); /* 0 */
    p.is_send = false;
    p.time_ns += 2600;
    p.device = VETH_B;
    p.length = 66; /* the Ethernet header is gone */
    meets(&f, p, 0);
    waits(&f, p); /* received once */
    /* the bridge sends the same buffer on */
    p.is_send = true;
    p.device = VETH_C;
    p.length = 80;
    waits(&f, p); /* 3 */
    p.is_send = false;
    p.device = VETH_D;
    p.length = 66;
    meets(&f, p, 3);
    /* a card frees what it has sent, and soon receives into the same memory */
    p.is_send = true;
    p.device = CARD;
    p.length = 80;
    waits(&f, p); /* 5 */
    p.is_send = false;
    p.length = 66;
    waits(&f, p);
    p.device = VETH_B;
    p.length = 65; /* another packet */
    waits(&f, p);
    p.length = 66;
    p.time_ns += 200000000; /* long after */
    waits(&f, p);
    p.device = 0; /* not recorded */
    p.time_ns -= 200000000;
    waits(&f, p);
    p.device = VETH_B;
    p.host = SERVER;
    waits(&f, p);
    p.host = CLIENT;
    meets(&f, p, 5);
    end(&f);
}

/* One buffer on one host: loopback, whatever is in it. */
static void test_buffer(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet p = {.time_ns = 1, .is_send = true, .is_loopback = true, .skb = 0x1000};
    struct lull_net_packet udp = datagram(CLIENT, true, 5, 0, 10);

    waits(&f, p);
    p.is_send = false;
    p.host = SERVER;
    waits(&f, p); /* another host's memory */
    p.host = CLIENT;
    p.is_loopback = false;
    waits(&f, p);
    p.is_loopback = true;
    meets(&f, p, 0);
    waits(&f, p);
    /* the second of two equal ones */
    udp.skb = 0x2000;
    waits(&f, udp);
    udp.skb = 0x3000;
    waits(&f, udp);
    udp.is_send = false;
    meets(&f, udp, 6);
    udp.skb = 0x2000;
    meets(&f, udp, 5);
    /* the buffer was freed and holds something else */
    udp.skb = 0x4000;
    udp.is_send = true;
    udp.ip_id = 1;
    waits(&f, udp);
    udp.is_send = false;
    udp.ip_id = 2;
    waits(&f, udp);
    end(&f);
}

/* Received in its own buffer on its own host, a packet is not received elsewhere too. */
static void test_buffer_takes(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet p = segment(CLIENT, true, 1, 1000, 100);

    p.skb = 0x1000;
    waits(&f, p);
    p.is_send = false;
    p.time_ns = 2;
    meets(&f, p, 0);
    waits(&f, segment(SERVER, false, 3, 1000, 100));
    end(&f);
}

/* A router on the way: its own receive is from the client, the server's from the router. */
static void test_forwarding(void)
{
    struct feeder f = start(true);

    waits(&f, segment(CLIENT, true, 1, 0, 10));
    meets(&f, segment(ROUTER, false, 2, 0, 10), 0);
    waits(&f, segment(ROUTER, true, 3, 0, 10));
    meets(&f, segment(SERVER, false, 4, 0, 10), 2);
    /* through a virtual device first: the same buffer, queued twice, is one packet */
    struct lull_net_packet p = segment(CLIENT, true, 5, 10, 10);

    p.skb = 0x1000;
    waits(&f, p);
    waits(&f, p);
    meets(&f, segment(ROUTER, false, 7, 10, 10), 4);
    waits(&f, segment(ROUTER, true, 8, 10, 10));
    meets(&f, segment(SERVER, false, 9, 10, 10), 7);
    end(&f);
}

/* loopback_xmit() of Linux has the very buffer received that was sent. What was lost there is not what comes in another one. */
static void test_loopback(void)
{
    struct feeder f = start(true);
    struct lull_net_packet out = segment(CLIENT, true, 1, 0, 10),
                           in = segment(CLIENT, false, 3, 0, 10);

    out.is_loopback = in.is_loopback = true;
    out.skb = 0x1000;
    in.skb = 0x2000;
    waits(&f, out);
    waits(&f, in);
    in.skb = 0x1000;
    meets(&f, in, 0);
    waits(&f, in);
    /* Where the address was not recorded, the bytes say. */
    out = segment(CLIENT, true, 4, 10, 10);
    in = segment(CLIENT, false, 5, 10, 10);
    out.is_loopback = in.is_loopback = true;
    waits(&f, out);
    meets(&f, in, 4);
    end(&f);
}

static struct lull_net_packet in_buffer(struct lull_net_packet p, uint64_t skb, uint32_t device,
                                        uint16_t ip_id)
{
    p.skb = skb;
    p.device = device;
    p.ip_id = ip_id;
    p.length = 52 + p.payload + (p.is_send ? 14 : 0);
    return p;
}

/* As Linux 6.18 was seen to do it: from a veth pair over a router that translates addresses and a bridge to another pair, and back.
 * Ids are numbered as they are fed. */
static void test_passed_on(gconstpointer data)
{
    enum { CLIENTS = 1, ROUTERS, BRIDGE, PORT, SERVERS };
    struct feeder f = start(GPOINTER_TO_INT(data));
    struct lull_net_packet out = segment(CLIENT, true, 1, 1000, 300),
                           in = segment(CLIENT, false, 2, 1000, 300), translated = out;

    translated.source[3] = 9;
    waits(&f, in_buffer(out, 0x1000, CLIENTS, 5));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, LULL_NONE);
    meets(&f, in_buffer(in, 0x1000, ROUTERS, 5), 0);
    waits(&f, in_buffer(translated, 0x1000, BRIDGE, 5));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, 1);
    waits(&f, in_buffer(translated, 0x1000, PORT, 5));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, 1);
    translated.is_send = false;
    meets(&f, in_buffer(translated, 0x1000, SERVERS, 5), 3);
    /* What the server acknowledges takes the buffer over, which is another packet. */
    struct lull_net_packet ack = back(segment(CLIENT, true, 6, 500, 0));
    ack.ack = 1300;
    ack.destination[3] = 9;
    waits(&f, in_buffer(ack, 0x1000, SERVERS, 70));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, LULL_NONE);
    ack.is_send = false;
    meets(&f, in_buffer(ack, 0x1000, PORT, 70), 5);
    /* It comes by the bridge once more. Nobody has sent it twice, also not the like of it that was lost before. */
    waits(&f, in_buffer(ack, 0x1000, BRIDGE, 70));
    ack.is_send = true;
    ack.destination[3] = 1;
    waits(&f, in_buffer(ack, 0x1000, ROUTERS, 70));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, 6);
    /* The same acknowledgement again, in the same buffer: the IP id says that it is another. */
    ack.is_send = false;
    meets(&f, in_buffer(ack, 0x1000, CLIENTS, 70), 8);
    ack.is_send = true;
    ack.destination[3] = 9;
    waits(&f, in_buffer(ack, 0x1000, SERVERS, 71));
    g_assert_cmpuint(lull_matcher_passed_on(f.matcher), ==, LULL_NONE);
    end(&f);
}

/* What was lost is sent again in the buffer that is free by then, and comes to a bridge: once. */
static void test_bridged_again(void)
{
    struct feeder f = start(true);
    struct lull_net_packet out = segment(CLIENT, true, 1, 1000, 300),
                           in = segment(CLIENT, false, 2, 1000, 300);

    waits(&f, in_buffer(out, 0x1000, 1, 5));
    waits(&f, in_buffer(out, 0x1000, 1, 6));
    meets(&f, in_buffer(in, 0x1000, 2, 6), 1);
    waits(&f, in_buffer(in, 0x1000, 3, 6));
    end(&f);
}

/* Not ordered, two routers whose clocks are swapped: never may the second one's packet count as
 * sent to the first. */
static void test_forwarding_unordered(void)
{
    enum { ROUTER2 = 3 };
    struct feeder f = start(false);

    for (uint32_t i = 0; i < 5; i++) {
        struct lull_net_packet p = segment(ROUTER2, false, 10 + i, i * 10, 10);

        feed(&f, p);
        p.is_send = true;
        if (feed(&f, p)) {
            g_assert_cmpuint(f.match.receive_host, ==, SERVER);
        }
    }
    for (uint32_t i = 0; i < 5; i++) {
        struct lull_net_packet p = segment(ROUTER, false, 1000 + i, i * 10, 10);

        if (feed(&f, p)) {
            g_assert_cmpuint(f.match.send_host, ==, CLIENT);
        }
        p.is_send = true;
        if (feed(&f, p)) {
            g_assert_cmpuint(f.match.receive_host, !=, CLIENT);
        }
    }
    end(&f);
    /* And not swapped: what waits to be sent to the first is not from the second. */
    f = start(false);
    for (uint32_t host = ROUTER; host <= ROUTER2; host++) {
        struct lull_net_packet p = segment(host, false, host, 0, 10);

        feed(&f, p);
        p.is_send = true;
        if (feed(&f, p)) {
            g_assert_cmpuint(f.match.receive_host, !=, ROUTER);
        }
    }
    end(&f);
}

/* Bytes that two hosts have received were sent to one of them. */
static void test_received_by_two(void)
{
    struct feeder f = start(false);
    struct lull_match more;

    waits(&f, segment(SERVER, false, 2, 0, 100));
    waits(&f, segment(ROUTER, false, 3, 0, 100));
    meets(&f, segment(CLIENT, true, 1000, 0, 100), 0);
    g_assert_false(lull_matcher_more(f.matcher, &more));
    end(&f);
}

/* Old sends are forgotten: an hour of one-sided capture does not make later receives slow or wrong.
 */
static void test_one_sided(gconstpointer data)
{
    struct feeder f = start(GPOINTER_TO_INT(data));
    int64_t t = 0;
    uint32_t seq = 0;

    for (unsigned i = 0; i < 200000; i++, seq += 1448, t += 20000000) {
        struct lull_net_packet p = segment(CLIENT, true, t, seq, 1448);

        p.skb = (i + 1) * 256;
        waits(&f, p);
    }
    for (unsigned i = 0; i < 200000; i++, t += 1000) { /* many connections */
        struct lull_net_packet p = segment(CLIENT, true, t, 5, 10);

        p.source_port = (uint16_t)i;
        p.source[2] = (uint8_t)(i >> 16);
        waits(&f, p);
    }
    uint32_t id = f.id;

    waits(&f, segment(CLIENT, true, t, seq, 1448));
    meets(&f, segment(SERVER, false, t + 1, seq, 1448), id);
    if (GPOINTER_TO_INT(data)) { /* sent an hour ago */
        waits(&f, segment(SERVER, false, t + 2, 0, 1448));
    }
    end(&f);
}

/* What LTTng's add-on records: no addresses, no payload; each end of a connection on its own host. */
static struct lull_net_packet numbers(uint32_t host, bool is_send, int64_t time_ns, uint32_t seq,
                                      uint32_t ack)
{
    return (struct lull_net_packet){.time_ns = time_ns,
                                    .host = host,
                                    .task = LULL_NONE,
                                    .is_send = is_send,
                                    .has_numbers = true,
                                    .protocol = 6,
                                    .tcp_flags = ACK,
                                    .seq = seq,
                                    .ack = ack};
}

static void test_numbers(gconstpointer ordered)
{
    struct feeder f = start(ordered);

    /* Two connections at once, far apart in numbers, one of them about to wrap. */
    waits(&f, numbers(CLIENT, true, 10, 4294967290, 7));
    waits(&f, numbers(CLIENT, true, 11, 2000000000, 9));
    meets(&f, numbers(SERVER, false, 20, 2000000000, 9), 1);
    meets(&f, numbers(SERVER, false, 21, 4294967290, 7), 0);
    waits(&f, numbers(SERVER, true, 30, 7, 4));
    /* Another acknowledgement is another packet, and so are other flags. */
    waits(&f, numbers(CLIENT, false, 40, 7, 5));
    struct lull_net_packet last = numbers(CLIENT, false, 41, 7, 4);
    last.tcp_flags |= FIN;
    waits(&f, last);
    meets(&f, numbers(CLIENT, false, 42, 7, 4), 4);
    end(&f);
}

static void test_numbers_twice(void)
{
    /* Not ordered: which of two equal packets arrived cannot be known. */
    struct feeder f = start(GINT_TO_POINTER(0));

    waits(&f, numbers(CLIENT, true, 10, 100, 7));
    waits(&f, numbers(CLIENT, true, 210, 100, 7));
    waits(&f, numbers(SERVER, false, 220, 100, 7));
    end(&f);
}

static void add(const char *name, void (*test)(gconstpointer))
{
    char *path = g_strdup_printf("/clock/match/%s/ordered", name);

    g_test_add_data_func(path, GINT_TO_POINTER(1), test);
    g_free(path);
    path = g_strdup_printf("/clock/match/%s/unordered", name);
    g_test_add_data_func(path, GINT_TO_POINTER(0), test);
    g_free(path);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add("fixture", test_fixture);
    add("flows", test_flows);
    add("segmentation", test_segmentation);
    add("end-of-send", test_end_of_send);
    g_test_add_func("/clock/match/received-twice/ordered", test_received_twice);
    add("receive-offload", test_receive_offload);
    g_test_add_func("/clock/match/retransmission/ordered", test_retransmission);
    g_test_add_func("/clock/match/retransmission/unordered", test_retransmission_unordered);
    g_test_add_func("/clock/match/receive-first", test_receive_first);
    add("handshake", test_handshake);
    add("udp", test_udp);
    add("udp-repeated", test_udp_repeated);
    add("icmp", test_icmp);
    add("buffer", test_buffer);
    add("buffer-takes", test_buffer_takes);
    add("virtual-devices", test_virtual_devices);
    g_test_add_func("/clock/match/forwarding/ordered", test_forwarding);
    g_test_add_func("/clock/match/loopback", test_loopback);
    add("passed-on", test_passed_on);
    g_test_add_func("/clock/match/bridged-again", test_bridged_again);
    g_test_add_func("/clock/match/forwarding/unordered", test_forwarding_unordered);
    g_test_add_func("/clock/match/received-by-two/unordered", test_received_by_two);
    add("one-sided", test_one_sided);
    add("numbers", test_numbers);
    g_test_add_func("/clock/match/numbers-twice/unordered", test_numbers_twice);
    return g_test_run();
}
