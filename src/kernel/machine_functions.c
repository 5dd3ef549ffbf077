/* SPDX-License-Identifier: MIT */
/* Calls of functions: what programs report of theirs, what ftrace records of the kernel's, which
 * files hold the code of programs; and the memory that they allocate. */
#include "kernel/machine.h"

#include <inttypes.h>
#include <string.h>

static struct lull_function_fact fact_of(const struct machine *machine, int64_t t,
                                         enum lull_function_step step)
{
    return (struct lull_function_fact){.time_ns = t,
                                       .lasted_ns = -1,
                                       .host = machine->host,
                                       .task = LULL_NONE,
                                       .parent = LULL_NONE,
                                       .name = LULL_NONE,
                                       .pid = -1,
                                       .cpu = -1,
                                       .depth = -1,
                                       .left_out = -1,
                                       .step = (uint8_t)step};
}

static int32_t number_of(int64_t number)
{
    return number > 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/* The process that an event says, else that of its trace; -1: neither says. */
static int32_t pid_of(const struct lull_model *model, int64_t said)
{
    const int32_t pid = number_of(said);
    return pid > 0 ? pid : model->processes[model->trace];
}

/* ---- the kernel ---- */

/* Idle tasks have the number 0. */
static uint32_t current_of(struct lull_model *model, struct machine *machine, int32_t c,
                           bool has_tid, int64_t tid)
{
    return has_tid && tid >= 0 && tid <= INT32_MAX ? model_task(model, machine, (int32_t)tid, c)
                                                   : model_cpu_at(machine, c)->task;
}

void functions_of_kernel(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                         enum lull_event_id id, const void *event)
{
    struct lull_function_fact fact = fact_of(machine, t, LULL_FUNCTION_PASS);
    if (!model->wanted.function) {
        return;
    }
    fact.layer = LULL_FUNCTION_KERNEL;
    fact.cpu = c;
    if (id == LULL_EVENT_kernel_function) {
        const struct lull_ev_kernel_function *ev = event;
        fact.address = (uint64_t)ev->address;
        fact.task = current_of(model, machine, c, LULL_HAS(ev, kernel_function, tid), ev->tid);
    } else if (id == LULL_EVENT_kernel_function_entry) {
        const struct lull_ev_kernel_function_entry *ev = event;
        fact.step = LULL_FUNCTION_ENTER;
        fact.address = (uint64_t)ev->address;
        fact.depth = (int32_t)CLAMP(ev->depth, 0, INT32_MAX);
        fact.task =
            current_of(model, machine, c, LULL_HAS(ev, kernel_function_entry, tid), ev->tid);
    } else {
        const struct lull_ev_kernel_function_exit *ev = event;
        fact.step = LULL_FUNCTION_LEAVE;
        fact.address = (uint64_t)ev->address;
        fact.depth = (int32_t)CLAMP(ev->depth, 0, INT32_MAX);
        fact.task = current_of(model, machine, c, LULL_HAS(ev, kernel_function_exit, tid), ev->tid);
        fact.left_out = LULL_HAS(ev, kernel_function_exit, overrun) ? ev->overrun : -1;
        if (LULL_HAS(ev, kernel_function_exit, call_time) &&
            LULL_HAS(ev, kernel_function_exit, return_time) && ev->call_time >= 0 &&
            ev->return_time >= ev->call_time) {
            fact.lasted_ns = ev->return_time - ev->call_time;
        }
    }
    if (fact.task != LULL_NONE && fact.address != 0) {
        REPORT(model, function, &fact);
    }
}

/* ---- programs ---- */

struct caller {
    int64_t tid, pid;
    struct lull_text comm;
};

#define CALLER(ev, event)                                                                          \
    ((struct caller){LULL_HAS(ev, event, tid) ? (ev)->tid : -1,                                    \
                     LULL_HAS(ev, event, pid) ? (ev)->pid : -1,                                    \
                     LULL_HAS(ev, event, comm) ? (ev)->comm : (struct lull_text){"", 0}})

/* LULL_NONE: the event does not say who it is. */
static uint32_t task_of(struct lull_model *model, struct machine *machine, struct caller caller,
                        int64_t t)
{
    if (number_of(caller.tid) < 0) {
        return LULL_NONE;
    }
    const uint32_t number = model_task(model, machine, number_of(caller.tid), 0);
    struct task *task = &model->tasks.items[number];
    if (task->public.pid < 0) {
        task->public.pid = pid_of(model, caller.pid);
    }
    task->public.first_ns = MIN(task->public.first_ns, t);
    task->public.last_ns = MAX(task->public.last_ns, t);
    return number;
}

static void report_caller(struct lull_model *model, struct machine *machine, struct caller caller,
                          struct lull_function_fact *fact)
{
    fact->pid = pid_of(model, caller.pid);
    fact->task = task_of(model, machine, caller, fact->time_ns);
    if (fact->task == LULL_NONE) {
        return;
    }
    if (fact->step == LULL_FUNCTION_ENTER && caller.comm.length > 0) {
        model_rename(model, fact->task, caller.comm, fact->time_ns);
    }
    REPORT(model, function, fact);
}

/* ---- memory ---- */

static void report_heap(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                        struct caller caller, struct lull_heap_fact fact)
{
    fact.time_ns = t;
    fact.host = machine->host;
    fact.pid = pid_of(model, caller.pid);
    fact.cpu = c;
    fact.task = task_of(model, machine, caller, t);
    if (fact.task != LULL_NONE && caller.comm.length > 0) {
        model_rename(model, fact.task, caller.comm, t);
    }
    REPORT(model, heap, &fact);
}

/* What was requested, or the most there is: of numbers that are too large nothing was allocated. */
static uint64_t product(uint64_t count, uint64_t size)
{
    uint64_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? UINT64_MAX : bytes;
}

/* False: it is no event of memory. */
static bool heap_event(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       enum lull_event_id id, const void *event)
{
    if (id == LULL_EVENT_heap_alloc) {
        const struct lull_ev_heap_alloc *ev = event;
        const bool failed = LULL_HAS(ev, heap_alloc, result) && ev->result != 0;
        const uint64_t count = LULL_HAS(ev, heap_alloc, count) ? (uint64_t)ev->count : 1;
        report_heap(model, machine, c, t, CALLER(ev, heap_alloc),
                    (struct lull_heap_fact){
                        .address = failed ? 0 : (uint64_t)ev->address,
                        .bytes = product(count, (uint64_t)ev->size),
                        .caller = LULL_HAS(ev, heap_alloc, caller) ? (uint64_t)ev->caller : 0,
                        .step = LULL_HEAP_ALLOC});
    } else if (id == LULL_EVENT_heap_realloc) {
        const struct lull_ev_heap_realloc *ev = event;
        report_heap(model, machine, c, t, CALLER(ev, heap_realloc),
                    (struct lull_heap_fact){
                        .address = (uint64_t)ev->address,
                        .old = (uint64_t)ev->old,
                        .bytes = (uint64_t)ev->size,
                        .caller = LULL_HAS(ev, heap_realloc, caller) ? (uint64_t)ev->caller : 0,
                        .step = LULL_HEAP_REALLOC});
    } else if (id == LULL_EVENT_heap_free) {
        const struct lull_ev_heap_free *ev = event;
        report_heap(model, machine, c, t, CALLER(ev, heap_free),
                    (struct lull_heap_fact){.old = (uint64_t)ev->address, .step = LULL_HEAP_FREE});
    } else {
        return false;
    }
    return true;
}

/* What the dynamic linker says has no size: the kernel's code in each process. */
#define VDSO_BYTES UINT64_C(8192)

static bool starts_with(struct lull_text text, const char *start)
{
    return text.length >= strlen(start) && memcmp(text.data, start, strlen(start)) == 0;
}

static void map_image(struct lull_model *model, const struct machine *machine, int64_t t,
                      int32_t pid, const struct lull_ev_image *ev)
{
    const bool is_vdso = starts_with(ev->path, "[linux-vdso") || starts_with(ev->path, "[vdso");
    const uint64_t length = ev->length == 0 && is_vdso ? VDSO_BYTES : (uint64_t)ev->length;
    if (LULL_HAS(ev, image, path) && ev->path.length > 0) {
        lull_stacks_map_image(model->stacks, machine->host, pid, (uint64_t)ev->address, length,
                              !LULL_HAS(ev, image, is_pic) || ev->is_pic != 0, ev->path,
                              (uint64_t)ev->inode, t);
        places_mapped(model, machine, pid, (uint64_t)ev->address, length, t);
    }
}

/* Whoever keeps addresses looks up what they are before that changes. */
static void unmap(struct lull_model *model, const struct machine *machine, int64_t t, int32_t pid)
{
    struct lull_function_fact fact = fact_of(machine, t, LULL_FUNCTION_UNMAP);
    fact.pid = pid;
    REPORT(model, function, &fact);
}

static void image_event(struct lull_model *model, const struct machine *machine, int64_t t,
                        enum lull_event_id id, const void *event)
{
    const struct lull_ev_image *image = event;
    const struct lull_ev_image_id *image_id = event;
    const struct lull_ev_image_gone *gone = event;
    const struct lull_ev_image_reset *reset = event;
    const int32_t pid = id == LULL_EVENT_image         ? pid_of(model, image->pid)
                        : id == LULL_EVENT_image_id    ? pid_of(model, image_id->pid)
                        : id == LULL_EVENT_image_gone  ? pid_of(model, gone->pid)
                        : id == LULL_EVENT_image_reset ? pid_of(model, reset->pid)
                                                       : -1;
    if (!model->stacks || pid < 0) {
        return;
    }
    switch (id) {
    case LULL_EVENT_image:
        map_image(model, machine, t, pid, image);
        break;
    case LULL_EVENT_image_id:
        if (LULL_HAS(image_id, image_id, id)) {
            lull_stacks_identify(model->stacks, machine->host, pid, (uint64_t)image_id->address,
                                 image_id->id);
        }
        break;
    case LULL_EVENT_image_gone:
        unmap(model, machine, t, pid);
        lull_stacks_unmap(model->stacks, machine->host, pid, (uint64_t)gone->address);
        break;
    default:
        unmap(model, machine, t, pid);
        lull_stacks_exec(model->stacks, machine->host, pid);
    }
}

/* ---- Python ---- */

static uint64_t key_of_code(int64_t tid, int64_t code)
{
    return (uint64_t)tid << 32 | (uint32_t)code;
}

static size_t after_slash(struct lull_text path, size_t length)
{
    const char *slash = memrchr(path.data, '/', length);
    return slash ? (size_t)(slash + 1 - path.data) : 0;
}

/* The last part of a path; of one that many share ("__init__.py", "__main__.py") the last two. */
static size_t start_of_file(struct lull_text path)
{
    const size_t start = after_slash(path, path.length);
    const bool is_shared =
        path.length - start > 2 && path.data[start] == '_' && path.data[start + 1] == '_';
    return is_shared && start > 0 ? after_slash(path, start - 1) : start;
}

/* "work.py:main", or the name alone. */
static void add_code(struct lull_model *model, struct machine *machine,
                     const struct lull_ev_python_code *ev)
{
    if (!LULL_HAS(ev, python_code, tid) || !LULL_HAS(ev, python_code, code) ||
        !LULL_HAS(ev, python_code, name)) {
        return;
    }
    g_string_truncate(model->scratch, 0);
    if (LULL_HAS(ev, python_code, file) && ev->file.length > 0) {
        const size_t start = start_of_file(ev->file);
        g_string_append_len(model->scratch, ev->file.data + start,
                            (gssize)(ev->file.length - start));
        g_string_append_c(model->scratch, ':');
    }
    g_string_append_len(model->scratch, ev->name.data, (gssize)ev->name.length);
    lull_map_insert(&machine->codes, key_of_code(ev->tid, ev->code),
                    model_label(model, model->scratch->str));
}

static uint32_t name_of_call(struct lull_model *model, const struct machine *machine,
                             const struct lull_ev_python_call *ev)
{
    if (LULL_HAS(ev, python_call, name)) {
        return model_label_of(model, ev->name);
    }
    if (!LULL_HAS(ev, python_call, code)) {
        return LULL_NONE;
    }
    const uint32_t label = lull_map_find(&machine->codes, key_of_code(ev->tid, ev->code));
    if (label != LULL_MAP_NONE) {
        return label;
    }
    g_string_printf(model->scratch, "code %" PRId64, ev->code);
    return model_label(model, model->scratch->str);
}

void functions_of_user(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                       enum lull_event_id id, const void *event)
{
    struct lull_function_fact fact = fact_of(machine, t, LULL_FUNCTION_ENTER);
    fact.cpu = c;
    switch (id) {
    case LULL_EVENT_function_entry: {
        const struct lull_ev_function_entry *ev = event;
        fact.address = (uint64_t)ev->address;
        report_caller(model, machine, CALLER(ev, function_entry), &fact);
        break;
    }
    case LULL_EVENT_function_exit: {
        const struct lull_ev_function_exit *ev = event;
        fact.step = LULL_FUNCTION_LEAVE;
        fact.is_nameless = !LULL_HAS(ev, function_exit, address);
        fact.address = (uint64_t)ev->address;
        report_caller(model, machine, CALLER(ev, function_exit), &fact);
        break;
    }
    case LULL_EVENT_python_call: {
        const struct lull_ev_python_call *ev = event;
        fact.layer = LULL_FUNCTION_PYTHON;
        fact.name = name_of_call(model, machine, ev);
        report_caller(model, machine, CALLER(ev, python_call), &fact);
        break;
    }
    case LULL_EVENT_python_code:
        add_code(model, machine, event);
        break;
    case LULL_EVENT_python_return: {
        const struct lull_ev_python_return *ev = event;
        fact.step = LULL_FUNCTION_LEAVE;
        fact.layer = LULL_FUNCTION_PYTHON;
        report_caller(model, machine, CALLER(ev, python_return), &fact);
        break;
    }
    case LULL_EVENT_recording_start: {
        const struct lull_ev_recording_start *ev = event;
        fact.layer = LULL_FUNCTION_RECORDING;
        report_caller(model, machine, CALLER(ev, recording_start), &fact);
        break;
    }
    case LULL_EVENT_recording_end: {
        const struct lull_ev_recording_end *ev = event;
        fact.step = LULL_FUNCTION_LEAVE;
        fact.layer = LULL_FUNCTION_RECORDING;
        report_caller(model, machine, CALLER(ev, recording_end), &fact);
        break;
    }
    default:
        if (!heap_event(model, machine, c, t, id, event)) {
            image_event(model, machine, t, id, event);
        }
    }
}

/* ---- lives of tasks ---- */

void functions_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t)
{
    const struct lull_task *from = &model->tasks.items[parent].public;
    const struct lull_task *to = &model->tasks.items[child].public;
    if (model->wanted.function && to->pid > 0 && to->pid != from->pid) {
        struct lull_function_fact fact =
            fact_of(&model->machines.items[to->host], t, LULL_FUNCTION_FORK);
        fact.task = child;
        fact.parent = parent;
        fact.pid = to->pid;
        REPORT(model, function, &fact);
    }
}

void functions_executed(struct lull_model *model, uint32_t task, int64_t t)
{
    const struct lull_task *it = &model->tasks.items[task].public;
    if (model->wanted.function) {
        struct lull_function_fact fact =
            fact_of(&model->machines.items[it->host], t, LULL_FUNCTION_EXEC);
        fact.task = task;
        fact.pid = it->pid;
        REPORT(model, function, &fact);
    }
}

void functions_lost(struct lull_model *model, const struct lull_lost_fact *lost)
{
    struct lull_function_fact fact =
        fact_of(model_machine(model, lost->host), lost->end_ns, LULL_FUNCTION_LOST);
    fact.cpu = lost->cpu;
    REPORT(model, function, &fact);
}

uint32_t lull_model_place(struct lull_model *model, uint32_t host, int32_t pid, uint64_t address)
{
    return model->stacks
               ? lull_stacks_chain(model->stacks, host, pid,
                                   (struct lull_text){(const char *)&address, sizeof address},
                                   INT64_MIN)
               : LULL_NONE;
}
