/* SPDX-License-Identifier: MIT */
/* Finding requests: a small state machine for each TCP connection, seen from the client's host. */
#include "analysis/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/sums.h"
#include "kernel/wait_reason.h"

enum { TCP = 6, TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

/* Sequence numbers from `start` up to `end`. */
struct range {
    uint32_t start, end;
};

/* Bytes that passed in one direction, by sequence numbers: each byte once. */
struct direction {
    uint32_t next; /* sequence number after the last byte seen */
    bool is_open;
    LULL_VEC(struct range) missing; /* before that, in no order */
};

/* What a tracer did not record stays missing: of more, the first are forgotten. */
enum { MOST_MISSING = 256 };

struct connection {
    uint32_t client_flow; /* from client to server; LULL_NONE: not known yet */
    uint32_t client_host; /* LULL_NONE: not known yet */
    struct direction sent, received;
    uint32_t request;          /* the one that is going on, or LULL_NONE */
    int64_t blocked_before_ns; /* how long the task had been blocked when it started */
    bool has_answer;
    bool is_over;    /* nothing comes from the server any more */
    bool is_several; /* other hosts send as its client, too: whose the answers are, nothing says */
    bool is_waiting; /* the client must run before it has the answer */
    uint32_t
        foreign_host; /* received the client's first packet, so is not its host; or LULL_NONE */
};

/* How long each task was blocked so far. */
struct watch {
    int64_t blocked_ns, since_ns;
    uint8_t state;    /* enum lull_state */
    bool may_take;    /* it waited when the trace ended, in a call that an answer could end */
    uint32_t waiting; /* first connection whose answer this task has yet to take, or LULL_NONE */
};

struct lull_requests {
    struct lull_model *model;
    LULL_VEC(struct lull_request) list, unanswered;
    LULL_VEC(struct connection) connections;
    LULL_VEC(uint32_t) next_waiting; /* by connection: list of those that wait for the same task */
    LULL_VEC(struct watch) watches;  /* by task */
    LULL_VEC(uint32_t) by_flow;      /* connection of a flow (either direction), or LULL_NONE */
    GStringChunk *texts;             /* of the list */
};

static struct watch *watch_of(struct lull_requests *requests, uint32_t task)
{
    while (requests->watches.count <= task) {
        lull_vec_push(&requests->watches, (struct watch){.waiting = LULL_NONE});
    }
    return &requests->watches.items[task];
}

static int64_t blocked_until(const struct watch *watch, int64_t t)
{
    return watch->blocked_ns + (watch->state == LULL_STATE_BLOCKED ? t - watch->since_ns : 0);
}

static void end_answer(struct lull_requests *requests, const struct connection *connection,
                       int64_t t)
{
    struct lull_request *request = &requests->list.items[connection->request];
    request->end_ns = t;
    if (request->task != LULL_NONE) {
        request->blocked_ns =
            blocked_until(watch_of(requests, request->task), t) - connection->blocked_before_ns;
    }
}

/* Whether the task waits when the trace ends, in a call that an answer could end, as far as is known of it. */
static bool may_take_answer(const struct lull_model *model, const struct lull_state_fact *fact)
{
    if (fact->state != LULL_STATE_BLOCKED || fact->next != LULL_STATE_NONE || fact->wakeup) {
        return false;
    }
    const struct lull_wait_reason reason = lull_wait_reason_of(fact);
    const enum lull_wait_kind kind = lull_wait_reason_kind(model, &reason);
    return kind == LULL_WAIT_SOCKET || kind == LULL_WAIT_READY || kind == LULL_WAIT_REQUEST ||
           kind == LULL_WAIT_NONE;
}

/* A wait that a packet would not have ended. */
static bool is_other_wait(const struct lull_state_fact *fact)
{
    if (fact->state != LULL_STATE_BLOCKED || !fact->wakeup) {
        return false;
    }
    const uint8_t cause = fact->wakeup->cause;
    return cause == LULL_CAUSE_TASK || cause == LULL_CAUSE_TIMER || cause == LULL_CAUSE_DISK;
}

/* Nobody waits for those connections any more; the answers for `task` ended at `t`. */
static void stop_waiting(struct lull_requests *requests, struct watch *watch, uint32_t task,
                         int64_t t)
{
    for (uint32_t c = watch->waiting; c != LULL_NONE; c = requests->next_waiting.items[c]) {
        struct connection *connection = &requests->connections.items[c];
        connection->is_waiting = false;
        if (connection->request == LULL_NONE || !connection->has_answer || task == LULL_NONE) {
            continue;
        }
        if (requests->list.items[connection->request].task == task) {
            end_answer(requests, connection, t);
        }
    }
    watch->waiting = LULL_NONE;
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_requests *requests = user;
    struct watch *watch = watch_of(requests, fact->task);
    if (fact->state == LULL_STATE_BLOCKED) {
        lull_add(&watch->blocked_ns, fact->end_ns - fact->start_ns);
    }
    watch->state = fact->next;
    watch->since_ns = fact->end_ns;
    watch->may_take = may_take_answer(requests->model, fact);
    /* The task runs again: it has what arrived for it meanwhile. Unless it waited for something
     * else all the time; then what arrived was none of its business. */
    if (is_other_wait(fact)) {
        stop_waiting(requests, watch, LULL_NONE, fact->end_ns);
    } else if (fact->next == LULL_STATE_RUNNING) {
        stop_waiting(requests, watch, fact->task, fact->end_ns);
    }
}

static void start_direction(struct direction *direction, uint32_t next)
{
    direction->next = next;
    direction->is_open = true;
    direction->missing.count = 0;
}

static void add_missing(struct direction *direction, uint32_t start, uint32_t end)
{
    if (direction->missing.count == MOST_MISSING) {
        memmove(direction->missing.items, direction->missing.items + 1,
                (MOST_MISSING - 1) * sizeof *direction->missing.items);
        direction->missing.count--;
    }
    lull_vec_push(&direction->missing, (struct range){start, end});
}

/* How many of those bytes were missing; they are not any more. */
static uint32_t fill(struct direction *direction, uint32_t start, uint32_t end)
{
    uint32_t filled = 0;
    for (size_t i = direction->missing.count; i-- > 0;) {
        const struct range was = direction->missing.items[i];
        const uint32_t from = (int32_t)(start - was.start) > 0 ? start : was.start;
        const uint32_t to = (int32_t)(end - was.end) < 0 ? end : was.end;
        if ((int32_t)(to - from) <= 0) {
            continue;
        }
        filled += to - from;
        direction->missing.items[i] = direction->missing.items[--direction->missing.count];
        if (from != was.start) {
            add_missing(direction, was.start, from);
        }
        if (to != was.end) {
            add_missing(direction, to, was.end);
        }
    }
    return filled;
}

/* The bytes of this packet that were not seen before. */
static uint32_t new_bytes(struct direction *direction, const struct lull_net_packet *packet)
{
    const uint32_t start = packet->seq, end = packet->seq + packet->payload;
    if (!direction->is_open) {
        start_direction(direction, end);
        return packet->payload;
    }
    const int32_t gap = (int32_t)(start - direction->next);
    const int32_t ahead = (int32_t)(end - direction->next);
    uint32_t fresh = 0;
    if (gap < 0 && direction->missing.count) {
        fresh = fill(direction, start, ahead < 0 ? end : direction->next);
    }
    if (ahead <= 0) {
        return fresh;
    }
    if (gap > 0) {
        add_missing(direction, direction->next, start);
    }
    direction->next = end;
    return fresh + MIN(packet->payload, (uint32_t)ahead);
}

/* The client is who opened the connection; if that was not seen, who has the port of a client; else
 * who sent payload first. */
static bool is_from_client(const struct lull_net_packet *packet)
{
    if (packet->tcp_flags & TCP_SYN) {
        return !(packet->tcp_flags & TCP_ACK);
    }
    bool source_is_high = packet->source_port >= LULL_FIRST_EPHEMERAL_PORT;
    bool destination_is_high = packet->destination_port >= LULL_FIRST_EPHEMERAL_PORT;
    return source_is_high || !destination_is_high;
}

static bool is_opening(const struct lull_net_packet *packet)
{
    return (packet->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN;
}

static uint32_t add_connection(struct lull_requests *requests, const struct lull_net_packet *packet)
{
    uint32_t number = requests->connections.count;
    bool is_client = is_from_client(packet);
    lull_vec_push(&requests->connections,
                  (struct connection){
                      .client_flow = is_client ? packet->flow : LULL_NONE,
                      .client_host = LULL_NONE,
                      .request = LULL_NONE,
                      .foreign_host = is_client && !packet->is_send && !packet->is_loopback
                                          ? packet->host
                                          : LULL_NONE,
                  });
    lull_vec_push(&requests->next_waiting, LULL_NONE);
    while (requests->by_flow.count <= packet->flow) {
        lull_vec_push(&requests->by_flow, LULL_NONE);
    }
    requests->by_flow.items[packet->flow] = number;
    return number;
}

static inline uint32_t connection_on(const struct lull_requests *requests, uint32_t flow)
{
    return flow < requests->by_flow.count ? requests->by_flow.items[flow] : LULL_NONE;
}

/* The connection a packet belongs to; LULL_NONE if it identifies none. */
static uint32_t connection_of(struct lull_requests *requests, const struct lull_net_packet *packet)
{
    uint32_t reverse = lull_flows_at(lull_model_flows(requests->model), packet->flow)->reverse;
    uint32_t number = connection_on(requests, packet->flow);
    if (number == LULL_NONE) {
        number = connection_on(requests, reverse);
    }
    if (number != LULL_NONE && is_opening(packet)) {
        /* The ports are used again, unless it is the same SYN on its way or sent again. */
        const struct connection *connection = &requests->connections.items[number];
        if (connection->sent.is_open && connection->sent.next != packet->seq + 1 &&
            packet->is_send) {
            if (reverse < requests->by_flow.count) {
                requests->by_flow.items[reverse] = LULL_NONE;
            }
            return add_connection(requests, packet);
        }
    }
    if (number != LULL_NONE) {
        return number;
    }
    return packet->payload > 0 || is_opening(packet) ? add_connection(requests, packet) : LULL_NONE;
}

static void open_request(struct lull_requests *requests, struct connection *connection,
                         const struct lull_net_packet *packet)
{
    connection->request = requests->list.count;
    connection->has_answer = false;
    lull_vec_push(&requests->list, (struct lull_request){.host = packet->host,
                                                         .task = packet->task,
                                                         .flow = packet->flow,
                                                         .start_ns = packet->time_ns,
                                                         .end_ns = INT64_MIN});
    if (packet->task != LULL_NONE) {
        connection->blocked_before_ns =
            blocked_until(watch_of(requests, packet->task), packet->time_ns);
    }
}

static void on_request_bytes(struct lull_requests *requests, struct connection *connection,
                             const struct lull_net_packet *packet)
{
    uint32_t bytes = new_bytes(&connection->sent, packet);
    if (bytes == 0) {
        return;
    }
    if (connection->request == LULL_NONE || connection->has_answer) {
        open_request(requests, connection, packet);
    }
    requests->list.items[connection->request].bytes_sent += bytes;
}

static void on_answer_bytes(struct lull_requests *requests, uint32_t number,
                            const struct lull_net_packet *packet)
{
    struct connection *connection = &requests->connections.items[number];
    uint32_t bytes = new_bytes(&connection->received, packet);
    if (bytes == 0 || connection->request == LULL_NONE) {
        return;
    }
    struct lull_request *request = &requests->list.items[connection->request];
    connection->has_answer = true;
    request->bytes_received += bytes;
    end_answer(requests, connection, packet->time_ns);
    if (request->task == LULL_NONE) {
        return;
    }
    struct watch *watch = watch_of(requests, request->task);
    if ((watch->state == LULL_STATE_BLOCKED || watch->state == LULL_STATE_PREEMPTED) &&
        !connection->is_waiting) {
        connection->is_waiting = true;
        requests->next_waiting.items[number] = watch->waiting;
        watch->waiting = number;
    }
}

static void on_packet(void *user, const struct lull_packet_fact *fact)
{
    struct lull_requests *requests = user;
    const struct lull_net_packet *packet = fact->packet;
    if (packet->protocol != TCP || packet->flow == LULL_NONE) {
        return;
    }
    uint32_t number = connection_of(requests, packet);
    if (number == LULL_NONE) {
        return;
    }
    struct connection *connection = &requests->connections.items[number];
    if (connection->client_flow == LULL_NONE && is_from_client(packet)) {
        connection->client_flow = packet->flow;
    }
    bool is_request = packet->flow == connection->client_flow;
    /* Who sends the client's packets first, without having received them, is the client's host. */
    if (connection->client_host == LULL_NONE && is_request && packet->is_send &&
        packet->host != connection->foreign_host) {
        connection->client_host = packet->host;
    }
    if (packet->host != connection->client_host) {
        connection->is_several |= is_request && packet->is_send;
        return;
    }
    connection->is_over |=
        !is_request && !packet->is_send && (packet->tcp_flags & (TCP_FIN | TCP_RST));
    if (is_request && packet->is_send && is_opening(packet)) {
        start_direction(&connection->sent, packet->seq + 1);
        connection->received.is_open = connection->is_over = false;
        return;
    }
    if (is_request && packet->is_send && (packet->tcp_flags & TCP_ACK) && packet->ack &&
        !connection->received.is_open) {
        start_direction(&connection->received, packet->ack); /* whatever comes first */
    }
    if (packet->payload > 0 && is_request && packet->is_send) {
        on_request_bytes(requests, connection, packet);
    } else if (packet->payload > 0 && !is_request && !packet->is_send) {
        on_answer_bytes(requests, number, packet);
    }
}

struct lull_requests *lull_requests_new(struct lull_model *model)
{
    static const struct lull_facts facts = {
        .state = on_state, .packet = on_packet, .segment = on_packet};
    struct lull_requests *requests = g_new0(struct lull_requests, 1);
    requests->model = model;
    requests->texts = g_string_chunk_new(1024);
    lull_model_subscribe(model, &facts, requests);
    return requests;
}

void lull_requests_free(struct lull_requests *requests)
{
    if (!requests) {
        return;
    }
    for (size_t i = 0; i < requests->connections.count; i++) {
        lull_vec_free(&requests->connections.items[i].sent.missing);
        lull_vec_free(&requests->connections.items[i].received.missing);
    }
    lull_vec_free(&requests->list);
    lull_vec_free(&requests->unanswered);
    lull_vec_free(&requests->connections);
    lull_vec_free(&requests->next_waiting);
    lull_vec_free(&requests->watches);
    lull_vec_free(&requests->by_flow);
    g_string_chunk_free(requests->texts);
    g_free(requests);
}

static int earliest_first(const void *a, const void *b)
{
    const struct lull_request *left = a, *right = b;
    if (left->start_ns != right->start_ns) {
        return left->start_ns < right->start_ns ? -1 : 1;
    }
    if (left->host != right->host) {
        return left->host < right->host ? -1 : 1;
    }
    return left->flow < right->flow ? -1 : left->flow > right->flow;
}

/* Client and server, in words. */
static void name_ends(struct lull_requests *requests, struct lull_request *request)
{
    struct lull_flow flow = *lull_flows_at(lull_model_flows(requests->model), request->flow);
    char peer[64];
    request->port = flow.destination_port;
    flow.protocol = 0; /* without port */
    lull_flow_format_end(&flow, false, peer, sizeof peer);
    request->peer = g_string_chunk_insert_const(requests->texts, peer);
    request->tid = -1;
    request->comm = "?";
    if (request->task != LULL_NONE) {
        request->tid = lull_model_task(requests->model, request->task)->tid;
        request->comm = g_string_chunk_insert_const(
            requests->texts, lull_model_comm(requests->model, request->task, request->end_ns));
    }
}

/* Whether nothing comes on its connection any more, or what comes may be another's. */
static bool is_over(const struct lull_requests *requests, const struct lull_request *request)
{
    const uint32_t reverse =
        lull_flows_at(lull_model_flows(requests->model), request->flow)->reverse;
    const uint32_t there = connection_on(requests, request->flow);
    const uint32_t number = there != LULL_NONE ? there : connection_on(requests, reverse);
    const struct connection *connection =
        number != LULL_NONE ? &requests->connections.items[number] : NULL;
    return (connection && (connection->is_over || connection->is_several)) ||
           lull_model_flow_is_over(requests->model, request->host, request->flow);
}

static void take_unanswered(struct lull_requests *requests, const struct lull_request *request)
{
    struct lull_request taken = *request;
    int64_t first_ns;
    if (request->task == LULL_NONE || !watch_of(requests, request->task)->may_take ||
        is_over(requests, request)) {
        return;
    }
    lull_model_range(requests->model, &first_ns, &taken.end_ns);
    taken.blocked_ns = 0;
    name_ends(requests, &taken);
    lull_vec_push(&requests->unanswered, taken);
}

void lull_requests_finish(struct lull_requests *requests)
{
    size_t kept = 0;
    for (size_t i = 0; i < requests->list.count; i++) {
        if (requests->list.items[i].end_ns != INT64_MIN) {
            requests->list.items[kept++] = requests->list.items[i];
        } else {
            take_unanswered(requests, &requests->list.items[i]);
        }
    }
    if (requests->unanswered.count) {
        qsort(requests->unanswered.items, requests->unanswered.count,
              sizeof *requests->unanswered.items, earliest_first);
    }
    requests->list.count = kept;
    if (kept) {
        qsort(requests->list.items, kept, sizeof *requests->list.items, earliest_first);
    }
    for (size_t i = 0; i < kept; i++) {
        requests->list.items[i].id = i + 1;
        name_ends(requests, &requests->list.items[i]);
    }
}

const struct lull_request *lull_requests_unanswered(const struct lull_requests *requests,
                                                    uint32_t *count)
{
    *count = (uint32_t)requests->unanswered.count;
    return requests->unanswered.items;
}

const struct lull_request *lull_requests_list(const struct lull_requests *requests, uint32_t *count)
{
    *count = requests->list.count;
    return requests->list.items;
}
