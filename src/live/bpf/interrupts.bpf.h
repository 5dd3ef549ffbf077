/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which interrupt a CPU is in, and what came with it: the cause of the wake-ups that follow, and what the
 * rules block, irq and softirq measure. */
#ifndef LULL_LIVE_INTERRUPTS_BPF_H
#define LULL_LIVE_INTERRUPTS_BPF_H

#include "slots.bpf.h"

/* ---- interrupts ---- */

/* Frame `i`, or NULL: written so that the verifier sees the bound. */
static __always_inline struct lull_track_hop *frame_at(struct context *context, uint32_t i)
{
    if (i >= LULL_TRACK_NESTED) {
        return NULL;
    }
    asm volatile("" : "+r"(i));
    return &context->frame[i & (LULL_TRACK_NESTED - 1)];
}

static __always_inline void enter(uint32_t kind, uint32_t number)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (!context) {
        return;
    }
    struct lull_track_hop *frame = frame_at(context, context->depth++);
    if (frame) {
        frame->start_ns = bpf_ktime_get_ns();
        frame->kind = kind;
        frame->a = number;
    }
}

static __always_inline void leave(void)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (context && context->depth > 0) {
        context->depth--;
    }
}

/* The innermost interrupt, or NULL. */
static __always_inline struct lull_track_hop *frame_now(void)
{
    struct context *context = bpf_map_lookup_elem(&contexts, &zero);
    if (!context || context->depth == 0) {
        return NULL;
    }
    return frame_at(context, context->depth - 1);
}

/* The same of an interrupt that rules may be about. */
static __always_inline void leave_measured(uint32_t measure, uint32_t kind, uint32_t number)
{
    if (config.has_sums) {
        const struct lull_track_hop *frame = frame_now();
        if (frame) {
            observe(measure, bpf_ktime_get_ns() - frame->start_ns);
        }
    } else if (config.measures & 1u << measure) {
        const struct lull_track_hop *frame = frame_now();
        if (frame) {
            struct happened interrupt = {
                .measure = measure, .number = number, .since = frame->start_ns};
            interrupt.hop.kind = kind;
            interrupt.hop.a = number;
            interrupt.id = bpf_get_current_pid_tgid();
            interrupt.uid = (uint32_t)bpf_get_current_uid_gid();
            bpf_get_current_comm(interrupt.comm, sizeof interrupt.comm);
            judge_event(&interrupt);
        }
    }
    leave();
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(irq_entry, int irq)
{
    enter(LULL_TRACK_HOP_IRQ, irq);
    return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(irq_exit, int irq)
{
    leave_measured(LULL_TRACK_IRQ, LULL_TRACK_HOP_IRQ, irq);
    return 0;
}

/* By vector: when it was raised on this CPU; 0: it has been entered since. */
struct raised {
    uint64_t since[MOST_VECTORS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct raised);
} raises SEC(".maps");

static __always_inline uint64_t *raised_at(uint32_t vector)
{
    struct raised *raised = bpf_map_lookup_elem(&raises, &zero);
    if (!raised || vector >= MOST_VECTORS) {
        return NULL;
    }
    asm volatile("" : "+r"(vector));
    return &raised->since[vector & (MOST_VECTORS - 1)];
}

SEC("tp_btf/softirq_raise")
int BPF_PROG(softirq_raised, unsigned int vector)
{
    uint64_t *since = raised_at(vector);
    if (since && *since == 0) {
        *since = bpf_ktime_get_ns();
    }
    return 0;
}

static __always_inline void measure_raise(uint32_t vector)
{
    uint64_t *since = raised_at(vector);
    if (!since || *since == 0) { /* it was raised before tracking began */
        return;
    }
    struct happened raise = {.measure = LULL_TRACK_RAISE, .number = vector, .since = *since};
    *since = 0;
    raise.hop.kind = LULL_TRACK_HOP_SOFTIRQ;
    raise.hop.a = vector;
    raise.id = bpf_get_current_pid_tgid();
    raise.uid = (uint32_t)bpf_get_current_uid_gid();
    bpf_get_current_comm(raise.comm, sizeof raise.comm);
    judge_event(&raise);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_entry, unsigned int vector)
{
    if (config.measures & 1u << LULL_TRACK_RAISE) {
        measure_raise(vector);
    }
    enter(vector == TIMER_SOFTIRQ || vector == HRTIMER_SOFTIRQ ? LULL_TRACK_HOP_TIMER
                                                               : LULL_TRACK_HOP_SOFTIRQ,
          vector);
    return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_exit, unsigned int vector)
{
    leave_measured(LULL_TRACK_SOFTIRQ, LULL_TRACK_HOP_SOFTIRQ, vector);
    return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_entry)
{
    enter(LULL_TRACK_HOP_TIMER, 0);
    return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_exit)
{
    leave();
    return 0;
}

SEC("tp_btf/irq_work_entry")
int BPF_PROG(work_entry)
{
    enter(LULL_TRACK_HOP_INTERRUPT, 0);
    return 0;
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(work_exit)
{
    leave();
    return 0;
}

SEC("tp_btf/call_function_single_entry")
int BPF_PROG(function_entry)
{
    enter(LULL_TRACK_HOP_INTERRUPT, 0);
    return 0;
}

SEC("tp_btf/call_function_single_exit")
int BPF_PROG(function_exit)
{
    leave();
    return 0;
}

/* ---- disks ---- */

struct issued {
    uint64_t since, id;
    uint32_t flags, uid;
    char comm[LULL_TRACK_COMM];
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, uint64_t);
    __type(value, struct issued);
} requests SEC(".maps");

static __always_inline void describe_request(const struct request *request,
                                             struct lull_track_hop *hop)
{
    const struct gendisk *disk = request->q->disk;
    hop->kind = LULL_TRACK_HOP_DISK;
    hop->a = disk ? (uint32_t)disk->major << 20 | (uint32_t)disk->first_minor : 0;
    hop->b = (request->cmd_flags & REQ_OP_MASK) == REQ_OP_WRITE;
    hop->sector = request->__sector;
}

/* A request that is given once more, after the driver put it back, starts anew. */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(disk_issued, const struct request *request)
{
    const uint64_t key = (uint64_t)request;
    const uint32_t operation = request->cmd_flags & REQ_OP_MASK;
    struct issued issued = {.since = bpf_ktime_get_ns(),
                            .id = bpf_get_current_pid_tgid(),
                            .uid = (uint32_t)bpf_get_current_uid_gid()};
    struct lull_track_slot *other;
    const struct lull_track_slot *slot = slot_find((uint32_t)issued.id, &other);
    if (operation == REQ_OP_DRV_IN || operation == REQ_OP_DRV_OUT) {
        return 0;
    }
    if (slot) {
        issued.flags = slot->flags & LULL_TRACK_IS_FOLLOWED;
    } else if (config.command && (uint32_t)issued.id == config.command) {
        issued.flags = LULL_TRACK_IS_FOLLOWED;
    }
    bpf_get_current_comm(issued.comm, sizeof issued.comm);
    if (bpf_map_update_elem(&requests, &key, &issued, BPF_ANY) != 0) {
        struct lull_track_counts *count = bpf_map_lookup_elem(&counts, &zero);
        if (count) {
            count->untracked++;
        }
    }
    return 0;
}

static __always_inline void measure_request(const struct request *request)
{
    const uint64_t key = (uint64_t)request;
    const struct issued *issued = bpf_map_lookup_elem(&requests, &key);
    struct happened done = {.measure = LULL_TRACK_BLOCK};
    if (!issued) {
        return;
    }
    describe_request(request, &done.hop);
    done.number = done.hop.a;
    done.since = issued->since;
    done.id = issued->id;
    done.uid = issued->uid;
    __builtin_memcpy(done.comm, issued->comm, sizeof done.comm);
    const bool counts_here = !config.command || issued->flags & LULL_TRACK_IS_FOLLOWED;
    bpf_map_delete_elem(&requests, &key);
    if (counts_here) {
        judge_event(&done);
    }
}

/* What an interrupt has just finished is why it wakes somebody next. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(disk_done, const struct request *request, int error, unsigned int bytes)
{
    struct lull_track_hop *frame = frame_now();
    if (frame) {
        describe_request(request, frame);
    }
    if (config.measures & 1u << LULL_TRACK_BLOCK && bytes >= request->__data_len) { /* all of it */
        measure_request(request);
    }
    return 0;
}

static __always_inline void received(const struct sock *sock)
{
    struct lull_track_hop *frame = frame_now();
    const struct sock_common *common = &sock->__sk_common;
    const unsigned short family = common->skc_family;
    if (!frame || (family != AF_INET && family != AF_INET6)) {
        return;
    }
    frame->kind = LULL_TRACK_HOP_PACKET;
    frame->a = __builtin_bswap16(common->skc_dport);
    frame->b = common->skc_num;
    frame->c = family == AF_INET6;
    if (family == AF_INET6) {
        bpf_core_read(frame->address, 16, &common->skc_v6_daddr);
    } else {
        *(uint32_t *)frame->address = common->skc_daddr;
    }
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(data_ready, const struct sock *sock)
{
    received(sock);
    return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(tcp_received, const struct sock *sock)
{
    received(sock);
    return 0;
}

#endif
