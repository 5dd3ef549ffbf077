/* SPDX-License-Identifier: MIT */
/* System calls of tasks from start to end, under all the names tracers give them. A call belongs to
 * the task that is on the CPU, lasts while the task does not run, and ends on whatever CPU the task
 * is then. Start and end belong together only if they name the same call: else one was lost. */
#include "kernel/current_task.h"
#include "kernel/machine_call_names.h"

#include <string.h>

/* What all events of system calls start with is read as one. */
#define SAME(event, field)                                                                         \
    _Static_assert(offsetof(struct lull_ev_##event, field) ==                                      \
                           offsetof(struct lull_ev_io_exit, field) &&                              \
                       LULL_FIELD_##event##_##field == (int)LULL_FIELD_io_exit_##field,            \
                   "events of calls begin with the same fields")
#define SAME_NAMED(event)                                                                          \
    SAME(event, number);                                                                           \
    SAME(event, context_tid);                                                                      \
    SAME(event, context_vtid);                                                                     \
    SAME(event, context_pid);                                                                      \
    SAME(event, context_comm)
#define SAME_COMMON(event)                                                                         \
    SAME_NAMED(event);                                                                             \
    SAME(event, ret)
SAME_NAMED(bare_entry);
SAME_NAMED(bare_exit);
SAME_COMMON(syscall_entry);
SAME_COMMON(syscall_exit);
SAME_COMMON(raw_entry);
SAME_COMMON(raw_exit);
SAME_COMMON(futex_entry);
SAME_COMMON(epoll_entry);
SAME_COMMON(epoll_exit);
SAME_COMMON(poll_entry);
SAME_COMMON(poll_exit);
SAME_COMMON(exec_entry);
SAME_COMMON(io_entry);

#define HAS(field) LULL_HAS(ev, syscall_exit, field)

/* ---- names ---- */

static enum call_numbers numbers_of(const struct machine *machine,
                                    const struct call_class *call_class, bool is_compat)
{
    const struct call_arch *arch = machine->arch;
    return is_compat ? arch->compat : call_numbers_of(arch, call_class->is_32bit);
}

static inline struct call_name name_of(struct lull_model *model, const struct machine *machine,
                                       uint32_t task, const struct call_class *call_class,
                                       const struct lull_ev_syscall_exit *ev)
{
    if (G_LIKELY(call_class->name != LULL_NONE)) {
        return (struct call_name){call_class->name, call_class->kind};
    }
    if (HAS(number)) {
        if (G_UNLIKELY(call_is_arms_own(machine->arch, ev->number))) {
            model->tasks.items[task].is_compat = true;
        }
        bool is_compat = call_class->is_compat || model->tasks.items[task].is_compat;
        return call_numbered(model, numbers_of(machine, call_class, is_compat), ev->number);
    }
    return (struct call_name){LULL_NONE, NULL};
}

/* Which calls are of 32 bits is known of x86-64; on other machines any may be. */
static bool may_be_32bit(const struct machine *machine, const struct call_class *call_class,
                         const struct task *task)
{
    return call_class->is_compat || call_class->is_32bit || task->is_compat ||
           *machine->arch->part != '\0';
}

static enum call_telling telling_of(const struct call_class *call_class)
{
    return call_class->name != LULL_NONE ? CALL_TOLD_NAME : CALL_TOLD_NUMBER;
}

static int32_t number_of(const struct lull_ev_syscall_exit *ev)
{
    return HAS(number) ? call_plain_number(ev->number) : -1;
}

/* True if both may be of the same call. Tracers' names for a number differ. */
static bool is_same(uint32_t label, int32_t number, struct call_name other, int32_t other_number)
{
    return other.label == LULL_NONE || other.label == label ||
           (number >= 0 && number == other_number);
}

/* Numbers of x86-64 do not show whether a call is of 32 bits, but as exec() ends its number becomes
 * that of the new program's kind (arch/x86/kernel/process_64.c). That of arm64 stays the old one's
 * (start_thread_common()); a program of 32 bits then makes a call of ARM's own, which name_of()
 * sees. True if this is the end of exec(). */
static bool learn_bits(struct lull_model *model, const struct machine *machine, uint32_t task,
                       const struct lull_ev_syscall_exit *ev)
{
    enum { EXECVE_64 = 59, EXECVE_32 = 11 };
    struct task *known = &model->tasks.items[task];
    const bool is_x86 = machine->arch->numbers == CALL_NUMBERS_X86_64;
    if ((!is_x86 && machine->arch->numbers != CALL_NUMBERS_GENERIC) || !HAS(number) || !HAS(ret) ||
        ev->ret != 0 || (is_x86 && ev->number != EXECVE_64 && ev->number != EXECVE_32) ||
        known->syscall == LULL_NONE) {
        return false;
    }
    const char *name = model->labels.items[known->syscall];
    if (strcmp(name, "execve") != 0 && strcmp(name, "execveat") != 0) {
        return false;
    }
    known->is_compat = is_x86 && ev->number == EXECVE_32;
    return true;
}

/* ---- calls in progress ---- */

static void name_given(struct lull_model *model, struct call *call)
{
    if (call->given == LULL_NONE && call->args.have & CALL_ARG_PATH && call->path->len) {
        call->given = model_label(model, call->path->str);
    }
}

static inline __attribute__((always_inline)) struct call *start_call(struct lull_model *model,
                                                                     uint32_t task)
{
    uint32_t number = model->free_call;
    if (number == LULL_NONE) {
        number = model->calls.count;
        lull_vec_push(&model->calls, (struct call){.path = g_string_new(NULL)});
    } else {
        model->free_call = model->calls.items[number].next_free;
    }
    model->tasks.items[task].call = number;
    struct call *call = &model->calls.items[number];
    call->task = task;
    call->taken_ns = INT64_MIN;
    call->file = call->to_file = call->watched = call->given = call->cut = LULL_NONE;
    call->has_blocked = call->is_asking = false;
    call->polled.n = 0;
    if (call->path->len) {
        g_string_truncate(call->path, 0);
    }
    return call;
}

static void free_call(struct lull_model *model, uint32_t task)
{
    uint32_t number = model->tasks.items[task].call;
    model->tasks.items[task].call = LULL_NONE;
    model->calls.items[number].task = LULL_NONE;
    model->calls.items[number].next_free = model->free_call;
    model->free_call = number;
}

/* The fact of a call that lasts at `end_ns`. */
static struct lull_syscall_fact open_fact(const struct lull_model *model, const struct call *call,
                                          int64_t end_ns, struct lull_io *io)
{
    bool has_io = call_open_io(model, call, io);
    return (struct lull_syscall_fact){
        .task = call->task,
        .name = call->name.label,
        .path = LULL_NONE,
        .cpu = model->tasks.items[call->task].cpu,
        .start_ns = call->start_ns,
        .end_ns = MAX(end_ns, call->start_ns),
        .is_open = true,
        .is_taken = call->taken_ns != INT64_MIN,
        .thread = call->thread,
        .taken_ns = call->taken_ns,
        .io = has_io ? io : NULL,
        .futex = call->args.have & CALL_ARG_FUTEX ? &call->args.futex : NULL,
    };
}

/* Its end will not be seen: it lasted until end_ns at least. */
static void give_up(struct lull_model *model, uint32_t task, int64_t end_ns)
{
    uint32_t number = model->tasks.items[task].call;
    if (G_LIKELY(number == LULL_NONE)) {
        return;
    }
    struct lull_io io;
    struct lull_syscall_fact fact = open_fact(model, &model->calls.items[number], end_ns, &io);
    REPORT(model, syscall, &fact);
    free_call(model, task);
}

/* A call that does not return to its caller: some tracers report its end, with -1 as its number, and
 * others none. */
static void end_returning(struct lull_model *model, uint32_t task, int32_t c, int64_t end_ns,
                          bool is_open)
{
    struct task *known = &model->tasks.items[task];
    if (known->returning_ns == INT64_MIN) {
        return;
    }
    struct lull_syscall_fact fact = {.task = task,
                                     .name = known->returning,
                                     .path = LULL_NONE,
                                     .cpu = c,
                                     .start_ns = known->returning_ns,
                                     .end_ns = end_ns,
                                     .is_open = is_open};
    known->returning_ns = INT64_MIN;
    REPORT(model, syscall, &fact);
}

static inline struct call_name name_of_start(struct lull_model *model,
                                             const struct machine *machine, uint32_t task,
                                             const struct call_class *call_class, const void *event)
{
    struct call_name name = name_of(model, machine, task, call_class, event);
    return name.label != LULL_NONE
               ? name
               : (struct call_name){model_label(model, "a system call"), call_kind_find("")};
}

/* The start of an open call, reported in another way too: by its name, which then gives its
 * arguments better, or by its number. */
static bool start_again(struct lull_model *model, struct call *call, struct call_name name,
                        const struct call_class *call_class, enum lull_event_id id,
                        const void *event)
{
    enum call_telling reported = telling_of(call_class);
    if (call->reported & reported ||
        !is_same(call->name.label, call->number, name, number_of(event))) {
        return false;
    }
    call->reported |= reported;
    if (reported == CALL_TOLD_NUMBER) {
        return true;
    }
    call->name = name;
    model->tasks.items[call->task].syscall = name.label;
    if (id == LULL_EVENT_io_entry || id == LULL_EVENT_futex_entry || id == LULL_EVENT_epoll_entry ||
        id == LULL_EVENT_poll_entry || id == LULL_EVENT_exec_entry) {
        call_take(model, call_class, call, id, event);
    }
    return true;
}

static inline __attribute__((always_inline)) void
start(struct lull_model *model, struct machine *machine, uint32_t task, int32_t c, int64_t t,
      const struct call_class *call_class, enum lull_event_id id, const void *event)
{
    struct call_name name = name_of_start(model, machine, task, call_class, event);
    uint32_t open = model->tasks.items[task].call;
    if (open != LULL_NONE &&
        start_again(model, &model->calls.items[open], name, call_class, id, event)) {
        return;
    }
    struct task *known = &model->tasks.items[task];
    known->syscall = name.label;
    known->sent_ns = INT64_MIN;
    known->ended.reported = 0;
    if (G_UNLIKELY(open != LULL_NONE)) {
        give_up(model, task, INT64_MIN);
    }
    if (G_UNLIKELY(known->returning_ns != INT64_MIN)) {
        end_returning(model, task, c, known->returning_ns, true);
    }
    struct call *call = start_call(model, task);
    call->name = name;
    call->number = number_of(event);
    call->reported = telling_of(call_class);
    call->may_be_32bit = may_be_32bit(machine, call_class, known);
    call->start_ns = t;
    if (G_UNLIKELY(name.kind->effect == CALL_RESTART)) {
        call->cut = calls_cut_of(model, task);
        known->syscall =
            call->cut != LULL_NONE ? model->cuts.items[call->cut].note.name : name.label;
    }
    call_take(model, call_class, call, id, event);
    if (model->groups & LULL_GROUP_VIRT) {
        use_call(model, machine, call, c);
    }
    if (model->wanted.syscall_start) {
        struct lull_syscall_fact fact = {.task = task,
                                         .name = name.label,
                                         .path = LULL_NONE,
                                         .cpu = c,
                                         .start_ns = t,
                                         .end_ns = t,
                                         .is_open = true};
        REPORT(model, syscall_start, &fact);
    }
    if (name.kind->effect == CALL_NO_RETURN) {
        free_call(model, task);
        model->tasks.items[task].returning_ns = t;
        model->tasks.items[task].returning = name.label;
    }
}

/* LTTng has mmap and mmap2 return unsigned longs, also where these have 32 bits. */
static int64_t returned(const struct call_class *call_class, int64_t ret)
{
    const int32_t narrow = (int32_t)ret;
    return call_class->is_32bit && call_error(narrow, true) ? narrow : ret;
}

static inline __attribute__((always_inline)) void
end(struct lull_model *model, struct machine *machine, uint32_t task, int32_t c, int64_t t,
    const struct call_class *call_class, enum lull_event_id id, const void *event)
{
    const struct lull_ev_syscall_exit *ev = event;
    const int64_t ret = HAS(ret) ? returned(call_class, ev->ret) : 0;
    struct task *known = &model->tasks.items[task];
    enum call_telling reported = telling_of(call_class);
    bool is_exec = reported == CALL_TOLD_NUMBER && learn_bits(model, machine, task, ev);
    struct call_name name = name_of(model, machine, task, call_class, event);
    uint32_t number = known->call;
    known->syscall = LULL_NONE;
    if (number == LULL_NONE && known->ended.reported && known->ended.reported != reported &&
        is_same(known->ended.label, known->ended.number, name, number_of(ev))) {
        return; /* the end of the same call, reported in another way */
    }
    if (HAS(number) && ev->number == -1) {
        end_returning(model, task, c, t, false);
    }
    known->ended.reported = reported;
    known->ended.label = name.label;
    known->ended.number = number_of(ev);
    if (number != LULL_NONE && !is_exec &&
        !is_same(model->calls.items[number].name.label, model->calls.items[number].number, name,
                 number_of(ev))) {
        give_up(model, task, INT64_MIN);
        number = LULL_NONE;
    }
    struct call unseen;
    struct call *call = &unseen;
    if (number != LULL_NONE) {
        call = &model->calls.items[number];
    } else {
        unseen = (struct call){.task = task,
                               .name = name,
                               .number = -1,
                               .may_be_32bit = may_be_32bit(machine, call_class, known),
                               .start_ns = INT64_MIN,
                               .taken_ns = INT64_MIN,
                               .file = LULL_NONE,
                               .to_file = LULL_NONE};
    }
    if (call->name.label == LULL_NONE) {
        return; /* started before the trace, and nothing says what it was */
    }
    if (number == LULL_NONE && call->name.kind->effect == CALL_FORK && HAS(ret) && ret == 0) {
        return; /* a child comes back from a call that it did not make */
    }
    struct lull_io io;
    if (number != LULL_NONE && call->has_blocked) { /* some tracers know it now */
        name_given(model, call);
        if (id == LULL_EVENT_poll_exit) {
            polled_ended(call, call_class, event);
        } else if (id == LULL_EVENT_epoll_exit) {
            epoll_ended(model, call_class, call, event);
        }
        if (call->polled.n) {
            call->given = polled_label(model, call);
        }
    }
    struct lull_syscall_fact fact = {
        .task = task,
        .name = call->name.label,
        .path = number != LULL_NONE ? call->given : LULL_NONE,
        .cpu = c,
        .start_ns = call->start_ns,
        .end_ns = t,
        .ret = ret,
        .has_ret = HAS(ret),
        .is_taken = call->taken_ns != INT64_MIN,
        .thread = call->thread,
        .taken_ns = call->taken_ns,
        .error = HAS(ret) ? call_error(ret, call->may_be_32bit || call_class->is_32bit) : 0,
        .futex = call->args.have & CALL_ARG_FUTEX ? &call->args.futex : NULL,
        .cut = number != LULL_NONE && call->cut != LULL_NONE ? &model->cuts.items[call->cut].note
                                                             : NULL,
        .polled = number != LULL_NONE && call->has_blocked && call->polled.n ? &call->polled : NULL,
    };
    if (model->follows_files &&
        call_end_io(model, call_class, call, &fact, id == LULL_EVENT_io_exit ? event : NULL, &io)) {
        fact.io = &io;
    }
    if (call->name.kind->effect == CALL_EXEC && HAS(ret) && ret == 0) {
        const char *path = number != LULL_NONE ? call->path->str : "";
        sched_exec_returned(model, task, t, HAS(context_comm) ? NULL : path);
    }
    REPORT(model, syscall, &fact);
    if (number != LULL_NONE) {
        if (G_UNLIKELY(fact.error == CALL_RESTART_BLOCK)) {
            calls_cut(model, task);
        }
        known->makes_calls = true;
        free_call(model, task);
    }
}

/* ---- events ---- */

static bool is_exit(enum lull_event_id id)
{
    switch (id) {
    case LULL_EVENT_named_exit:
    case LULL_EVENT_bare_exit:
    case LULL_EVENT_syscall_exit:
    case LULL_EVENT_io_exit:
    case LULL_EVENT_poll_exit:
    case LULL_EVENT_epoll_exit:
    case LULL_EVENT_raw_exit:
        return true;
    default:
        return false;
    }
}

/* All that states of tasks need: the name of the call that a task is in. */
static void name_only(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                      enum lull_event_id id, const void *event,
                      const struct lull_event_class *event_class)
{
    const struct lull_ev_syscall_exit *ev = event;
    if (id != LULL_EVENT_named_entry && id != LULL_EVENT_named_exit) { /* which have no fields */
        SCHED_CURRENT(model, machine, c, t, ev, syscall_exit);
    }
    uint32_t task = model_cpu_at(machine, c)->task;
    if (task == LULL_NONE) {
        return;
    }
    uint32_t name = LULL_NONE;
    bool is_end = is_exit(id);
    if (id == LULL_EVENT_raw_exit || id == LULL_EVENT_bare_exit) {
        is_end = !call_class_of(model, event_class)->is_entry;
    }
    if (id == LULL_EVENT_raw_exit && is_end) {
        learn_bits(model, machine, task, ev);
    }
    uint32_t ended = model->tasks.items[task].syscall;
    if (is_end && ended != LULL_NONE && (ended == model->execve || ended == model->execveat)) {
        sched_exec_ended(&model->tasks.items[task], t);
    }
    if (!is_end) {
        name = name_of_start(model, machine, task, call_class_of(model, event_class), event).label;
    }
    model->tasks.items[task].syscall = name;
    model->tasks.items[task].sent_ns = INT64_MIN;
}

/* Who makes the call, as the event says; LULL_NONE: nobody who is known. */
static inline __attribute__((always_inline)) uint32_t caller_of(struct lull_model *model,
                                                                struct machine *machine, int32_t c,
                                                                int64_t t, const void *event)
{
    const struct lull_ev_syscall_exit *ev = event;
    const uint32_t task = SCHED_CURRENT(model, machine, c, t, ev, syscall_exit);
    return task == LULL_NONE || model->tasks.items[task].is_idle ? LULL_NONE : task;
}

void calls_started(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                   enum lull_event_id id, const void *event,
                   const struct lull_event_class *event_class)
{
    if (!model->wanted.syscall) {
        name_only(model, machine, c, t, id, event, event_class);
        return;
    }
    const uint32_t task = caller_of(model, machine, c, t, event);
    if (task != LULL_NONE) {
        start(model, machine, task, c, t, call_class_of(model, event_class), id, event);
    }
}

void calls_ended(struct lull_model *model, struct machine *machine, int32_t c, int64_t t,
                 enum lull_event_id id, const void *event,
                 const struct lull_event_class *event_class)
{
    if (!model->wanted.syscall) {
        name_only(model, machine, c, t, id, event, event_class);
        return;
    }
    const struct call_class *call_class = call_class_of(model, event_class);
    if (G_UNLIKELY(call_class->is_entry)) {
        calls_started(model, machine, c, t, id, event, event_class);
        return;
    }
    const uint32_t task = caller_of(model, machine, c, t, event);
    if (task != LULL_NONE) {
        end(model, machine, task, c, t, call_class, id, event);
    }
}

void calls_dumped(struct lull_model *model, struct machine *machine,
                  const struct lull_ev_statedump_call *ev)
{
    if (!model->wanted.syscall || ev->tid <= 0 || ev->tid > INT32_MAX) {
        return;
    }
    const uint32_t task = model_task(model, machine, (int32_t)ev->tid, 0);
    struct task *known = &model->tasks.items[task];
    const struct call_class *call_class = call_class_of(model, NULL);
    const struct call_name name =
        call_numbered(model, numbers_of(machine, call_class, known->is_compat), ev->number);
    if (known->state != LULL_STATE_BLOCKED || known->call != LULL_NONE || known->is_idle ||
        name.label == LULL_NONE) {
        return;
    }
    const uint64_t args[] = {GUINT64_TO_LE((uint64_t)ev->arg0), GUINT64_TO_LE((uint64_t)ev->arg1),
                             GUINT64_TO_LE((uint64_t)ev->arg2), GUINT64_TO_LE((uint64_t)ev->arg3),
                             GUINT64_TO_LE((uint64_t)ev->arg4), GUINT64_TO_LE((uint64_t)ev->arg5)};
    const struct lull_ev_raw_entry raw = {.args = {(const char *)args, sizeof args}};
    struct call *call = start_call(model, task);
    call->name = name;
    call->number = call_plain_number(ev->number);
    call->reported = CALL_TOLD_NUMBER;
    call->may_be_32bit = may_be_32bit(machine, call_class, known);
    call->start_ns = INT64_MIN;
    known->syscall = name.label;
    call_take(model, call_class, call, LULL_EVENT_raw_entry, &raw);
    calls_blocks(model, known);
}

uint32_t calls_clone_flags(const struct lull_model *model, uint32_t parent)
{
    const struct task *from = &model->tasks.items[parent];
    if (from->call == LULL_NONE) {
        return UINT32_MAX;
    }
    const struct call *call = &model->calls.items[from->call];
    if (call->name.kind->effect != CALL_FORK) {
        return UINT32_MAX;
    }
    if (call->args.have & CALL_ARG_FLAGS) {
        return call->args.flags & ~(uint32_t)CLONE_SIGNAL;
    }
    const char *name = call->name.kind->name;
    return strcmp(name, "fork") == 0 || strcmp(name, "vfork") == 0 ? 0 : UINT32_MAX;
}

void calls_forked(struct lull_model *model, uint32_t parent, uint32_t child, int64_t t,
                  uint32_t flags)
{
    enum { FLAG_FILES = 0x400 }; /* CLONE_FILES */
    if (!model->follows_files) {
        return;
    }
    const struct task *from = &model->tasks.items[parent], *to = &model->tasks.items[child];
    /* Without the flags: threads share, processes copy. */
    int32_t pid = from->public.pid > 0 ? from->public.pid : from->public.tid;
    bool is_shared = flags != UINT32_MAX ? flags & FLAG_FILES : to->public.pid == pid;
    files_forked(model, parent, child, t, is_shared);
}

void calls_lost(struct lull_model *model, uint32_t task, int64_t start_ns)
{
    end_returning(model, task, -1, model->tasks.items[task].returning_ns, true);
    give_up(model, task, start_ns);
}

void calls_taken_over(struct lull_model *model, uint32_t thread, uint32_t leader, int64_t t)
{
    struct task *from = &model->tasks.items[thread], *to = &model->tasks.items[leader];
    if (model->wanted.syscall) {
        end_returning(model, leader, -1, to->returning_ns, true);
        give_up(model, leader, to->public.last_ns);
    }
    to->syscall = from->syscall;
    to->call = from->call;
    to->ended = from->ended;
    to->sent_ns = from->sent_ns;
    to->sent_number = from->sent_number;
    from->syscall = from->call = LULL_NONE;
    if (to->call != LULL_NONE) {
        struct call *call = &model->calls.items[to->call];
        call->task = leader;
        call->thread = thread;
        call->taken_ns = t;
    }
}

void calls_go_on(struct lull_model *model, uint32_t task, int32_t c, int64_t t)
{
    const struct task *known = &model->tasks.items[task];
    if (known->call != LULL_NONE && model->wanted.syscall_start) {
        const struct lull_syscall_fact fact = {.task = task,
                                               .name = known->syscall,
                                               .path = LULL_NONE,
                                               .cpu = c,
                                               .start_ns = t,
                                               .end_ns = t,
                                               .is_open = true};
        REPORT(model, syscall_start, &fact);
    }
}

void calls_died(struct lull_model *model, struct machine *machine, uint32_t task)
{
    if (model->wanted.syscall) {
        give_up(model, task, machine->last_ns);
    }
    if (model->follows_files) {
        files_died(model, task, machine->last_ns);
    }
}

void calls_finish(struct lull_model *model)
{
    for (uint32_t i = 0; i < model->tasks.count; i++) {
        end_returning(model, i, -1, model->tasks.items[i].returning_ns, true);
        give_up(model, i, model->machines.items[model->tasks.items[i].public.host].last_ns);
    }
}

void calls_blocks(struct lull_model *model, const struct task *task)
{
    struct call *call = &model->calls.items[task->call];
    call->has_blocked = true;
    name_given(model, call);
    if (call->polled.n) {
        call->given = polled_label(model, call);
    }
}

/* Its descriptor's, or the only one that it waits for. */
static uint32_t file_of_call(const struct call *call)
{
    return call->args.have & CALL_ARG_FD ? call->file
           : call->polled.n == 1         ? call->polled.files[0]
                                         : LULL_NONE;
}

/* What the call is about is called: the file of a descriptor that it watches, of its own, or a path that it was given. */
static uint32_t path_of_call(const struct lull_model *model, const struct call *call)
{
    if (call->watched != LULL_NONE) {
        return call->watched;
    }
    const uint32_t file = file_of_call(call);
    if (call->args.have & CALL_ARG_FD || file != LULL_NONE) {
        return file == LULL_NONE ? LULL_NONE : model->files.items[file].path;
    }
    return call->given;
}

bool calls_note(const struct lull_model *model, const struct task *task,
                struct lull_call_note *note)
{
    if (task->call == LULL_NONE) {
        return false;
    }
    const struct call *call = &model->calls.items[task->call];
    if (call->cut != LULL_NONE) {
        const struct call_cut *cut = &model->cuts.items[call->cut];
        *note = cut->note;
        note->futex = note->futex ? &cut->futex : NULL;
        return true;
    }
    const bool has_fd = call->args.have & CALL_ARG_FD;
    *note = (struct lull_call_note){
        .name = call->name.label,
        .file = file_of_call(call),
        .path = path_of_call(model, call),
        .fd = has_fd ? call->args.fd : -1,
        .ipc = call->args.have & CALL_ARG_IPC ? call->args.ipc : -1,
        .futex = call->args.have & CALL_ARG_FUTEX ? &call->args.futex : NULL,
        .start_ns = call->start_ns,
        .is_sleep = (call->args.have & CALL_ARG_WATCHED) && call->args.watched == 0,
    };
    return true;
}

void lull_model_each_syscall(const struct lull_model *model, int64_t now_ns,
                             void (*visit)(void *user, const struct lull_syscall_fact *fact),
                             void *user)
{
    for (size_t i = 0; i < model->calls.count; i++) {
        const struct call *call = &model->calls.items[i];
        struct lull_io io;
        if (call->task == LULL_NONE) {
            continue;
        }
        const struct machine *machine =
            &model->machines.items[model->tasks.items[call->task].public.host];
        struct lull_syscall_fact fact =
            open_fact(model, call, MAX(call->start_ns, MIN(now_ns, machine->end_ns)), &io);
        visit(user, &fact);
    }
}

void calls_free(struct lull_model *model)
{
    for (size_t i = 0; i < model->calls.count; i++) {
        g_string_free(model->calls.items[i].path, TRUE);
    }
    lull_vec_free(&model->calls);
    lull_vec_free(&model->cuts);
    lull_map_free(&model->cut_of);
    lull_vec_free(&model->call_classes);
    lull_vec_free(&model->numbered_calls);
    lull_map_free(&model->call_numbers);
}
