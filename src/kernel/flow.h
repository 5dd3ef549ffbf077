/* SPDX-License-Identifier: MIT */
/* Directed connections (address and port at both ends, protocol), numbered as they are seen. A flow
 * and its reverse are two numbers that know each other. */
#ifndef LULL_KERNEL_FLOW_H
#define LULL_KERNEL_FLOW_H

#include <glib.h>

#include "kernel/net_packet.h"

struct lull_flow {
    uint8_t source[16], destination[16];
    uint16_t source_port, destination_port;
    uint8_t ip_version, protocol;
    uint32_t host; /* whose loopback addresses these are; LULL_NONE: addresses that hosts share */
    uint32_t reverse; /* the flow of the answers; LULL_NONE until one is seen */
};

struct lull_flows;

struct lull_flows *lull_flows_new(void);
void lull_flows_free(struct lull_flows *flows);
/* The number of the packet's flow; LULL_NONE if the packet has no headers. */
uint32_t lull_flows_number(struct lull_flows *flows, const struct lull_net_packet *packet);
const struct lull_flow *lull_flows_at(const struct lull_flows *flows, uint32_t number);
uint32_t lull_flows_count(const struct lull_flows *flows);

/* "10.9.0.1:53224", "[fe80::1]:80", or without port for protocols that have none. */
void lull_flow_format_end(const struct lull_flow *flow, bool is_source, char *out, size_t size);

#endif
