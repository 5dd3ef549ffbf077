/* SPDX-License-Identifier: MIT */
/* The model's queries: who runs, what tasks are called, which requests there were. Nothing here
 * changes it. */
#include "kernel/machine.h"
#include "kernel/running.h"
#include "source/session/streams.h"

#include <fnmatch.h>
#include <string.h>

int32_t lull_model_next_cpu(const struct lull_model *model, uint32_t host, int32_t after)
{
    uint32_t number = (uint32_t)(after + 1);
    return host < model->machines.count &&
                   lull_slots_next(&model->machines.items[host].cpu_numbers, &number)
               ? (int32_t)number
               : -1;
}

static const struct cpu *find_cpu(const struct lull_model *model, uint32_t host, int32_t cpu)
{
    return host < model->machines.count ? model_find_cpu(&model->machines.items[host], cpu) : NULL;
}

void lull_model_seen(const struct lull_model *model, uint32_t host, int64_t *first_ns,
                     int64_t *last_ns)
{
    const bool is_known = host < model->machines.count;
    *first_ns = is_known ? model->machines.items[host].first_ns : INT64_MAX;
    *last_ns = is_known ? model->machines.items[host].last_ns : INT64_MIN;
}

bool lull_model_running(const struct lull_model *model, uint32_t host, int32_t c, uint32_t *task,
                        int64_t *since_ns)
{
    const struct cpu *cpu = find_cpu(model, host, c);
    *task = cpu ? model_on_cpu(model, cpu) : LULL_NONE;
    int64_t first_ns, last_ns;
    lull_model_seen(model, host, &first_ns, &last_ns);
    *since_ns = cpu ? cpu->reported_ns : first_ns;
    return cpu && cpu->task != LULL_NONE;
}

void lull_model_power(const struct lull_model *model, uint32_t host, int32_t c,
                      int64_t *frequency_khz, int64_t *idle_state)
{
    const struct cpu *cpu = find_cpu(model, host, c);
    *frequency_khz = cpu ? cpu->frequency_khz : -1;
    *idle_state = cpu ? cpu->idle_state : INT64_MIN;
}

static bool is_of_perf(const struct lull_session *session, uint32_t host)
{
    uint32_t n;
    const uint32_t *traces = lull_session_host_traces(session, host, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (g_str_has_prefix(lull_session_trace(session, traces[i])->format, "perf.data")) {
            return true;
        }
    }
    return false;
}

bool lull_model_hides_idle(const struct lull_model *model, uint32_t host)
{
    bool is_hidden = false;
    int32_t c = -1;
    while ((c = lull_model_next_cpu(model, host, c)) >= 0) {
        is_hidden |= model_hides_idle(find_cpu(model, host, c));
    }
    return is_hidden && model->session && is_of_perf(model->session, host);
}

int32_t lull_model_prio(const struct lull_model *model, uint32_t task)
{
    return model->tasks.items[task].prio;
}

const char *lull_model_host_name(const struct lull_model *model, uint32_t host)
{
    return model->session ? lull_session_host(model->session, host)->name : NULL;
}

uint32_t lull_model_task_count(const struct lull_model *model)
{
    return model->tasks.count;
}

const struct lull_task *lull_model_task(const struct lull_model *model, uint32_t task)
{
    return &model->tasks.items[task].public;
}

bool lull_model_makes_calls(const struct lull_model *model, uint32_t task)
{
    return model->tasks.items[task].makes_calls;
}

/* Of a task that no event has named, as far as it is known: a tid that is used again meant another
 * task when the tracer saved its name. */
static const char *saved_name(const struct lull_model *model, uint32_t number)
{
    const struct lull_task *task = &model->tasks.items[number].public;
    const struct machine *machine = &model->machines.items[task->host];
    if (task->tid < 0 || model->tasks.items[number].name != LULL_NONE ||
        lull_map_find(&machine->by_tid, (uint32_t)task->tid) != number) {
        return NULL;
    }
    return lull_session_task_name(model->session, task->host, task->tid, LULL_NO_TASK_NAME);
}

/* The name that the task has at a time, or else its first. */
static uint32_t name_at(const struct lull_model *model, uint32_t task, int64_t time_ns)
{
    const struct name *names = model->names.items;
    uint32_t i = model->tasks.items[task].name;
    while (i != LULL_NONE && names[i].since_ns > time_ns && names[i].before != LULL_NONE) {
        i = names[names[i].jump].since_ns > time_ns ? names[i].jump : names[i].before;
    }
    return i;
}

const char *lull_model_comm(const struct lull_model *model, uint32_t task, int64_t time_ns)
{
    const uint32_t name = name_at(model, task, time_ns);
    const char *comm = name == LULL_NONE ? saved_name(model, task) : model->names.items[name].comm;
    return comm ? comm : "?";
}

int64_t lull_model_comm_since(const struct lull_model *model, uint32_t task, int64_t time_ns)
{
    const uint32_t name = name_at(model, task, time_ns);
    return name == LULL_NONE || model->names.items[name].before == LULL_NONE
               ? INT64_MIN
               : model->names.items[name].since_ns;
}

static bool one_matches(const char *pattern, size_t length, const char *comm)
{
    char text[256];
    if (strncmp(pattern, comm, MIN(length, LULL_COMM_LENGTH)) == 0 &&
        strlen(comm) == MIN(length, LULL_COMM_LENGTH)) {
        return true;
    }
    if (length >= sizeof text || strcspn(pattern, "*?[") >= length) {
        return false;
    }
    memcpy(text, pattern, length);
    text[length] = '\0';
    return fnmatch(text, comm, 0) == 0;
}

bool lull_comm_matches(const char *comms, const char *comm)
{
    if (strcmp(comms, comm) == 0) {
        return true; /* also of one with a comma */
    }
    for (const char *at = comms;; at++) {
        const size_t length = strcspn(at, ",");
        if (one_matches(at, length, comm)) {
            return true;
        }
        at += length;
        if (!*at) {
            return false;
        }
    }
}

bool lull_model_had_comm(const struct lull_model *model, uint32_t task, const char *comms)
{
    for (uint32_t i = model->tasks.items[task].name; i != LULL_NONE;
         i = model->names.items[i].before) {
        if (lull_comm_matches(comms, model->names.items[i].comm)) {
            return true;
        }
    }
    const char *saved = saved_name(model, task);
    return saved && lull_comm_matches(comms, saved);
}

int64_t lull_model_comm_ns(const struct lull_model *model, uint32_t task, const char *comms)
{
    const struct lull_task *known = lull_model_task(model, task);
    int64_t ns = 0, end_ns = known->last_ns;
    uint32_t i = model->tasks.items[task].name;
    if (i == LULL_NONE) {
        return lull_model_had_comm(model, task, comms) ? end_ns - known->first_ns : 0;
    }
    for (; i != LULL_NONE; i = model->names.items[i].before) {
        const struct name *name = &model->names.items[i];
        const int64_t since_ns = name->before == LULL_NONE ? known->first_ns : name->since_ns;
        const int64_t start_ns = CLAMP(since_ns, known->first_ns, end_ns);
        ns += lull_comm_matches(comms, name->comm) ? end_ns - start_ns : 0;
        end_ns = start_ns;
    }
    return ns;
}

bool lull_model_is_kernel_thread(const struct lull_model *model, uint32_t number)
{
    enum { KTHREADD = 2 };
    const struct lull_task *task = lull_model_task(model, number);
    return task->tid <= 0 || task->tid == KTHREADD || task->ppid == KTHREADD ||
           (task->parent != LULL_NONE && lull_model_task(model, task->parent)->tid == KTHREADD);
}

uint32_t lull_model_find_tid(const struct lull_model *model, uint32_t host, int32_t tid)
{
    uint32_t i = lull_map_find(&model->by_tid, model_tid_key(host, tid));
    for (; i != LULL_NONE; i = model->tasks.items[i].older) {
        const struct lull_task *task = &model->tasks.items[i].public;
        const bool is_seen = task->first_ns <= task->last_ns || model->tasks.items[i].is_dumped;
        if (task->host == host && task->tid == tid && is_seen) {
            return i;
        }
    }
    return LULL_NONE;
}

const struct lull_frame *lull_model_frames(const struct lull_model *model, uint32_t chain,
                                           uint32_t *n)
{
    *n = 0;
    return model->stacks ? lull_stacks_frames(model->stacks, chain, n) : NULL;
}

const char *lull_model_build_id(const struct lull_model *model, uint32_t chain, const char *object)
{
    return lull_stacks_build_id(model->stacks, chain, object);
}

struct lull_source_line lull_model_start(const struct lull_model *model, uint32_t chain,
                                         uint32_t frame)
{
    return lull_stacks_start(model->stacks, chain, frame);
}

bool lull_model_wants_raw_names(const struct lull_model *model)
{
    return model->stacks && lull_stacks_wants_raw_names(model->stacks);
}

struct lull_source_line lull_model_line(const struct lull_model *model, uint32_t chain,
                                        uint32_t frame)
{
    return lull_stacks_line(model->stacks, chain, frame);
}

bool lull_model_is_mapped(const struct lull_model *model, uint32_t host, int32_t pid,
                          uint64_t address)
{
    return lull_stacks_knows(model->stacks, host, pid, address);
}

struct lull_stack_ends lull_model_stack_ends(const struct lull_model *model)
{
    return model && model->stacks ? lull_stacks_ends(model->stacks)
                                  : (struct lull_stack_ends){.n = 0};
}

const char *lull_model_label(const struct lull_model *model, uint32_t label)
{
    return label == LULL_NONE ? NULL : model->labels.items[label];
}

uint32_t lull_model_request_count(const struct lull_model *model)
{
    return model->requests.count;
}

const struct lull_block_request *lull_model_request(const struct lull_model *model,
                                                    uint32_t request)
{
    return &model->requests.items[request];
}

/* Commands to the device, as a poll for new media, have no data either. Kernels before 4.8 record a
 * flush as a write without sectors. */
bool lull_block_is_flush(const struct lull_block_request *request)
{
    return request->sectors == 0 &&
           (request->rwbs & (LULL_RWBS_WRITE | LULL_RWBS_FLUSH | LULL_RWBS_PREFLUSH));
}

const char *lull_block_operation(const struct lull_block_request *request)
{
    if (request->sectors == 0) {
        return lull_block_is_flush(request) ? "flush" : "command";
    }
    return request->rwbs & LULL_RWBS_DISCARD                         ? "discard"
           : request->rwbs & LULL_RWBS_WRITE                         ? "write"
           : request->rwbs & (LULL_RWBS_READ | LULL_RWBS_READ_AHEAD) ? "read"
                                                                     : "request";
}

const char *lull_model_device(const struct lull_model *model, uint32_t request)
{
    uint32_t label = lull_model_device_label(model, request);
    return label == LULL_NONE ? NULL : model->labels.items[label];
}

uint32_t lull_model_device_label(const struct lull_model *model, uint32_t request)
{
    const struct lull_block_request *r = &model->requests.items[request];
    const struct machine *machine = &model->machines.items[r->host];
    uint32_t name = lull_map_find(&machine->devices, r->mapped_dev);
    if (r->mapped_dev != r->dev) {
        return name;
    }
    if (name == LULL_MAP_NONE && r->label != LULL_NONE &&
        io_is_wrong_device(machine, r->mapped_dev)) {
        uint32_t family = lull_map_find(&machine->families, r->label);
        uint32_t dev = lull_map_find(&machine->irq_devs, family);
        if (dev != LULL_MAP_NONE) {
            name = lull_map_find(&machine->devices, dev);
        }
    }
    return name;
}

const struct lull_flows *lull_model_flows(const struct lull_model *model)
{
    return model->flows;
}

void lull_model_range(const struct lull_model *model, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = model->start_ns;
    *end_ns = model->end_ns;
}

bool model_open_state(const struct lull_model *model, uint32_t number, int64_t end_ns,
                      struct lull_state_fact *fact, struct lull_call_note *note)
{
    const struct task *task = &model->tasks.items[number];
    if (task->is_idle || task->state == LULL_STATE_NONE || end_ns <= task->since_ns) {
        return false;
    }
    const bool is_blocked = task->state == LULL_STATE_BLOCKED;
    *fact = (struct lull_state_fact){
        .task = number,
        .start_ns = task->since_ns,
        .end_ns = end_ns,
        .state = task->state,
        .next = LULL_STATE_NONE,
        .before = task->before,
        .cpu = task->cpu,
        .syscall = is_blocked ? task->syscall : LULL_NONE,
        .chain = is_blocked ? task->chain : LULL_NONE,
        .letter = is_blocked ? task->letter : 0,
        .continues = LULL_NONE,
        .call = is_blocked && calls_note(model, task, note) ? note : NULL,
    };
    return true;
}

void lull_model_each_state(const struct lull_model *model, int64_t now_ns,
                           void (*visit)(void *user, const struct lull_state_fact *fact),
                           void *user)
{
    struct lull_state_fact fact;
    struct lull_call_note note;
    for (uint32_t i = 0; i < model->tasks.count; i++) {
        const struct machine *machine = &model->machines.items[model->tasks.items[i].public.host];
        if (model_open_state(model, i, MIN(now_ns, machine->end_ns), &fact, &note)) {
            visit(user, &fact);
        }
    }
}
