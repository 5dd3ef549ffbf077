/* SPDX-License-Identifier: MIT */
/* Numbering of directed connections: a chained hash table over an array of flows. */
#include "kernel/flow.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "kernel/states.h"

enum { RECENT = 256 };

struct lull_flows {
    LULL_VEC(struct lull_flow) flows;
    LULL_VEC(uint32_t) next; /* next flow with the same hash, or LULL_NONE */
    struct lull_map by_hash;
    uint32_t recent
        [RECENT]; /* by ports: looked for lately, so that nothing is hashed for most packets */
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

/* The sixteen bytes of an address are the same. */
static inline bool is_same_address(const uint8_t *a, const uint8_t *b)
{
    uint64_t left[2], right[2];
    memcpy(left, a, sizeof left);
    memcpy(right, b, sizeof right);
    return ((left[0] ^ right[0]) | (left[1] ^ right[1])) == 0;
}

static inline bool is_of(const struct lull_flow *flow, const struct lull_net_packet *packet)
{
    return flow->source_port == packet->source_port &&
           flow->destination_port == packet->destination_port &&
           flow->ip_version == packet->ip_version && flow->protocol == packet->protocol &&
           (flow->host == LULL_NONE || flow->host == packet->host) &&
           is_same_address(flow->source, packet->source) &&
           is_same_address(flow->destination, packet->destination);
}

static uint32_t add(struct lull_flows *flows, struct lull_flow *flow, uint64_t hash)
{
    const uint32_t number = flows->flows.count;
    struct lull_flow back;
    memset(&back, 0, sizeof back);
    memcpy(back.source, flow->destination, sizeof back.source);
    memcpy(back.destination, flow->source, sizeof back.destination);
    back.source_port = flow->destination_port;
    back.destination_port = flow->source_port;
    back.ip_version = flow->ip_version;
    back.protocol = flow->protocol;
    back.host = flow->host;
    flow->reverse = find(flows, &back, hash_flow(&back));
    if (flow->reverse != LULL_NONE) {
        flows->flows.items[flow->reverse].reverse = number;
    }
    lull_vec_push(&flows->flows, *flow);
    lull_vec_push(&flows->next, lull_map_insert(&flows->by_hash, hash, number));
    return number;
}

static __attribute__((noinline)) uint32_t find_or_add(struct lull_flows *flows,
                                                      const struct lull_net_packet *packet)
{
    struct lull_flow flow;
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
    const uint64_t hash = hash_flow(&flow);
    const uint32_t number = find(flows, &flow, hash);
    return number != LULL_NONE ? number : add(flows, &flow, hash);
}

uint32_t lull_flows_number(struct lull_flows *flows, const struct lull_net_packet *packet)
{
    if (!packet->ip_version) {
        return LULL_NONE;
    }
    uint32_t *recent =
        &flows->recent[(packet->source_port * 3u + packet->destination_port) % RECENT];
    if (*recent >= flows->flows.count || !is_of(&flows->flows.items[*recent], packet)) {
        *recent = find_or_add(flows, packet);
    }
    return *recent;
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
