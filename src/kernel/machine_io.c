/* SPDX-License-Identifier: MIT */
/* Packets and block requests: from their events' many fields to one form. */
#include "kernel/current_task.h"
#include "kernel/machine.h"

#include <string.h>

enum { PROTOCOL_ICMP = 1, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_ICMP6 = 58 };

/* Both packet events have the same fields in the same order. */
_Static_assert(sizeof(struct lull_ev_packet_sent) == sizeof(struct lull_ev_packet_received),
               "packet_sent and packet_received are read as one");
_Static_assert(sizeof(struct lull_ev_socket_sent) == sizeof(struct lull_ev_socket_received),
               "socket_sent and socket_received are read as one");

#define HAS(field) LULL_HAS(ev, packet_sent, field)

/* A field that the event leaves out is empty, without data. */
static void take_address(uint8_t address[static 16], struct lull_text text)
{
    if (text.length) {
        memcpy(address, text.data, MIN(text.length, 16));
    }
}

static void take_addresses(struct lull_net_packet *packet, struct lull_text source,
                           struct lull_text destination)
{
    take_address(packet->source, source);
    take_address(packet->destination, destination);
}

/* Transport headers, the same for both versions of IP. rest: bytes after the IP header. */
#define TAKE_TRANSPORT(ip)                                                                         \
    do {                                                                                           \
        if (HAS(ip##_tcp_seq)) {                                                                   \
            uint32_t tcp_header =                                                                  \
                HAS(ip##_tcp_data_offset) ? (uint32_t)ev->ip##_tcp_data_offset * 4 : 20;           \
            packet->protocol = PROTOCOL_TCP;                                                       \
            packet->source_port = ev->ip##_tcp_source_port;                                        \
            packet->destination_port = ev->ip##_tcp_dest_port;                                     \
            packet->seq = ev->ip##_tcp_seq;                                                        \
            packet->ack = ev->ip##_tcp_ack_seq;                                                    \
            packet->tcp_flags = ev->ip##_tcp_flags & 0x1ff;                                        \
            packet->payload = rest > tcp_header ? rest - tcp_header : 0;                           \
            packet->window = ev->ip##_tcp_window_size;                                             \
            packet->has_window = HAS(ip##_tcp_window_size);                                        \
        } else if (HAS(ip##_udp_source_port)) {                                                    \
            packet->protocol = PROTOCOL_UDP;                                                       \
            packet->source_port = ev->ip##_udp_source_port;                                        \
            packet->destination_port = ev->ip##_udp_dest_port;                                     \
            packet->payload = ev->ip##_udp_len > 8 ? ev->ip##_udp_len - 8 : 0;                     \
        } else if (HAS(ip##_icmp_type)) {                                                          \
            packet->icmp_rest = ((uint32_t)ev->ip##_icmp_type << 24 |                              \
                                 (uint32_t)(ev->ip##_icmp_code & 0xff) << 16) ^                    \
                                (uint32_t)ev->ip##_icmp_gateway;                                   \
        } else {                                                                                   \
            packet->payload = rest; /* with the headers that the tracer does not know */           \
        }                                                                                          \
    } while (0)

static void take_ipv4(struct lull_net_packet *packet, const struct lull_ev_packet_sent *ev)
{
    uint32_t header = HAS(ip4_ihl) ? (uint32_t)ev->ip4_ihl * 4 : 20;
    /* tot_len is 0 for packets over 64 KiB that the network card will cut (GSO). */
    uint32_t total = ev->ip4_len > 0 ? ev->ip4_len : ev->len;
    uint32_t rest = total > header ? total - header : 0;
    packet->ip_version = 4;
    packet->protocol = ev->ip4_protocol;
    packet->ip_id = ev->ip4_id;
    take_addresses(packet, ev->ip4_source, ev->ip4_destination);
    TAKE_TRANSPORT(ipv4);
}

static void take_ipv6(struct lull_net_packet *packet, const struct lull_ev_packet_sent *ev)
{
    enum { IPV6_HEADER = 40 };
    uint32_t rest = ev->ip6_len > 0         ? ev->ip6_len
                    : ev->len > IPV6_HEADER ? ev->len - IPV6_HEADER
                                            : 0;
    packet->ip_version = 6;
    packet->protocol = ev->ip6_next;
    take_addresses(packet, ev->ip6_source, ev->ip6_destination);
    TAKE_TRANSPORT(ipv6);
}

/* FNV-1a */
uint32_t io_device_hash(struct lull_text name)
{
    uint32_t hash = 0x811c9dc5;
    for (uint32_t i = 0; i < name.length; i++) {
        hash = (hash ^ (uint8_t)name.data[i]) * 0x01000193;
    }
    return name.length > 0 ? MAX(hash, 1u) : 0;
}

static void note_received(struct frame *frame, uint32_t number)
{
    if (frame->packet == LULL_NONE) {
        frame->first_packet = number;
    }
    frame->packet = number;
}

/* Says who sent or received the packet, and reports it. */
static void report_packet(struct lull_model *model, const struct machine *machine, struct cpu *cpu,
                          struct lull_net_packet *packet)
{
    struct lull_packet_fact fact = {.packet = packet, .number = model->n_packets++};
    packet->flow = lull_flows_number(model->flows, packet);
    cpu->passed[packet->is_send].number = fact.number;
    cpu->passed[packet->is_send].time_ns = packet->time_ns;
    if (cpu->n_frames > 0) {
        struct frame *frame = &cpu->frames[cpu->n_frames - 1];
        if (!packet->is_send) {
            note_received(frame, fact.number);
        }
        /* The reception of a packet is part of the context around it, be it a softirq or a task. */
        if (frame->kind == FRAME_RECEIVE && cpu->n_frames > 1) {
            frame--;
            if (!packet->is_send) {
                note_received(frame, fact.number);
            }
        }
        fact.in_interrupt = frame->kind != FRAME_RECEIVE;
        fact.context_start_ns = frame->start_ns;
        fact.context_cause = irq_frame_cause(frame);
    } else if (!packet->is_send) {
        cpu->last_packet = fact.number;
    }
    if (!fact.in_interrupt && cpu->task != LULL_NONE && !model->tasks.items[cpu->task].is_idle) {
        packet->task = cpu->task;
    }
    if (model->wanted.segment && machine->has_sockets && !machine->has_headers) {
        sockets_packet(model, packet, fact.number);
    }
    REPORT(model, packet, &fact);
}

void io_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
               bool is_send, const void *event)
{
    const struct lull_ev_packet_sent *ev = event;
    SCHED_CURRENT(model, machine, c, t, ev, packet_sent);
    if (!is_send) {
        use_received(model, machine, c, t, ev->len, ev->device);
    }
    if (!model->wanted.packet && !model->wanted.state) {
        return;
    }
    struct cpu *cpu = model_cpu_at(machine, c);
    struct lull_net_packet packet = {
        .time_ns = t,
        .host = machine->host,
        .task = LULL_NONE,
        .cpu = c,
        .is_send = is_send,
        .is_loopback = ev->device.length == 2 && memcmp(ev->device.data, "lo", 2) == 0,
        .device = io_device_hash(ev->device),
        .length = ev->len,
        .skb = ev->skb,
    };
    if (HAS(ip4_protocol) && ev->ip4_source.length == 4) {
        take_ipv4(&packet, ev);
    } else if (HAS(ip6_next) && ev->ip6_source.length == 16) {
        take_ipv6(&packet, ev);
    } else {
        headers_add(machine, &packet);
    }
    machine->has_headers |= packet.ip_version != 0;
    report_packet(model, machine, cpu, &packet);
}

/* The add-on writes the 16 bits around TCP's flags from the other end: the length of the header is
 * in the low byte, and FIN is the highest bit. No packet has flags that look like such a length. */
static uint16_t flags_of_addon(uint16_t word)
{
    enum { LEAST_HEADER = 5, MOST_HEADER = 15 };
    uint16_t flags = 0;
    if ((word & 0xff) < LEAST_HEADER || (word & 0xff) > MOST_HEADER) {
        return word & 0x1ff;
    }
    for (unsigned bit = 0; bit < 8; bit++) {
        flags |= (word >> (15 - bit) & 1) << bit;
    }
    return flags;
}

void io_socket_packet(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      bool is_send, const void *event)
{
    const struct lull_ev_socket_sent *ev = event;
    SCHED_CURRENT(model, machine, c, t, ev, socket_sent);
    /* The same packet with its headers is worth more. */
    if (machine->has_headers || (!model->wanted.packet && !model->wanted.state)) {
        return;
    }
    struct lull_net_packet packet = {
        .time_ns = t,
        .host = machine->host,
        .task = LULL_NONE,
        .cpu = c,
        .is_send = is_send,
        .has_numbers = true,
        .protocol = PROTOCOL_TCP,
        .seq = ev->seq,
        .ack = ev->ack_seq,
        .tcp_flags = flags_of_addon(ev->flags),
        .window = ev->window,
        .has_window = LULL_HAS(ev, socket_sent, window),
        .socket = ev->sk,
    };
    report_packet(model, machine, model_cpu_at(machine, c), &packet);
}

/* ftrace and perf write the flags as letters. Of newer kernels 'Z' and a letter are what is done to a
 * zone, of which 'A' appends data; 'Z' after 'W' are zeroes. */
static uint32_t rwbs_of_text(struct lull_text text)
{
    static const struct {
        char letter;
        uint32_t flag;
    } flags[] = {{'W', LULL_RWBS_WRITE}, {'R', LULL_RWBS_READ}, {'D', LULL_RWBS_DISCARD},
                 {'S', LULL_RWBS_SYNC},  {'M', LULL_RWBS_META}, {'A', LULL_RWBS_READ_AHEAD}};
    uint32_t rwbs = 0;
    bool data_seen = false;
    for (uint32_t i = 0; i < text.length; i++) {
        if (text.data[i] == 'Z' && !data_seen && i + 1 < text.length) {
            data_seen = true;
            rwbs |= text.data[++i] == 'A' ? LULL_RWBS_WRITE : 0;
            continue;
        }
        if (text.data[i] == 'F') { /* a flush before the data, forced unit access after */
            rwbs |= data_seen ? LULL_RWBS_FUA : LULL_RWBS_FLUSH;
        }
        for (size_t k = 0; k < G_N_ELEMENTS(flags); k++) {
            if (flags[k].letter == text.data[i]) {
                rwbs |= flags[k].flag, data_seen = true;
            }
        }
    }
    return rwbs;
}

/* What has sectors and is neither a read, a write nor a discard writes zeroes, or appends to a zone:
 * kernels have no flag for it, but count it as a write (op_is_write() of blk_types.h). */
static uint32_t rwbs_of(const struct lull_ev_block_rq_issue *ev)
{
    enum {
        OPERATION = LULL_RWBS_WRITE | LULL_RWBS_READ | LULL_RWBS_READ_AHEAD | LULL_RWBS_DISCARD
    };
    const bool has_flags = LULL_HAS(ev, block_rq_issue, rwbs);
    if (!has_flags && !LULL_HAS(ev, block_rq_issue, rwbs_text)) {
        return 0;
    }
    uint32_t rwbs = has_flags ? (uint32_t)ev->rwbs : rwbs_of_text(ev->rwbs_text);
    return ev->sectors == 0 || rwbs & OPERATION ? rwbs : rwbs | LULL_RWBS_WRITE;
}

/* A request is known by device and first sector; a flush has no sectors and no place. */
static uint64_t request_key(uint32_t dev, uint64_t sector, bool is_flush)
{
    uint64_t position = is_flush ? UINT64_MAX : sector;
    return (position * UINT64_C(0x9e3779b97f4a7c15)) ^ ((uint64_t)dev << 32 | dev);
}

/* Tracers that read a request with another kernel's layout say a device number that none can have, whose
 * disk is then told by what was merged, remapped or interrupted. A number that a device can have is its own, named
 * by the state dump or not: a disk may have been plugged in since. */
bool io_is_wrong_device(const struct machine *machine, uint32_t dev)
{
    enum { MINOR_BITS = 20, MAJORS = 512 }; /* BLKDEV_MAJOR_MAX of the kernel; 0 is no device */
    return (dev == 0 || dev >> MINOR_BITS >= MAJORS) &&
           lull_map_find(&machine->devices, dev) == LULL_MAP_NONE;
}

/* What was remapped keeps the device it was made for through any number of layers. It is noted by
 * its place alone too, for tracers that give requests wrong device numbers. */
void io_remapped(struct machine *machine, const struct lull_ev_block_bio_remap *ev)
{
    enum { MANY = 1 << 16 }; /* that were never issued: their requests were not seen */
    if (!LULL_HAS(ev, block_bio_remap, dev) || !LULL_HAS(ev, block_bio_remap, old_dev)) {
        return;
    }
    if (machine->remaps.count > MANY) {
        lull_map_clear(&machine->remaps);
    }
    uint32_t first = lull_map_remove(
        &machine->remaps, request_key((uint32_t)ev->old_dev, (uint64_t)ev->old_sector, false));
    if (first == LULL_MAP_NONE) {
        first = (uint32_t)ev->old_dev;
    } else {
        lull_map_remove(&machine->remaps, request_key(0, (uint64_t)ev->old_sector, false));
    }
    if (first == LULL_MAP_NONE) {
        return;
    }
    lull_map_insert(&machine->remaps, request_key((uint32_t)ev->dev, (uint64_t)ev->sector, false),
                    first);
    lull_map_insert(&machine->remaps, request_key(0, (uint64_t)ev->sector, false), first);
}

/* Takes out the device that what is at this place was made for; LULL_MAP_NONE: was not remapped. */
static uint32_t take_remap(struct machine *machine, uint32_t dev, uint64_t sector)
{
    uint32_t first = lull_map_remove(&machine->remaps, request_key(dev, sector, false));
    if (first == LULL_MAP_NONE && !io_is_wrong_device(machine, dev)) {
        return LULL_MAP_NONE;
    }
    uint32_t by_position = lull_map_remove(&machine->remaps, request_key(0, sector, false));
    return first == LULL_MAP_NONE ? by_position : first;
}

static void note_merged(struct cpu *cpu, uint32_t dev, uint64_t sector)
{
    cpu->merged[cpu->n_merged++ % G_N_ELEMENTS(cpu->merged)] = (struct merged_bio){sector, dev};
}

void io_merged(struct machine *machine, struct cpu *cpu, const struct lull_ev_block_bio_merge *ev)
{
    if (machine->remaps.count) {
        take_remap(machine, (uint32_t)ev->dev, (uint64_t)ev->sector);
    }
    note_merged(cpu, (uint32_t)ev->dev, (uint64_t)ev->sector);
}

/* What waits behind the bio is known by the place of the bio from now on: a request that was put in the
 * queue already keeps what is known of it; else the bio says which device it was made for. */
void io_merged_in_front(struct lull_model *model, struct machine *machine, struct cpu *cpu,
                        const struct lull_ev_block_bio_frontmerge *ev)
{
    const uint32_t dev = (uint32_t)ev->dev;
    const uint64_t sector = (uint64_t)ev->sector, behind = sector + (uint64_t)ev->sectors;
    note_merged(cpu, dev, sector);
    const uint64_t key = request_key(dev, behind, false);
    const uint32_t number = lull_map_find(&machine->requests, key);
    const bool is_waiting = ev->sectors > 0 && number != LULL_MAP_NONE &&
                            model->requests.items[number].issue_ns == INT64_MIN;
    if (is_waiting) {
        lull_map_remove(&machine->requests, key);
        lull_map_insert(&machine->requests, request_key(dev, sector, false), number);
        model->requests.items[number].sector = sector;
    }
    if (machine->remaps.count) {
        take_remap(machine, dev, is_waiting ? sector : behind);
    }
}

/* The device number of a request, or of a bio that was merged into it if no device has the
 * request's number. */
static uint32_t true_device(const struct machine *machine, const struct cpu *cpu,
                            const struct lull_ev_block_rq_issue *ev)
{
    if (!io_is_wrong_device(machine, (uint32_t)ev->dev)) {
        return (uint32_t)ev->dev;
    }
    for (uint32_t i = 0; i < MIN(cpu->n_merged, G_N_ELEMENTS(cpu->merged)); i++) {
        if (cpu->merged[i].sector - (uint64_t)ev->sector < (uint64_t)ev->sectors) {
            return cpu->merged[i].dev;
        }
    }
    return (uint32_t)ev->dev;
}

static uint32_t add_request(struct lull_model *model, const struct machine *machine,
                            const struct lull_ev_block_rq_issue *ev)
{
    lull_vec_push(&model->requests, (struct lull_block_request){
                                        .host = machine->host,
                                        .dev = ev->dev,
                                        .mapped_dev = ev->dev,
                                        .sector = ev->sector,
                                        .sectors = ev->sectors,
                                        .left = ev->sectors,
                                        .submitter = LULL_NONE,
                                        .label = LULL_NONE,
                                        .insert_ns = INT64_MIN,
                                        .issue_ns = INT64_MIN,
                                        .complete_ns = INT64_MIN,
                                    });
    return model->requests.count - 1;
}

/* Where only some tasks are recorded, a request may be issued and completed unseen: it is not one that is inserted
 * later. */
static bool is_over(const struct lull_block_request *request, bool is_issue)
{
    return request->issue_ns != INT64_MIN ||
           (!is_issue && request->insert_ns != INT64_MIN && !request->is_requeued);
}

static uint32_t start_request(struct lull_model *model, struct machine *machine,
                              const struct cpu *cpu, int64_t t, bool is_issue,
                              const struct lull_ev_block_rq_issue *ev)
{
    uint64_t key = request_key(ev->dev, ev->sector, ev->sectors == 0);
    uint32_t number = lull_map_find(&machine->requests, key);
    if (number == LULL_MAP_NONE || is_over(&model->requests.items[number], is_issue)) {
        number = add_request(model, machine, ev);
        lull_map_insert(&machine->requests, key, number);
    }
    struct lull_block_request *request = &model->requests.items[number];
    /* It may grow by merges until it is issued. */
    request->sectors = request->left = MAX(request->sectors, (uint32_t)ev->sectors);
    if (request->submitter == LULL_NONE && cpu->n_frames == 0 && cpu->task != LULL_NONE &&
        !model->tasks.items[cpu->task].is_idle) {
        model->tasks.items[request->submitter = cpu->task].request = number;
    }
    request->rwbs = rwbs_of(ev);
    bool is_remapped = request->mapped_dev != request->dev;
    if (io_is_wrong_device(machine, request->dev)) {
        request->dev = true_device(machine, cpu, ev);
    }
    uint32_t first = machine->remaps.count
                         ? take_remap(machine, (uint32_t)ev->dev, (uint64_t)ev->sector)
                         : LULL_MAP_NONE;
    if (first != LULL_MAP_NONE) {
        request->mapped_dev = first;
    } else if (!is_remapped) {
        request->mapped_dev = request->dev;
    }
    *(is_issue ? &request->issue_ns : &request->insert_ns) = t;
    request->is_requeued = false;
    return number;
}

/* The device did not take it: it will be issued again. */
void io_requeued(struct lull_model *model, struct machine *machine,
                 const struct lull_ev_block_rq_requeue *ev)
{
    uint32_t number = lull_map_find(
        &machine->requests, request_key((uint32_t)ev->dev, (uint64_t)ev->sector, ev->sectors == 0));
    if (number != LULL_MAP_NONE) {
        model->requests.items[number].issue_ns = INT64_MIN;
        model->requests.items[number].is_requeued = true;
    }
}

void io_dumped(struct lull_model *model, struct machine *machine,
               const struct lull_ev_statedump_block_device *ev)
{
    char name[40];
    g_snprintf(name, sizeof name, "%.*s", (int)MIN(ev->diskname.length, 32), ev->diskname.data);
    lull_map_insert(&machine->devices, (uint32_t)ev->dev, model_label(model, name));
}

/* What is issued without sectors, and has not completed: with this it has. Kernels differ in whether
 * the flush itself completes before who needed it. */
static uint32_t complete_open(struct lull_model *model, struct machine *machine, int64_t t,
                              const struct lull_ev_block_rq_issue *ev)
{
    uint64_t key = request_key(ev->dev, 0, true);
    uint32_t number = lull_map_find(&machine->requests, key);
    if (number == LULL_MAP_NONE || model->requests.items[number].issue_ns == INT64_MIN) {
        return LULL_MAP_NONE;
    }
    lull_map_remove(&machine->requests, key);
    lull_map_insert(&machine->completed, key, number);
    model->requests.items[number].complete_ns = t;
    return number;
}

/* Which request completes without sectors, at a place: a write with a flush after it does so again
 * at its old place; what was nothing but a flush does at no place, after the flush it needed. */
static uint32_t complete_empty(struct lull_model *model, struct machine *machine, int64_t t,
                               uint32_t *done, const struct lull_ev_block_rq_issue *ev)
{
    *done = complete_open(model, machine, t, ev);
    uint32_t number = lull_map_remove(&machine->completed, request_key(ev->dev, ev->sector, false));
    if (number != LULL_MAP_NONE) {
        model->requests.items[number].complete_ns = t;
    } else {
        number = lull_map_find(&machine->completed, request_key(ev->dev, 0, true));
    }
    return number;
}

/* *done: the request that is complete with this, and was not before; or LULL_MAP_NONE. */
static uint32_t complete_request(struct lull_model *model, struct machine *machine, int64_t t,
                                 uint32_t *done, const struct lull_ev_block_rq_issue *ev)
{
    bool is_flush = ev->sectors == 0;
    uint64_t key = request_key(ev->dev, ev->sector, is_flush);
    bool has_position = ev->sector != -1;
    uint32_t number = LULL_MAP_NONE;
    *done = LULL_MAP_NONE;
    if (is_flush && has_position) {
        number = complete_empty(model, machine, t, done, ev);
    }
    if (number != LULL_MAP_NONE) {
        return number;
    }
    number = lull_map_remove(&machine->requests, key);
    if (number == LULL_MAP_NONE) {
        number = add_request(model, machine, ev);
    }
    lull_map_insert(&machine->completed, key, number);
    struct lull_block_request *request = &model->requests.items[number];
    request->complete_ns = t;
    if (ev->sectors > 0 &&
        request->left > ev->sectors) { /* in parts: the rest goes on after this one */
        request->left -= (uint32_t)ev->sectors;
        lull_map_insert(
            &machine->requests,
            request_key((uint32_t)ev->dev, (uint64_t)ev->sector + (uint64_t)ev->sectors, false),
            number);
    } else {
        request->left = 0;
        *done = number;
    }
    return number;
}

/* What the interrupts of all queues of a device have in common: "irq 29 virtio2-req.1" →
 * "virtio2-req". */
static uint32_t irq_family(struct lull_model *model, struct machine *machine, uint32_t label)
{
    uint32_t family = lull_map_find(&machine->families, label);
    if (family != LULL_MAP_NONE) {
        return family;
    }
    const char *text = model->labels.items[label] + strlen("irq ");
    text += strspn(text, "0123456789 ");
    g_autofree char *name = g_strndup(text, strcspn(text, "."));
    family = *name ? model_label(model, name) : label;
    lull_map_insert(&machine->families, label, family);
    return family;
}

static void report_request(struct lull_model *model, const struct cpu *cpu, int32_t c, int64_t t,
                           uint32_t request, enum lull_block_step step)
{
    struct lull_block_fact fact = {
        .time_ns = t,
        .request = request,
        .task = irq_is_active(cpu) ? LULL_NONE : model_on_cpu(model, cpu),
        .cpu = c,
        .step = step,
    };
    REPORT(model, block, &fact);
}

void io_request(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                enum lull_event_id id, const void *event)
{
    const struct lull_ev_block_rq_issue *ev = event; /* the three have the same fields */
    SCHED_CURRENT(model, machine, c, t, ev, block_rq_issue);
    struct cpu *cpu = model_cpu_at(machine, c);
    if (id != LULL_EVENT_block_rq_complete) {
        bool is_issue = id == LULL_EVENT_block_rq_issue;
        uint32_t begun = start_request(model, machine, cpu, t, is_issue, ev);
        report_request(model, cpu, c, t, begun, is_issue ? LULL_BLOCK_ISSUE : LULL_BLOCK_INSERT);
        return;
    }
    uint32_t done;
    uint32_t number = complete_request(model, machine, t, &done, ev);
    struct lull_block_request *request = &model->requests.items[number];
    if (request->rwbs == 0) {
        request->rwbs = rwbs_of(ev);
    }
    for (uint32_t i = 0; i < cpu->n_frames; i++) {
        if (cpu->frames[i].kind == FRAME_IRQ) {
            request->label = cpu->frames[i].label;
        }
    }
    if (request->label != LULL_NONE) {
        uint32_t family = irq_family(model, machine, request->label);
        uint32_t known = lull_map_find(&machine->irq_devs, family);
        /* A controller of several disks identifies none: number 0 is no device. */
        if (lull_map_find(&machine->devices, request->dev) != LULL_MAP_NONE &&
            known != request->dev) {
            lull_map_insert(&machine->irq_devs, family, known == LULL_MAP_NONE ? request->dev : 0);
        }
    }
    *(cpu->n_frames ? &cpu->frames[cpu->n_frames - 1].request : &cpu->last_request) = number;
    if (done != LULL_MAP_NONE) {
        report_request(model, cpu, c, t, done, LULL_BLOCK_COMPLETE);
    }
}
