/* SPDX-License-Identifier: MIT */
/* What passed on TCP connections, where the headers of packets are not recorded: from the events of
 * sockets that every current kernel has. tcp_probe says who received how much from whom,
 * sock_send_length that a call sent, and inet_sock_set_state whose socket it is. */
#include "kernel/current_task.h"
#include "kernel/machine.h"

#include <string.h>

#include "base/map.h"

enum { TCP = 6, TCP_SYN = 2, TCP_PUSH = 8, TCP_ACK = 16, V4 = 2, V6 = 10 };
enum { ESTABLISHED = 1, SYN_SENT = 2, CLOSED = 7, CLOSE_WAIT, LAST_ACK, CLOSING = 11 };
enum { SENT_SLOTS = 256 };

/* A buffer is not in use for longer between a device and its socket. */
#define AT_ONCE_NS INT64_C(100000000)
/* What the kernel does with one packet, before it gets to the next. */
#define RIGHT_BEFORE_NS INT64_C(1000000)

/* A connection as one socket sees it. */
struct socket {
    uint32_t host, flow; /* from it to its peer; LULL_NONE: not known yet */
    uint32_t opener;     /* task that connected it, or LULL_NONE */
    uint64_t address;
    /* What calls sent before its flow was known. */
    uint64_t waiting;
    struct lull_net_packet first;
    uint32_t first_number;
    /* What it sent first since anything came, and last: times of calls, or of its SYN; INT64_MIN:
     * nothing. */
    int64_t unanswered_ns, sent_ns;
    uint32_t unanswered_task, sent_task;
    struct lull_tcp_fact again; /* times is 0: nothing was */
    int64_t arrived_ns;         /* what came last; INT64_MIN: nothing */
    uint32_t arrived_number;
    bool is_closed;              /* its peer's window */
    struct lull_tcp_fact window; /* last_ns is 0: it has not opened in this call */
};

/* The bytes in one direction of a connection as one host knows them, counted from its start or, if
 * that is before the trace, from the first that was seen. What was sent is known from the calls that
 * sent it and, on one host, from what arrived, whichever comes first. */
struct stream {
    uint64_t called, seen, sent, arrived;
    bool sends_whole, arrives_whole; /* counted from the start of the connection */
    bool has_socket;                 /* a socket of the host sends here */
    bool is_over;                    /* and nothing comes back any more */
};

/* A packet that was sent or received, by the address of its buffer: several may come before the
 * socket takes the first. */
struct sent {
    uint64_t skb; /* 0: none */
    int64_t time_ns;
    uint32_t host, task, number;
};

struct sockets {
    LULL_VEC(struct socket) list;
    struct lull_map by_address; /* host and address → list */
    struct lull_map by_flow;    /* host and flow → streams */
    LULL_VEC(struct stream) streams;
    struct sent sent[SENT_SLOTS], received[SENT_SLOTS];
};

void sockets_free(struct sockets *sockets)
{
    if (sockets) {
        lull_vec_free(&sockets->list);
        lull_vec_free(&sockets->streams);
        lull_map_free(&sockets->by_address);
        lull_map_free(&sockets->by_flow);
        g_free(sockets);
    }
}

/* Kernel addresses differ in their low 48 bits; hosts are far fewer than the rest can count. */
static uint64_t key_of(uint32_t host, uint64_t address)
{
    return (uint64_t)host << 48 ^ address;
}

static struct socket *socket_of(struct sockets *sockets, uint32_t host, uint64_t address)
{
    uint64_t key = key_of(host, address);
    uint32_t number = lull_map_find(&sockets->by_address, key);
    if (number == LULL_MAP_NONE) {
        number = sockets->list.count;
        lull_vec_push(&sockets->list, (struct socket){.host = host,
                                                      .flow = LULL_NONE,
                                                      .opener = LULL_NONE,
                                                      .unanswered_ns = INT64_MIN,
                                                      .sent_ns = INT64_MIN,
                                                      .arrived_ns = INT64_MIN,
                                                      .arrived_number = LULL_NONE,
                                                      .address = address});
        lull_map_insert(&sockets->by_address, key, number);
    }
    return &sockets->list.items[number];
}

static uint32_t find_stream(const struct sockets *sockets, uint32_t host, uint32_t flow)
{
    return lull_map_find(&sockets->by_flow, (uint64_t)host << 32 | flow);
}

static struct stream *stream_of(struct sockets *sockets, uint32_t host, uint32_t flow)
{
    uint32_t number = find_stream(sockets, host, flow);
    if (number == LULL_MAP_NONE) {
        number = sockets->streams.count;
        lull_vec_push(&sockets->streams, (struct stream){0});
        lull_map_insert(&sockets->by_flow, (uint64_t)host << 32 | flow, number);
    }
    return &sockets->streams.items[number];
}

/* Memory of sockets is used again: what was known of the one before is not true of the next. */
static void forget(struct socket *socket)
{
    socket->flow = socket->opener = LULL_NONE;
    socket->waiting = 0;
    socket->again.times = 0;
    socket->unanswered_ns = socket->sent_ns = socket->arrived_ns = INT64_MIN;
    socket->is_closed = false;
}

static void set_flow(struct sockets *sockets, struct socket *socket, uint32_t flow)
{
    socket->flow = flow;
    stream_of(sockets, socket->host, flow)->has_socket = true;
}

/* Whether a socket of the host sends on this flow: its other end is here too. */
static bool is_sent_here(const struct sockets *sockets, uint32_t host,
                         const struct lull_net_packet *packet)
{
    const uint32_t number = find_stream(sockets, host, packet->flow);
    return memcmp(packet->source, packet->destination, sizeof packet->source) == 0 ||
           (number != LULL_MAP_NONE && sockets->streams.items[number].has_socket);
}

static struct sent *slot_of(struct sent slots[static SENT_SLOTS], uint32_t host, uint64_t skb)
{
    uint64_t hash = (skb ^ host) * UINT64_C(0x9e3779b97f4a7c15);
    return &slots[hash >> 56];
}

void sockets_packet(struct lull_model *model, const struct lull_net_packet *packet, uint32_t number)
{
    struct sockets *sockets = model->sockets;
    struct sent *slots = packet->is_send ? sockets->sent : sockets->received;
    if (packet->skb) {
        *slot_of(slots, packet->host, packet->skb) =
            (struct sent){packet->skb, packet->time_ns, packet->host, packet->task, number};
    }
    if (!packet->is_send) {
        return;
    }
    if (packet->task != LULL_NONE && model->tasks.items[packet->task].sent_ns == INT64_MIN) {
        model->tasks.items[packet->task].sent_ns = packet->time_ns;
        model->tasks.items[packet->task].sent_number = number;
    }
}

/* The first packet that the call which has just ended sent: its time, else `t`, and its number. */
static int64_t take_start(struct lull_model *model, uint32_t task, int64_t t, uint32_t *number)
{
    *number = LULL_NONE;
    if (task == LULL_NONE || model->tasks.items[task].sent_ns == INT64_MIN) {
        return t;
    }
    struct task *sender = &model->tasks.items[task];
    t = sender->sent_ns;
    *number = sender->sent_number;
    sender->sent_ns = INT64_MIN;
    return t;
}

/* ---- addresses ---- */

/* Sockets of IPv6 that speak IPv4 show its addresses mapped; the other end shows them plain. */
static uint8_t take_address(uint8_t out[static 16], const uint8_t *data, bool is_v6)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (!is_v6) {
        memcpy(out, data, 4);
        return 4;
    }
    if (memcmp(data, mapped, sizeof mapped) == 0) {
        memcpy(out, data + sizeof mapped, 4);
        return 4;
    }
    memcpy(out, data, 16);
    return 6;
}

/* A struct sockaddr_in or sockaddr_in6: family, port, address. */
static uint8_t take_sockaddr(uint8_t out[static 16], uint16_t *port, struct lull_text text)
{
    enum { V4_SIZE = 8, V6_SIZE = 24, V6_ADDRESS = 8 };
    const uint8_t *data = (const uint8_t *)text.data;
    if (text.length < V4_SIZE) {
        return 0;
    }
    /* In the machine's own order; no family is above 255. */
    uint8_t family = data[0] | data[1];
    *port = (uint16_t)(data[2] << 8 | data[3]);
    if (family == V4) {
        return take_address(out, data + 4, false);
    }
    return family == V6 && text.length >= V6_SIZE ? take_address(out, data + V6_ADDRESS, true) : 0;
}

/* The same in the other direction. */
static struct lull_net_packet back(const struct lull_net_packet *packet)
{
    struct lull_net_packet other = *packet;
    memcpy(other.source, packet->destination, sizeof other.source);
    memcpy(other.destination, packet->source, sizeof other.destination);
    other.source_port = packet->destination_port;
    other.destination_port = packet->source_port;
    return other;
}

/* ---- reporting ---- */

static void report(struct lull_model *model, struct lull_net_packet *packet, uint32_t number,
                   bool is_whole)
{
    struct lull_packet_fact fact = {.packet = packet, .number = number, .is_whole = is_whole};
    REPORT(model, segment, &fact);
}

/* `flow`'s bytes up to `total` were sent; `packet` says by whom and when. */
static void report_sent(struct lull_model *model, uint32_t flow, uint64_t total,
                        const struct lull_net_packet *packet, uint32_t number)
{
    struct stream *stream = stream_of(model->sockets, packet->host, flow);
    if (total <= stream->sent) {
        return;
    }
    const struct lull_flow *ends = lull_flows_at(model->flows, flow);
    struct lull_net_packet sent = *packet;
    sent.is_send = true;
    sent.flow = flow;
    sent.ip_version = ends->ip_version;
    memcpy(sent.source, ends->source, sizeof sent.source);
    memcpy(sent.destination, ends->destination, sizeof sent.destination);
    sent.source_port = ends->source_port;
    sent.destination_port = ends->destination_port;
    sent.seq = (uint32_t)stream->sent;
    sent.payload = (uint32_t)MIN(total - stream->sent, UINT32_MAX);
    stream->sent = total;
    report(model, &sent, number, stream->sends_whole);
}

static void learn_flow(struct lull_model *model, struct socket *socket, uint32_t flow)
{
    set_flow(model->sockets, socket, flow);
    if (socket->waiting) {
        struct stream *stream = stream_of(model->sockets, socket->host, flow);
        stream->called += socket->waiting;
        socket->waiting = 0;
        report_sent(model, flow, stream->called, &socket->first, socket->first_number);
    }
}

/* ---- events ---- */

static struct lull_net_packet segment(const struct machine *machine, uint32_t task, int32_t c,
                                      int64_t t)
{
    /* A socket is an end of its connection, whatever the device: as on loopback, the other end may
     * be on the same host. */
    return (struct lull_net_packet){.time_ns = t,
                                    .host = machine->host,
                                    .task = task,
                                    .cpu = c,
                                    .is_loopback = true,
                                    .protocol = TCP,
                                    .tcp_flags = TCP_ACK | TCP_PUSH,
                                    .flow = LULL_NONE};
}

static void called(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   const struct lull_ev_sock_send_length *ev, bool is_send)
{
    /* The first that is heard of a task that received, where switches out of idle are hidden. */
    SCHED_CURRENT(model, machine, c, t, ev, sock_send_length);
    uint32_t task = model_on_cpu(model, model_cpu_at(machine, c));
    uint32_t number;
    struct lull_net_packet packet = segment(machine, task, c, take_start(model, task, t, &number));
    if (!is_send || ev->ret <= 0 || ev->protocol != TCP || (ev->family != V4 && ev->family != V6)) {
        return;
    }
    struct socket *socket = socket_of(model->sockets, machine->host, (uint64_t)ev->sk);
    socket->sent_ns = packet.time_ns;
    socket->sent_task = task;
    socket->window.last_ns = 0;
    if (socket->unanswered_ns == INT64_MIN) {
        socket->unanswered_ns = packet.time_ns;
        socket->unanswered_task = task;
    }
    if (socket->flow == LULL_NONE) {
        if (!socket->waiting) {
            socket->first = packet;
            socket->first_number = number;
        }
        socket->waiting += (uint64_t)ev->ret;
        return;
    }
    struct stream *stream = stream_of(model->sockets, machine->host, socket->flow);
    stream->called += (uint64_t)ev->ret;
    report_sent(model, socket->flow, MAX(stream->called, stream->seen), &packet, number);
}

/* The window is as it was before this packet: one before it closed or opened it. Who waits for room
 * gets it when enough of what is sent then is acknowledged: by any packet until the call ends. */
static void look_at_window(struct lull_model *model, struct socket *socket, int64_t t,
                           uint32_t number, const struct lull_ev_tcp_probe *ev)
{
    struct lull_tcp_fact *window = &socket->window;
    const bool is_closed = LULL_HAS(ev, tcp_probe, send_window) && ev->send_window == 0;
    if (is_closed && !socket->is_closed) {
        *window = (struct lull_tcp_fact){.flow = LULL_NONE,
                                         .task = LULL_NONE,
                                         .first_ns = socket->arrived_ns,
                                         .kind = LULL_TCP_FACT_WINDOW};
    } else if (socket->is_closed && !is_closed && window->first_ns != INT64_MIN) {
        window->last_ns = socket->arrived_ns;
        window->number = socket->arrived_number;
        REPORT(model, tcp, window);
    }
    socket->is_closed = is_closed;
    if (window->last_ns != 0) {
        window->number = number;
        REPORT(model, tcp, window);
    }
    socket->arrived_ns = t;
    socket->arrived_number = number;
}

static void arrived(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_tcp_probe *ev)
{
    struct lull_net_packet packet = segment(machine, LULL_NONE, c, t);
    packet.ip_version = take_sockaddr(packet.source, &packet.source_port, ev->peer);
    uint8_t own = take_sockaddr(packet.destination, &packet.destination_port, ev->own);
    if (!own || packet.ip_version != own) {
        return;
    }
    struct lull_net_packet other = back(&packet);
    uint32_t number = LULL_NONE;
    packet.flow = lull_flows_number(model->flows, &packet);
    other.flow = lull_flows_number(model->flows, &other);
    struct socket *socket = socket_of(model->sockets, machine->host, (uint64_t)ev->sk);
    socket->unanswered_ns = INT64_MIN;
    learn_flow(model, socket, other.flow);
    packet.payload = (uint32_t)CLAMP(ev->data_len, 0, UINT16_MAX);
    const struct sent *come = slot_of(model->sockets->received, machine->host, (uint64_t)ev->skb);
    if (ev->skb && come->skb == (uint64_t)ev->skb && come->host == machine->host &&
        t - come->time_ns < AT_ONCE_NS) {
        number = come->number;
        packet.time_ns = come->time_ns;
    }
    look_at_window(model, socket, packet.time_ns, number, ev);
    struct stream *stream = stream_of(model->sockets, machine->host, packet.flow);
    struct sent *sent = slot_of(model->sockets->sent, machine->host, (uint64_t)ev->skb);
    const bool is_same = ev->skb && sent->skb == (uint64_t)ev->skb && sent->host == machine->host;
    /* Buffers are used again too: who sent what was in it before did not send this, if nobody here
     * could, or if that is long ago. */
    if (packet.payload && is_same && t - sent->time_ns < AT_ONCE_NS &&
        is_sent_here(model->sockets, machine->host, &packet)) {
        struct lull_net_packet first = segment(machine, sent->task, c, sent->time_ns);
        stream->seen += packet.payload;
        report_sent(model, packet.flow, MAX(stream->seen, stream->called), &first, sent->number);
    }
    if (is_same) {
        sent->skb = 0;
    }
    packet.seq = (uint32_t)stream->arrived;
    stream->arrived += packet.payload;
    report(model, &packet, number, stream->arrives_whole);
}

/* The counts start with the connection. */
static void established(struct lull_model *model, struct socket *socket,
                        struct lull_net_packet *packet, bool is_client)
{
    struct lull_net_packet other = back(packet);
    packet->flow = lull_flows_number(model->flows, packet);
    set_flow(model->sockets, socket, packet->flow);
    struct stream *out = stream_of(model->sockets, packet->host, packet->flow);
    out->called = out->seen = out->sent = 0;
    out->sends_whole = true;
    out->is_over = false;
    struct stream *in =
        stream_of(model->sockets, packet->host, lull_flows_number(model->flows, &other));
    in->arrived = 0;
    in->arrives_whole = true;
    /* Its SYN, which this end sent or received, says who is the client. */
    struct lull_net_packet *syn = is_client ? packet : &other;
    syn->flow = lull_flows_number(model->flows, syn);
    syn->is_send = is_client;
    syn->tcp_flags = TCP_SYN;
    syn->seq = UINT32_MAX;
    report(model, syn, LULL_NONE, false);
}

/* The packet that passed on the CPU right before, or LULL_NONE. */
static uint32_t passed(struct machine *machine, int32_t c, int64_t t, bool is_send)
{
    const struct cpu *cpu = model_cpu_at(machine, c);
    return cpu->passed[is_send].number != LULL_NONE &&
                   t - cpu->passed[is_send].time_ns < RIGHT_BEFORE_NS
               ? cpu->passed[is_send].number
               : LULL_NONE;
}

static void sent_again(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       const struct lull_ev_tcp_retransmit_skb *ev)
{
    struct socket *socket = socket_of(model->sockets, machine->host, (uint64_t)ev->sk);
    struct lull_tcp_fact *again = &socket->again;
    const int64_t first_ns =
        socket->unanswered_ns != INT64_MIN ? socket->unanswered_ns : socket->sent_ns;
    if (first_ns == INT64_MIN) {
        return;
    }
    if (again->times == 0 || again->first_ns != first_ns) {
        *again = (struct lull_tcp_fact){.first_ns = first_ns,
                                        .kind = ev->state == SYN_SENT ? LULL_TCP_FACT_SYN
                                                                      : LULL_TCP_FACT_DATA};
    }
    const bool is_syn = again->kind == LULL_TCP_FACT_SYN;
    again->number = passed(machine, c, t, true);
    again->flow = is_syn ? LULL_NONE : socket->flow;
    again->task = is_syn                               ? LULL_NONE
                  : socket->unanswered_ns != INT64_MIN ? socket->unanswered_task
                                                       : socket->sent_task;
    again->last_ns = t;
    again->times++;
    REPORT(model, tcp, again);
}

/* What comes back for a SYN explains the wait in connect. */
static void answered(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                     struct socket *socket)
{
    if (socket->again.times && socket->again.kind == LULL_TCP_FACT_SYN) {
        socket->again.number = passed(machine, c, t, false);
        REPORT(model, tcp, &socket->again);
    }
    socket->again.times = 0;
    socket->unanswered_ns = socket->sent_ns = INT64_MIN;
}

static void changed(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                    const struct lull_ev_inet_sock_set_state *ev)
{
    if (ev->protocol != TCP) {
        return;
    }
    uint32_t number, task = model_on_cpu(model, model_cpu_at(machine, c));
    struct socket *socket = socket_of(model->sockets, machine->host, (uint64_t)ev->sk);
    if (ev->oldstate == SYN_SENT) {
        answered(model, machine, c, t, socket);
    }
    if (socket->flow != LULL_NONE && (ev->newstate == CLOSED || ev->newstate == CLOSE_WAIT ||
                                      ev->newstate == LAST_ACK || ev->newstate == CLOSING)) {
        stream_of(model->sockets, machine->host, socket->flow)->is_over = true;
    }
    if (ev->newstate == CLOSED || ev->newstate == SYN_SENT ||
        (ev->newstate == ESTABLISHED && ev->oldstate != SYN_SENT)) {
        forget(socket);
    }
    if (ev->newstate == SYN_SENT) {
        socket->opener = task;
        socket->unanswered_ns = socket->sent_ns = t;
        take_start(model, task, t, &number);
    }
    if (ev->newstate != ESTABLISHED) {
        return;
    }
    const bool is_v6 = ev->family == V6;
    struct lull_text source = is_v6 ? ev->source_v6 : ev->source;
    struct lull_text destination = is_v6 ? ev->destination_v6 : ev->destination;
    const uint32_t size = is_v6 ? 16 : 4;
    if ((ev->family != V4 && !is_v6) || source.length < size || destination.length < size) {
        return;
    }
    /* Its SYN is not what its first call sends. */
    take_start(model, socket->opener, t, &number);
    struct lull_net_packet packet = segment(machine, socket->opener, c, t);
    packet.ip_version = take_address(packet.source, (const uint8_t *)source.data, is_v6);
    take_address(packet.destination, (const uint8_t *)destination.data, is_v6);
    packet.source_port = (uint16_t)ev->source_port;
    packet.destination_port = (uint16_t)ev->destination_port;
    established(model, socket, &packet, ev->oldstate == SYN_SENT);
}

void sockets_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event)
{
    /* Packets with headers say it all. */
    if (machine->has_headers || !machine->has_sockets) {
        return;
    }
    switch (id) {
    case LULL_EVENT_sock_send_length:
    case LULL_EVENT_sock_recv_length:
        called(model, machine, c, t, event, id == LULL_EVENT_sock_send_length);
        break;
    case LULL_EVENT_tcp_probe:
        arrived(model, machine, c, t, event);
        break;
    case LULL_EVENT_tcp_retransmit_skb:
        sent_again(model, machine, c, t, event);
        break;
    default:
        changed(model, machine, c, t, event);
    }
}

struct sockets *sockets_new(void)
{
    return g_new0(struct sockets, 1);
}

bool lull_model_flow_is_over(const struct lull_model *model, uint32_t host, uint32_t flow)
{
    const uint32_t found = model->sockets ? find_stream(model->sockets, host, flow) : LULL_MAP_NONE;
    return found != LULL_MAP_NONE && model->sockets->streams.items[found].is_over;
}
