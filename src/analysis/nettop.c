/* SPDX-License-Identifier: MIT */
/* Who talked to whom: packets and bytes by network interface, by the task that has a connection, and
 * by connection. A connection is identified by the headers of its packets, or, where these are not
 * recorded, by what its sockets do; each host for itself. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "base/map.h"
#include "base/slots.h"
#include "kernel/vocabulary.h"

enum { IP_ICMP = 1, IP_TCP = 6, IP_UDP = 17, IP_ICMP6 = 58 };

struct traffic {
    uint64_t packets, bytes;
};

struct interface {
    uint32_t host, device;    /* label, or LULL_NONE */
    struct traffic passed[2]; /* received, sent */
};

/* One direction of a connection on one host. Where its packets are seen twice, as they leave and as
 * they arrive (loopback, forwarding), those count that were seen first. */
struct direction {
    uint32_t host, flow;
    bool is_send;
    bool has_next;
    bool is_of_sockets; /* packets were not seen, and what was sent again neither */
    uint32_t next;      /* TCP, sent: sequence number after the last byte */
    uint64_t packets, payload, repeated;
    uint32_t owner; /* the task that most of it was done by, or LULL_NONE */
    uint32_t votes;
};

struct nettop {
    struct lull_analysis head;
    LULL_VEC(struct interface) interfaces;
    struct lull_map interface_numbers; /* host, device → index */
    LULL_VEC(struct direction) directions;
    struct lull_map direction_numbers; /* host, flow → index */
    uint64_t without_headers;
    int64_t end_ns;
};

/* ---- facts ---- */

static bool is_wanted(const struct nettop *top, uint32_t host, int32_t cpu, uint32_t task,
                      int64_t time_ns)
{
    return lull_params_want_cpu(top->head.params, host, cpu) &&
           lull_params_want_task(top->head.params, top->head.model, task, time_ns);
}

static void nettop_netif(void *user, const struct lull_netif_fact *fact)
{
    struct nettop *top = user;
    const uint64_t key = (uint64_t)fact->host << 32 | fact->device;
    if (!is_wanted(top, fact->host, fact->cpu, fact->in_interrupt ? LULL_NONE : fact->task,
                   fact->time_ns)) {
        return;
    }
    uint32_t index = lull_map_find(&top->interface_numbers, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)top->interfaces.count;
        lull_map_insert(&top->interface_numbers, key, index);
        lull_vec_push(&top->interfaces,
                      (struct interface){.host = fact->host, .device = fact->device});
    }
    struct traffic *traffic = &top->interfaces.items[index].passed[fact->is_send];
    traffic->packets++;
    traffic->bytes += fact->length;
}

static struct direction *direction_of(struct nettop *top, const struct lull_net_packet *packet)
{
    const uint64_t key = (uint64_t)packet->host << 32 | packet->flow;
    uint32_t index = lull_map_find(&top->direction_numbers, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)top->directions.count;
        lull_map_insert(&top->direction_numbers, key, index);
        lull_vec_push(&top->directions, (struct direction){.host = packet->host,
                                                           .flow = packet->flow,
                                                           .is_send = packet->is_send,
                                                           .owner = LULL_NONE});
    }
    return &top->directions.items[index];
}

/* Bytes that were sent before: sequence numbers count modulo 2^32, those after `next` are new. */
static void add_payload(struct direction *direction, const struct lull_net_packet *packet)
{
    direction->payload += packet->payload;
    if (packet->protocol != IP_TCP || packet->payload == 0 || !direction->is_send) {
        return;
    }
    const uint32_t end = packet->seq + packet->payload;
    const int32_t fresh = (int32_t)(end - direction->next);
    if (direction->has_next && fresh < (int64_t)packet->payload) {
        direction->repeated += packet->payload - (fresh > 0 ? (uint32_t)fresh : 0);
    }
    if (!direction->has_next || fresh > 0) {
        direction->next = end;
    }
    direction->has_next = true;
}

/* Whoever has more than half of the packets that tasks sent or took wins (Boyer and Moore 1991). */
static void vote(struct direction *direction, uint32_t task)
{
    if (direction->votes == 0) {
        direction->owner = task;
    }
    if (direction->owner == task) {
        direction->votes++;
    } else {
        direction->votes--;
    }
}

static void count(struct nettop *top, struct direction *direction,
                  const struct lull_net_packet *packet)
{
    if (packet->is_send == direction->is_send) {
        direction->packets++;
        add_payload(direction, packet);
        if (packet->task != LULL_NONE) {
            vote(direction, lull_params_row(top->head.params, top->head.model, packet->task));
        }
    }
}

static void nettop_packet(void *user, const struct lull_packet_fact *fact)
{
    struct nettop *top = user;
    const struct lull_net_packet *packet = fact->packet;
    if (!is_wanted(top, packet->host, packet->cpu, packet->task, packet->time_ns)) {
        return;
    }
    if (packet->flow != LULL_NONE) {
        count(top, direction_of(top, packet), packet);
    } else {
        top->without_headers++;
    }
}

/* On a host that has both ends, a send may be reported after the bytes arrived. */
static void nettop_segment(void *user, const struct lull_packet_fact *fact)
{
    struct nettop *top = user;
    const struct lull_net_packet *packet = fact->packet;
    if (packet->payload == 0 ||
        !is_wanted(top, packet->host, packet->cpu, packet->task, packet->time_ns)) {
        return;
    }
    struct direction *direction = direction_of(top, packet);
    if (packet->is_send && !direction->is_send) {
        direction->is_send = true;
        direction->payload = 0;
    }
    direction->is_of_sockets = true;
    count(top, direction, packet);
}

static void nettop_close(struct lull_analysis *analysis, int64_t end_ns)
{
    ((struct nettop *)analysis)->end_ns = end_ns;
}

/* ---- tables ---- */

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}

static const struct lull_result_column interface_columns[] = {
    HOST,
    {"Network interface", "INTERFACE", "interface", LULL_CELL_NETIF, NULL, 0},
    {"Packets sent", "SENT", "sent_packets", LULL_CELL_NUMBER, "packets", 0},
    {"Size sent", "SENT SIZE", "sent_bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {"Packets received", "RECEIVED", "received_packets", LULL_CELL_NUMBER, "packets", 0},
    {"Size received", "RECEIVED SIZE", "received_bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},
    {0}};
#define TRAFFIC                                                                                    \
    {"Packets sent", "SENT", "sent_packets", LULL_CELL_NUMBER, "packets", 0},                      \
        {"Payload sent", "SENT SIZE", "sent_bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR},           \
        {"Payload sent again", "AGAIN", "retransmitted_bytes", LULL_CELL_SIZE, NULL, 0},           \
        {"Packets received", "RECEIVED", "received_packets", LULL_CELL_NUMBER, "packets", 0},      \
    {                                                                                              \
        "Payload received", "RECEIVED SIZE", "received_bytes", LULL_CELL_SIZE, NULL, LULL_USE_BAR  \
    }
static const struct lull_result_column process_columns[] = {
    HOST,
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Connections", "CONNECTIONS", "connections", LULL_CELL_NUMBER, "connections", 0},
    TRAFFIC,
    {0}};
static const struct lull_result_column connection_columns[] = {
    HOST,
    {"Protocol", "PROTOCOL", "protocol", LULL_CELL_STRING, NULL, 0},
    {"Local end", "LOCAL", "local", LULL_CELL_STRING, NULL, 0},
    {"Remote end", "REMOTE", "remote", LULL_CELL_STRING, NULL, 0},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    TRAFFIC,
    {0}};

static const struct lull_result_class interface_class = {
    "per-interface", "Traffic by interface", interface_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class process_class = {
    "per-process", "Traffic by task", process_columns, LULL_TABLE_PLAIN, true, false};
static const struct lull_result_class connection_class = {
    "per-connection", "Traffic by connection", connection_columns, LULL_TABLE_PLAIN, true, false};

/* Both directions of a connection; NULL: nothing was seen of this one. */
struct connection {
    const struct direction *out, *in;
    uint64_t bytes;
};

/* What directions have together. */
struct traffic_sums {
    uint64_t packets, payload, repeated;
    bool is_of_sockets; /* one of them */
};

/* What the connections of a task are together. */
struct process {
    uint32_t host, task; /* or LULL_NONE */
    uint64_t connections;
    struct traffic_sums out, in;
};

struct rows {
    const struct nettop *top;
    LULL_VEC(struct connection) connections;
    LULL_VEC(struct process) processes;
    struct lull_map process_numbers; /* host, task → processes */
    char local[80], remote[80], protocol[16];
};

/* True if the session could have recorded packets of this kind. */
static bool is_recorded(const struct nettop *top, uint32_t host, enum lull_event_id id)
{
    return !top->head.session ||
           lull_session_declares(top->head.session, host, lull_vocabulary_names(id));
}

static struct lull_cell count_cell(enum lull_cell_class class, uint64_t count, bool is_known)
{
    return lull_cell_integer(is_known ? class : LULL_CELL_UNKNOWN, (int64_t)count);
}

static void interface_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct nettop *top = user;
    const struct interface *interface = &top->interfaces.items[row];
    const bool has_sent = is_recorded(top, interface->host, LULL_EVENT_netif_sent);
    const bool has_received = is_recorded(top, interface->host, LULL_EVENT_netif_received);
    *cells++ = lull_cell_host_of(&top->head, interface->host);
    *cells++ =
        lull_cell_text(LULL_CELL_NETIF, lull_model_label(top->head.model, interface->device));
    *cells++ = count_cell(LULL_CELL_NUMBER, interface->passed[true].packets, has_sent);
    *cells++ = count_cell(LULL_CELL_SIZE, interface->passed[true].bytes, has_sent);
    *cells++ = count_cell(LULL_CELL_NUMBER, interface->passed[false].packets, has_received);
    *cells = count_cell(LULL_CELL_SIZE, interface->passed[false].bytes, has_received);
}

static const char *protocol_name(struct rows *rows, uint8_t protocol)
{
    switch (protocol) {
    case IP_TCP:
        return "tcp";
    case IP_UDP:
        return "udp";
    case IP_ICMP:
        return "icmp";
    case IP_ICMP6:
        return "icmp6";
    default:
        g_snprintf(rows->protocol, sizeof rows->protocol, "ip %u", protocol);
        return rows->protocol;
    }
}

/* The task on this host: who sent, else who received. */
static uint32_t owner_of(const struct connection *connection)
{
    if (connection->out && connection->out->owner != LULL_NONE) {
        return connection->out->owner;
    }
    return connection->in ? connection->in->owner : LULL_NONE;
}

static void add_up(struct traffic_sums *sums, const struct direction *direction)
{
    if (direction) {
        sums->packets += direction->packets;
        sums->payload += direction->payload;
        sums->repeated += direction->repeated;
        sums->is_of_sockets |= direction->is_of_sockets;
    }
}

/* Sockets tell bytes, but neither packets nor what is sent again. */
static void put_traffic(const struct nettop *top, uint32_t host, const struct traffic_sums *sent,
                        const struct traffic_sums *received, bool is_tcp, struct lull_cell *cells)
{
    const bool is_of_sockets = sent->is_of_sockets || received->is_of_sockets;
    const bool has_sent = is_recorded(top, host, LULL_EVENT_packet_sent);
    const bool has_received = is_recorded(top, host, LULL_EVENT_packet_received);
    *cells++ = count_cell(LULL_CELL_NUMBER, sent->packets, has_sent && !is_of_sockets);
    *cells++ = count_cell(LULL_CELL_SIZE, sent->payload, has_sent || is_of_sockets);
    if (is_tcp) {
        *cells = count_cell(LULL_CELL_SIZE, sent->repeated, has_sent && !is_of_sockets);
    }
    cells++;
    *cells++ = count_cell(LULL_CELL_NUMBER, received->packets, has_received && !is_of_sockets);
    *cells = count_cell(LULL_CELL_SIZE, received->payload, has_received || is_of_sockets);
}

static void process_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct rows *rows = *(struct rows *const *)user;
    const struct nettop *top = rows->top;
    const struct process *process = &rows->processes.items[row];
    *cells++ = lull_cell_host_of(&top->head, process->host);
    *cells++ = lull_cell_task(top->head.model, process->task, top->end_ns, false);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)process->connections);
    put_traffic(top, process->host, &process->out, &process->in, true, cells);
}

static void connection_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct rows *rows = *(struct rows *const *)user;
    const struct nettop *top = rows->top;
    const struct connection *connection = &rows->connections.items[row];
    const struct direction *out = connection->out, *in = connection->in;
    const struct lull_flow *flow =
        lull_flows_at(lull_model_flows(top->head.model), (out ? out : in)->flow);
    const uint32_t host = (out ? out : in)->host;
    struct traffic_sums sent = {0}, received = {0};
    add_up(&sent, out);
    add_up(&received, in);
    lull_flow_format_end(flow, out != NULL, rows->local, sizeof rows->local);
    lull_flow_format_end(flow, !out, rows->remote, sizeof rows->remote);
    *cells++ = lull_cell_host_of(&top->head, host);
    *cells++ = lull_cell_text(LULL_CELL_STRING, protocol_name(rows, flow->protocol));
    *cells++ = lull_cell_text(LULL_CELL_STRING, rows->local);
    *cells++ = lull_cell_text(LULL_CELL_STRING, rows->remote);
    *cells++ = lull_cell_task(top->head.model, owner_of(connection), top->end_ns, false);
    put_traffic(top, host, &sent, &received, flow->protocol == IP_TCP, cells);
}

static int compare_connections(const void *a, const void *b)
{
    const struct connection *x = a, *y = b;
    if (x->bytes != y->bytes) {
        return x->bytes > y->bytes ? -1 : 1;
    }
    const struct direction *x_first = x->out ? x->out : x->in, *y_first = y->out ? y->out : y->in;
    return x_first < y_first ? -1 : 1;
}

/* The direction of a flow on a host, or NULL. */
static const struct direction *find(const struct nettop *top, uint32_t host, uint32_t flow)
{
    const uint32_t index = flow != LULL_NONE
                               ? lull_map_find(&top->direction_numbers, (uint64_t)host << 32 | flow)
                               : LULL_MAP_NONE;
    return index != LULL_MAP_NONE ? &top->directions.items[index] : NULL;
}

/* The direction that was sent goes out; of two that were (loopback), the one seen first. */
static void pair_up(struct rows *rows)
{
    const struct nettop *top = rows->top;
    for (size_t i = 0; i < top->directions.count; i++) {
        const struct direction *one = &top->directions.items[i];
        const struct lull_flow *flow = lull_flows_at(lull_model_flows(top->head.model), one->flow);
        const struct direction *other = find(top, one->host, flow->reverse);
        if (other && other < one) {
            continue; /* done with the other one */
        }
        struct connection connection = {one, other, one->payload};
        if (!one->is_send && (!other || other->is_send)) {
            connection = (struct connection){other, one, one->payload};
        }
        if (other) {
            connection.bytes += other->payload;
        }
        lull_vec_push(&rows->connections, connection);
    }
    if (rows->connections.count) {
        qsort(rows->connections.items, rows->connections.count, sizeof *rows->connections.items,
              compare_connections);
    }
}

static struct process *process_of(struct rows *rows, uint32_t host, uint32_t task)
{
    const uint64_t key = (uint64_t)host << 32 | task;
    uint32_t index = lull_map_find(&rows->process_numbers, key);
    if (index == LULL_MAP_NONE) {
        index = (uint32_t)rows->processes.count;
        lull_map_insert(&rows->process_numbers, key, index);
        lull_vec_push(&rows->processes, (struct process){.host = host, .task = task});
    }
    return &rows->processes.items[index];
}

static int compare_processes(const void *a, const void *b)
{
    const struct process *x = a, *y = b;
    const uint64_t x_bytes = x->out.payload + x->in.payload;
    const uint64_t y_bytes = y->out.payload + y->in.payload;
    if (x_bytes != y_bytes) {
        return x_bytes > y_bytes ? -1 : 1;
    }
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

/* If both directions were sent here, both ends of the connection are here. */
static void sum_processes(struct rows *rows)
{
    for (size_t i = 0; i < rows->connections.count; i++) {
        const struct connection *connection = &rows->connections.items[i];
        const struct direction *out = connection->out, *in = connection->in;
        const uint32_t host = (out ? out : in)->host;
        struct process *process = process_of(rows, host, owner_of(connection));
        process->connections++;
        add_up(&process->out, out);
        add_up(&process->in, in);
        if (in && in->is_send) {
            struct process *other = process_of(rows, host, in->owner);
            other->connections += other != process_of(rows, host, owner_of(connection));
            add_up(&other->out, in);
            add_up(&other->in, out);
        }
    }
    if (rows->processes.count) {
        qsort(rows->processes.items, rows->processes.count, sizeof *rows->processes.items,
              compare_processes);
    }
}

static int compare_interfaces(const void *a, const void *b)
{
    const struct interface *x = a, *y = b;
    const uint64_t x_bytes = x->passed[0].bytes + x->passed[1].bytes;
    const uint64_t y_bytes = y->passed[0].bytes + y->passed[1].bytes;
    if (x_bytes != y_bytes) {
        return x_bytes > y_bytes ? -1 : 1;
    }
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return x->device < y->device ? -1 : 1;
}

static void nettop_emit(struct lull_analysis *analysis, const struct lull_window *window,
                        struct lull_sink *sink)
{
    struct nettop *top = (struct nettop *)analysis;
    const uint32_t limit = analysis->params->limit;
    struct rows rows = {.top = top};
    struct rows *const user = &rows;
    lull_note_count(sink, top->without_headers, "packet does not show its connection",
                    "packets do not show their connection");
    if (top->interfaces.count) {
        qsort(top->interfaces.items, top->interfaces.count, sizeof *top->interfaces.items,
              compare_interfaces);
    }
    sink->table(sink, &(struct lull_result_table){.class = &interface_class,
                                                  .n_rows = top->interfaces.count,
                                                  .row = interface_row,
                                                  .user = top});
    pair_up(&rows);
    sum_processes(&rows);
    const uint64_t n_processes = rows.processes.count, n = rows.connections.count;
    sink->table(sink,
                &(struct lull_result_table){.class = &process_class,
                                            .n_rows = limit ? MIN(n_processes, limit) : n_processes,
                                            .row = process_row,
                                            .user = &user});
    sink->table(sink, &(struct lull_result_table){.class = &connection_class,
                                                  .n_rows = limit ? MIN(n, limit) : n,
                                                  .row = connection_row,
                                                  .user = &user});
    lull_vec_free(&rows.connections);
    lull_vec_free(&rows.processes);
    lull_map_free(&rows.process_numbers);
}

static void nettop_free(struct lull_analysis *analysis)
{
    struct nettop *top = (struct nettop *)analysis;
    lull_map_free(&top->direction_numbers);
    lull_vec_free(&top->interfaces);
    lull_vec_free(&top->directions);
    lull_map_free(&top->interface_numbers);
}

const struct lull_analysis_class lull_analysis_nettop = {
    .name = "nettop",
    .title = "Top network use",
    .description = "Packets and bytes by network interface, task and connection",
    .tags = (const char *const[]){"network", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&interface_class, &process_class,
                                                        &connection_class, NULL},
    .question = "network",
    .groups =
        LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ | LULL_GROUP_NET | LULL_GROUP_NETIF,
    .is_by_host = true,
    .size = sizeof(struct nettop),
    .facts = {.packet = nettop_packet, .segment = nettop_segment, .netif = nettop_netif},
    .close = nettop_close,
    .emit = nettop_emit,
    .free = nettop_free,
};
