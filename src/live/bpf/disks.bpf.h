/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Requests to disks: the cause of the wake-ups that follow their completion, and what the rules block
 * and queue measure. */
#ifndef LULL_LIVE_DISKS_BPF_H
#define LULL_LIVE_DISKS_BPF_H

#include "interrupts.bpf.h"
#include "spans.bpf.h"

static __always_inline void describe_request(const struct request *request,
                                             struct lull_track_hop *hop)
{
    const struct gendisk *disk = request->q->disk;
    hop->kind = LULL_TRACK_HOP_DISK;
    hop->a = disk ? (uint32_t)disk->major << 20 | (uint32_t)disk->first_minor : 0;
    hop->b = (request->cmd_flags & REQ_OP_MASK) == REQ_OP_WRITE;
    hop->sector = request->__sector;
}

/* Of programs that speak to the disk themselves. */
static __always_inline bool is_passed_through(const struct request *request)
{
    const uint32_t operation = request->cmd_flags & REQ_OP_MASK;
    return operation == REQ_OP_DRV_IN || operation == REQ_OP_DRV_OUT;
}

static __always_inline void measure_request(uint32_t measure, const struct request *request)
{
    struct span span;
    struct happened done = {.measure = measure};
    if (close_span(&spans, measure, (uint64_t)request, 0, &span)) {
        describe_request(request, &done.hop);
        done.number = done.hop.a;
        judge_span(NULL, &span, &done);
    }
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(disk_queued, const struct request *request)
{
    if (!is_passed_through(request)) {
        open_span(&spans, LULL_TRACK_QUEUE, (uint64_t)request, 0);
    }
    return 0;
}

/* It has become part of another, and is never given to the disk. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(disk_merged, const struct request *request)
{
    struct span span;
    close_span(&spans, LULL_TRACK_QUEUE, (uint64_t)request, 0, &span);
    return 0;
}

/* A request that is given once more, after the driver put it back, starts anew. */
SEC("tp_btf/block_rq_issue")
int BPF_PROG(disk_issued, const struct request *request)
{
    if (config.measures & 1u << LULL_TRACK_QUEUE) {
        measure_request(LULL_TRACK_QUEUE, request);
    }
    if (config.measures & 1u << LULL_TRACK_BLOCK && !is_passed_through(request)) {
        open_span(&spans, LULL_TRACK_BLOCK, (uint64_t)request, 0);
    }
    return 0;
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
        measure_request(LULL_TRACK_BLOCK, request);
    }
    return 0;
}

#endif
