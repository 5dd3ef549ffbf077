/* SPDX-License-Identifier: MIT */
/* Test only: see walk.h. */
#include "robust/walk.h"

#include <lull/session.h>
#include <stddef.h>
#include <string.h>

struct switch_fields {
    uint64_t present;
    int64_t prev_tid, prev_state;
    struct lull_text next_comm;
    int64_t context_tid;
};

struct packet_fields {
    uint64_t present;
    int64_t skb, length;
    struct lull_text name, source4, source6;
    int64_t port, seq, flags;
};

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define BIND(type, member, how, ...) {PATHS(__VA_ARGS__), how, offsetof(struct type, member)}

static const char *const switch_names[] = {"sched_switch", NULL};
static const char *const packet_names[] = {"net_*", NULL};
static const char *const all_names[] = {"*", NULL};

static const struct lull_binding switch_bindings[] = {
    BIND(switch_fields, prev_tid, LULL_BIND_INT, "prev_tid", "prev_pid"),
    BIND(switch_fields, prev_state, LULL_BIND_INT, "prev_state"),
    BIND(switch_fields, next_comm, LULL_BIND_TEXT, "next_comm"),
    BIND(switch_fields, context_tid, LULL_BIND_INT, "context.tid", "context.vtid")};
static const struct lull_binding packet_bindings[] = {
    BIND(packet_fields, skb, LULL_BIND_INT, "skbaddr"),
    BIND(packet_fields, length, LULL_BIND_INT, "len"),
    BIND(packet_fields, name, LULL_BIND_TEXT, "name"),
    BIND(packet_fields, source4, LULL_BIND_RAW, "network_header.ipv4.saddr"),
    BIND(packet_fields, source6, LULL_BIND_RAW, "network_header.ipv6.saddr"),
    BIND(packet_fields, port, LULL_BIND_INT,
         "network_header.ipv4.transport_header.tcp.source_port"),
    BIND(packet_fields, seq, LULL_BIND_INT, "network_header.ipv4.transport_header.tcp.seq",
         "network_header.ipv6.transport_header.tcp.seq"),
    BIND(packet_fields, flags, LULL_BIND_INT, "network_header.ipv4.transport_header.tcp.flags")};

static void mix(struct walk *walk, uint64_t value)
{
    walk->checksum = (walk->checksum ^ value) * UINT64_C(0x100000001b3);
    walk->checksum ^= walk->checksum >> 29;
}

static void mix_text(struct walk *walk, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        mix(walk, (uint8_t)data[i]);
    }
}

static void on_start(void *user, const char *name, enum lull_visit_kind kind)
{
    mix(user, (uint64_t)kind);
    if (name) {
        mix_text(user, name, strlen(name));
    }
}

static void on_end(void *user, enum lull_visit_kind kind)
{
    mix(user, (uint64_t)kind + 100);
}

static void on_integer(void *user, const char *name, const struct lull_visit_int *value)
{
    struct walk *walk = user;
    walk->fields++;
    mix(walk, value->bits);
    if (name) {
        mix_text(walk, name, strlen(name));
    }
    if (value->label) {
        mix_text(walk, value->label, strlen(value->label));
    }
}

static void on_real(void *user, const char *name, double value)
{
    struct walk *walk = user;
    uint64_t bits;
    memcpy(&bits, &value, 8);
    walk->fields++;
    mix(walk, bits);
    if (name) {
        mix_text(walk, name, strlen(name));
    }
}

static void on_text(void *user, const char *name, struct lull_text value)
{
    struct walk *walk = user;
    walk->fields++;
    mix_text(walk, value.data, value.length);
    if (name) {
        mix_text(walk, name, strlen(name));
    }
}

static const struct lull_visitor visitor = {
    .start = on_start,
    .end = on_end,
    .integer = on_integer,
    .real = on_real,
    .text = on_text,
};

static void mix_bound(struct walk *walk, const struct lull_event *event, uint32_t switches,
                      uint32_t packets)
{
    if (event->subscription == switches) {
        const struct switch_fields *f = event->fields;
        mix(walk, f->present);
        mix(walk, (uint64_t)f->prev_tid ^ (uint64_t)f->prev_state ^ (uint64_t)f->context_tid);
        mix_text(walk, f->next_comm.data, f->next_comm.length);
    } else if (event->subscription == packets) {
        const struct packet_fields *f = event->fields;
        mix(walk, f->present);
        mix(walk, (uint64_t)f->skb ^ (uint64_t)f->seq ^ (uint64_t)f->port ^ (uint64_t)f->flags);
        mix_text(walk, f->name.data, f->name.length);
        mix_text(walk, f->source4.data, f->source4.length);
        mix_text(walk, f->source6.data, f->source6.length);
    }
}

static void read_all(struct walk *walk, struct lull_session *session, uint64_t limit)
{
    uint32_t switches =
        lull_session_subscribe(session, switch_names, switch_bindings,
                               G_N_ELEMENTS(switch_bindings), sizeof(struct switch_fields));
    uint32_t packets =
        lull_session_subscribe(session, packet_names, packet_bindings,
                               G_N_ELEMENTS(packet_bindings), sizeof(struct packet_fields));
    lull_session_subscribe(session, all_names, NULL, 0, 0);
    struct lull_event event;
    int64_t last = INT64_MIN;
    while (lull_session_next(session, &event) == 1) {
        GError *error = NULL;
        if (++walk->events > limit) {
            walk->endless = true;
            return;
        }
        walk->disorder += event.time_ns < last;
        last = event.time_ns;
        mix(walk, (uint64_t)event.time_ns);
        mix(walk, event.stream);
        mix(walk, (uint64_t)event.cpu);
        const char *name = lull_event_class_name(event.event_class);
        mix_text(walk, name, strlen(name));
        mix_bound(walk, &event, switches, packets);
        if (!lull_event_visit(&event, &visitor, walk, &error)) {
            g_assert_nonnull(error);
            if (!walk->visit_error) {
                walk->visit_error = g_strdup(error->message);
            }
            g_error_free(error);
        }
    }
    g_assert_cmpint(lull_session_next(session, &event), ==, 0);
}

static void add_count(void *user, uint32_t trace, const struct lull_event_class *event_class,
                      uint64_t count)
{
    struct walk *walk = user;
    g_assert_cmpuint(count, >, 0);
    walk->counted += count;
}

static void gather(struct walk *walk, const struct lull_session *session)
{
    walk->problems = lull_session_problem_count(session);
    for (uint32_t i = 0; i < walk->problems; i++) {
        const char *text = lull_session_problem(session, i);
        g_assert_nonnull(text);
        g_assert_null(strchr(text, '\n'));
        char *before = walk->all_problems;
        walk->all_problems = before ? g_strconcat(before, "\n", text, NULL) : g_strdup(text);
        g_free(before);
    }
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        walk->lost_events += loss->events;
        walk->lost_packets += loss->packets;
    }
}

void walk_trace(struct walk *walk, const char *dir, uint64_t limit)
{
    *walk = (struct walk){0};
    struct lull_session *session = lull_session_new();
    GError *error = NULL;
    if (!lull_session_add(session, dir, &error)) {
        g_assert_nonnull(error);
        g_assert_true(error->domain == LULL_ERROR);
        g_assert_null(strchr(error->message, '\n'));
        walk->error = g_strdup(error->message);
        g_error_free(error);
    } else {
        g_assert_no_error(error);
        int64_t start, end;
        if (lull_session_range(session, &start, &end)) {
            g_assert_cmpint(start, <=, end);
        }
        lull_session_count(session, add_count, walk);
        read_all(walk, session, limit);
        gather(walk, session);
    }
    lull_session_free(session);
}

void walk_clear(struct walk *walk)
{
    g_free(walk->all_problems);
    g_free(walk->error);
    g_free(walk->visit_error);
    *walk = (struct walk){0};
}
