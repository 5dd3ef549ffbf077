/* SPDX-License-Identifier: MIT */
/* Hosts, tasks and their names. */
#include <lull/recording.h>

#include "kernel/machine.h"
#include "source/session/streams.h"

#include <stdio.h>
#include <string.h>

/* Of each trace the process that it alone is of, or -1. */
static int32_t *find_processes(const struct lull_session *session)
{
    const uint32_t n = lull_session_trace_count(session);
    int32_t *processes = g_new(int32_t, MAX(n, 1));
    for (uint32_t i = 0; i < n; i++) {
        const int64_t pid = lull_session_trace(session, i)->process_id;
        processes[i] = pid > 0 && pid <= INT32_MAX ? (int32_t)pid : -1;
    }
    return processes;
}

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
    model->reads_more = counters_more(model, &more) || places_more(model, &more);
    lull_vocabulary_subscribe(model->session, model->groups, model->reads_more ? &more : NULL,
                              model->ids);
}

struct lull_model *lull_model_new(struct lull_session *session, unsigned groups)
{
    struct lull_model *model = g_new0(struct lull_model, 1);
    model->session = session;
    model->groups = groups;
    model->free_call = model->free_table = LULL_NONE;
    model_forget_near(model);
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
        model->processes = find_processes(session);
        lull_session_unsubscribe_all(session);
        if (groups & LULL_GROUP_COUNTERS) {
            counters_find(model);
        } else if (groups & LULL_GROUP_PLACES) {
            places_find(model);
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
        lull_vec_free(&machine->holes);
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
        headers_free(machine->headers);
        lull_map_free(&machine->rings);
        lull_map_free(&machine->uring_requests);
    }
    lull_vec_free(&model->machines);
    lull_vec_free(&model->tasks);
    lull_map_free(&model->by_tid);
    lull_vec_free(&model->names);
    lull_vec_free(&model->labels);
    lull_vec_free(&model->requests);
    calls_free(model);
    counters_free(model);
    places_free(model);
    files_free(model);
    containers_free(model);
    g_hash_table_unref(model->label_numbers);
    g_string_chunk_free(model->strings);
    g_string_free(model->scratch, TRUE);
    lull_flows_free(model->flows);
    sockets_free(model->sockets);
    urings_free(model->urings);
    lull_vec_free(&model->kills);
    leases_free(model->leases);
    names_free(model->inode_names);
    epoll_free(model->watches);
    g_clear_pointer(&model->alternatives, g_hash_table_unref);
    lull_stacks_free(model->stacks);
    lost_free(model->losses);
    g_free(model->is_user);
    g_free(model->processes);
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
    ADD(handler_start);
    ADD(page);
    ADD(timer);
    ADD(netif);
    ADD(taken);
    ADD(power);
    ADD(vcpu);
    ADD(block);
    ADD(syscall);
    ADD(lost);
    ADD(syscall_start);
    ADD(function);
    ADD(sample);
    ADD(count);
    ADD(place);
    ADD(paging);
    ADD(contention);
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

/* Of all that happened: one that is a part may leave out what a task did. */
static bool is_snapshot(const struct lull_session *session, uint32_t host)
{
    uint32_t n;
    const uint32_t first = lull_session_recordings_of(session, host, &n);
    const struct lull_recording_info *info = n == 1 ? lull_session_recording(session, first) : NULL;
    return info && info->is_snapshot && !info->is_filtered;
}

struct machine *model_machine_add(struct lull_model *model, uint32_t host)
{
    while (model->machines.count <= host) {
        model_forget_near(model);
        struct machine *machine = lull_vec_add(&model->machines);
        memset(machine, 0, sizeof *machine);
        machine->host = model->machines.count - 1;
        machine->first_ns = INT64_MAX;
        machine->last_ns = INT64_MIN;
        machine->end_ns = INT64_MAX;
        machine->newest_task = LULL_NONE;
        machine->redump_ns = machine->stopped_ns = INT64_MIN;
        machine->all_cpus_ns = INT64_MAX;
        machine->arch = calls_arch(model, machine->host);
        machine->architecture = calls_architecture(model, machine->host);
        if (model->session) {
            learn_habits(model->session, machine);
            machine->is_snapshot = is_snapshot(model->session, machine->host);
        }
        machine->has_softirqs =
            !model->session ||
            lull_session_declares(model->session, machine->host,
                                  lull_vocabulary_names(LULL_EVENT_softirq_entry));
        machine->has_switches =
            !model->session ||
            lull_session_declares(model->session, machine->host,
                                  lull_vocabulary_names(LULL_EVENT_sched_switch));
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
    model_forget_near(model);
    *lull_slots_at(&machine->cpu_numbers, (uint32_t)cpu) = (uint32_t)machine->cpus.count;
    memset(added, 0, sizeof *added);
    added->passed[0].number = added->passed[1].number = LULL_NONE;
    added->task = added->idle = added->kernel = added->last_request = added->last_packet =
        added->device = added->softirqs_for = added->switch_stream = added->lost_stream = LULL_NONE;
    added->unsure_ns = INT64_MIN;
    added->thread_irq = -1;
    lost_find_recorded(model, machine, cpu);
    machine->all_cpus_ns = machine->last_ns;
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
                                     .before_it = machine->newest_task,
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
    machine->newest_task = number;
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
    enum { MOST_COMM = 63 }; /* no kernel has longer ones; a trace may say what it likes */
    comm.length = MIN(comm.length, MOST_COMM);
    model_rename_whole(model, number, comm, time_ns);
}

void model_rename_whole(struct lull_model *model, uint32_t number, struct lull_text comm,
                        int64_t time_ns)
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
    char own[64] = "";
    g_autofree char *whole = comm.length >= sizeof own ? g_strndup(comm.data, comm.length) : NULL;
    if (!whole) {
        memcpy(own, comm.data, comm.length);
    }
    const char *text = whole ? whole : own;
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

void lull_model_set_recorded(struct lull_model *model, uint32_t host, int64_t first_ns,
                             int64_t last_ns)
{
    struct machine *machine = model_machine(model, host);
    machine->first_ns = MIN(machine->first_ns, first_ns);
    if (first_ns <= last_ns) {
        machine->end_ns = last_ns;
    }
}

void lull_model_set_alarm(struct lull_model *model, int64_t time_ns,
                          void (*alarm)(void *user, int64_t time_ns), void *user)
{
    model->alarm_ns = time_ns;
    model->alarm = alarm;
    model->alarm_user = user;
}
