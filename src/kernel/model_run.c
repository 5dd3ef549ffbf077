/* SPDX-License-Identifier: MIT */
/* The loop that reads a session and hands each event to the part of the machine that understands it. */
#include "kernel/machine.h"
#include "source/session/batch.h"
#include "source/session/streams.h"

/* What comes before an event at t: alarms, which may set the next one, and losses, in the order of
 * their times. */
static void check_loss_edges(struct lull_model *model, int64_t t)
{
    while (model->loss_ns < t || model->alarm_ns <= t) {
        if (model->loss_ns < model->alarm_ns) {
            lost_report(model);
        } else {
            model->alarm_ns = INT64_MAX;
            model->alarm(model->alarm_user, t);
        }
    }
}

static inline void check_edges(struct lull_model *model, int64_t t)
{
    if (G_UNLIKELY(t >= model->alarm_ns || t > model->loss_ns)) {
        check_loss_edges(model, t);
    }
}

/* What is so on a machine, whichever CPU reported it; a state that was taken from /proc has
 * none. */
static void dumped(struct lull_model *model, struct machine *machine, enum lull_event_id id,
                   const void *event, int64_t t)
{
    switch (id) {
    case LULL_EVENT_statedump_process:
        sched_dumped(model, machine, t, event);
        containers_dumped_process(model, machine, event);
        break;
    case LULL_EVENT_statedump_container:
        containers_named(model, event);
        break;
    case LULL_EVENT_statedump_cgroup:
        containers_dumped(model, machine, event);
        break;
    case LULL_EVENT_statedump_pid_ns:
        containers_dumped_ns(model, machine, event);
        break;
    case LULL_EVENT_statedump_start:
        files_dump_starts(machine, t);
        break;
    case LULL_EVENT_statedump_file:
        files_dumped(model, machine, t, event);
        break;
    case LULL_EVENT_statedump_peer:
        names_peer(model, machine, event);
        break;
    case LULL_EVENT_mapped_file:
        names_file(model, machine, event);
        break;
    case LULL_EVENT_call_path:
        names_path(model, machine, event);
        break;
    case LULL_EVENT_call_address:
        names_address(model, machine, event);
        break;
    case LULL_EVENT_call_poll:
        names_poll(model, machine, event);
        break;
    case LULL_EVENT_statedump_poll:
        names_polled(model, machine, event);
        break;
    case LULL_EVENT_call_epoll:
        names_epoll(model, machine, event);
        break;
    case LULL_EVENT_statedump_epoll:
        epoll_dumped(model, machine, event);
        break;
    case LULL_EVENT_call_pair:
        names_pair(model, machine, event);
        break;
    case LULL_EVENT_statedump_call:
        calls_dumped(model, machine, event);
        break;
    case LULL_EVENT_packet_headers:
        headers_read(machine, t, event);
        break;
    case LULL_EVENT_command_line:
        names_command(model, machine, event);
        break;
    case LULL_EVENT_statedump_block_device:
        io_dumped(model, machine, event);
        break;
    case LULL_EVENT_mapping:
        stacks_mapped(model, machine, event, t);
        break;
    case LULL_EVENT_sched_process_fork: /* perf records its own on no CPU, unless told to */
        sched_forked(model, machine, t, event);
        break;
    case LULL_EVENT_task_rename: { /* perf may leave out on which CPU */
        const struct lull_ev_task_rename *ev = event;
        if (ev->tid > 0 && ev->tid <= INT32_MAX) {
            stacks_renamed(model, machine, ev);
            model_rename(model, model_task(model, machine, (int32_t)ev->tid, 0), ev->newcomm, t);
        }
        break;
    }
    default:
        break; /* nothing that happens in a kernel happens on no CPU */
    }
}

/* Few are the first of a machine. */
static inline void seen(struct lull_model *model, struct machine *machine, int64_t t)
{
    if (G_UNLIKELY(t < machine->first_ns)) {
        machine->first_ns = t;
    }
    machine->last_ns = t;
    if (G_UNLIKELY(t < model->start_ns)) {
        model->start_ns = t;
    }
    if (G_LIKELY(t > model->end_ns)) {
        model->end_ns = t;
    }
}

/* What events of any kind have. */
static void read_more(struct lull_model *model, struct machine *machine,
                      const struct lull_event *event, enum lull_event_id id)
{
    if (model->counters) {
        counters_read(model, machine, event->cpu, event->time_ns, id, event->fields);
    } else {
        places_read(model, machine, event, id);
    }
}

/* An event of a program: nothing of it is taken for the kernel's. */
static void dispatch_user(struct lull_model *model, const struct lull_event *event)
{
    const unsigned of_programs =
        LULL_GROUP_FUNCTIONS | LULL_GROUP_HEAP | LULL_GROUP_COUNTERS | LULL_GROUP_PLACES;
    if (!(model->groups & of_programs)) {
        return;
    }
    check_edges(model, event->time_ns);
    struct machine *machine = model_machine(model, event->host);
    seen(model, machine, event->time_ns);
    const enum lull_event_id id = model->ids[event->subscription];
    model->trace = event->trace;
    functions_of_user(model, machine, event->cpu, event->time_ns, id, event->fields);
    if (G_UNLIKELY(model->reads_more)) {
        read_more(model, machine, event, id);
    }
}

/* Where a CPU of a stream is, if it is near. */
static inline struct near *near_at(struct lull_model *model, uint32_t stream, int32_t c)
{
    return &model->near[(stream + (uint32_t)c) % NEAR];
}

static inline bool is_near(const struct near *near, uint32_t stream, int32_t c)
{
    return near->stream == stream && near->number == c;
}

/* NULL: it is no CPU. */
static __attribute__((noinline)) const struct near *
come_near(struct lull_model *model, uint32_t stream, uint32_t host, int32_t c, int64_t t)
{
    if (!lull_is_cpu(c)) {
        return NULL;
    }
    struct machine *machine = model_machine(model, host);
    seen(model, machine, t); /* a CPU is made as of the first event of its machine */
    struct cpu *cpu = model_cpu(model, machine, c);
    struct near *near = near_at(model, stream, c);
    *near = (struct near){stream, c, machine, cpu};
    return near;
}

/* What an event on a CPU does. In line in the loop that reads: handing so much on would cost as much
 * as what is done here. */
static inline __attribute__((always_inline)) void
happen(struct lull_model *model, struct machine *machine, struct cpu *cpu, enum lull_event_id id,
       const void *event, const struct lull_event_class *event_class, int32_t c, int64_t t)
{
    model->cpu = cpu;
    seen(model, machine, t);
    cpu->last_ns = t;
    if (G_UNLIKELY(cpu->since_ns == INT64_MAX) && model->stream == cpu->lost_stream) {
        cpu->since_ns = t;
    }

    switch (id) {
    case LULL_EVENT_syscall_entry:
    case LULL_EVENT_bare_entry:
    case LULL_EVENT_named_entry:
    case LULL_EVENT_raw_entry:
    case LULL_EVENT_futex_entry:
    case LULL_EVENT_epoll_entry:
    case LULL_EVENT_poll_entry:
    case LULL_EVENT_exec_entry:
    case LULL_EVENT_io_entry:
        calls_started(model, machine, c, t, id, event, event_class);
        break;
    case LULL_EVENT_syscall_exit:
    case LULL_EVENT_bare_exit:
    case LULL_EVENT_named_exit:
    case LULL_EVENT_raw_exit:
    case LULL_EVENT_io_exit:
    case LULL_EVENT_poll_exit:
    case LULL_EVENT_epoll_exit:
        calls_ended(model, machine, c, t, id, event, event_class);
        break;
    case LULL_EVENT_sched_switch:
        sched_switched(model, machine, c, t, event);
        break;
    case LULL_EVENT_sched_waking:
    case LULL_EVENT_sched_wakeup:
    case LULL_EVENT_sched_wakeup_new:
        sched_wake_event(model, machine, c, t, id, event);
        break;
    case LULL_EVENT_sched_migrate_task:
        sched_migrated(model, machine, c, t, event);
        break;
    case LULL_EVENT_sched_pi_setprio: {
        const struct lull_ev_sched_pi_setprio *ev = event;
        if (ev->tid > 0 && LULL_HAS(ev, sched_pi_setprio, newprio)) {
            sched_prio(model, machine, t, model_task(model, machine, ev->tid, c), ev->newprio,
                       machine->prio_offset);
        }
        break;
    }
    case LULL_EVENT_task_newtask:
        sched_born(machine, event);
        break;
    case LULL_EVENT_sched_process_fork:
        sched_forked(model, machine, t, event);
        break;
    case LULL_EVENT_sched_process_exec:
        sched_executed(model, machine, c, t, event);
        break;
    case LULL_EVENT_cgroup_attach_task:
        sched_attached(model, machine, c, t, event);
        break;
    case LULL_EVENT_sched_process_exit:
        sched_exited(model, machine, t, ((const struct lull_ev_sched_process_exit *)event)->tid,
                     false);
        break;
    case LULL_EVENT_sched_process_free:
        sched_exited(model, machine, t, ((const struct lull_ev_sched_process_free *)event)->tid,
                     true);
        break;
    case LULL_EVENT_task_rename: {
        const struct lull_ev_task_rename *ev = event;
        stacks_renamed(model, machine, ev);
        sched_taken_over(model, machine, c, t, ev->tid);
        model_rename(model, model_task(model, machine, ev->tid, c), ev->newcomm, t);
        break;
    }
    case LULL_EVENT_statedump_process:
    case LULL_EVENT_statedump_container:
    case LULL_EVENT_statedump_cgroup:
    case LULL_EVENT_statedump_pid_ns:
    case LULL_EVENT_statedump_start:
    case LULL_EVENT_statedump_file:
    case LULL_EVENT_statedump_block_device:
    case LULL_EVENT_statedump_peer:
    case LULL_EVENT_mapping:
    case LULL_EVENT_mapped_file:
    case LULL_EVENT_call_path:
    case LULL_EVENT_call_address:
    case LULL_EVENT_call_poll:
    case LULL_EVENT_call_epoll:
    case LULL_EVENT_statedump_epoll:
    case LULL_EVENT_call_pair:
    case LULL_EVENT_statedump_poll:
    case LULL_EVENT_statedump_call:
    case LULL_EVENT_command_line:
    case LULL_EVENT_packet_headers:
        dumped(model, machine, id, event, t);
        break;
    case LULL_EVENT_softirq_raise:
        irq_raised(model, model_cpu_at(machine, c), t, event);
        break;
    case LULL_EVENT_packet_sent:
    case LULL_EVENT_packet_received:
        io_packet(model, machine, c, t, id == LULL_EVENT_packet_sent, event);
        break;
    case LULL_EVENT_socket_sent:
    case LULL_EVENT_socket_received:
        io_socket_packet(model, machine, c, t, id == LULL_EVENT_socket_sent, event);
        break;
    case LULL_EVENT_sock_send_length:
    case LULL_EVENT_sock_recv_length:
    case LULL_EVENT_tcp_probe:
    case LULL_EVENT_inet_sock_set_state:
    case LULL_EVENT_tcp_retransmit_skb:
        sockets_event(model, machine, c, t, id, event);
        break;
    case LULL_EVENT_io_uring_create:
    case LULL_EVENT_io_uring_submit:
    case LULL_EVENT_io_uring_file:
    case LULL_EVENT_io_uring_complete:
    case LULL_EVENT_io_uring_wait:
        urings_event(model, machine, c, t, id, event);
        break;
    case LULL_EVENT_lease_take:
    case LULL_EVENT_lease_give:
    case LULL_EVENT_lease_break:
        leases_event(model, machine, c, t, id, event);
        break;
    case LULL_EVENT_block_bio_merge:
        io_merged(machine, model_cpu_at(machine, c), event);
        break;
    case LULL_EVENT_block_bio_frontmerge:
        io_merged_in_front(model, machine, model_cpu_at(machine, c), event);
        break;
    case LULL_EVENT_block_bio_remap:
        io_remapped(machine, event);
        break;
    case LULL_EVENT_block_rq_requeue:
        io_requeued(model, machine, event);
        break;
    case LULL_EVENT_block_rq_insert:
    case LULL_EVENT_block_rq_issue:
    case LULL_EVENT_block_rq_complete:
        io_request(model, machine, c, t, id, event);
        break;
    case LULL_EVENT_kernel_function_entry:
    case LULL_EVENT_kernel_function_exit:
    case LULL_EVENT_kernel_function:
        functions_of_kernel(model, machine, c, t, id, event);
        break;
    default:
        if (!irq_event(model, machine, c, t, id, event)) {
            use_event(model, machine, c, t, id, event);
        }
    }
}

/* An event of a kernel, whatever CPU it is of. */
static inline __attribute__((always_inline)) void
dispatch(struct lull_model *model, enum lull_event_id id, const void *event,
         const struct lull_event_class *event_class, uint32_t stream, uint32_t host, int32_t c,
         int64_t t)
{
    check_edges(model, t);
    if (G_UNLIKELY(id == LULL_EVENT_sample)) { /* may be on no CPU that is known */
        struct machine *machine = model_machine(model, host);
        seen(model, machine, t);
        stacks_sampled(model, machine, event, event_class, t);
        return;
    }
    const struct near *near = near_at(model, stream, c);
    if (G_UNLIKELY(!is_near(near, stream, c))) {
        near = come_near(model, stream, host, c, t);
        if (!near) {
            /* Nothing that happens in a kernel happens on no CPU, but state dumps and perf itself
             * report tasks. */
            struct machine *machine = model_machine(model, host);
            seen(model, machine, t);
            dumped(model, machine, id, event, t);
            return;
        }
    }
    happen(model, near->machine, near->cpu, id, event, event_class, c, t);
}

void lull_model_feed(struct lull_model *model, unsigned id, const void *event, uint32_t host,
                     int32_t cpu, int64_t time_ns)
{
    /* It comes from no stream; each host stands for one. */
    dispatch(model, id, event, NULL, LULL_NONE - 1 - host, host, cpu, time_ns);
}

/* What the streams have reported since the last time may be losses. */
static inline void look_for_losses(struct lull_model *model, const unsigned *found, unsigned *known)
{
    if (G_UNLIKELY(*found != *known)) {
        lost_find(model);
        *known = *found;
    }
}

static inline __attribute__((always_inline)) void handle(struct lull_model *model,
                                                         const struct lull_event *event)
{
    if (model->is_user[event->trace]) {
        dispatch_user(model, event);
        return;
    }
    const enum lull_event_id id = model->ids[event->subscription];
    model->stream = event->stream;
    dispatch(model, id, event->fields, event->event_class, event->stream, event->host, event->cpu,
             event->time_ns);
    if (G_UNLIKELY(model->reads_more)) {
        read_more(model, model_machine(model, event->host), event, id);
    }
}

/* One of a CPU that is not near, or of which more than its fields is wanted. */
static __attribute__((noinline)) void handle_record(struct lull_model *model,
                                                    const struct lull_batch *batch,
                                                    const struct lull_record *record)
{
    const struct lull_event event = {.time_ns = record->time_ns,
                                     .host = batch->places[record->stream].host,
                                     .trace = batch->places[record->stream].trace,
                                     .stream = record->stream,
                                     .cpu = record->cpu,
                                     .subscription = record->subscription,
                                     .event_class = record->event_class,
                                     .fields = record + 1};
    handle(model, &event);
}

/* Returns how many records there were. */
static uint32_t run_batch(struct lull_model *model, const struct lull_batch *batch,
                          const unsigned *found_losses, unsigned *n_losses)
{
    const struct lull_record *record;
    const bool reads_more = model->reads_more;
    uint32_t n = 0;
    for (record = batch->at; record != batch->end; record = lull_record_next(record), n++) {
        if (G_UNLIKELY(!record->event_class)) {
            lull_record_pass_on(record);
            look_for_losses(model, found_losses, n_losses);
            continue;
        }
        const enum lull_event_id id = model->ids[record->subscription];
        check_edges(model, record->time_ns);
        const struct near *near = near_at(model, record->stream, record->cpu);
        if (G_UNLIKELY(reads_more) || G_UNLIKELY(id == LULL_EVENT_sample) ||
            G_UNLIKELY(!is_near(near, record->stream, record->cpu))) {
            handle_record(model, batch, record);
            continue;
        }
        model->stream = record->stream;
        happen(model, near->machine, near->cpu, id, record + 1, record->event_class, record->cpu,
               record->time_ns);
    }
    return n;
}

/* Events between two looks at the progress. */
#define BETWEEN_LOOKS 0x10000u

void lull_model_run(struct lull_model *model, void (*progress)(void *user), void *user)
{
    const struct lull_event *event;
    struct lull_batch batch;
    const unsigned *found_losses = lull_session_loss_counter(model->session);
    unsigned n_losses = *found_losses;
    uint32_t n = 0;
    lost_find(model);
    lull_session_read_ahead(model->session);
    while (!model->is_stopped && lull_session_read_batch(model->session, &batch)) {
        n += run_batch(model, &batch, found_losses, &n_losses);
        if (n >= BETWEEN_LOOKS && progress) {
            progress(user);
            n = 0;
        }
    }
    while (!model->is_stopped && (event = lull_session_read(model->session))) {
        look_for_losses(model, found_losses, &n_losses);
        handle(model, event);
        if (G_UNLIKELY(++n >= BETWEEN_LOOKS) && progress) {
            progress(user);
            n = 0;
        }
    }
    lull_session_end_ahead(model->session);
    if (model->is_stopped) {
        return;
    }
    lull_model_finish(model);
}

void lull_model_stop(struct lull_model *model)
{
    model->is_stopped = true;
}

/* States that still last. */
static void finish_states(struct lull_model *model)
{
    struct lull_state_fact fact;
    struct lull_call_note note;
    for (uint32_t i = 0; i < model->tasks.count; i++) {
        struct task *task = &model->tasks.items[i];
        const struct machine *machine = &model->machines.items[task->public.host];
        const int64_t end_ns = machine->last_ns;
        sched_settle(task);
        if (task->state == LULL_STATE_PREEMPTED) {
            sched_cut(model, machine, i, end_ns, LULL_STATE_NONE);
        }
        if (model_open_state(model, i, end_ns, &fact, &note)) {
            REPORT(model, state, &fact);
            task->public.last_ns = end_ns;
            task->state = LULL_STATE_NONE;
        }
    }
}

void lull_model_finish(struct lull_model *model)
{
    while (model->loss_ns != INT64_MAX) {
        lost_report(model);
    }
    finish_states(model);
    /* Whoever is called now may ask for the calls that have not returned. */
    if (model->alarm_ns != INT64_MAX) {
        model->alarm_ns = INT64_MAX;
        model->alarm(model->alarm_user, INT64_MAX);
    }
    calls_finish(model);
}
