/* SPDX-License-Identifier: MIT */
/* What starts at one event and ends at another: handlers of interrupts, which are the cause of the wake-ups
 * that follow, and requests to disks. */
#include <string.h>
#include <sys/socket.h>

#include "live/ftrace/model.h"

/* Of what a handler returns: IRQ_WAKE_THREAD of linux/irqreturn.h. */
enum { RET_WAKE_THREAD = 2 };

enum { MOST_REQUESTS = 10240 };

/* ---- interrupts ---- */

static struct lull_track_hop *frame_now(struct lull_ftrace_cpu_state *cpu)
{
    return cpu->depth > 0 && cpu->depth <= LULL_TRACK_NESTED ? &cpu->frame[cpu->depth - 1] : NULL;
}

static void enter(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                  uint32_t kind, uint32_t number)
{
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    cpu->thread.irq = 0;
    cpu->depth++;
    struct lull_track_hop *frame = frame_now(cpu);
    if (frame) {
        memset(frame, 0, sizeof *frame);
        frame->start_ns = event->ns;
        frame->kind = kind;
        frame->a = number;
    }
}

/* The frame that was entered last is for that interrupt. */
static void attribute(struct lull_ftrace_cause *cause, const struct lull_ftrace_cpu_state *cpu,
                      uint64_t since, uint32_t irq)
{
    *cause = (struct lull_ftrace_cause){.since = since, .irq = irq, .depth = cpu->depth};
}

static bool is_cause(const struct lull_ftrace_cause *cause, const struct lull_ftrace_cpu_state *cpu)
{
    return cpu->depth > 0 && cause->irq && cause->depth == cpu->depth;
}

bool lull_ftrace_cause_now(const struct lull_ftrace_model *model,
                           const struct lull_ftrace_event *event, struct lull_ftrace_cause *cause)
{
    const struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    if (cpu->depth == 0) {
        return lull_ftrace_served_irq(model, event, cause);
    }
    if (!is_cause(&cpu->handler, cpu) && !is_cause(&cpu->softirq, cpu)) {
        return false;
    }
    *cause = is_cause(&cpu->handler, cpu) ? cpu->handler : cpu->softirq;
    return true;
}

static void interrupted(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                        uint32_t measure, uint32_t kind, uint32_t number, uint64_t since)
{
    struct lull_ftrace_happened happened = {.measure = measure,
                                            .number = number,
                                            .since = since,
                                            .until = event->ns,
                                            .cpu = event->cpu,
                                            .hop = {.kind = kind, .a = number}};
    if (model->measures & 1u << measure) {
        lull_ftrace_happened_to(model, (uint32_t)event->fields->tid, &happened);
        lull_ftrace_judge_event(model, &happened);
    }
}

static void leave(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                  uint32_t measure, uint32_t kind)
{
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const struct lull_track_hop *frame = frame_now(cpu);
    if (frame && frame->start_ns <= event->ns) {
        lull_ftrace_observe(model, &model->histograms.of[measure], event->ns - frame->start_ns);
        interrupted(model, event, measure, kind, (uint32_t)event->fields->number[0],
                    frame->start_ns);
    }
    (measure == LULL_TRACK_IRQ ? &cpu->handler : &cpu->softirq)->irq = 0;
    cpu->depth -= cpu->depth > 0;
}

static void leave_handler(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                          uint32_t number)
{
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const struct lull_track_hop *frame = frame_now(cpu);
    const uint64_t since = frame ? frame->start_ns : event->ns;
    leave(model, event, LULL_TRACK_IRQ, LULL_TRACK_HOP_IRQ);
    if (event->fields->number[1] & RET_WAKE_THREAD) {
        lull_ftrace_hand_over(cpu, since, number);
    }
}

static void raised(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const uint64_t vector = (uint64_t)event->fields->number[0];
    if (vector >= G_N_ELEMENTS(cpu->raised)) {
        return;
    }
    if (cpu->raised[vector] == 0) {
        const bool is_interrupt =
            cpu->depth || event->fields->flags & (LULL_FTRACE_IN_HARDIRQ | LULL_FTRACE_IN_SOFTIRQ);
        cpu->raised[vector] = event->ns;
        cpu->raiser[vector] = is_interrupt ? 0 : (uint32_t)event->fields->tid;
    }
    struct lull_ftrace_cause cause;
    if (cpu->raised_by[vector].irq == 0 && lull_ftrace_cause_now(model, event, &cause)) {
        cpu->raised_by[vector] = cause;
    }
}

static void enter_softirq(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const uint64_t vector = (uint64_t)event->fields->number[0];
    struct lull_ftrace_cpu_state *cpu = &model->cpus[event->cpu];
    const bool is_known = vector < G_N_ELEMENTS(cpu->raised);
    if (is_known && cpu->raised[vector]) {
        const uint64_t since = cpu->raised[vector];
        cpu->raised[vector] = 0;
        interrupted(model, event, LULL_TRACK_RAISE, LULL_TRACK_HOP_SOFTIRQ, (uint32_t)vector,
                    since);
    }
    enter(model, event, lull_ftrace_kind_of_softirq((uint32_t)vector), (uint32_t)vector);
    if (is_known) {
        struct lull_ftrace_cause *by = &cpu->raised_by[vector];
        attribute(&cpu->softirq, cpu, by->since, by->irq);
        by->irq = 0;
    }
}

/* The addresses are a struct sockaddr_in or sockaddr_in6. */
static void received(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const struct lull_ftrace_fields *f = event->fields;
    struct lull_track_hop *frame = frame_now(&model->cpus[event->cpu]);
    const bool is_v6 = f->number[2] == AF_INET6;
    const uint32_t at = is_v6 ? 8 : 4, size = is_v6 ? 16 : 4;
    if (!frame || (!is_v6 && f->number[2] != AF_INET) || f->text[0].length < at + size) {
        return;
    }
    frame->kind = LULL_TRACK_HOP_PACKET;
    frame->a = (uint32_t)f->number[0] & 0xffff;
    frame->b = (uint32_t)f->number[1] & 0xffff;
    frame->c = is_v6;
    memcpy(frame->address, f->text[0].data + at, size);
}

/* ---- requests ---- */

/* Events do not say which request it is: it is that of this disk, from this sector on, that does this. */
struct request {
    uint64_t sector;
    uint32_t device;
    uint8_t measure;
    char does[3]; /* the first letters of "rwbs" */
};

struct span {
    uint64_t since, sectors;
    uint32_t flags;
    struct lull_ftrace_happened by;
};

static guint hash_request(const void *data)
{
    const struct request *request = data;
    return (guint)(request->sector ^ request->sector >> 32) * 31 + request->device +
           request->measure;
}

static gboolean same_request(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct request)) == 0;
}

/* R, W, D, … of what it does; a write may have "F", for what is flushed before it, in front. */
static void name_request(const struct lull_ftrace_event *event, uint32_t measure,
                         struct request *request)
{
    const struct lull_text *does = &event->fields->text[0];
    memset(request, 0, sizeof *request);
    request->device = (uint32_t)event->fields->number[0];
    request->sector = (uint64_t)event->fields->number[1];
    request->measure = (uint8_t)measure;
    memcpy(request->does, does->data, MIN(does->length, (uint32_t)sizeof request->does));
}

static bool is_write(const struct request *request)
{
    return request->does[0] == 'W' || (request->does[0] == 'F' && request->does[1] == 'W');
}

static void describe_request(const struct request *request, struct lull_track_hop *hop)
{
    hop->kind = LULL_TRACK_HOP_DISK;
    hop->a = request->device;
    hop->b = is_write(request);
    hop->sector = request->sector;
}

/* What programs say to the disk themselves is no request: "N". One that starts again starts anew. */
static void open_request(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                         uint32_t measure)
{
    struct request request;
    name_request(event, measure, &request);
    if (request.does[0] == 'N' || !(model->wanted & 1u << measure)) {
        return;
    }
    if (g_hash_table_size(model->spans) >= MOST_REQUESTS) {
        model->counts.kernel.untracked++;
        return;
    }
    struct span *span = g_new0(struct span, 1);
    const uint32_t tid = (uint32_t)event->fields->tid;
    span->since = event->ns;
    span->sectors = (uint64_t)event->fields->number[2];
    span->by.cpu = event->cpu;
    lull_ftrace_happened_to(model, tid, &span->by);
    const struct lull_ftrace_task *task = tid ? lull_ftrace_task_find(model, tid) : NULL;
    span->flags = task ? task->slot.flags : 0;
    g_hash_table_replace(model->spans, g_memdup2(&request, sizeof request), span);
}

/* The first `sectors` are done; when all are, it is over. */
static void close_request(struct lull_ftrace_model *model, const struct lull_ftrace_event *event,
                          uint32_t measure, uint64_t sectors)
{
    struct request request;
    name_request(event, measure, &request);
    void *key, *value;
    if (!g_hash_table_steal_extended(model->spans, &request, &key, &value)) {
        return; /* it started before tracking began */
    }
    struct span *span = value;
    if (sectors < span->sectors) {
        ((struct request *)key)->sector += sectors;
        span->sectors -= sectors;
        g_hash_table_replace(model->spans, key, span);
        return;
    }
    span->by.measure = measure;
    span->by.number = request.device;
    span->by.since = span->since;
    span->by.until = event->ns;
    span->by.cpu = event->cpu;
    describe_request(&request, &span->by.hop);
    if (measure == LULL_TRACK_BLOCK) {
        lull_ftrace_observe(model, &model->histograms.of[measure], event->ns - span->since);
    }
    if (!model->question.command || span->flags & LULL_TRACK_IS_FOLLOWED) {
        lull_ftrace_judge_event(model, &span->by);
    }
    g_free(key);
    g_free(span);
}

/* What an interrupt has just finished is why it wakes somebody next. */
static void complete(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct lull_track_hop *frame = frame_now(&model->cpus[event->cpu]);
    struct request request;
    if (frame) {
        name_request(event, LULL_TRACK_BLOCK, &request);
        describe_request(&request, frame);
    }
    if (model->wanted & 1u << LULL_TRACK_BLOCK) {
        close_request(model, event, LULL_TRACK_BLOCK, (uint64_t)event->fields->number[2]);
    }
}

/* A request that becomes part of another is never given to the disk. */
static void merge(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    struct request request;
    name_request(event, LULL_TRACK_QUEUE, &request);
    g_hash_table_remove(model->spans, &request);
}

/* ---- events ---- */

void lull_ftrace_spans_take(struct lull_ftrace_model *model, const struct lull_ftrace_event *event)
{
    const uint32_t number = (uint32_t)event->fields->number[0];
    switch (event->kind) {
    case LULL_FTRACE_IRQ_ENTRY:
        enter(model, event, LULL_TRACK_HOP_IRQ, number);
        attribute(&model->cpus[event->cpu].handler, &model->cpus[event->cpu], event->ns,
                  1 + number);
        break;
    case LULL_FTRACE_IRQ_EXIT:
        leave_handler(model, event, number);
        break;
    case LULL_FTRACE_SOFTIRQ_ENTRY:
        enter_softirq(model, event);
        break;
    case LULL_FTRACE_SOFTIRQ_EXIT:
        leave(model, event, LULL_TRACK_SOFTIRQ, LULL_TRACK_HOP_SOFTIRQ);
        break;
    case LULL_FTRACE_SOFTIRQ_RAISE:
        raised(model, event);
        break;
    case LULL_FTRACE_TIMER_ENTRY:
        enter(model, event, LULL_TRACK_HOP_TIMER, 0);
        break;
    case LULL_FTRACE_TIMER_EXIT:
        model->cpus[event->cpu].depth -= model->cpus[event->cpu].depth > 0;
        break;
    case LULL_FTRACE_TCP_PROBE:
        received(model, event);
        break;
    case LULL_FTRACE_BLOCK_INSERT:
        open_request(model, event, LULL_TRACK_QUEUE);
        break;
    case LULL_FTRACE_BLOCK_MERGE:
        merge(model, event);
        break;
    case LULL_FTRACE_BLOCK_ISSUE:
        close_request(model, event, LULL_TRACK_QUEUE, UINT64_MAX);
        open_request(model, event, LULL_TRACK_BLOCK);
        break;
    case LULL_FTRACE_BLOCK_COMPLETE:
        complete(model, event);
        break;
    default:
        break;
    }
}

void lull_ftrace_spans_init(struct lull_ftrace_model *model)
{
    model->spans = g_hash_table_new_full(hash_request, same_request, g_free, g_free);
}
