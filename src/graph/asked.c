/* SPDX-License-Identifier: MIT */
/* A task that waits for one of several descriptors, as servers do that have many requests under way: since when it has waited
 * for the one that became ready. That is since it first waited after it last used that, be it that it asked there for what has
 * come now, or that it took what came before; what it did after that first wait was for others. If another thread of the
 * process used it last, as threads do that share connections, it is since then, and the path goes on with that thread. */
#include "graph/execgraph_private.h"

/* What brings something to whoever waits for it; a file on a disk is always ready. */
static bool is_awaited(const struct lull_execgraph *eg, uint32_t file)
{
    return file != LULL_NONE && lull_model_file(eg->model, file)->type > LULL_FILE_DISK;
}

static const struct lull_graph_asked never = {INT64_MAX, INT64_MIN, LULL_NONE};

/* Where the task, or another of its process, asked for what the file brings. `never`: nobody has, or it has not waited since, or events
 * are missing since, so that it may have used the file. */
static struct lull_graph_asked asked_for(const struct lull_execgraph *eg, uint32_t task,
                                         uint32_t file)
{
    if (file >= eg->loops.uses.count || eg->loops.uses.items[file].task == LULL_NONE) {
        return never;
    }
    const struct use_note *use = &eg->loops.uses.items[file];
    const int64_t time_ns = use->task == task ? eg->loops.turns.items[use->turn] : use->time_ns;
    const uint32_t host = lull_model_file(eg->model, file)->host;
    const bool is_sure = host >= eg->hosts.count || time_ns > eg->hosts.items[host].missing_ns;
    return is_sure ? (struct lull_graph_asked){time_ns, INT64_MIN, use->task} : never;
}

/* Of several that were ready, epoll_wait() names the one first that was ready first; the others have an order of their own. */
static struct lull_graph_asked asked_for_any(const struct lull_execgraph *eg,
                                             const struct lull_syscall_fact *fact)
{
    const struct lull_polled *polled = fact->polled;
    const bool is_ordered = g_str_has_prefix(lull_model_label(eg->model, fact->name), "epoll");
    struct lull_graph_asked last = asked_for(eg, fact->task, polled->files[0]);
    for (uint32_t i = 1; i < MIN(polled->n, LULL_POLLED_NAMED) && !is_ordered; i++) {
        const struct lull_graph_asked asked = asked_for(eg, fact->task, polled->files[i]);
        last = asked.time_ns > last.time_ns ? asked : last;
    }
    return last;
}

bool lull_asked_is_loop(struct lull_execgraph *eg, const struct lull_wait_reason *reason)
{
    uint32_t *kind = lull_slots_at(&eg->loops.kinds, reason->call);
    if (G_UNLIKELY(*kind == 0)) {
        struct lull_wait_reason call = LULL_WAIT_REASON_NONE;
        call.call = reason->call;
        *kind = 1 + lull_wait_reason_kind(eg->model, &call);
    }
    return *kind == 1 + LULL_WAIT_READY && !reason->is_sleep;
}

void lull_asked_ready(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                      struct loop_note *loop, int64_t start_ns, int64_t end_ns)
{
    loop->ready_ns = INT64_MIN;
    loop->slept_ns = end_ns;
    if (loop->turn != LULL_NONE) {
        eg->loops.turns.items[loop->turn] = start_ns;
        loop->turn = LULL_NONE;
    }
    if (fact->is_open || !fact->has_ret || fact->ret <= 0 || fact->error) {
        return;
    }
    if (fact->polled && fact->polled->n) {
        lull_graph_wait_asked(eg->graph, fact->task, end_ns, asked_for_any(eg, fact));
    } else {
        loop->ready_ns = end_ns; /* it is what the task uses next */
    }
}

static void take_next(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                      struct loop_note *loop)
{
    const struct lull_io *io = fact->io;
    /* Of an epoll or a timerfd that is only set, nothing can be said. */
    const bool is_set =
        io->kind == LULL_IO_OTHER && lull_model_file(eg->model, io->file)->type == LULL_FILE_OTHER;
    if (io->kind == LULL_IO_OPEN) { /* accept(), as a rule: nothing was asked for */
        loop->ready_ns = INT64_MIN;
    } else if (is_awaited(eg, io->file) && !is_set) {
        lull_graph_wait_asked(eg->graph, fact->task, loop->ready_ns,
                              asked_for(eg, fact->task, io->file));
        loop->ready_ns = INT64_MIN;
    }
}

/* ---- what came while the task was busy ---- */

void lull_asked_packet(struct lull_execgraph *eg, const struct lull_packet_fact *fact)
{
    enum { TCP = 6 };
    const struct lull_net_packet *packet = fact->packet;
    if (packet->flow == LULL_NONE || packet->payload == 0 || packet->protocol != TCP) {
        return;
    }
    if (!packet->is_send) {
        *lull_slots_at(&eg->loops.arrived, packet->flow) = fact->number + 1; /* 0 for LULL_NONE */
    } else if (packet->task < eg->last_waits.count && !fact->in_interrupt) {
        eg->last_waits.items[packet->task].loop.sent_ns = packet->time_ns;
        eg->last_waits.items[packet->task].loop.sent_on = packet->flow;
    }
}

/* What was written to the file went out there. */
static void learn_flow(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                       struct loop_note *loop, uint32_t file)
{
    if (loop->sent_on != LULL_NONE && file != LULL_NONE && loop->sent_ns >= fact->start_ns) {
        *lull_slots_at(&eg->loops.flow_of, file) = loop->sent_on + 1;
    }
    loop->sent_on = LULL_NONE;
}

/* The last packet with what is read from the file; LULL_NONE: not known. */
static uint32_t packet_into(const struct lull_execgraph *eg, uint32_t file)
{
    const uint32_t out = lull_slots_get(&eg->loops.flow_of, file);
    const uint32_t in =
        out ? lull_flows_at(lull_model_flows(eg->model), out - 1)->reverse : LULL_NONE;
    return in != LULL_NONE ? lull_slots_get(&eg->loops.arrived, in) - 1 : LULL_NONE;
}

/* The task has read what came while it was busy, though it had waited since it asked for it. Of a client it has not asked anything:
 * who waits for the answer to what that sent has waited since then. */
static void take_input(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                       const struct loop_note *loop)
{
    struct lull_graph_asked asked = asked_for(eg, fact->task, fact->io->file);
    const uint32_t number =
        asked.time_ns == INT64_MAX ? LULL_NONE : packet_into(eg, fact->io->file);
    if (number >= eg->packets.count || lull_model_file(eg->model, fact->io->file)->is_accepted ||
        eg->vcpus) { /* hypervisor.c adds points of before */
        return;
    }
    const struct packet_note *came = &eg->packets.items[number];
    const struct packet_note *sent =
        came->peer < eg->packets.count ? &eg->packets.items[came->peer] : NULL;
    if (!sent || sent->line == LULL_NONE || came->time_ns <= MAX(asked.time_ns, loop->slept_ns)) {
        return;
    }
    asked.came_ns = came->time_ns;
    lull_graph_append(eg->graph, fact->task, fact->end_ns, LULL_STATE_RUNNING, LULL_CAUSE_NONE,
                      fact->cpu, LULL_NONE);
    struct lull_wait_reason reason = LULL_WAIT_REASON_NONE;
    reason.call = fact->name;
    reason.file = fact->io->file;
    reason.fd = fact->io->fd;
    reason.path = lull_model_file(eg->model, reason.file)->path;
    lull_vec_push(&eg->evidence,
                  (struct evidence){.label = LULL_NONE,
                                    .reason = lull_wait_reasons_add(&eg->reasons, &reason),
                                    .index = number,
                                    .waker = LULL_NONE});
    lull_graph_link_input(eg->graph, sent->line, sent->time_ns, fact->task, fact->end_ns, asked,
                          eg->evidence.count - 1);
}

/* ---- what the task uses ---- */

static void set_used(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                     struct loop_note *loop, uint32_t file)
{
    struct loops *loops = &eg->loops;
    const bool is_known = file < loops->uses.count && loops->uses.items[file].task != LULL_NONE;
    if (!is_known && !is_awaited(eg, file)) {
        return;
    }
    if (loop->turn == LULL_NONE) {
        loop->turn = (uint32_t)loops->turns.count;
        lull_vec_push(&loops->turns, INT64_MAX);
    }
    while (loops->uses.count <= file) {
        lull_vec_push(&loops->uses, (struct use_note){.task = LULL_NONE});
    }
    const bool is_read = fact->io->kind == LULL_IO_READ || fact->start_ns == INT64_MIN;
    loops->uses.items[file] =
        (struct use_note){is_read ? fact->end_ns : fact->start_ns, fact->task, loop->turn};
}

void lull_asked_use(struct lull_execgraph *eg, const struct lull_syscall_fact *fact,
                    struct loop_note *loop)
{
    const struct lull_io *io = fact->io;
    if (G_UNLIKELY(loop->ready_ns != INT64_MIN)) {
        take_next(eg, fact, loop);
    }
    const bool has_moved = io->bytes > 0 || (io->bytes < 0 && fact->has_ret && fact->ret > 0);
    if (has_moved && io->kind == LULL_IO_READ) {
        take_input(eg, fact, loop);
        set_used(eg, fact, loop, io->file);
    } else if (has_moved && io->kind == LULL_IO_WRITE) {
        learn_flow(eg, fact, loop, io->file);
        set_used(eg, fact, loop, io->file);
    } else if (has_moved && io->kind == LULL_IO_COPY) {
        learn_flow(eg, fact, loop, io->to_file);
        set_used(eg, fact, loop, io->file);
        set_used(eg, fact, loop, io->to_file);
    } else if (io->kind == LULL_IO_CONNECT) {
        set_used(eg, fact, loop, io->file);
    }
}

void lull_asked_free(struct loops *loops)
{
    lull_vec_free(&loops->turns);
    lull_vec_free(&loops->uses);
    lull_slots_free(&loops->kinds);
    lull_slots_free(&loops->flow_of);
    lull_slots_free(&loops->arrived);
}
