/* SPDX-License-Identifier: MIT */
/* Hosts, tasks and their names, and the loop that reads a session and hands each event to the part
 * of the machine that understands it. */
#include "kernel/model_private.h"
#include "source/session/streams.h"

#include <stdio.h>
#include <string.h>

/* User-space programs may call their events what they like: none of them is the kernel's. */
static bool *find_user_traces(const struct lull_session *session)
{
    uint32_t n = lull_session_trace_count(session);
    bool *is_user = g_new0(bool, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        is_user[i] = strcmp(lull_session_trace(session, i)->domain, "ust") == 0;
    }
    return is_user;
}

void model_subscribe(struct lull_model *model)
{
    struct lull_vocabulary_more more;
    const bool has_counters = counters_more(model, &more);
    lull_vocabulary_subscribe(model->session, model->groups, has_counters ? &more : NULL,
                              model->ids);
}

struct lull_model *lull_model_new(struct lull_session *session, unsigned groups)
{
    struct lull_model *model = g_new0(struct lull_model, 1);
    model->session = session;
    model->groups = groups;
    model->free_call = model->free_table = LULL_NONE;
    model->scratch = g_string_new(NULL);
    model->strings = g_string_chunk_new(4096);
    model->label_numbers = g_hash_table_new(g_str_hash, g_str_equal);
    model->container_names = g_hash_table_new(g_str_hash, g_str_equal);
    model->flows = lull_flows_new();
    model->sockets = sockets_new();
    model->start_ns = model->alarm_ns = model->loss_ns = INT64_MAX;
    model->end_ns = INT64_MIN;
    irq_init_labels(model);
    model->execve = model_label(model, "execve");
    model->execveat = model_label(model, "execveat");
    model->losses = lost_new();
    if (groups & LULL_GROUP_STACKS) {
        model->stacks = lull_stacks_new();
    }
    model->stream = LULL_NONE;
    if (session) {
        model->is_user = find_user_traces(session);
        lull_session_unsubscribe_all(session);
        if (groups & LULL_GROUP_COUNTERS) {
            counters_find(model);
        }
        model_subscribe(model);
        for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
            model_machine(model, host);
        }
        stacks_locate(model);
    }
    return model;
}

void lull_model_free(struct lull_model *model)
{
    if (!model) {
        return;
    }
    for (size_t i = 0; i < model->machines.count; i++) {
        struct machine *machine = &model->machines.items[i];
        lull_vec_free(&machine->cpus);
        lull_slots_free(&machine->cpu_numbers);
        lull_map_free(&machine->by_tid);
        lull_map_free(&machine->newborn);
        lull_map_free(&machine->requests);
        lull_map_free(&machine->completed);
        lull_map_free(&machine->devices);
        lull_map_free(&machine->remaps);
        lull_map_free(&machine->irqs);
        lull_vec_free(&machine->irq_labels);
        lull_map_free(&machine->families);
        lull_map_free(&machine->irq_devs);
        lull_map_free(&machine->tables);
        lull_map_free(&machine->codes);
        lull_map_free(&machine->addresses);
        lull_map_free(&machine->containers);
        lull_map_free(&machine->rows);
        lull_map_free(&machine->vms);
        lull_map_free(&machine->ledgers);
    }
    lull_vec_free(&model->machines);
    lull_vec_free(&model->tasks);
    lull_map_free(&model->by_tid);
    lull_vec_free(&model->names);
    lull_vec_free(&model->labels);
    lull_vec_free(&model->requests);
    calls_free(model);
    counters_free(model);
    files_free(model);
    containers_free(model);
    g_hash_table_unref(model->label_numbers);
    g_string_chunk_free(model->strings);
    g_string_free(model->scratch, TRUE);
    lull_flows_free(model->flows);
    sockets_free(model->sockets);
    lull_stacks_free(model->stacks);
    lost_free(model->losses);
    g_free(model->is_user);
    g_free(model);
}

void lull_model_subscribe(struct lull_model *model, const struct lull_facts *facts, void *user)
{
    g_assert(model->n_subscribers < LULL_MAX_SUBSCRIBERS);
    model->subscribers[model->n_subscribers++] = (struct subscriber){*facts, user};
#define ADD(callback)                                                                              \
    if (facts->callback)                                                                           \
    model->wanted.callback = facts->callback
    ADD(state);
    ADD(switched);
    ADD(interrupt);
    ADD(packet);
    ADD(segment);
    ADD(tcp);
    ADD(migration);
    ADD(prio);
    ADD(handler);
    ADD(page);
    ADD(timer);
    ADD(netif);
    ADD(power);
    ADD(vcpu);
    ADD(block);
    ADD(syscall);
    ADD(lost);
    ADD(syscall_start);
    ADD(function);
    ADD(sample);
    ADD(count);
#undef ADD
    model->follows_files = model->wanted.syscall && (model->groups & LULL_GROUP_IO);
}

static void learn_habits(const struct lull_session *session, struct machine *machine)
{
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, machine->host, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct lull_tracer_habits habits =
            lull_vocabulary_habits(lull_session_trace(session, traces[i])->tracer);
        machine->reports_current |= habits.reports_current;
        if (machine->prio_offset == 0) {
            machine->prio_offset = habits.prio_offset;
            machine->wakeup_prio_offset = habits.wakeup_prio_offset;
        }
    }
}

uint32_t model_label_of(struct lull_model *model, struct lull_text text)
{
    g_string_truncate(model->scratch, 0);
    g_string_append_len(model->scratch, text.data, text.length);
    return model_label(model, model->scratch->str);
}

struct machine *model_machine_add(struct lull_model *model, uint32_t host)
{
    while (model->machines.count <= host) {
        struct machine *machine = lull_vec_add(&model->machines);
        memset(machine, 0, sizeof *machine);
        machine->host = model->machines.count - 1;
        machine->first_ns = INT64_MAX;
        machine->last_ns = INT64_MIN;
        machine->arch = calls_arch(model, machine->host);
        machine->architecture = calls_architecture(model, machine->host);
        if (model->session) {
            learn_habits(model->session, machine);
        }
        machine->has_softirqs =
            !model->session ||
            lull_session_declares(model->session, machine->host,
                                  lull_vocabulary_names(LULL_EVENT_softirq_entry));
        machine->has_sockets =
            !model->session || lull_session_declares(model->session, machine->host,
                                                     lull_vocabulary_names(LULL_EVENT_tcp_probe));
    }
    return &model->machines.items[host];
}

struct cpu *model_cpu_add(struct lull_model *model, struct machine *machine, int32_t cpu)
{
    struct cpu *added = lull_vec_add(&machine->cpus);
    model->cpu = NULL; /* they may have moved */
    *lull_slots_at(&machine->cpu_numbers, (uint32_t)cpu) = (uint32_t)machine->cpus.count;
    memset(added, 0, sizeof *added);
    added->passed[0].number = added->passed[1].number = LULL_NONE;
    added->task = added->idle = added->kernel = added->last_request = added->last_packet =
        added->device = added->switch_stream = added->lost_stream = LULL_NONE;
    lost_find_recorded(model, machine, cpu);
    added->last_ns = added->seen_ns = added->idle_state = INT64_MIN;
    added->frequency_khz = -1;
    for (uint32_t i = 0; i < LULL_SOFTIRQS; i++) {
        added->raised_ns[i] = INT64_MIN;
    }
    return added;
}

uint32_t model_task_new(struct lull_model *model, struct machine *machine, int32_t tid)
{
    uint32_t number = model->tasks.count;
    uint32_t older = lull_map_insert(&model->by_tid, model_tid_key(machine->host, tid), number);
    lull_vec_push(&model->tasks, (struct task){
                                     .public = {.host = machine->host,
                                                .tid = tid,
                                                .pid = -1,
                                                .ppid = -1,
                                                .first_ns = INT64_MAX,
                                                .last_ns = INT64_MIN,
                                                .exec_ns = INT64_MIN,
                                                .exit_ns = INT64_MAX,
                                                .parent = LULL_NONE,
                                                .birth_ns = INT64_MIN},
                                     .name = LULL_NONE,
                                     .renamed_ns = INT64_MIN,
                                     .syscall = LULL_NONE,
                                     .returning_ns = INT64_MIN,
                                     .call = LULL_NONE,
                                     .table = LULL_NONE,
                                     .parent = LULL_NONE,
                                     .older = older,
                                     .chain = LULL_NONE,
                                     .request = LULL_NONE,
                                     .prio = LULL_NO_PRIO,
                                     .cgroup = LULL_NONE,
                                     .command = LULL_NONE,
                                     .container = LULL_NONE,
                                     .waking = {INT64_MIN, LULL_NONE, false, false},
                                     .cpu = -1,
                                     .state = LULL_STATE_NONE,
                                     .early.time_ns = INT64_MIN,
                                     .sent_ns = INT64_MIN,
                                 });
    return number;
}

static struct lull_text text_of(const char *text)
{
    return (struct lull_text){text, strlen(text)};
}

/* Idle tasks share tid 0: there is one for each CPU. */
static uint32_t idle_task(struct lull_model *model, struct machine *machine, int32_t c)
{
    struct cpu *cpu = model_cpu(model, machine, c);
    if (cpu->idle == LULL_NONE) {
        char comm[24];
        g_snprintf(comm, sizeof comm, "swapper/%d", c);
        cpu->idle = model_task_new(model, machine, 0);
        model->tasks.items[cpu->idle].is_idle = true;
        model->tasks.items[cpu->idle].public.pid = 0;
        model_rename(model, cpu->idle, text_of(comm), INT64_MIN);
    }
    return cpu->idle;
}

uint32_t model_task(struct lull_model *model, struct machine *machine, int32_t tid, int32_t cpu)
{
    if (tid == 0) {
        return idle_task(model, machine, cpu);
    }
    uint32_t number = lull_map_find(&machine->by_tid, (uint32_t)tid);
    if (number == LULL_NONE) {
        number = model_task_new(model, machine, tid);
        lull_map_insert(&machine->by_tid, (uint32_t)tid, number);
    }
    return number;
}

uint32_t lull_model_kernel_task(struct lull_model *model, uint32_t host, int32_t c)
{
    struct machine *machine = model_machine(model, host);
    struct cpu *cpu = model_cpu(model, machine, c);
    if (cpu->kernel == LULL_NONE) {
        cpu->kernel = model_task_new(model, machine, -1 - c);
        model_rename(model, cpu->kernel, text_of("kernel"), INT64_MIN);
    }
    return cpu->kernel;
}

void model_rename(struct lull_model *model, uint32_t number, struct lull_text comm, int64_t time_ns)
{
    struct task *task = &model->tasks.items[number];
    if (comm.length == 0) {
        return;
    }
    if (G_UNLIKELY(task->renamed_ns != INT64_MIN)) { /* this is the name that it took then */
        time_ns = MIN(time_ns, task->renamed_ns);
        task->renamed_ns = INT64_MIN;
    }
    if (task->name != LULL_NONE) {
        const char *now = model->names.items[task->name].comm;
        if (strncmp(now, comm.data, comm.length) == 0 && now[comm.length] == '\0') {
            return;
        }
    }
    memset(task->said, 0, sizeof task->said);
    char text[64];
    g_strlcpy(text, "", sizeof text);
    size_t length = MIN(comm.length, sizeof text - 1);
    memcpy(text, comm.data, length);
    text[length] = '\0';
    struct name name = {
        .comm = g_string_chunk_insert_const(model->strings, text),
        .since_ns = time_ns,
        .before = task->name,
        .jump = model->names.count,
        .length = (uint32_t)strlen(text),
    };
    if (task->name != LULL_NONE) {
        const struct name *names = model->names.items, *before = &names[task->name];
        const struct name *jump = &names[before->jump], *second = &names[jump->jump];
        bool is_even = before->depth - jump->depth == jump->depth - second->depth;
        name.jump = is_even ? jump->jump : task->name;
        name.depth = before->depth + 1;
    }
    lull_vec_push(&model->names, name);
    task->name = model->names.count - 1;
}

uint32_t model_label(struct lull_model *model, const char *text)
{
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(model->label_numbers, text));
    if (number) {
        return number - 1;
    }
    const char *kept = g_string_chunk_insert_const(model->strings, text);
    lull_vec_push(&model->labels, kept);
    g_hash_table_insert(model->label_numbers, (void *)kept, GUINT_TO_POINTER(model->labels.count));
    return model->labels.count - 1;
}

void lull_model_set_start(struct lull_model *model, uint32_t host, int64_t start_ns)
{
    struct machine *machine = model_machine(model, host);
    machine->first_ns = MIN(machine->first_ns, start_ns);
}

void lull_model_set_alarm(struct lull_model *model, int64_t time_ns,
                          void (*alarm)(void *user, int64_t time_ns), void *user)
{
    model->alarm_ns = time_ns;
    model->alarm = alarm;
    model->alarm_user = user;
}

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

/* What is so on a machine, whichever CPU reported it; a state that was taken from /proc has
 * none. */
static void dumped(struct lull_model *model, struct machine *machine, enum lull_event_id id,
                   const void *event, int64_t t)
{
    switch (id) {
    case LULL_EVENT_statedump_process:
        sched_dumped(model, machine, t, event);
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
    case LULL_EVENT_statedump_file:
        files_dumped(model, machine, event);
        break;
    case LULL_EVENT_call_path:
        names_path(model, machine, event);
        break;
    case LULL_EVENT_call_address:
        names_address(model, machine, event);
        break;
    case LULL_EVENT_call_pair:
        names_pair(model, machine, event);
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

/* An event of a program: nothing of it is taken for the kernel's. */
static void dispatch_user(struct lull_model *model, const struct lull_event *event)
{
    if (!(model->groups & (LULL_GROUP_FUNCTIONS | LULL_GROUP_HEAP | LULL_GROUP_COUNTERS))) {
        return;
    }
    if (G_UNLIKELY(event->time_ns >= model->alarm_ns || event->time_ns > model->loss_ns)) {
        check_loss_edges(model, event->time_ns);
    }
    struct machine *machine = model_machine(model, event->host);
    seen(model, machine, event->time_ns);
    const enum lull_event_id id = model->ids[event->subscription];
    functions_of_user(model, machine, event->cpu, event->time_ns, id, event->fields);
    if (G_UNLIKELY(model->counters)) {
        counters_read(model, machine, event->cpu, event->time_ns, id, event->fields);
    }
}

/* In line in the loop that reads: handing so much on would cost as much as what is done here. */
static inline __attribute__((always_inline)) void
dispatch(struct lull_model *model, enum lull_event_id id, const void *event,
         const struct lull_event_class *event_class, uint32_t host, int32_t c, int64_t t)
{
    if (G_UNLIKELY(t >= model->alarm_ns || t > model->loss_ns)) {
        check_loss_edges(model, t);
    }
    struct machine *machine = model_machine(model, host);
    seen(model, machine, t);
    if (G_UNLIKELY(id == LULL_EVENT_sample)) { /* may be on no CPU that is known */
        stacks_sampled(model, machine, event, event_class, t);
        return;
    }
    if (G_UNLIKELY(c < 0 || c >= LULL_MAX_CPUS)) {
        /* Nothing that happens in a kernel happens on no CPU, but state dumps and perf itself
         * report tasks. */
        dumped(model, machine, id, event, t);
        return;
    }
    struct cpu *cpu = model->cpu = model_cpu(model, machine, c);
    cpu->last_ns = t;
    if (G_UNLIKELY(cpu->since_ns == INT64_MAX) && model->stream == cpu->lost_stream) {
        cpu->since_ns = t;
    }

    switch (id) {
    case LULL_EVENT_syscall_entry:
    case LULL_EVENT_syscall_exit:
    case LULL_EVENT_bare_entry:
    case LULL_EVENT_bare_exit:
    case LULL_EVENT_named_entry:
    case LULL_EVENT_named_exit:
    case LULL_EVENT_raw_exit:
    case LULL_EVENT_raw_entry:
    case LULL_EVENT_futex_entry:
    case LULL_EVENT_io_entry:
    case LULL_EVENT_io_exit:
        calls_event(model, machine, c, t, id, event, event_class);
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
        model_rename(model, model_task(model, machine, ev->tid, c), ev->newcomm, t);
        break;
    }
    case LULL_EVENT_statedump_process:
    case LULL_EVENT_statedump_container:
    case LULL_EVENT_statedump_cgroup:
    case LULL_EVENT_statedump_pid_ns:
    case LULL_EVENT_statedump_file:
    case LULL_EVENT_statedump_block_device:
    case LULL_EVENT_mapping:
    case LULL_EVENT_call_path:
    case LULL_EVENT_call_address:
    case LULL_EVENT_call_pair:
    case LULL_EVENT_command_line:
        dumped(model, machine, id, event, t);
        break;
    case LULL_EVENT_softirq_raise:
        irq_raised(model_cpu_at(machine, c), t, ((const struct lull_ev_softirq_raise *)event)->vec);
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
    case LULL_EVENT_block_bio_merge:
        io_merged(machine, model_cpu_at(machine, c), event);
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

void lull_model_feed(struct lull_model *model, unsigned id, const void *event, uint32_t host,
                     int32_t cpu, int64_t time_ns)
{
    dispatch(model, id, event, NULL, host, cpu, time_ns);
}

void lull_model_run(struct lull_model *model, void (*progress)(void *user), void *user)
{
    const struct lull_event *event;
    const unsigned *found_losses = lull_session_loss_counter(model->session);
    uint32_t n = 0, n_losses = *found_losses;
    lost_find(model);
    lull_session_read_ahead(model->session);
    while ((event = lull_session_read(model->session))) {
        if (G_UNLIKELY(*found_losses != n_losses)) {
            lost_find(model);
            n_losses = *found_losses;
        }
        if (model->is_user[event->trace]) {
            dispatch_user(model, event);
        } else {
            model->stream = event->stream;
            const enum lull_event_id id = model->ids[event->subscription];
            dispatch(model, id, event->fields, event->event_class, event->host, event->cpu,
                     event->time_ns);
            if (G_UNLIKELY(model->counters)) {
                counters_read(model, model_machine(model, event->host), event->cpu, event->time_ns,
                              id, event->fields);
            }
        }
        if (G_UNLIKELY((++n & 0xffff) == 0) && progress) {
            progress(user);
            if (model->is_stopped) {
                break;
            }
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
        const int64_t end_ns = model->machines.items[task->public.host].last_ns;
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
