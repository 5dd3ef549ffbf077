/* SPDX-License-Identifier: MIT */
/* A network packet as one host saw it leave (net_dev_queue) or arrive (netif_receive_skb), or as its
 * TCP did (inet_sock_local_out and inet_sock_local_in). */
#ifndef LULL_KERNEL_NET_PACKET_H
#define LULL_KERNEL_NET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

/* Whoever connects has a port from here on, as a rule. Source: ip_local_port_range of ip(7). */
enum { LULL_FIRST_EPHEMERAL_PORT = 32768 };

struct lull_net_packet {
    int64_t time_ns; /* joined clock */
    uint32_t host;
    uint32_t task; /* task in whose context it was sent or received; LULL_NONE in an interrupt or
                      unknown */
    int32_t cpu;
    bool is_send;
    bool is_loopback;   /* device "lo" */
    uint32_t device;    /* a hash of its device's name; 0: the name was not recorded */
    uint8_t ip_version; /* 4, 6, or 0: headers not in the trace */
    bool has_numbers;   /* ip_version is 0, yet seq, ack and tcp_flags are known: protocol is 6 */
    uint8_t protocol;   /* IP protocol: 6 TCP, 17 UDP, 1 ICMP, …; 0 if not known */
    uint8_t source[16], destination[16];    /* addresses, network order; 4 bytes used for IPv4 */
    uint16_t source_port, destination_port; /* TCP, UDP */
    uint32_t seq, ack;                      /* TCP */
    uint16_t tcp_flags; /* TCP, the low 9 bits of the header: FIN 1, SYN 2, RST 4, PSH 8, ACK 16 */
    uint16_t ip_id;     /* IPv4 identification */
    uint32_t icmp_rest; /* ICMP: type<<24|code<<16 xor'ed with the identifier and sequence word */
    uint32_t payload;   /* bytes of transport payload; for GSO packets of the whole */
    uint32_t length;    /* skb length */
    uint64_t skb;       /* address of the sk_buff */
    uint64_t socket;    /* address of the struct sock, where only has_numbers is known; or 0 */
    uint32_t window;    /* TCP, not scaled */
    bool has_window;
    uint32_t flow; /* number of its directed connection (flow.h), or LULL_NONE */
};

#endif
