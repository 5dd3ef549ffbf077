/* SPDX-License-Identifier: MIT */
/* The tables of virtual machines. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exit_reasons.h"
#include "analysis/vms.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

/* Tasks of a guest that seem to run while their virtual CPU sleeps are nearly none, unless its clock is
 * joined wrongly. */
enum { MOST_ASLEEP_NS = 100000 };

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN}
#define HIDDEN_HOST                                                                                \
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN | LULL_USE_NOT_TEXT}
#define VM {"Virtual machine", "VM", "vm", LULL_CELL_STRING, NULL, LULL_USE_OWN}
#define VCPU {"Virtual CPU", "VCPU", "vcpu", LULL_CELL_NUMBER, NULL, LULL_USE_OWN}
#define TIME(title, heading, key) {title, heading, key, LULL_CELL_DURATION, NULL, LULL_USE_OWN}
#define DETAIL(title, heading, key)                                                                \
    {title, heading, key, LULL_CELL_DURATION, NULL, LULL_USE_OWN | LULL_USE_DETAIL}
#define STATES                                                                                     \
    TIME("Time in the guest", "GUEST", "guest_ns"), TIME("Time in KVM", "KVM", "kvm_ns"),          \
        DETAIL("Time in the program that runs the virtual machine", "QEMU", "qemu_ns"),            \
        TIME("Time without a CPU, which it had", "PREEMPT", "preempted_ns"),                       \
        TIME("Time without a CPU, after it slept", "WOKEN", "woken_ns"),                           \
        DETAIL("Time asleep in KVM", "HALTED", "halted_ns"),                                       \
        DETAIL("Time asleep in the program", "BLOCKED", "blocked_ns")

static struct lull_cell duration_cell(int64_t ns)
{
    return lull_cell_integer(LULL_CELL_DURATION, ns);
}

static struct lull_cell number_cell(uint64_t number)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)number);
}

static const struct vms_vm *vm_of(const struct vms *vms, uint32_t vcpu)
{
    return &vms->vms.items[vms->vcpus.items[vcpu].vm];
}

/* Host and virtual machine. */
static struct lull_cell *vm_cells(const struct vms *vms, uint32_t vcpu, struct lull_cell *cells)
{
    const struct vms_vm *vm = vm_of(vms, vcpu);
    *cells++ = lull_cell_host_of(&vms->head, vm->host);
    *cells++ = lull_cell_text(LULL_CELL_STRING, vm->name);
    return cells;
}

/* As KVM counts it, else in order of threads. */
static struct lull_cell vcpu_cell(const struct vms *vms, uint32_t vcpu)
{
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(vms->track, vcpu);
    return lull_cell_integer(LULL_CELL_NUMBER,
                             thread->number >= 0 ? thread->number : vms->vcpus.items[vcpu].place);
}

static struct lull_cell task_cell(const struct vms *vms, uint32_t task)
{
    if (task == LULL_VCPU_UNKNOWN) {
        return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    }
    if (task != LULL_NONE) {
        return lull_cell_task(vms->head.model, task, vms->end_ns, false);
    }
    struct lull_cell idle = lull_cell_text(LULL_CELL_PROCESS, "idle");
    idle.tid = 0;
    return idle;
}

static struct lull_cell *states_cells(const struct vms_states *states, struct lull_cell *cells)
{
    for (int state = 0; state < LULL_VCPU_STATES; state++) {
        *cells++ = duration_cell(states->ns[state]);
    }
    return cells;
}

static int64_t sum_of(const struct vms_states *states)
{
    int64_t sum_ns = 0;
    for (int state = 0; state < LULL_VCPU_STATES; state++) {
        lull_add(&sum_ns, states->ns[state]);
    }
    return sum_ns;
}

/* ---- virtual machines ---- */

static const struct lull_result_column vm_columns[] = {
    HOST,
    VM,
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"Virtual CPUs", "VCPUS", "vcpus", LULL_CELL_NUMBER, "CPUs", LULL_USE_OWN},
    {"Host name of the guest, if it was recorded", "GUEST", "guest", LULL_CELL_HOST, NULL,
     LULL_USE_OWN},
    TIME("Largest possible error of its clock", "CLOCK ERROR", "bound_ns"),
    {0},
};
static const struct lull_result_class vm_class = {
    .name = "vms", .title = "Virtual machines", .columns = vm_columns, .is_own = true};

/* -1: not known. */
static int64_t clock_error(const struct vms *vms, uint32_t host)
{
    const struct lull_host_clock *clock = lull_session_host_clock(vms->head.session, host);
    return clock ? clock->bound_ns : -1;
}

static void vm_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_vm *vm = &vms->vms.items[row];
    const uint32_t leader = lull_model_find_tid(vms->head.model, vm->host, vm->pid);
    cells = vm_cells(vms, vms->order.items[vm->first], cells);
    *cells++ = task_cell(vms, leader == LULL_NONE ? LULL_VCPU_UNKNOWN : leader);
    *cells++ = number_cell(vm->n);
    if (vm->guest == LULL_NONE) {
        return;
    }
    const int64_t own_ns = clock_error(vms, vm->host), guest_ns = clock_error(vms, vm->guest);
    *cells++ = lull_cell_host_of(&vms->head, vm->guest);
    *cells = own_ns >= 0 && guest_ns >= 0 ? duration_cell(lull_sum(own_ns, guest_ns))
                                          : lull_cell_integer(LULL_CELL_UNKNOWN, 0);
}

/* ---- virtual CPUs ---- */

static const struct lull_result_column vcpu_columns[] = {
    HIDDEN_HOST,
    VM,
    VCPU,
    {"Thread", "THREAD", "tid", LULL_CELL_NUMBER, NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT},
    TIME("From its first entry to its last exit", "TIME", "time_ns"),
    STATES,
    {0},
};
static const struct lull_result_class vcpu_class = {
    .name = "vcpus", .title = "Virtual CPUs", .columns = vcpu_columns, .is_own = true};

static void vcpu_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const uint32_t vcpu = vms->order.items[row];
    const struct vms_states *states = &vms->vcpus.items[vcpu].states;
    cells = vm_cells(vms, vcpu, cells);
    *cells++ = vcpu_cell(vms, vcpu);
    *cells++ = number_cell(
        (uint64_t)lull_model_task(vms->head.model, lull_vcpu_track_thread(vms->track, vcpu)->task)
            ->tid);
    *cells++ = duration_cell(sum_of(states));
    states_cells(states, cells);
}

/* ---- tasks of guests ---- */

static const struct lull_result_column task_columns[] = {
    HIDDEN_HOST,
    VM,
    {"Task of the guest", "TASK", "task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    TIME("Time on a virtual CPU, as the guest saw it", "AS SEEN", "seen_ns"),
    STATES,
    {0},
};
static const struct lull_result_class task_class = {
    .name = "tasks",
    .title = "What virtual CPUs did while tasks of their guest were on them",
    .columns = task_columns,
    .is_own = true};

static void task_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_task *task = &vms->tasks.items[row];
    cells = vm_cells(vms, task->vcpu, cells);
    *cells++ = task_cell(vms, task->task);
    *cells++ = duration_cell(sum_of(&task->states));
    states_cells(&task->states, cells);
}

static int compare_tasks(const void *a, const void *b)
{
    const struct vms_task *x = a, *y = b;
    const int64_t left = sum_of(&x->states), right = sum_of(&y->states);
    return left != right ? (left < right) - (left > right)
                         : (x->task > y->task) - (x->task < y->task);
}

/* ---- who had the CPU ---- */

#define BY                                                                                         \
    {"Who had the CPU", "BY", "by", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},                        \
        {"The virtual machine whose virtual CPU that is",                                          \
         "BY VM",                                                                                  \
         "by_vm",                                                                                  \
         LULL_CELL_STRING,                                                                         \
         NULL,                                                                                     \
         LULL_USE_OWN},                                                                            \
        {"The task of that guest", "ITS TASK", "by_task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},  \
        {"How often", "COUNT", "count", LULL_CELL_NUMBER, NULL, LULL_USE_OWN | LULL_USE_DETAIL},   \
        DETAIL("Longest at once", "MAX", "max_ns"),                                                \
    {                                                                                              \
        "Time in which it kept the virtual CPU waiting", "TIME", "time_ns", LULL_CELL_DURATION,    \
            NULL, LULL_USE_OWN | LULL_USE_BAR                                                      \
    }

static const struct lull_result_column steal_columns[] = {HIDDEN_HOST, VM, VCPU, BY, {0}};
static const struct lull_result_class steal_class = {
    .name = "stolen",
    .title = "Who had the CPU while a virtual CPU waited for it",
    .columns = steal_columns,
    .is_own = true};

static const struct lull_result_column steal_from_columns[] = {
    HIDDEN_HOST, VM,  {"Task of the guest", "TASK", "task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    BY,          {0},
};
static const struct lull_result_class steal_from_class = {
    .name = "stolen_from",
    .title = "The same while tasks of the guest seemed to run",
    .columns = steal_from_columns,
    .is_own = true};

static void by_cells(const struct vms *vms, const struct vms_steal *steal, struct lull_cell *cells)
{
    *cells++ = task_cell(vms, steal->by);
    if (steal->by_vcpu != LULL_NONE && vms->vcpus.items[steal->by_vcpu].vm < vms->vms.count) {
        cells[0] = lull_cell_text(LULL_CELL_STRING, vm_of(vms, steal->by_vcpu)->name);
        cells[1] = task_cell(vms, steal->by_task);
    }
    cells += 2;
    *cells++ = number_cell(steal->count);
    *cells++ = duration_cell(steal->longest_ns);
    *cells = duration_cell(steal->total_ns);
}

static void steal_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_steal *steal = &vms->steals.list.items[row];
    cells = vm_cells(vms, steal->vcpu, cells);
    *cells++ = vcpu_cell(vms, steal->vcpu);
    by_cells(vms, steal, cells);
}

static void steal_from_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_steal *steal = &vms->steals_from.list.items[row];
    cells = vm_cells(vms, steal->vcpu, cells);
    *cells++ = task_cell(vms, steal->from);
    by_cells(vms, steal, cells);
}

static int compare_steals(const void *a, const void *b)
{
    const struct vms_steal *x = a, *y = b;
    const uint32_t left[] = {x->vcpu, x->from, x->by, x->by_task};
    const uint32_t right[] = {y->vcpu, y->from, y->by, y->by_task};
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(left); i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

/* ---- exits and injections ---- */

static const struct lull_result_column exit_columns[] = {
    HIDDEN_HOST,
    VM,
    VCPU,
    {"Why the guest was left", "REASON", "reason", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Exits", "COUNT", "count", LULL_CELL_NUMBER, "exits", LULL_USE_OWN},
    {"Time until the guest was entered again", "TIME", "time_ns", LULL_CELL_DURATION, NULL,
     LULL_USE_OWN | LULL_USE_BAR},
    {0},
};
static const struct lull_result_class exit_class = {
    .name = "exits", .title = "Exits from the guest", .columns = exit_columns, .is_own = true};

static void exit_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_exit *exit = &vms->exits.items[row];
    const char *name = lull_exit_reason_name(exit->isa, exit->reason);
    cells = vm_cells(vms, exit->vcpu, cells);
    *cells++ = vcpu_cell(vms, exit->vcpu);
    if (!vms->vcpus.items[exit->vcpu].is_reason_told) {
        *cells++ = lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    } else {
        if (name) {
            g_string_assign(vms->text, name);
        } else {
            g_string_printf(vms->text, "reason 0x%x", exit->reason);
        }
        *cells++ = lull_cell_text(LULL_CELL_STRING, vms->text->str);
    }
    *cells++ = number_cell(exit->count);
    *cells = duration_cell(exit->total_ns);
}

static int compare_exits(const void *a, const void *b)
{
    const struct vms_exit *x = a, *y = b;
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    return x->vcpu != y->vcpu ? (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu)
                              : (x->reason > y->reason) - (x->reason < y->reason);
}

static const struct lull_result_column injection_columns[] = {
    HIDDEN_HOST,
    VM,
    VCPU,
    {"Vector", "VECTOR", "vector", LULL_CELL_NUMBER, NULL, LULL_USE_OWN},
    {"What the guest calls it", "IN THE GUEST", "name", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Injected interrupts", "COUNT", "count", LULL_CELL_NUMBER, "interrupts", LULL_USE_OWN},
    {"Halts that it ended", "HALTS", "halts", LULL_CELL_NUMBER, "halts", LULL_USE_OWN},
    TIME("Time of these", "HALTED", "halted_ns"),
    {0},
};
static const struct lull_result_class injection_class = {.name = "injections",
                                                         .title = "Injected interrupts",
                                                         .columns = injection_columns,
                                                         .is_own = true};

static void injection_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_injection *injection = &vms->injections.items[row];
    cells = vm_cells(vms, injection->vcpu, cells);
    *cells++ = vcpu_cell(vms, injection->vcpu);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, injection->vector);
    if (injection->label != LULL_NONE) {
        cells[0] =
            lull_cell_text(LULL_CELL_STRING, lull_model_label(vms->head.model, injection->label));
    }
    cells++;
    *cells++ = number_cell(injection->count);
    *cells++ = number_cell(injection->halts);
    *cells = duration_cell(injection->halted_ns);
}

static int compare_injections(const void *a, const void *b)
{
    const struct vms_injection *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->vcpu != y->vcpu ? (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu)
                              : (x->vector > y->vector) - (x->vector < y->vector);
}

/* ---- the log ---- */

static const struct lull_result_column log_columns[] = {
    HIDDEN_HOST,
    VM,
    VCPU,
    {"Start", "START", "start_ns", LULL_CELL_TIMESTAMP, NULL, LULL_USE_OWN},
    TIME("Duration", "DURATION", "duration_ns"),
    {"What the virtual CPU did", "STATE", "state", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Task of the guest", "TASK", "task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"CPU of the host", "CPU", "cpu", LULL_CELL_CPU, NULL, LULL_USE_OWN | LULL_USE_DETAIL},
    {"Who had the CPU", "BY", "by", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"The task of that guest", "ITS TASK", "by_task", LULL_CELL_PROCESS, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    {0},
};
static const struct lull_result_class log_class = {.name = "log",
                                                   .title = "Log of virtual CPUs",
                                                   .columns = log_columns,
                                                   .kind = LULL_TABLE_LOG,
                                                   .is_own = true};

static void log_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct vms *vms = user;
    const struct vms_interval *interval = &vms->log.items[row];
    const struct lull_vcpu_piece *piece = &interval->piece;
    cells = vm_cells(vms, interval->vcpu, cells);
    *cells++ = vcpu_cell(vms, interval->vcpu);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, piece->start_ns);
    *cells++ = duration_cell(piece->end_ns - piece->start_ns);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_vcpu_state_name(piece->state));
    *cells++ = task_cell(vms, piece->task);
    *cells++ = piece->cpu >= 0 ? lull_cell_integer(LULL_CELL_CPU, piece->cpu)
                               : lull_cell_integer(LULL_CELL_UNKNOWN, 0);
    if (piece->state == LULL_VCPU_PREEMPTED || piece->state == LULL_VCPU_WOKEN) {
        cells[0] = task_cell(vms, piece->by);
        if (piece->by_vcpu != LULL_NONE) {
            cells[1] = task_cell(vms, piece->by_task);
        }
    }
}

static int compare_intervals(const void *a, const void *b)
{
    const struct vms_interval *x = a, *y = b;
    if (x->piece.start_ns != y->piece.start_ns) {
        return x->piece.start_ns < y->piece.start_ns ? -1 : 1;
    }
    return (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu);
}

/* ---- all of them ---- */

const struct lull_result_class *const vms_tables[] = {
    &vm_class,   &vcpu_class,      &task_class, &steal_class, &steal_from_class,
    &exit_class, &injection_class, &log_class,  NULL,
};

static bool declares(const struct vms *vms, uint32_t host, enum lull_event_id id)
{
    return lull_session_declares(vms->head.session, host, lull_vocabulary_names(id));
}

static void add_notes(const struct vms *vms, struct lull_sink *sink)
{
    if (vms->order.count == 0) {
        sink->note(sink,
                   "no host recorded when virtual CPUs ran: kvm_entry and kvm_exit are needed "
                   "of the host (lull record --for vm)");
        return;
    }
    bool has_reasons = true, has_calls = true, has_guests = true;
    for (size_t i = 0; i < vms->vms.count; i++) {
        const struct vms_vm *vm = &vms->vms.items[i];
        has_guests &= vm->guest != LULL_NONE;
        has_calls &= !vms->head.session || declares(vms, vm->host, LULL_EVENT_ioctl_entry) ||
                     declares(vms, vm->host, LULL_EVENT_ioctl_raw_entry);
    }
    for (size_t i = 0; i < vms->order.count; i++) {
        has_reasons &= vms->vcpus.items[vms->order.items[i]].is_reason_told;
    }
    if (!has_reasons) {
        sink->note(sink, "reasons of exits are not recorded: all are 0");
    }
    if (!has_calls) {
        sink->note(sink,
                   "ioctl() was not recorded: time in the program that runs a virtual machine "
                   "counts as time in KVM");
    }
    if (!has_guests) {
        sink->note(sink, "what guests did is known of those only whose own recording is given, and "
                         "whose clock could be joined (lull sync says why not)");
    }
    const uint64_t unfollowed = lull_vcpu_track_unfollowed(vms->track);
    if (unfollowed) {
        g_string_printf(vms->text,
                        "%" PRIu64
                        " times a virtual CPU waited for a CPU for which 64 others waited "
                        "already: who had the CPU then is not followed, and shown as unknown",
                        unfollowed);
        sink->note(sink, vms->text->str);
    }
    if (vms->asleep_ns > MOST_ASLEEP_NS) {
        sink->note(sink,
                   "tasks of guests seem to run while their virtual CPU sleeps: the clocks may "
                   "be joined wrongly, or events are missing");
    }
}

static void emit_table(const struct vms *vms, const struct lull_result_class *class, uint64_t n,
                       void (*row)(const void *, uint64_t, struct lull_cell *), bool is_top,
                       struct lull_sink *sink)
{
    const uint64_t limit = is_top ? vms->head.params->limit : 0;
    sink->table(sink,
                &(struct lull_result_table){
                    .class = class, .n_rows = limit ? MIN(n, limit) : n, .row = row, .user = vms});
}

#define SORT(vec, compare)                                                                         \
    if ((vec).count) {                                                                             \
        qsort((vec).items, (vec).count, sizeof *(vec).items, compare);                             \
    }

void vms_emit(struct lull_analysis *analysis, const struct lull_window *window,
              struct lull_sink *sink)
{
    struct vms *vms = (struct vms *)analysis;
    const bool has_log = analysis->params->sections & LULL_SECTION_LOG;
    (void)window;
    SORT(vms->tasks, compare_tasks)
    SORT(vms->steals.list, compare_steals)
    SORT(vms->steals_from.list, compare_steals)
    SORT(vms->exits, compare_exits)
    SORT(vms->injections, compare_injections)
    SORT(vms->log, compare_intervals)
    add_notes(vms, sink);
    const uint64_t n_log =
        has_log ? lull_params_listed(analysis->params, vms->log.count, "intervals of the log", sink)
                : 0;
    emit_table(vms, &vm_class, vms->vms.count, vm_row, false, sink);
    emit_table(vms, &vcpu_class, vms->order.count, vcpu_row, false, sink);
    emit_table(vms, &task_class, vms->tasks.count, task_row, true, sink);
    emit_table(vms, &steal_class, vms->steals.list.count, steal_row, true, sink);
    emit_table(vms, &steal_from_class, vms->steals_from.list.count, steal_from_row, true, sink);
    emit_table(vms, &exit_class, vms->exits.count, exit_row, true, sink);
    emit_table(vms, &injection_class, vms->injections.count, injection_row, true, sink);
    if (has_log) {
        emit_table(vms, &log_class, n_log, log_row, false, sink);
    }
}
