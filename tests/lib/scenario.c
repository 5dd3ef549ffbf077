/* SPDX-License-Identifier: MIT */
/* Scripted machines: keeps what was said as a list for each host, sorts it by time, and plays it
 * into a trace writer, where the running task of each CPU fills in the contexts and the other half
 * of switches. */
#include "lib/scenario.h"

#include <string.h>

#define US INT64_C(1000)
#define EPOCH_NS (INT64_C(1700000000) * 1000000000)
#define MAX_CPUS 64
#define DISK_DEV 266338304 /* 254:0 as the kernel's dev_t */

struct sc_task {
    struct sc_host *host;
    int tid, pid;
    char *comm;
    bool stays;
    unsigned home; /* if so: the CPU */
};

enum action { ACTION_EVENT, ACTION_SWITCH, ACTION_LOSE, ACTION_GAP };

struct entry {
    int64_t t;
    guint order;
    unsigned cpu;
    enum action action;
    const char *name;           /* EVENT, a static or class name */
    char *values;               /* EVENT */
    const struct sc_task *next; /* SWITCH; NULL: idle */
    int prev_state;             /* SWITCH */
    unsigned events, packets;   /* LOSE; GAP: packets */
    int64_t end;                /* GAP */
};

/* What of a CPU is not recorded for now. */
struct gap {
    int64_t end;
    unsigned events; /* left out since it began */
    bool is_packet;
};

struct sc_host {
    char *name;
    unsigned number;
    struct sc_clock clock;
    struct ctf_options options;
    GArray *entries;
    GPtrArray *tasks;
    unsigned ip_id;
    bool has_no_headers, has_numbers;
};

struct sc_flow {
    struct scenario *scenario;
    struct sc_host *host[2]; /* client, server */
    unsigned port[2], protocol;
    bool ipv6;
    uint32_t next_seq[2], received[2];
    const char *device[2]; /* sc_flow_via() */
    bool is_translated;
};

struct sc_packet {
    struct sc_flow *flow;
    bool from_client;
    unsigned bytes, flags, ip_id, window, extension;
    uint32_t seq, ack;
    uint64_t skb;
    bool has_come;
    GArray *copies; /* struct copy, of sc_send() and sc_resend() in their order */
};

/* What tells the times apart that a packet was sent. */
struct copy {
    unsigned ip_id;
    uint64_t skb;
};

struct scenario {
    char *dir;
    GPtrArray *hosts, *flows, *packets;
};

static void free_entry(gpointer data)
{
    g_free(((struct entry *)data)->values);
}

static struct entry *add(struct sc_host *host, unsigned cpu, int64_t t, enum action action)
{
    g_assert_cmpuint(cpu, <, MAX_CPUS);
    struct entry entry = {.t = t, .order = host->entries->len, .cpu = cpu, .action = action};
    g_array_append_val(host->entries, entry);
    return &g_array_index(host->entries, struct entry, entry.order);
}

static void G_GNUC_PRINTF(5, 6)
    put(struct sc_host *host, unsigned cpu, int64_t t, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct entry *entry = add(host, cpu, t, ACTION_EVENT);
    entry->name = name;
    entry->values = g_strdup_vprintf(format, args);
    va_end(args);
}

/* ---- making things ---- */

static void free_task(gpointer data)
{
    g_free(((struct sc_task *)data)->comm);
    g_free(data);
}

static void free_host(gpointer data)
{
    struct sc_host *host = data;
    g_free(host->name);
    g_array_unref(host->entries);
    g_ptr_array_unref(host->tasks);
    g_free(host);
}

static void free_packet(gpointer data)
{
    g_array_unref(((struct sc_packet *)data)->copies);
    g_free(data);
}

struct scenario *scenario_new(const char *dir)
{
    struct scenario *s = g_new0(struct scenario, 1);
    s->dir = g_strdup(dir);
    s->hosts = g_ptr_array_new_with_free_func(free_host);
    s->flows = g_ptr_array_new_with_free_func(g_free);
    s->packets = g_ptr_array_new_with_free_func(free_packet);
    return s;
}

struct sc_host *sc_host(struct scenario *s, const char *name, const struct ctf_options *options,
                        struct sc_clock clock)
{
    struct sc_host *host = g_new0(struct sc_host, 1);
    host->name = g_strdup(name);
    host->number = s->hosts->len + 1;
    host->clock = clock;
    if (options) {
        host->options = *options;
    } else {
        host->options.contexts = CTF_PID | CTF_TID | CTF_PROCNAME;
    }
    host->options.hostname = host->name;
    host->options.seed = (uint8_t)(host->number * 3);
    host->options.offset_cycles =
        (uint64_t)(EPOCH_NS + clock.offset_ns - INT64_C(1000) * 1000000000);
    host->entries = g_array_new(FALSE, TRUE, sizeof(struct entry));
    g_array_set_clear_func(host->entries, free_entry);
    host->tasks = g_ptr_array_new_with_free_func(free_task);
    host->ip_id = host->number * 1000;
    g_ptr_array_add(s->hosts, host);
    return host;
}

void sc_host_without_headers(struct sc_host *host)
{
    host->has_no_headers = true;
}

void sc_host_with_numbers(struct sc_host *host)
{
    host->has_numbers = true;
}

struct sc_task *sc_task(struct sc_host *host, int tid, int pid, const char *comm)
{
    struct sc_task *task = g_new0(struct sc_task, 1);
    *task = (struct sc_task){.host = host, .tid = tid, .pid = pid, .comm = g_strndup(comm, 15)};
    g_ptr_array_add(host->tasks, task);
    return task;
}

void sc_task_stays(struct sc_task *task, unsigned cpu)
{
    task->stays = true;
    task->home = cpu;
}

struct sc_host *sc_task_host(const struct sc_task *task)
{
    return task->host;
}

struct sc_flow *sc_flow(struct scenario *s, struct sc_host *client, unsigned client_port,
                        struct sc_host *server, unsigned server_port, unsigned protocol, bool ipv6)
{
    struct sc_flow *flow = g_new0(struct sc_flow, 1);
    *flow = (struct sc_flow){.scenario = s,
                             .host = {client, server},
                             .port = {client_port, server_port},
                             .protocol = protocol,
                             .ipv6 = ipv6,
                             .next_seq = {1000000 + 5000 * s->flows->len, 4294967000u}};
    flow->received[0] = flow->next_seq[1];
    flow->received[1] = flow->next_seq[0];
    g_ptr_array_add(s->flows, flow);
    return flow;
}

void sc_flow_via(struct sc_flow *flow, const char *const device[2], bool is_translated)
{
    flow->device[0] = device[0];
    flow->device[1] = device[1];
    flow->is_translated = is_translated;
}

/* ---- scheduling ---- */

void sc_run(struct sc_task *task, unsigned cpu, int64_t t)
{
    struct entry *entry = add(task->host, cpu, t, ACTION_SWITCH);
    entry->next = task;
}

void sc_block(struct sc_host *host, unsigned cpu, int64_t t, int prev_state, struct sc_task *then)
{
    struct entry *entry = add(host, cpu, t, ACTION_SWITCH);
    entry->next = then;
    entry->prev_state = prev_state;
}

void sc_wake(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task)
{
    const char *format = "comm=\"%s\" tid=%d prio=20 target_cpu=%u";
    const unsigned target = task->stays ? task->home : cpu;
    put(host, cpu, t, "sched_waking", format, task->comm, task->tid, target);
    put(host, cpu, t + US, "sched_wakeup", format, task->comm, task->tid, target);
}

void sc_fork(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *parent,
             const struct sc_task *child)
{
    put(host, cpu, t, "sched_process_fork",
        "parent_comm=\"%s\" parent_tid=%d parent_pid=%d child_comm=\"%s\" child_tid=%d "
        "vtids=[%d] child_pid=%d",
        parent->comm, parent->tid, parent->pid, parent->comm, child->tid, child->tid, child->pid);
    put(host, cpu, t + US, "sched_wakeup_new", "comm=\"%s\" tid=%d prio=20 target_cpu=%u",
        parent->comm, child->tid, cpu);
}

void sc_exit(const struct sc_task *task, unsigned cpu, int64_t t, struct sc_task *then)
{
    put(task->host, cpu, t, "sched_process_exit", "comm=\"%s\" tid=%d prio=20", task->comm,
        task->tid);
    sc_block(task->host, cpu, t + 10 * US, 32, then);
}

/* ---- interrupts ---- */

void sc_irq(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, int irq,
            const char *name, bool wakes_thread)
{
    put(host, cpu, t, "irq_handler_entry", "irq=%d name=\"%s\"", irq, name);
    put(host, cpu, t + length, "irq_handler_exit", "irq=%d ret=%d", irq, wakes_thread ? 2 : 1);
}

void sc_softirq(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, unsigned vec)
{
    put(host, cpu, t, "irq_softirq_entry", "vec=%u", vec);
    put(host, cpu, t + length, "irq_softirq_exit", "vec=%u", vec);
}

void sc_vector(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, const char *kind)
{
    for (const struct ctf_class *c = ctf_kernel_classes; c->name; c++) {
        if (!g_str_has_prefix(c->name, "x86_irq_vectors_") ||
            strncmp(c->name + strlen("x86_irq_vectors_"), kind, strlen(kind))) {
            continue;
        }
        const char *end = c->name + strlen("x86_irq_vectors_") + strlen(kind);
        if (!strcmp(end, "_entry")) {
            put(host, cpu, t, c->name, "vector=236");
        } else if (!strcmp(end, "_exit")) {
            put(host, cpu, t + length, c->name, "vector=236");
        }
    }
}

void sc_hrtimer(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task)
{
    sc_vector(host, cpu, t, 20 * US, "local_timer");
    put(host, cpu, t + 3 * US, "timer_hrtimer_expire_entry",
        "hrtimer=0xffff888012345678 now=5 function=0xffffffff81168260");
    sc_wake(host, cpu, t + 5 * US, task);
    put(host, cpu, t + 15 * US, "timer_hrtimer_expire_exit", "hrtimer=0xffff888012345678");
}

/* ---- network ---- */

static unsigned transport_words(const struct sc_packet *p)
{
    return p->flags & 2 ? 10 : 8; /* SYN carries more options */
}

static char *transport_text(const struct sc_packet *p)
{
    const struct sc_flow *f = p->flow;
    unsigned from = f->port[!p->from_client], to = f->port[p->from_client];
    if (f->protocol == 17) {
        return g_strdup_printf("{udp={source_port=%u dest_port=%u len=%u check=0x1234}}", from, to,
                               p->bytes + 8);
    }
    return g_strdup_printf("{tcp={source_port=%u dest_port=%u seq=%u ack_seq=%u data_offset=%u "
                           "flags=0x%x window_size=%u checksum=0x1234}}",
                           from, to, p->seq, p->ack, transport_words(p), p->flags, p->window);
}

/* The add-on writes the length of the header below the flags, and these from the other end. */
static void put_numbers(const struct sc_packet *p, struct sc_host *host, unsigned cpu, int64_t t,
                        bool is_send)
{
    unsigned flags = 0;
    for (unsigned bit = 0; bit < 8; bit++) {
        flags |= (p->flags >> bit & 1) << (15 - bit);
    }
    put(host, cpu, t, is_send ? "inet_sock_local_out" : "inet_sock_local_in",
        "sk=0xffff88810000%x00 seq=%u ack_seq=%u check=0 window=%u flags=0x%x",
        p->flow->port[host != p->flow->host[0]] & 0xff, p->seq, p->ack, p->window,
        flags | transport_words(p));
}

/* `stage`: 0 with the addresses that its sender knows, 1 its receiver. `by`: a device, or NULL for that of the stage. */
static void put_packet_at(const struct sc_packet *p, struct sc_host *host, unsigned cpu, int64_t t,
                          bool is_send, unsigned stage, const char *by)
{
    const struct sc_flow *f = p->flow;
    unsigned from = f->host[!p->from_client]->number, to = f->host[p->from_client]->number;
    if (host->has_numbers) {
        put_numbers(p, host, cpu, t, is_send);
        return;
    }
    bool loopback = f->host[0] == f->host[1];
    const bool is_passing =
        stage == 0 && !is_send; /* comes in at the other end of the first device */
    const char *device = by                 ? by
                         : is_passing       ? "peer0"
                         : f->device[stage] ? f->device[stage]
                         : loopback         ? "lo"
                                            : "eth0";
    if (f->is_translated && stage != p->from_client) {
        *(p->from_client ? &from : &to) += 100; /* the client's, as it knows it */
    }
    unsigned transport = p->bytes + (f->protocol == 17 ? 8 : transport_words(p) * 4);
    g_autofree char *transport_header = transport_text(p);
    const char *protocol = f->protocol == 17 ? "udp" : "tcp";
    if (p->extension) { /* LTTng looks no further */
        transport += p->extension;
        protocol = "60";
        g_free(transport_header);
        transport_header = g_strdup("{unknown={}}");
    }
    g_autofree char *header =
        host->has_no_headers ? g_strdup("{unknown={}}")
        : f->ipv6 ? g_strdup_printf("{ipv6={version=6 payload_len=%u nexthdr=%s hop_limit=64 "
                                    "saddr=[0xfd00 0 0 0 0 0 0 %u] daddr=[0xfd00 0 0 0 0 0 0 %u] "
                                    "transport_header=%s}}",
                                    transport, protocol, from, to, transport_header)
                  : g_strdup_printf("{ipv4={version=4 ihl=5 tot_len=%u id=0x%x ttl=64 protocol=%s "
                                    "saddr=[10 0 0 %u] daddr=[10 0 0 %u] transport_header=%s}}",
                                    transport + 20, p->ip_id, protocol, from, to, transport_header);
    unsigned ip = f->ipv6 ? 40 : 20, link = is_send ? 14 : 0;
    uint64_t skb = loopback || is_send ? p->skb : p->skb ^ UINT64_C(0x00ff0000);
    put(host, cpu, t, is_send ? "net_dev_queue" : "net_if_receive_skb",
        "skbaddr=0x%" G_GINT64_MODIFIER "x len=%u name=%s network_header=%s", skb,
        transport + ip + link, device, header);
}

/* As Linux 6.18 does it between the pair of the client and a bridge, which has the pair of the server as its port: what it sends
 * leaves by the bridge and by the port, what it receives comes by the port and by the bridge. */
static void put_forwarded(const struct sc_packet *p, struct sc_host *host, unsigned cpu, int64_t t)
{
    put_packet_at(p, host, cpu, t - 4 * US, false, 0, NULL);
    if (p->from_client) {
        put_packet_at(p, host, cpu, t - 3 * US, true, 1, "br0");
    } else {
        put_packet_at(p, host, cpu, t - 3 * US, false, 0, "br0");
    }
    put_packet_at(p, host, cpu, t - 1 * US, true, 1, NULL);
}

static void put_packet(const struct sc_packet *p, struct sc_host *host, unsigned cpu, int64_t t,
                       bool is_send)
{
    if (p->flow->is_translated && !is_send) { /* forwarded by another namespace */
        put_forwarded(p, host, cpu, t);
    }
    put_packet_at(p, host, cpu, t, is_send, is_send ? 0 : 1, NULL);
}

/* Each in a buffer of its own, or that of the last one. */
static void send_copy(struct sc_packet *p, unsigned cpu, int64_t t, bool is_reused)
{
    struct sc_host *host = p->flow->host[!p->from_client];
    p->ip_id = host->ip_id++ & 0xffff;
    p->skb = is_reused ? p->skb : UINT64_C(0xffff888000000000) + host->ip_id * UINT64_C(0x100);
    const struct copy copy = {p->ip_id, p->skb};
    g_array_append_val(p->copies, copy);
    put_packet(p, host, cpu, t, true);
}

struct sc_packet *sc_send(struct sc_flow *flow, bool from_client, unsigned cpu, int64_t t,
                          unsigned bytes, unsigned flags, enum sc_context context)
{
    struct sc_host *host = flow->host[!from_client];
    struct sc_packet *p = g_new0(struct sc_packet, 1);
    *p = (struct sc_packet){.flow = flow,
                            .from_client = from_client,
                            .bytes = bytes,
                            .flags = flags   ? flags
                                     : bytes ? 0x18
                                             : 0x10,
                            .window = 502,
                            .seq = flow->next_seq[!from_client],
                            .ack = flow->received[!from_client],
                            .copies = g_array_new(FALSE, FALSE, sizeof(struct copy))};
    g_ptr_array_add(flow->scenario->packets, p);
    flow->next_seq[!from_client] += bytes + (flags & 2 ? 1 : 0) + (flags & 1);
    if (context != SC_PLAIN) {
        sc_softirq(host, cpu, t - 10 * US, 20 * US, 3);
    }
    send_copy(p, cpu, t, false);
    return p;
}

void sc_resend(struct sc_packet *p, unsigned cpu, int64_t t, bool is_reused)
{
    send_copy(p, cpu, t, is_reused);
}

/* What has come without a hole; packets are in the order of their numbers. */
static void acknowledge(struct sc_flow *flow, bool from_client)
{
    for (guint i = 0; i < flow->scenario->packets->len; i++) {
        const struct sc_packet *p = g_ptr_array_index(flow->scenario->packets, i);
        if (p->flow == flow && p->from_client == from_client && p->has_come &&
            p->seq == flow->received[from_client]) {
            flow->received[from_client] += p->bytes + (p->flags & 2 ? 1 : 0) + (p->flags & 1);
        }
    }
}

static void put_received(const struct sc_packet *p, struct sc_host *host, unsigned cpu, int64_t t,
                         const struct sc_task *task, enum sc_context context)
{
    if (context == SC_IRQ) {
        sc_irq(host, cpu, t - 30 * US, 10 * US, 30, "eth0", false);
        put(host, cpu, t - 25 * US, "irq_softirq_raise", "vec=3");
    }
    if (context != SC_PLAIN) {
        sc_softirq(host, cpu, t - 10 * US, 30 * US, 3);
    }
    put_packet(p, host, cpu, t, false);
    if (task) {
        sc_wake(host, cpu, t + 5 * US, task);
    }
}

void sc_receive_copy(struct sc_packet *p, unsigned number, unsigned cpu, int64_t t,
                     const struct sc_task *task, enum sc_context context)
{
    const struct copy *copy = &g_array_index(p->copies, struct copy, number);
    g_assert_cmpuint(number, <, p->copies->len);
    p->ip_id = copy->ip_id;
    p->skb = copy->skb;
    sc_receive(p, cpu, t, task, context);
    copy = &g_array_index(p->copies, struct copy, p->copies->len - 1);
    p->ip_id = copy->ip_id;
    p->skb = copy->skb;
}

void sc_receive(struct sc_packet *p, unsigned cpu, int64_t t, const struct sc_task *task,
                enum sc_context context)
{
    struct sc_flow *flow = p->flow;
    struct sc_host *host = flow->host[p->from_client];
    p->has_come = true;
    acknowledge(flow, p->from_client);
    put_received(p, host, cpu, t, task, context);
}

void sc_packet(struct sc_flow *flow, bool from_client, unsigned cpu, int64_t t, bool is_send,
               const struct sc_header *header, const struct sc_task *wakes, enum sc_context context)
{
    struct sc_host *host = flow->host[is_send != from_client];
    const struct sc_packet p = {.flow = flow,
                                .from_client = from_client,
                                .bytes = header->bytes,
                                .flags = header->flags,
                                .ip_id = header->ip_id,
                                .window = header->window,
                                .extension = header->extension,
                                .seq = header->seq,
                                .ack = header->ack,
                                .skb = header->skb};
    if (is_send) {
        put_packet(&p, host, cpu, t, true);
    } else {
        put_received(&p, host, cpu, t, wakes, context);
    }
}

/* ---- disk, state dump, anything ---- */

void sc_disk_issue(struct sc_host *host, unsigned cpu, int64_t t, const struct sc_task *task,
                   uint64_t sector)
{
    const char *format =
        "dev=%u sector=%" G_GUINT64_FORMAT " nr_sector=8 bytes=4096 tid=%d rwbs=0 comm=\"%s\"";
    put(host, cpu, t, "block_rq_insert", format, DISK_DEV, sector, task->tid, task->comm);
    put(host, cpu, t + US, "block_rq_issue", format, DISK_DEV, sector, task->tid, task->comm);
}

void sc_disk_complete(struct sc_host *host, unsigned cpu, int64_t t, uint64_t sector,
                      const struct sc_task *task)
{
    sc_irq(host, cpu, t - 5 * US, 30 * US, 40, "virtio0-req.0", false);
    put(host, cpu, t, "block_rq_complete",
        "dev=%u sector=%" G_GUINT64_FORMAT " nr_sector=8 error=0 rwbs=0", DISK_DEV, sector);
    if (task) {
        sc_wake(host, cpu, t + 5 * US, task);
    }
}

void sc_statedump(struct sc_host *host, unsigned cpu, int64_t t)
{
    put(host, cpu, t, "lttng_statedump_start", "%s", "");
    put(host, cpu, t, "lttng_statedump_block_device", "dev=%u diskname=vda", DISK_DEV);
    for (guint i = 0; i < host->tasks->len; i++) {
        const struct sc_task *task = g_ptr_array_index(host->tasks, i);
        put(host, cpu, t, "lttng_statedump_process_state",
            "tid=%d pid=%d ppid=1 name=\"%s\" status=5 cpu=%u", task->tid, task->pid, task->comm,
            cpu);
    }
    put(host, cpu, t, "lttng_statedump_end", "%s", "");
}

void sc_event(struct sc_host *host, unsigned cpu, int64_t t, const char *name, const char *values)
{
    put(host, cpu, t, g_intern_string(name), "%s", values);
}

void sc_lose(struct sc_host *host, unsigned cpu, int64_t t, unsigned events, unsigned packets)
{
    struct entry *entry = add(host, cpu, t, ACTION_LOSE);
    entry->events = events;
    entry->packets = packets;
}

void sc_gap(struct sc_host *host, unsigned cpu, int64_t t, int64_t length, bool is_packet)
{
    struct entry *entry = add(host, cpu, t, ACTION_GAP);
    entry->end = t + length;
    entry->packets = is_packet;
}

/* ---- playing ---- */

static gint by_time(gconstpointer a, gconstpointer b)
{
    const struct entry *x = a, *y = b;
    if (x->t != y->t) {
        return x->t < y->t ? -1 : 1;
    }
    return x->order < y->order ? -1 : 1;
}

static int64_t host_time(const struct sc_host *host, int64_t t)
{
    return EPOCH_NS + host->clock.offset_ns + t +
           (int64_t)(host->clock.drift_ppm * (double)t / 1e6);
}

static void become_current(struct ctf_writer *w, const struct entry *e,
                           const struct sc_task *current[MAX_CPUS])
{
    g_autofree char *idle = g_strdup_printf("swapper/%u", e->cpu);
    const struct sc_task *next = e->next;
    current[e->cpu] = next;
    ctf_writer_current(w, e->cpu, next ? next->pid : 0, next ? next->tid : 0,
                       next ? next->comm : idle);
}

static void play_switch(struct ctf_writer *w, const struct entry *e, int64_t time,
                        const struct sc_task *current[MAX_CPUS])
{
    g_autofree char *idle = g_strdup_printf("swapper/%u", e->cpu);
    const struct sc_task *prev = current[e->cpu], *next = e->next;
    if (prev == next) {
        g_error("scenario: at %" G_GINT64_FORMAT " ns CPU %u switches from %s to itself", e->t,
                e->cpu, prev ? prev->comm : "idle");
    }
    ctf_event(w, e->cpu, time, "sched_switch",
              "prev_comm=\"%s\" prev_tid=%d prev_prio=20 prev_state=%d next_comm=\"%s\" "
              "next_tid=%d next_prio=20",
              prev ? prev->comm : idle, prev ? prev->tid : 0, prev ? e->prev_state : 0,
              next ? next->comm : idle, next ? next->tid : 0);
    become_current(w, e, current);
}

/* Ends a gap. What it left out is missing behind the last packet. */
static void end_gap(struct ctf_writer *w, struct gap *gap, unsigned cpu, int64_t time)
{
    if (gap->events && gap->is_packet) {
        ctf_writer_lose(w, cpu, 0, 1);
    } else if (gap->events) {
        ctf_writer_discard(w, cpu, gap->events, time);
    }
    gap->events = 0;
}

/* Whether the entry is in a gap. */
static bool is_left_out(struct ctf_writer *w, struct gap *gap, const struct entry *e, int64_t time)
{
    if (e->t >= gap->end) {
        end_gap(w, gap, e->cpu, time);
        return false;
    }
    gap->events += e->action == ACTION_SWITCH || ctf_writer_has(w, e->name);
    return true;
}

static void play(struct scenario *s, struct sc_host *host)
{
    const struct sc_task *current[MAX_CPUS] = {NULL};
    struct gap gaps[MAX_CPUS];
    bool seen[MAX_CPUS] = {false};
    g_autofree char *dir = g_build_filename(s->dir, host->name, "kernel", NULL);
    struct ctf_writer *w = ctf_writer_new(dir, &host->options);
    g_array_sort(host->entries, by_time);
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        gaps[i] = (struct gap){.end = INT64_MIN};
    }
    for (guint i = 0; i < host->entries->len; i++) {
        const struct entry *e = &g_array_index(host->entries, struct entry, i);
        int64_t time = host_time(host, e->t);
        if (!seen[e->cpu]) {
            g_autofree char *idle = g_strdup_printf("swapper/%u", e->cpu);
            ctf_writer_current(w, e->cpu, 0, 0, idle);
            seen[e->cpu] = true;
        }
        if (e->action == ACTION_GAP) {
            end_gap(w, &gaps[e->cpu], e->cpu, time);
            gaps[e->cpu] = (struct gap){.end = e->end, .is_packet = e->packets};
        } else if (e->action == ACTION_LOSE) {
            ctf_writer_lose(w, e->cpu, e->events, e->packets);
        } else if (is_left_out(w, &gaps[e->cpu], e, time)) {
            if (e->action == ACTION_SWITCH) {
                become_current(w, e, current);
            }
        } else if (e->action == ACTION_SWITCH) {
            play_switch(w, e, time, current);
        } else if (ctf_writer_has(w, e->name)) {
            ctf_event(w, e->cpu, time, e->name, "%s", e->values);
        }
    }
    for (unsigned i = 0; i < MAX_CPUS; i++) {
        end_gap(w, &gaps[i], i, host_time(host, gaps[i].end));
    }
    ctf_writer_close(w);
}

void scenario_close(struct scenario *s)
{
    for (guint i = 0; i < s->hosts->len; i++) {
        play(s, g_ptr_array_index(s->hosts, i));
    }
    g_ptr_array_unref(s->packets);
    g_ptr_array_unref(s->flows);
    g_ptr_array_unref(s->hosts);
    g_free(s->dir);
    g_free(s);
}
