/* SPDX-License-Identifier: MIT */
/* Flows by the number of their connection, and at first by their 5-tuple. What was not used for longest is forgotten when there is too much of it,
 * so that a long trace of many short connections needs no more memory than a short one. */
#include "clock/match_flows.h"

#include <glib.h>
#include <string.h>

#include "base/bits.h"
#include "kernel/states.h"

enum {
    FIRST_SLOTS = 64,
    MAX_FLOWS = 65536,
    MAX_ENTRIES = 1 << 20,
};

static uint64_t hash_key(const struct lull_match_flow_key *key)
{
    uint64_t h = lull_match_flow_mix(key->ip_version, (uint64_t)key->protocol << 32 | key->ports);

    for (unsigned i = 0; i < 4; i++) {
        h = lull_match_flow_mix(h, key->words[i]);
    }
    return h ^ (h >> 32);
}

/* One end of a flow, to be compared: the address as two numbers in network order. */
struct end {
    uint64_t high, low;
    uint16_t port;
};

static inline struct end end_of(const uint8_t address[static 16], uint8_t ip_version, uint16_t port)
{
    struct end end = {.port = port};
    if (ip_version == 4) {
        end.high = lull_load_u32(address, true);
    } else {
        end.high = lull_load_u64(address, true);
        end.low = lull_load_u64(address + 8, true);
    }
    return end;
}

static inline bool is_after(const struct end *a, const struct end *b)
{
    return a->high != b->high ? a->high > b->high
           : a->low != b->low ? a->low > b->low
                              : a->port > b->port;
}

static struct lull_match_flow_key key_of(const struct lull_net_packet *packet, unsigned *direction)
{
    const bool has_ports = packet->protocol == 6 || packet->protocol == 17;
    const struct end ends[2] = {
        end_of(packet->source, packet->ip_version, has_ports ? packet->source_port : 0),
        end_of(packet->destination, packet->ip_version, has_ports ? packet->destination_port : 0)};
    *direction = is_after(&ends[0], &ends[1]);
    const struct end *first = &ends[*direction], *second = &ends[!*direction];
    const struct lull_match_flow_key key = {
        .words = {first->high, first->low, second->high, second->low},
        .ports = (uint32_t)first->port << 16 | second->port,
        .ip_version = packet->ip_version,
        .protocol = packet->protocol,
    };

    return key;
}

/* The packets whose numbers are near these: for those of which nothing else is known. */
static struct lull_match_flow_key key_of_numbers(const struct lull_net_packet *packet)
{
    enum { NEAR_BITS = 20 };
    struct lull_match_flow_key key = {.protocol = packet->protocol};

    key.words[0] = packet->seq >> NEAR_BITS;
    key.words[1] = packet->ack >> NEAR_BITS;
    return key;
}

static bool same_key(const struct lull_match_flow_key *a, const struct lull_match_flow_key *b)
{
    return memcmp(a->words, b->words, sizeof a->words) == 0 && a->ports == b->ports &&
           a->ip_version == b->ip_version && a->protocol == b->protocol;
}

static void flow_free(struct lull_match_flow *flow)
{
    for (unsigned i = 0; i < 2; i++) {
        lull_pending_clear(&flow->directions[i].sends);
        lull_pending_clear(&flow->directions[i].receives);
        g_free(flow->directions[i].roles);
    }
    g_free(flow);
}

void lull_match_flows_clear(struct lull_match_flows *flows)
{
    for (uint32_t i = 0; i < flows->n_slots; i++) {
        if (flows->slots[i]) {
            flow_free(flows->slots[i]);
        }
    }
    g_free(flows->slots);
    lull_vec_free(&flows->places);
    memset(flows, 0, sizeof *flows);
}

static uint32_t find_slot(const struct lull_match_flows *flows,
                          const struct lull_match_flow_key *key, uint64_t hash)
{
    uint32_t mask = flows->n_slots - 1, slot = (uint32_t)hash & mask;

    while (flows->slots[slot] &&
           (flows->slots[slot]->hash != hash || !same_key(&flows->slots[slot]->key, key))) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static uint64_t flow_entries(const struct lull_match_flow *flow)
{
    uint64_t entries = 0;

    for (unsigned i = 0; i < 2; i++) {
        entries += flow->directions[i].sends.count + flow->directions[i].receives.count;
    }
    return entries;
}

static int compare_use(const void *a, const void *b)
{
    uint64_t left = (*(struct lull_match_flow *const *)a)->used;
    uint64_t right = (*(struct lull_match_flow *const *)b)->used;

    return left > right ? -1 : left < right;
}

/* Puts all flows into a new table, the most recently used first, as long as there is room: half of
 * what is allowed, so that this happens seldom. Forgets the rest, and what was not used since
 * horizon_ns. */
static void sweep(struct lull_match_flows *flows, int64_t horizon_ns)
{
    struct lull_match_flow **all = g_new(struct lull_match_flow *, flows->count + 1),
                           **old = flows->slots;
    bool is_full = flows->count >= MAX_FLOWS || flows->entries >= MAX_ENTRIES;
    uint32_t n = 0, n_slots = FIRST_SLOTS;

    for (uint32_t i = 0; i < flows->n_slots; i++) {
        if (old[i]) {
            all[n++] = old[i];
        }
    }
    qsort(all, n, sizeof *all, compare_use);
    flows->count = 0;
    flows->entries = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t entries = flow_entries(all[i]);
        bool fits =
            !is_full || (kept < MAX_FLOWS / 2 && flows->entries + entries < MAX_ENTRIES / 2);

        if (fits && all[i]->used_ns >= horizon_ns) {
            flows->entries += entries;
            all[kept++] = all[i];
        } else {
            flow_free(all[i]);
        }
    }
    while (n_slots < kept * 4) {
        n_slots *= 2;
    }
    flows->n_slots = n_slots;
    flows->slots = g_new0(struct lull_match_flow *, n_slots);
    for (uint32_t i = 0; i < kept; i++) {
        flows->slots[find_slot(flows, &all[i]->key, all[i]->hash)] = all[i];
    }
    flows->count = kept;
    if (flows->places.count) {
        memset(flows->places.items, 0, flows->places.count * sizeof *flows->places.items);
    }
    g_free(all);
    g_free(old);
}

static bool is_crowded(const struct lull_match_flows *flows)
{
    return flows->count * 2 >= flows->n_slots || flows->count >= MAX_FLOWS ||
           flows->entries >= MAX_ENTRIES;
}

/* By its key, which says the same of both directions, and of the loopback addresses of all hosts. */
static struct lull_match_flow *get_by_key(struct lull_match_flows *flows,
                                          const struct lull_net_packet *packet, bool create,
                                          int64_t horizon_ns, unsigned *direction)
{
    *direction = 0;
    const struct lull_match_flow_key key =
        packet->has_numbers ? key_of_numbers(packet) : key_of(packet, direction);
    const uint64_t hash = hash_key(&key);

    if (create && is_crowded(flows)) {
        sweep(flows, horizon_ns);
    }
    uint32_t slot = find_slot(flows, &key, hash);
    struct lull_match_flow *flow = flows->slots[slot];

    if (!flow && create) {
        flow = g_new0(struct lull_match_flow, 1);
        flow->key = key;
        flow->hash = hash;
        flows->slots[slot] = flow;
        flows->count++;
    }
    return flow;
}

static void note_place(struct lull_match_flows *flows, uint32_t number,
                       struct lull_match_flow *flow, unsigned direction)
{
    while (flows->places.count <= number) {
        lull_vec_push(&flows->places, (struct lull_match_flow_place){NULL, 0});
    }
    flows->places.items[number] = (struct lull_match_flow_place){flow, direction};
}

struct lull_match_flow *lull_match_flows_get(struct lull_match_flows *flows,
                                             const struct lull_net_packet *packet, bool create,
                                             int64_t horizon_ns, unsigned *direction)
{
    const uint32_t number = packet->flow;
    struct lull_match_flow *flow = NULL;

    if (number < flows->places.count && !(create && is_crowded(flows))) {
        flow = flows->places.items[number].flow;
        *direction = flows->places.items[number].direction;
    }
    if (!flow && (flows->slots || create)) {
        flow = get_by_key(flows, packet, create, horizon_ns, direction);
        if (flow && number != LULL_NONE) {
            note_place(flows, number, flow, *direction);
        }
    }
    if (flow) {
        flow->used = ++flows->clock;
    }
    return flow;
}

struct lull_match_flow_role *lull_match_flow_role_of(struct lull_match_flow_direction *direction,
                                                     uint32_t host, bool create)
{
    for (uint32_t i = 0; i < direction->n_roles; i++) {
        if (direction->roles[i].host == host) {
            return &direction->roles[i];
        }
    }
    if (!create || direction->n_roles == LULL_FLOW_ROLES) {
        return NULL;
    }
    if (!direction->roles) {
        direction->roles = g_new0(struct lull_match_flow_role, LULL_FLOW_ROLES);
    }
    struct lull_match_flow_role *role = &direction->roles[direction->n_roles++];

    role->host = host;
    return role;
}
