/* SPDX-License-Identifier: MIT */
/* What virtual CPUs did on their hosts: how long they were in the guest and elsewhere, who kept them
 * from a CPU, for which task of the guest that was, why they left the guest, what was injected. */
#include "analysis/vms.h"

#include <stdlib.h>

#include "analysis/exit_reasons.h"
#include "analysis/vm_names.h"
#include "base/sums.h"
#include "graph/raises.h"
#include "kernel/vocabulary.h"
#include "source/session/clocks.h"

/* ---- sums ---- */

static struct vms_task *task_of(struct vms *vms, uint32_t vcpu, uint32_t task)
{
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(vms->track, vcpu);
    /* Tasks have numbers over all hosts; idle is somebody else on each. */
    const uint64_t key = task == LULL_NONE ? (uint64_t)1 << 32 | thread->guest : task;
    uint32_t number = lull_map_find(&vms->by_task, key);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)vms->tasks.count;
        lull_map_insert(&vms->by_task, key, number);
        lull_vec_push(&vms->tasks, (struct vms_task){.vcpu = vcpu, .task = task});
    }
    return &vms->tasks.items[number];
}

static void add_steal(struct vms_steals *steals, uint32_t vcpu, uint32_t from,
                      const struct lull_vcpu_piece *piece, bool goes_on)
{
    const uint32_t victim = from == LULL_VCPU_UNKNOWN ? vcpu : from;
    const uint64_t pair = (uint64_t)victim << 32 | piece->by;
    uint32_t number = lull_map_find(&steals->pairs, pair);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)steals->pairs.count;
        lull_map_insert(&steals->pairs, pair, number);
    }
    const uint64_t key = (uint64_t)number << 32 | piece->by_task;
    uint32_t row = lull_map_find(&steals->rows, key);
    if (row == LULL_MAP_NONE) {
        row = (uint32_t)steals->list.count;
        lull_map_insert(&steals->rows, key, row);
        lull_vec_push(&steals->list, (struct vms_steal){.vcpu = vcpu,
                                                        .from = from,
                                                        .by = piece->by,
                                                        .by_vcpu = piece->by_vcpu,
                                                        .by_task = piece->by_task});
    }
    struct vms_steal *steal = &steals->list.items[row];
    const int64_t ns = piece->end_ns - piece->start_ns;
    lull_add(&steal->total_ns, ns);
    steal->count += !goes_on;
    steal->longest_ns = MAX(steal->longest_ns, ns);
}

static bool is_kept_waiting(const struct lull_vcpu_piece *piece)
{
    return piece->state == LULL_VCPU_PREEMPTED || piece->state == LULL_VCPU_WOKEN;
}

static bool is_same_steal(const struct lull_vcpu_piece *a, const struct lull_vcpu_piece *b)
{
    return is_kept_waiting(a) && is_kept_waiting(b) && a->by == b->by && a->by_task == b->by_task &&
           a->task == b->task;
}

static void add_piece(struct vms *vms, uint32_t number, const struct lull_vcpu_piece *piece,
                      bool goes_on)
{
    const int64_t ns = piece->end_ns - piece->start_ns;
    lull_add(&vms->vcpus.items[number].states.ns[piece->state], ns);
    if (is_kept_waiting(piece)) {
        add_steal(&vms->steals, number, LULL_VCPU_UNKNOWN, piece, goes_on);
    }
    if (vms->head.params->sections & LULL_SECTION_LOG) {
        lull_vec_push(&vms->log, (struct vms_interval){number, *piece});
    }
    if (piece->task == LULL_VCPU_UNKNOWN) {
        return;
    }
    if (piece->task != LULL_NONE &&
        (piece->state == LULL_VCPU_WOKEN || piece->state == LULL_VCPU_HALTED)) {
        lull_add(&vms->asleep_ns, ns);
    }
    if (lull_params_name_tasks(vms->head.params) &&
        (piece->task == LULL_NONE ||
         !lull_params_choose_task(vms->head.params, vms->head.model, piece->task, piece->end_ns))) {
        return;
    }
    lull_add(&task_of(vms, number, piece->task)->states.ns[piece->state], ns);
    if (is_kept_waiting(piece) && piece->task != LULL_NONE) {
        add_steal(&vms->steals_from, number, piece->task, piece, goes_on);
    }
}

static uint64_t *losses_of(struct vms *vms, uint32_t host)
{
    while (vms->losses.count <= host) {
        lull_vec_push(&vms->losses, 0);
    }
    return &vms->losses.items[host];
}

/* What was injected into it, and its last exit, are not known any more once something was lost. */
static struct vms_vcpu *vcpu_at(struct vms *vms, uint32_t number)
{
    while (vms->vcpus.count <= number) {
        lull_vec_push(&vms->vcpus, (struct vms_vcpu){.vector = -1, .last_exit = LULL_NONE});
    }
    struct vms_vcpu *vcpu = &vms->vcpus.items[number];
    const uint64_t losses = *losses_of(vms, lull_vcpu_track_thread(vms->track, number)->host);
    if (vcpu->losses != losses) {
        vcpu->losses = losses;
        vcpu->vector = -1;
        vcpu->last_exit = LULL_NONE;
    }
    return vcpu;
}

static bool is_wanted(const struct vms *vms, uint32_t number)
{
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(vms->track, number);
    return lull_params_want_cpu(vms->head.params, thread->host, (int32_t)thread->number);
}

static void take_pieces(void *user, uint32_t number, const struct lull_vcpu_piece *pieces, size_t n)
{
    struct vms *vms = user;
    struct vms_vcpu *vcpu = vcpu_at(vms, number);
    if (!is_wanted(vms, number)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        add_piece(vms, number, &pieces[i], i > 0 && is_same_steal(&pieces[i - 1], &pieces[i]));
        /* In the state of being halted one may be moved: that is one halt. */
        if (pieces[i].state == LULL_VCPU_HALTED) {
            vcpu->halts += i == 0 || pieces[i - 1].state != LULL_VCPU_HALTED;
            lull_add(&vcpu->halted_ns, pieces[i].end_ns - pieces[i].start_ns);
        }
    }
    if (!pieces[0].is_entered && vcpu->last_exit != LULL_NONE) {
        lull_add(&vms->exits.items[vcpu->last_exit].total_ns,
                 pieces[n - 1].end_ns - pieces[0].start_ns);
    }
}

/* ---- facts ---- */

static void add_exit(struct vms *vms, uint32_t number, const struct lull_vcpu_fact *fact)
{
    struct vms_vcpu *vcpu = vcpu_at(vms, number);
    const uint64_t key = (uint64_t)number << 34 | (uint64_t)fact->isa << 32 | fact->reason;
    uint32_t row = lull_map_find(&vms->by_reason, key);
    if (row == LULL_MAP_NONE) {
        row = (uint32_t)vms->exits.count;
        lull_map_insert(&vms->by_reason, key, row);
        lull_vec_push(&vms->exits,
                      (struct vms_exit){.vcpu = number, .reason = fact->reason, .isa = fact->isa});
    }
    vms->exits.items[row].count++;
    vcpu->last_exit = row;
    vcpu->is_reason_told |= fact->has_details;
}

static struct vms_injection *injection_of(struct vms *vms, uint32_t number, int64_t vector)
{
    const uint64_t key = (uint64_t)number << 32 | (uint32_t)vector;
    uint32_t row = lull_map_find(&vms->by_vector, key);
    if (row == LULL_MAP_NONE) {
        row = (uint32_t)vms->injections.count;
        lull_map_insert(&vms->by_vector, key, row);
        lull_vec_push(&vms->injections, (struct vms_injection){.vcpu = number, .vector = vector});
    }
    return &vms->injections.items[row];
}

/* Several before an entry are the same interrupt, until the guest takes it. */
static void add_injection(struct vms *vms, uint32_t number)
{
    struct vms_vcpu *vcpu = vcpu_at(vms, number);
    if (vcpu->vector < 0) {
        return;
    }
    struct vms_injection *injection = injection_of(vms, number, vcpu->vector);
    injection->count++;
    injection->halts += vcpu->halts;
    lull_add(&injection->halted_ns, vcpu->halted_ns);
    vcpu->halts = 0;
    vcpu->halted_ns = 0;
    vcpu->vector = -1;
}

static void vms_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    struct vms *vms = user;
    struct lull_vcpu_fact plain = *fact;
    plain.reason = lull_exit_reason_plain(fact->isa, fact->reason);
    lull_vcpu_track_vcpu(vms->track, fact);
    lull_raises_vcpu(vms->raises, fact);
    const uint32_t number = lull_vcpu_track_find(vms->track, fact->task);
    if (number == LULL_NONE || !is_wanted(vms, number)) {
        return;
    }
    switch (fact->step) {
    case LULL_VCPU_INJECT:
        vcpu_at(vms, number)->vector = fact->number;
        break;
    case LULL_VCPU_ENTER:
        add_injection(vms, number);
        break;
    case LULL_VCPU_LEAVE:
        if (lull_vcpu_track_is_known(vms->track, number)) {
            add_exit(vms, number, &plain);
        }
        break;
    default:
        break;
    }
}

static void vms_state(void *user, const struct lull_state_fact *fact)
{
    lull_vcpu_track_state(((struct vms *)user)->track, fact);
}

static void vms_switched(void *user, const struct lull_switch_fact *fact)
{
    lull_vcpu_track_switched(((struct vms *)user)->track, fact);
}

static void vms_lost(void *user, const struct lull_lost_fact *fact)
{
    struct vms *vms = user;
    lull_vcpu_track_lost(vms->track, fact);
    ++*losses_of(vms, fact->host);
}

/* Softirqs are no interrupts that anybody injects. */
static void vms_interrupt(void *user, const struct lull_interrupt_fact *fact)
{
    struct vms *vms = user;
    const uint32_t number = lull_vcpu_track_of_guest(vms->track, fact->host, fact->cpu);
    if (number != LULL_NONE && fact->label != LULL_NONE &&
        !g_str_has_prefix(lull_model_label(vms->head.model, fact->label), "softirq")) {
        lull_raises_handled(vms->raises, lull_vcpu_track_thread(vms->track, number)->task,
                            fact->label, fact->start_ns);
    }
}

/* ---- the window ---- */

static void vms_open(struct lull_analysis *analysis)
{
    struct vms *vms = (struct vms *)analysis;
    const struct lull_session *session = analysis->session;
    const uint32_t n_hosts = session ? lull_session_host_count(session) : 0;
    g_autofree int64_t *ends = g_new(int64_t, n_hosts + 1);
    for (uint32_t host = 0; host < n_hosts; host++) {
        ends[host] = analysis->coverage ? analysis->coverage[host].last_ns : INT64_MAX;
    }
    vms->text = g_string_new(NULL);
    vms->track = lull_vcpu_track_new(analysis->model, session ? lull_session_sync(session) : NULL,
                                     n_hosts, n_hosts ? ends : NULL, take_pieces, vms);
    vms->raises = lull_raises_new(analysis->model);
}

static int32_t pid_of(const struct vms *vms, uint32_t number)
{
    const uint32_t thread = lull_vcpu_track_thread(vms->track, number)->task;
    const struct lull_task *task = lull_model_task(vms->head.model, thread);
    return task->pid > 0 ? task->pid : task->tid;
}

static int compare_vcpus(const void *a, const void *b, void *user)
{
    const struct vms *vms = user;
    const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct lull_vcpu_thread *x = lull_vcpu_track_thread(vms->track, i);
    const struct lull_vcpu_thread *y = lull_vcpu_track_thread(vms->track, k);
    const int32_t pid_x = pid_of(vms, i), pid_y = pid_of(vms, k);
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    if (pid_x != pid_y) {
        return pid_x < pid_y ? -1 : 1;
    }
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    return lull_model_task(vms->head.model, x->task)->tid <
                   lull_model_task(vms->head.model, y->task)->tid
               ? -1
               : 1;
}

/* Its guest's host name, or the name and number of its process. */
static char *name_of(const struct vms *vms, const struct vms_vm *vm, uint32_t thread)
{
    if (vm->guest != LULL_NONE && vms->head.session) {
        return g_strdup(lull_session_host(vms->head.session, vm->guest)->name);
    }
    return lull_vm_name(vms->head.model, thread, vms->end_ns);
}

static void find_vms(struct vms *vms)
{
    for (uint32_t i = 0; i < vms->order.count; i++) {
        const uint32_t number = vms->order.items[i];
        const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(vms->track, number);
        struct vms_vm *vm = vms->vms.count ? &vms->vms.items[vms->vms.count - 1] : NULL;
        if (!vm || vm->host != thread->host || vm->pid != pid_of(vms, number)) {
            lull_vec_push(&vms->vms, (struct vms_vm){.host = thread->host,
                                                     .pid = pid_of(vms, number),
                                                     .first = i,
                                                     .guest = LULL_NONE});
            vm = &vms->vms.items[vms->vms.count - 1];
        }
        vm->n++;
        vm->guest = thread->guest != LULL_NONE ? thread->guest : vm->guest;
        vms->vcpus.items[number].vm = (uint32_t)(vms->vms.count - 1);
        vms->vcpus.items[number].place = i - vm->first;
    }
    for (uint32_t i = 0; i < vms->vms.count; i++) {
        struct vms_vm *vm = &vms->vms.items[i];
        const uint32_t first = vms->order.items[vm->first];
        vm->name = name_of(vms, vm, lull_vcpu_track_thread(vms->track, first)->task);
    }
}

static void vms_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct vms *vms = (struct vms *)analysis;
    vms->end_ns = end_ns;
    for (uint32_t i = 0; i < lull_vcpu_track_count(vms->track); i++) {
        vcpu_at(vms, i);
        if (is_wanted(vms, i)) {
            lull_vec_push(&vms->order, i);
        }
    }
    if (vms->order.count) {
        qsort_r(vms->order.items, vms->order.count, sizeof *vms->order.items, compare_vcpus, vms);
    }
    find_vms(vms);
    for (size_t i = 0; i < vms->injections.count; i++) {
        struct vms_injection *injection = &vms->injections.items[i];
        injection->label = lull_raises_label(
            vms->raises, lull_vcpu_track_thread(vms->track, injection->vcpu)->task,
            injection->vector);
    }
}

static void vms_free(struct lull_analysis *analysis)
{
    struct vms *vms = (struct vms *)analysis;
    for (size_t i = 0; i < vms->vms.count; i++) {
        g_free(vms->vms.items[i].name);
    }
    lull_vcpu_track_free(vms->track);
    lull_raises_free(vms->raises);
    lull_vec_free(&vms->vcpus);
    lull_vec_free(&vms->losses);
    lull_vec_free(&vms->order);
    lull_vec_free(&vms->vms);
    lull_vec_free(&vms->tasks);
    lull_vec_free(&vms->exits);
    lull_vec_free(&vms->injections);
    lull_vec_free(&vms->log);
    lull_map_free(&vms->by_task);
    lull_map_free(&vms->by_reason);
    lull_map_free(&vms->by_vector);
    for (int i = 0; i < 2; i++) {
        struct vms_steals *steals = i == 0 ? &vms->steals : &vms->steals_from;
        lull_vec_free(&steals->list);
        lull_map_free(&steals->pairs);
        lull_map_free(&steals->rows);
    }
    g_string_free(vms->text, TRUE);
}

const struct lull_analysis_class lull_analysis_vms = {
    .name = "vms",
    .title = "Virtual machines",
    .description = "What virtual CPUs did, who kept them from running, and which tasks paid",
    .tags = (const char *const[]){"vm", "kvm", "top", NULL},
    .tables = vms_tables,
    .groups =
        LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_VIRT | LULL_GROUP_IOCTL | LULL_GROUP_IRQ,
    .size = sizeof(struct vms),
    .facts = {.vcpu = vms_vcpu,
              .state = vms_state,
              .switched = vms_switched,
              .interrupt = vms_interrupt,
              .lost = vms_lost},
    .open = vms_open,
    .close = vms_close,
    .emit = vms_emit,
    .free = vms_free,
};
