/* SPDX-License-Identifier: MIT */
/* Numbering of directed connections: a chained hash table over an array of flows. */
#include "kernel/flow.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "kernel/states.h"

struct lull_flows {
    LULL_VEC(struct lull_flow) flows;
    LULL_VEC(uint32_t) next; /* next flow with the same hash, or LULL_NONE */
    struct lull_map by_hash;
    uint32_t last; /* the one that was looked for last: a packet is seen several times */
};

struct lull_flows *lull_flows_new(void)
{
    return g_new0(struct lull_flows, 1);
}

void lull_flows_free(struct lull_flows *flows)
{
    if (!flows) {
        return;
    }
    lull_vec_free(&flows->flows);
    lull_vec_free(&flows->next);
    lull_map_free(&flows->by_hash);
    g_free(flows);
}

/* Over the parts that make a flow (reverse is not one), eight bytes at a time. */
static uint64_t hash_flow(const struct lull_flow *flow)
{
    uint64_t words[(offsetof(struct lull_flow, reverse) + 7) / 8] = {0};
    uint64_t hash = 0;
    memcpy(words, flow, offsetof(struct lull_flow, reverse));
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
    }
    return hash;
}

static uint32_t find(const struct lull_flows *flows, const struct lull_flow *wanted, uint64_t hash)
{
    uint32_t number = lull_map_find(&flows->by_hash, hash);
    while (number != LULL_NONE &&
           memcmp(&flows->flows.items[number], wanted, offsetof(struct lull_flow, reverse)) != 0) {
        number = flows->next.items[number];
    }
    return number;
}

/* 127.0.0.0/8 and ::1 (RFC 6890) mean another machine on each host. */
static bool is_loopback(const uint8_t address[static 16], uint8_t ip_version)
{
    return ip_version == 4 ? address[0] == 127
                           : memcmp(address, &in6addr_loopback, sizeof in6addr_loopback) == 0;
}

uint32_t lull_flows_number(struct lull_flows *flows, const struct lull_net_packet *packet)
{
    if (!packet->ip_version) {
        return LULL_NONE;
    }
    struct lull_flow flow, back;
    memset(&flow, 0, sizeof flow);
    memcpy(flow.source, packet->source, sizeof flow.source);
    memcpy(flow.destination, packet->destination, sizeof flow.destination);
    flow.source_port = packet->source_port;
    flow.destination_port = packet->destination_port;
    flow.ip_version = packet->ip_version;
    flow.protocol = packet->protocol;
    flow.host =
        is_loopback(flow.source, flow.ip_version) || is_loopback(flow.destination, flow.ip_version)
            ? packet->host
            : LULL_NONE;
    if (flows->flows.count > 0 &&
        memcmp(&flows->flows.items[flows->last], &flow, offsetof(struct lull_flow, reverse)) == 0) {
        return flows->last;
    }
    uint64_t hash = hash_flow(&flow);
    uint32_t number = find(flows, &flow, hash);
    if (number != LULL_NONE) {
        return flows->last = number;
    }

    memset(&back, 0, sizeof back);
    memcpy(back.source, flow.destination, sizeof back.source);
    memcpy(back.destination, flow.source, sizeof back.destination);
    back.source_port = flow.destination_port;
    back.destination_port = flow.source_port;
    back.ip_version = flow.ip_version;
    back.protocol = flow.protocol;
    back.host = flow.host;
    flows->last = number = flows->flows.count;
    flow.reverse = find(flows, &back, hash_flow(&back));
    if (flow.reverse != LULL_NONE) {
        flows->flows.items[flow.reverse].reverse = number;
    }
    lull_vec_push(&flows->flows, flow);
    lull_vec_push(&flows->next, lull_map_insert(&flows->by_hash, hash, number));
    return number;
}

const struct lull_flow *lull_flows_at(const struct lull_flows *flows, uint32_t number)
{
    return &flows->flows.items[number];
}

uint32_t lull_flows_count(const struct lull_flows *flows)
{
    return flows->flows.count;
}

void lull_flow_format_end(const struct lull_flow *flow, bool is_source, char *out, size_t size)
{
    char address[INET6_ADDRSTRLEN] = "?";
    bool has_port = flow->protocol == 6 || flow->protocol == 17;
    bool brackets = has_port && flow->ip_version == 6;
    inet_ntop(flow->ip_version == 6 ? AF_INET6 : AF_INET,
              is_source ? flow->source : flow->destination, address, sizeof address);
    int used = g_snprintf(out, size, "%s%s%s", brackets ? "[" : "", address, brackets ? "]" : "");
    if (has_port && (size_t)used < size) {
        g_snprintf(out + used, size - used, ":%u",
                   is_source ? flow->source_port : flow->destination_port);
    }
}
