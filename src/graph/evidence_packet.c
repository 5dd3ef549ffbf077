/* SPDX-License-Identifier: MIT */
/* The evidence that a packet is: who sent what to whom, and whether it was held back on its way. */
#include "base/time.h"
#include "graph/execgraph_private.h"

static int64_t hold_ns(const struct lull_hold *hold)
{
    return hold ? hold->taken_ns - hold->queued_ns : 0;
}

/* The longest on the way of a packet that arrived, which others may have passed on; NULL: none was long. */
static const struct lull_hold *hold_of(const struct lull_execgraph *eg, uint32_t index)
{
    enum { MOST_DEVICES = 16 };
    const int64_t end_ns = eg->packets.items[index].time_ns;
    const struct lull_hold *longest = lull_holds_find(&eg->holds, index);
    uint32_t came = index;
    for (unsigned i = 0; i < MOST_DEVICES && came < eg->packets.count; i++) {
        const uint32_t sent = eg->packets.items[came].peer;
        const struct lull_hold *hold = lull_holds_find(&eg->holds, sent);
        /* What is taken later is another packet, in the same buffer. */
        if (hold && hold->taken_ns <= end_ns && hold_ns(hold) > hold_ns(longest)) {
            longest = hold;
        }
        came = lull_map_find(&eg->passed_on, sent);
    }
    return longest;
}

void lull_evidence_set_packet(const struct lull_execgraph *eg, uint32_t index,
                              GStringChunk *strings, struct lull_segment *segment)
{
    const struct packet_note *packet = &eg->packets.items[index];
    if (packet->flow != LULL_NONE) {
        char source[64];
        lull_flow_format_end(lull_flows_at(lull_model_flows(eg->model), packet->flow), true, source,
                             sizeof source);
        segment->object = g_string_chunk_insert_const(strings, source);
        segment->size_bytes = packet->payload;
    }
    const struct lull_hold *hold = hold_of(eg, index);
    if (hold) {
        segment->queue_ns = hold_ns(hold);
    }
    if (packet->peer != LULL_NONE) {
        const struct packet_note *sent = &eg->packets.items[packet->peer];
        lull_evidence_set_other(eg, sent->line, sent->time_ns, strings, segment);
    }
}

static const char *hold_device(const struct lull_execgraph *eg, const struct lull_hold *hold)
{
    const char *name = lull_model_label(eg->model, hold->device);
    return name ? name : "its device";
}

void lull_evidence_append_packet(const struct lull_execgraph *eg, uint32_t index, GString *out)
{
    const struct packet_note *packet = &eg->packets.items[index];
    const struct lull_hold *hold = hold_of(eg, index);
    if (packet->flow == LULL_NONE) {
        g_string_append(out, packet->has_numbers ? "TCP packet without addresses in the trace"
                                                 : "packet without headers in the trace");
    } else {
        const struct lull_flow *flow = lull_flows_at(lull_model_flows(eg->model), packet->flow);
        char source[64], destination[64];
        lull_flow_format_end(flow, true, source, sizeof source);
        lull_flow_format_end(flow, false, destination, sizeof destination);
        g_string_append_printf(out, "packet %s → %s, %u byte%s", source, destination,
                               packet->payload, packet->payload == 1 ? "" : "s");
        if (packet->is_received && packet->peer == LULL_NONE) {
            g_string_append(out, ", its sender is not known");
        }
    }
    if (hold) {
        char held[LULL_TIME_TEXT_SIZE];
        lull_duration_format(hold_ns(hold), held);
        g_string_append_printf(out,
                               ", after %s in the queue of %s (traffic control, or a full device)",
                               held, hold_device(eg, hold));
    }
}

static const char *service_of(unsigned port)
{
    static const struct {
        unsigned port;
        const char *name;
    } services[] = {
        {22, "SSH"},          {25, "SMTP"},   {53, "DNS"},     {80, "HTTP"},
        {88, "Kerberos"},     {123, "NTP"},   {389, "LDAP"},   {443, "HTTPS"},
        {445, "SMB"},         {636, "LDAPS"}, {2049, "NFS"},   {3306, "MySQL"},
        {5432, "PostgreSQL"}, {5672, "AMQP"}, {6379, "Redis"}, {11211, "memcached"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(services); i++) {
        if (services[i].port == port) {
            return services[i].name;
        }
    }
    return NULL;
}

/* The peer of a packet that arrived. A client's port differs from connection to connection; then
 * it is the port it speaks to that says what it is about. */
static void append_peer(const struct lull_flow *flow, GString *out)
{
    const bool is_client = flow->source_port >= LULL_FIRST_EPHEMERAL_PORT &&
                           flow->destination_port < LULL_FIRST_EPHEMERAL_PORT;
    struct lull_flow shown = *flow;
    char peer[64];
    if (is_client) {
        shown.protocol = 0; /* no port */
    }
    lull_flow_format_end(&shown, true, peer, sizeof peer);
    const char *protocol = flow->protocol == 6 ? "TCP " : flow->protocol == 17 ? "UDP " : "";
    const char *service = service_of(is_client ? flow->destination_port : flow->source_port);
    if (is_client) {
        g_string_append_printf(out, "%sfrom client %s to port %u", protocol, peer,
                               flow->destination_port);
    } else {
        g_string_append_printf(out, "%sfrom %s", protocol, peer);
    }
    if (service) {
        g_string_append_printf(out, " (%s)", service);
    }
}

/* Most of the wait for the packet the sender's device did not take it. */
static const struct lull_hold *held_in(const struct lull_execgraph *eg, const struct lull_hop *hop,
                                       uint32_t index)
{
    const struct lull_hold *hold = hold_of(eg, index);
    return hold && 2 * (MIN(hold->taken_ns, hop->end_ns) - MAX(hold->queued_ns, hop->start_ns)) >
                       hop->end_ns - hop->start_ns
               ? hold
               : NULL;
}

bool lull_evidence_append_packet_kind(const struct lull_execgraph *eg, const struct lull_hop *hop,
                                      uint32_t index, GString *out)
{
    const struct packet_note *packet = index < eg->packets.count ? &eg->packets.items[index] : NULL;
    const struct lull_hold *hold = packet ? held_in(eg, hop, index) : NULL;
    if (packet && packet->flow != LULL_NONE) {
        append_peer(lull_flows_at(lull_model_flows(eg->model), packet->flow), out);
    } else if (hold) {
        g_string_append(out, "packet");
    } else {
        return false;
    }
    if (hold) {
        g_string_append_printf(out, " held back in the queue of %s", hold_device(eg, hold));
    }
    return true;
}
