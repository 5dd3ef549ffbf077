/* SPDX-License-Identifier: MIT */
/* Building the execution graph from facts. One line for each task, and one for the interrupt
 * context of each CPU on which packets pass: there a handler's entry starts a new piece, so that a
 * context never seems to run while its CPU was idle. */
#include "graph/execgraph_private.h"

#include <string.h>

#include "base/search.h"

/* The task that sent last on a flow; LULL_NONE: none did. */
static uint32_t sender_on(const struct lull_execgraph *eg, uint32_t flow)
{
    return flow < eg->senders.count ? eg->senders.items[flow] : LULL_NONE;
}

/* Which packet woke the task. Its context may have received several before it woke anyone: one that
 * answers what the task has sent goes first, then one whose sender is known, then the last. */
static uint32_t choose_packet(const struct lull_execgraph *eg, const struct lull_wakeup *wakeup,
                              uint32_t task)
{
    enum { IS_LATEST = 1, IS_MATCHED = 2, IS_ANSWER = 4, LOOK_BACK = 256 };
    uint32_t chosen = wakeup->packet;
    int best = 0;
    if (chosen >= eg->packets.count) {
        return LULL_NONE;
    }
    uint32_t first = MAX(wakeup->first_packet, chosen - MIN(chosen, LOOK_BACK));
    for (uint32_t i = chosen + 1; i-- > first;) {
        const struct packet_note *note = &eg->packets.items[i];
        if (note->line != eg->packets.items[wakeup->packet].line || !note->is_received) {
            continue;
        }
        uint32_t reverse = LULL_NONE;
        if (note->flow != LULL_NONE) {
            reverse = lull_flows_at(lull_model_flows(eg->model), note->flow)->reverse;
        }
        int rank = (i == wakeup->packet ? IS_LATEST : 0) |
                   (note->peer != LULL_NONE ? IS_MATCHED : 0) |
                   (reverse != LULL_NONE && sender_on(eg, reverse) == task ? IS_ANSWER : 0);
        if (rank > best) {
            best = rank;
            chosen = i;
        }
    }
    return chosen;
}

/* A worker of the kernel's workqueues has waited for work: whoever has to wait for that work waits for who queued it,
 * whatever the worker did before. */
static bool is_idle_worker(const struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    return fact->letter == 'I' &&
           g_str_has_prefix(lull_model_comm(eg->model, fact->task, fact->start_ns), "kworker/");
}

/* While a process holds a lease of a file that another opens, the kernel may look at each tick whether it has given
 * it up (a write lease, opened for reading): all these waits in the call are for the holder. Else the same as the
 * start of the wait. */
static int64_t polled_since(const struct lull_execgraph *eg, const struct lull_state_fact *fact,
                            uint32_t evidence)
{
    if (fact->task >= eg->last_waits.count ||
        eg->last_waits.items[fact->task].polled_ns >= fact->start_ns) {
        return fact->start_ns; /* nearly all: nothing is compared */
    }
    const struct lull_wait_reason *reason = lull_evidence_reason(eg, evidence);
    return reason && lull_wait_reason_is_lease(eg->model, reason)
               ? eg->last_waits.items[fact->task].polled_ns
               : fact->start_ns;
}

/* The wait that ends, into which there is a link, had started before, with the tries before it. */
static void wait_since(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                       uint32_t evidence)
{
    const struct timeout_note *tried = lull_evidence_tries(eg, evidence);
    const int64_t since_ns = tried ? tried->since_ns : polled_since(eg, fact, evidence);
    if (since_ns < fact->start_ns) {
        lull_graph_wait_since(eg->graph, fact->task, fact->end_ns, since_ns);
    }
}

/* The wait that ends was for what the line did then. */
static void link_cause(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                       uint32_t from_line, int64_t from_ns, uint32_t evidence)
{
    lull_graph_link(eg->graph, from_line, from_ns, fact->task, fact->end_ns, fact->wakeup->cause,
                    evidence);
    wait_since(eg, fact, evidence);
    if (is_idle_worker(eg, fact)) {
        lull_graph_link_idle(eg->graph, fact->task, fact->end_ns);
    }
}

/* A task did, by raising the softirq, what ended the wait. A timer or a disk says more than who ran when it
 * was done, but for a disk that is a file. */
static bool is_raised_by_other(const struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    const struct lull_wakeup *wakeup = fact->wakeup;
    return wakeup->raiser != LULL_NONE && wakeup->raiser != fact->task &&
           (wakeup->cause == LULL_CAUSE_NETWORK || wakeup->cause == LULL_CAUSE_IRQ ||
            (wakeup->cause == LULL_CAUSE_DISK && wakeup->request != LULL_NONE &&
             lull_block_is_of_file(lull_model_request(eg->model, wakeup->request))));
}

/* The link into that point comes from that packet. What was passed on had come to its line before. */
static void link_through(struct lull_execgraph *eg, uint32_t sent, uint32_t line, int64_t time_ns)
{
    const uint32_t passed =
        eg->passed_on.count ? lull_map_find(&eg->passed_on, sent) : LULL_MAP_NONE;
    if (passed != LULL_MAP_NONE) {
        const struct packet_note *came = &eg->packets.items[passed];
        lull_graph_link_through(eg->graph, line, time_ns, came->line, came->time_ns);
    }
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_execgraph *eg = user;
    const struct lull_wakeup *wakeup = fact->wakeup;
    lull_waits_activity(eg, fact);
    uint32_t evidence = LULL_NONE, packet = LULL_NONE;
    if (eg->vcpus) {
        lull_vcpu_track_state(eg->vcpus, fact);
        lull_raises_state(eg->raises, fact);
    }
    if (wakeup && wakeup->cause == LULL_CAUSE_NETWORK) {
        packet = choose_packet(eg, wakeup, fact->task);
    }
    if (wakeup || fact->state == LULL_STATE_BLOCKED) {
        evidence = lull_waits_note(eg, fact, packet);
    }
    if (eg->vcpus) {
        lull_hypervisor_state(eg, fact, evidence);
    }
    if (fact->state == LULL_STATE_NONE) {
        lull_graph_add(eg->graph, fact->task, fact->end_ns);
    } else if (fact->state != LULL_STATE_BLOCKED) {
        lull_graph_append(eg->graph, fact->task, fact->end_ns, fact->state, LULL_CAUSE_NONE,
                          fact->cpu, LULL_NONE);
    } else {
        const enum lull_cause cause = eg->evidence.items[evidence].is_dirty ? LULL_CAUSE_DISK
                                      : wakeup                              ? wakeup->cause
                                                                            : LULL_CAUSE_UNKNOWN;
        lull_graph_append(eg->graph, fact->task, fact->end_ns, LULL_STATE_BLOCKED, cause, -1,
                          evidence);
    }
    if (fact->continues != LULL_NONE) {
        lull_graph_link_same(eg->graph, fact->continues, fact->task, fact->end_ns);
    }
    if (!wakeup) {
        return;
    }
    /* The cause lies in a moment of another line: of the waker, or of who sent the packet. */
    uint32_t sent = packet != LULL_NONE ? eg->packets.items[packet].peer : LULL_NONE;
    if (sent != LULL_NONE && eg->packets.items[sent].line != LULL_NONE) {
        link_cause(eg, fact, eg->packets.items[sent].line, eg->packets.items[sent].time_ns,
                   evidence);
        link_through(eg, sent, fact->task, fact->end_ns);
    } else if (wakeup->cause == LULL_CAUSE_TASK && wakeup->task != LULL_NONE) {
        link_cause(eg, fact, wakeup->task, wakeup->time_ns, evidence);
    } else if (is_raised_by_other(eg, fact)) {
        lull_graph_link_bounded(eg->graph, wakeup->raiser, wakeup->raise_ns, fact->task,
                                fact->end_ns, wakeup->cause, evidence);
        wait_since(eg, fact, evidence);
    } else if (eg->vcpus) {
        lull_hypervisor_woken(eg, fact);
    }
}

struct host_notes *lull_execgraph_host(struct lull_execgraph *eg, uint32_t host)
{
    while (eg->hosts.count <= host) {
        memset(lull_vec_add(&eg->hosts), 0, sizeof *eg->hosts.items);
        eg->hosts.items[eg->hosts.count - 1].quotas_ns = INT64_MIN;
        eg->hosts.items[eg->hosts.count - 1].lost_ns = INT64_MIN;
        eg->hosts.items[eg->hosts.count - 1].missing_ns = INT64_MIN;
    }
    return &eg->hosts.items[host];
}

static void on_syscall(void *user, const struct lull_syscall_fact *fact)
{
    lull_waits_syscall(user, fact);
}

static void on_paging(void *user, const struct lull_paging_fact *fact)
{
    lull_modes_paging(user, fact);
}

static void on_contention(void *user, const struct lull_contention_fact *fact)
{
    lull_faults_contention(&((struct lull_execgraph *)user)->faults, fact);
}

static void on_cgroup(void *user, const struct lull_cgroup_fact *fact)
{
    struct lull_execgraph *eg = user;
    lull_vec_push(&eg->moves,
                  (struct move_note){fact->time_ns, fact->hierarchy, fact->task, fact->path});
}

static void on_timer(void *user, const struct lull_timer_fact *fact)
{
    struct lull_execgraph *eg = user;
    for (size_t i = 0; i < eg->quota_clocks.count; i++) {
        const struct quota_clock *clock = &eg->quota_clocks.items[i];
        if (clock->function == fact->function && clock->host == fact->host) {
            lull_vec_push(&eg->quota_timers,
                          (struct timer_note){fact->time_ns, fact->timer, fact->host});
            break;
        }
    }
}

static struct cpu_notes *notes_of(struct lull_execgraph *eg, uint32_t host, int32_t cpu)
{
    struct host_notes *notes = lull_execgraph_host(eg, host);
    while ((int32_t)notes->cpus.count <= cpu) {
        memset(lull_vec_add(&notes->cpus), 0, sizeof *notes->cpus.items);
    }
    return &notes->cpus.items[cpu];
}

static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    struct lull_execgraph *eg = user;
    struct cpu_notes *notes = notes_of(eg, fact->host, fact->cpu);
    lull_quotas_switched(eg, notes, fact->time_ns);
    if (G_UNLIKELY(fact->unknown_ns > 0) && notes->switches.count > 0) {
        /* Who had it then, or idleness, did not last until now: how long it did nobody knows. */
        lull_vec_push(&notes->switches, (struct switch_note){fact->since_ns - fact->unknown_ns,
                                                             LULL_NONE, true, false});
    }
    lull_vec_push(&notes->switches,
                  (struct switch_note){fact->time_ns, fact->task, fact->is_unknown,
                                       fact->previous_is_runnable});
    if (eg->vcpus) {
        lull_vcpu_track_switched(eg->vcpus, fact);
    }
}

static void on_prio(void *user, const struct lull_prio_fact *fact)
{
    lull_preemption_prio(user, fact);
}

static void on_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    struct lull_execgraph *eg = user;
    if (eg->vcpus) {
        lull_hypervisor_vcpu(eg, fact);
    }
}

static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    struct lull_execgraph *eg = user;
    struct host_notes *notes = lull_execgraph_host(eg, fact->host);
    notes->missing_ns = MAX(notes->missing_ns, fact->end_ns);
    if (lull_lost_is_gap(fact)) {
        lull_vec_push(&eg->gaps, *fact);
    } else {
        notes->lost_ns = MAX(notes->lost_ns, fact->end_ns);
    }
    if (eg->vcpus) {
        lull_vcpu_track_lost(eg->vcpus, fact);
    }
}

static void on_interrupt(void *user, const struct lull_interrupt_fact *fact)
{
    struct lull_execgraph *eg = user;
    if (eg->vcpus) {
        lull_hypervisor_interrupt(eg, fact);
    }
    if (fact->task == LULL_NONE) {
        return;
    }
    struct cpu_notes *notes = notes_of(eg, fact->host, fact->cpu);
    lull_vec_push(&notes->interrupts,
                  (struct interrupt_note){fact->start_ns, fact->end_ns, fact->label});
}

/* Why a timer sent the packet, if TCP's own timers explain it, which without headers is known
 * afterwards; or LULL_NONE. */
static uint32_t timer_evidence(struct lull_execgraph *eg, const struct lull_packet_fact *fact)
{
    if (fact->context_cause != LULL_CAUSE_TIMER ||
        (fact->packet->ip_version && !lull_tcp_waits_find(eg->tcp_waits, fact->number))) {
        return LULL_NONE;
    }
    lull_vec_push(&eg->evidence, (struct evidence){.label = LULL_NONE,
                                                   .reason = LULL_NONE,
                                                   .index = fact->number,
                                                   .waker = LULL_NONE});
    return eg->evidence.count - 1;
}

/* The line of the interrupt context a packet was seen in. What made the context start explains the
 * time before: a matched packet does so by its link; otherwise the kind of the handler has to
 * do. */
static uint32_t enter_context(struct lull_execgraph *eg, const struct lull_packet_fact *fact,
                              bool is_linked)
{
    const struct lull_net_packet *packet = fact->packet;
    uint32_t line = lull_model_kernel_task(eg->model, packet->host, packet->cpu);
    uint32_t count = 0;
    const struct lull_graph_point *points = NULL;
    if (line < lull_graph_line_count(eg->graph)) {
        points = lull_graph_points(eg->graph, line, &count);
    }
    if (count == 0 || points[count - 1].time_ns < fact->context_start_ns) {
        if (is_linked) {
            lull_graph_add(eg->graph, line, fact->context_start_ns);
        } else {
            if (count == 0) { /* the edge needs a point before, however long it is */
                lull_graph_add(eg->graph, line, fact->context_start_ns - 1);
            }
            /* A CPU's interrupts have nothing in common. */
            lull_graph_append_alone(eg->graph, line, fact->context_start_ns, LULL_STATE_BLOCKED,
                                    fact->context_cause, timer_evidence(eg, fact));
        }
    }
    lull_graph_append(eg->graph, line, packet->time_ns, LULL_STATE_RUNNING, LULL_CAUSE_NONE,
                      packet->cpu, LULL_NONE);
    return line;
}

/* A send that passes on what came in the same context. */
static void note_passed_on(struct lull_execgraph *eg, const struct lull_packet_fact *fact,
                           uint32_t line)
{
    const uint32_t passed = lull_matcher_passed_on(eg->matcher);
    if (passed < eg->packets.count && line != LULL_NONE) {
        const struct packet_note *came = &eg->packets.items[passed];
        if (came->peer != LULL_NONE && came->line == line &&
            (!fact->in_interrupt || came->time_ns >= fact->context_start_ns)) {
            lull_map_insert(&eg->passed_on, fact->number, passed);
        }
    }
}

/* What a timer, or an acknowledgement, sends again comes from who sent it first. */
static void set_first_sender(struct packet_note *note, uint32_t line, int64_t time_ns)
{
    if (line != LULL_NONE && time_ns < note->time_ns) {
        note->line = line;
        note->time_ns = time_ns;
    }
}

/* The same of a packet whose bytes had been sent before, in one that may have been passed on. */
static void set_first_sender_of(struct lull_execgraph *eg, const struct lull_packet_fact *fact,
                                const struct lull_tcp_wait_note *again)
{
    if (!fact->packet->is_send || again->lost >= fact->number) {
        return;
    }
    const struct packet_note first = eg->packets.items[again->lost];
    const uint32_t passed = lull_map_find(&eg->passed_on, again->lost);
    set_first_sender(&eg->packets.items[fact->number], first.line, first.time_ns);
    if (passed != LULL_MAP_NONE) { /* forwarded again, and lost after that */
        lull_map_insert(&eg->passed_on, fact->number, passed);
    }
}

/* The timer of a delayed acknowledgement was started when that came which it acknowledges, the one that probes a window when
 * it was closed: what it waited for before is who sent that. */
static void link_delayed(struct lull_execgraph *eg, uint32_t number,
                         const struct lull_tcp_wait_note *note)
{
    if (note->delayed >= eg->packets.count || number >= eg->packets.count) {
        return;
    }
    const struct packet_note *ack = &eg->packets.items[number];
    const struct packet_note *data = &eg->packets.items[note->delayed];
    uint32_t count = 0;
    const struct lull_graph_point *points = ack->line < lull_graph_line_count(eg->graph)
                                                ? lull_graph_points(eg->graph, ack->line, &count)
                                                : NULL;
    const uint32_t at = LULL_LOWER_BOUND(i, count, points[i].time_ns < ack->time_ns);
    if (at == 0 || !points[at - 1].is_alone || data->line == LULL_NONE) {
        return;
    }
    const int64_t fired_ns = points[at - 1].time_ns;
    lull_graph_link_bounded(eg->graph, data->line, data->time_ns, ack->line, fired_ns,
                            LULL_CAUSE_TIMER, points[at - 1].detail);
    lull_graph_link_idle(eg->graph, ack->line, fired_ns);
}

static void on_packet(void *user, const struct lull_packet_fact *fact)
{
    struct lull_execgraph *eg = user;
    const struct lull_net_packet *packet = fact->packet;
    struct lull_match match;
    bool is_matched =
        lull_matcher_feed(eg->matcher, packet, fact->number, &match) &&
        match.receive == fact->number && match.send < eg->packets.count &&
        (!eg->sync || lull_sync_are_joined(eg->sync, match.send_host, match.receive_host));
    const struct packet_note *sent = is_matched ? &eg->packets.items[match.send] : NULL;
    bool is_linked = sent && sent->line != LULL_NONE;
    lull_tcp_waits_feed(eg->tcp_waits, fact, is_matched ? match.send : LULL_NONE,
                        is_matched ? match.send_host : LULL_NONE);

    uint32_t line = packet->task;
    if (fact->in_interrupt) {
        line = enter_context(eg, fact, is_linked);
    } else if (!packet->is_send && line != LULL_NONE) {
        lull_graph_append(eg->graph, line, packet->time_ns, LULL_STATE_RUNNING, LULL_CAUSE_NONE,
                          packet->cpu, LULL_NONE);
    }
    if (is_linked && line != LULL_NONE) {
        lull_vec_push(&eg->evidence, (struct evidence){.label = LULL_NONE,
                                                       .reason = LULL_NONE,
                                                       .index = fact->number,
                                                       .waker = LULL_NONE});
        lull_graph_link(eg->graph, sent->line, sent->time_ns, line, packet->time_ns,
                        LULL_CAUSE_NETWORK, eg->evidence.count - 1);
        link_through(eg, match.send, line, packet->time_ns);
    }
    if (packet->is_send && packet->task != LULL_NONE && packet->flow != LULL_NONE) {
        while (eg->senders.count <= packet->flow) {
            lull_vec_push(&eg->senders, LULL_NONE);
        }
        eg->senders.items[packet->flow] = packet->task;
    }
    lull_vec_push(&eg->packets,
                  (struct packet_note){packet->time_ns, line, is_matched ? match.send : LULL_NONE,
                                       packet->flow, MIN(packet->payload, MOST_PAYLOAD),
                                       !packet->is_send, packet->has_numbers});
    if (packet->is_send) {
        lull_holds_queued(&eg->holds, packet, fact->number);
    } else {
        lull_holds_arrived(&eg->holds, packet, fact->number);
    }
    if (is_matched && match.send_host == packet->host) {
        lull_holds_matched(&eg->holds, fact->number, eg->packets.items[match.send].time_ns);
    }
    lull_asked_packet(eg, fact);
    note_passed_on(eg, fact, line);
    const struct lull_tcp_wait_note *note = lull_tcp_waits_find(eg->tcp_waits, fact->number);
    if (note) {
        link_delayed(eg, fact->number, note);
        set_first_sender_of(eg, fact, note);
    }
}

static void on_taken(void *user, const struct lull_taken_fact *fact)
{
    struct lull_execgraph *eg = user;
    const struct cpu_notes *notes = notes_of(eg, fact->host, fact->cpu);
    const size_t n = notes->switches.count;
    const int64_t switch_ns = n ? notes->switches.items[n - 1].time_ns : INT64_MIN;
    lull_holds_taken(&eg->holds, fact, MAX(fact->context_start_ns, switch_ns));
}

/* What a socket knows of a packet that was recorded without its headers: the connection, and on
 * another host who sent it. */
static void on_segment(void *user, const struct lull_packet_fact *fact)
{
    struct lull_execgraph *eg = user;
    struct lull_match match;
    if (fact->number >= eg->packets.count) {
        return;
    }
    struct packet_note *note = &eg->packets.items[fact->number];
    note->flow = fact->packet->flow;
    note->payload = MIN(fact->packet->payload, MOST_PAYLOAD);
    if (fact->is_whole && fact->packet->payload &&
        lull_matcher_feed(eg->matcher, fact->packet, fact->number, &match) &&
        match.receive == fact->number && match.send < eg->packets.count &&
        (!eg->sync || lull_sync_are_joined(eg->sync, match.send_host, match.receive_host))) {
        note->peer = note->peer == LULL_NONE ? match.send : note->peer;
        if (match.send_host == match.receive_host) {
            lull_holds_matched(&eg->holds, fact->number, eg->packets.items[match.send].time_ns);
        }
    }
    if (note->peer < eg->packets.count && eg->packets.items[note->peer].flow == note->flow) {
        eg->packets.items[note->peer].payload = note->payload; /* what was sent again */
    }
    lull_asked_packet(eg, fact);
    const uint32_t sent = note->peer;
    lull_tcp_waits_arrived(eg->tcp_waits, fact, sent);
    const struct lull_tcp_wait_note *waited = lull_tcp_waits_find(eg->tcp_waits, sent);
    if (waited) {
        link_delayed(eg, sent, waited);
    }
}

static void on_tcp(void *user, const struct lull_tcp_fact *fact)
{
    struct lull_execgraph *eg = user;
    if (fact->number < eg->packets.count && fact->flow != LULL_NONE) {
        eg->packets.items[fact->number].flow = fact->flow;
        set_first_sender(&eg->packets.items[fact->number], fact->task, fact->first_ns);
    }
    lull_tcp_waits_learn(eg->tcp_waits, fact);
}

struct lull_execgraph *lull_execgraph_new(struct lull_model *model, const struct lull_sync *sync)
{
    static const struct lull_facts facts = {.state = on_state,
                                            .switched = on_switched,
                                            .prio = on_prio,
                                            .interrupt = on_interrupt,
                                            .packet = on_packet,
                                            .segment = on_segment,
                                            .taken = on_taken,
                                            .tcp = on_tcp,
                                            .paging = on_paging,
                                            .contention = on_contention,
                                            .cgroup = on_cgroup,
                                            .timer = on_timer,
                                            .vcpu = on_vcpu,
                                            .lost = on_lost,
                                            .syscall = on_syscall};
    struct lull_execgraph *eg = g_new0(struct lull_execgraph, 1);
    eg->model = model;
    eg->sync = sync;
    eg->graph = lull_graph_new();
    eg->matcher = lull_matcher_new(true);
    eg->tcp_waits = lull_tcp_waits_new(lull_model_flows(model));
    lull_hypervisor_start(eg);
    lull_model_subscribe(model, &facts, eg);
    return eg;
}

void lull_execgraph_free(struct lull_execgraph *eg)
{
    if (!eg) {
        return;
    }
    lull_vec_free(&eg->gaps);
    for (size_t h = 0; h < eg->hosts.count; h++) {
        for (size_t c = 0; c < eg->hosts.items[h].cpus.count; c++) {
            lull_vec_free(&eg->hosts.items[h].cpus.items[c].switches);
            lull_vec_free(&eg->hosts.items[h].cpus.items[c].interrupts);
        }
        lull_vec_free(&eg->hosts.items[h].cpus);
    }
    lull_vec_free(&eg->hosts);
    lull_modes_free(eg);
    lull_vec_free(&eg->moves);
    lull_vec_free(&eg->quota_clocks);
    lull_vec_free(&eg->quota_timers);
    lull_quotas_free(eg->quotas);
    lull_map_free(&eg->kept_off);
    lull_map_free(&eg->class_of);
    lull_vec_free(&eg->classes);
    lull_vec_free(&eg->packets);
    lull_holds_free(&eg->holds);
    lull_map_free(&eg->passed_on);
    lull_vec_free(&eg->senders);
    lull_vec_free(&eg->evidence);
    lull_vec_free(&eg->chains);
    lull_vec_free(&eg->last_waits);
    lull_vec_free(&eg->sent);
    lull_asked_free(&eg->loops);
    lull_vec_free(&eg->timeouts);
    lull_map_free(&eg->timeout_of);
    lull_map_free(&eg->tries_of);
    lull_map_free(&eg->before_of);
    lull_vec_free(&eg->urings);
    lull_map_free(&eg->uring_of);
    lull_map_free(&eg->lease_of);
    lull_vec_free(&eg->open_waits);
    lull_map_free(&eg->open_of);
    lull_vec_free(&eg->raisers);
    lull_map_free(&eg->raiser_of);
    lull_wait_reasons_clear(&eg->reasons);
    lull_matcher_free(eg->matcher);
    lull_tcp_waits_free(eg->tcp_waits);
    lull_hypervisor_free(eg);
    lull_graph_free(eg->graph);
    g_free(eg);
}

const struct lull_graph *lull_execgraph_graph(const struct lull_execgraph *eg)
{
    return eg->graph;
}
