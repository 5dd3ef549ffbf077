/* SPDX-License-Identifier: MIT */
/* Rows of virtual CPUs: in the guest, in the hypervisor, kept from a CPU of the host and by whom, or
 * asleep. They are followed by what follows them for `lull vms` too. */
#include "analysis/vm_names.h"
#include "graph/vcpu_track.h"
#include "source/session/clocks.h"
#include "store/build_private.h"

static const enum lull_store_state state_of[LULL_VCPU_STATES] = {
    [LULL_VCPU_IN_GUEST] = LULL_STORE_USER,        [LULL_VCPU_IN_KVM] = LULL_STORE_SYSCALL,
    [LULL_VCPU_IN_QEMU] = LULL_STORE_SYSCALL,      [LULL_VCPU_PREEMPTED] = LULL_STORE_WAIT_CPU,
    [LULL_VCPU_WOKEN] = LULL_STORE_WAIT_CPU,       [LULL_VCPU_HALTED] = LULL_STORE_IDLE,
    [LULL_VCPU_BLOCKED] = LULL_STORE_WAIT_UNKNOWN,
};

static uint32_t row_of(struct store_build *build, uint32_t vcpu)
{
    while (build->vcpu_rows.count <= vcpu) {
        lull_vec_push(&build->vcpu_rows, LULL_NONE);
    }
    uint32_t *row = &build->vcpu_rows.items[vcpu];
    if (*row == LULL_NONE) {
        const struct store_row about = {.kind = LULL_STORE_VCPU,
                                        .host = lull_vcpu_track_thread(build->vcpus, vcpu)->host,
                                        .cpu = -1,
                                        .tid = -1,
                                        .pid = -1,
                                        .ppid = -1};
        *row = store_writer_row(build->writer, &about, build->start_ns);
    }
    return *row;
}

/* The task of the guest that ran, or the one of the host that had the CPU meanwhile. */
static uint32_t evidence_of(struct store_build *build, const struct lull_vcpu_piece *piece)
{
    const uint32_t task = piece->state == LULL_VCPU_IN_GUEST ? piece->task : piece->by;
    return task < LULL_VCPU_UNKNOWN ? build_task_row(build, task) : LULL_NONE;
}

static void take_pieces(void *user, uint32_t vcpu, const struct lull_vcpu_piece *pieces, size_t n)
{
    struct store_build *build = user;
    const uint32_t row = row_of(build, vcpu);
    store_writer_append(build->writer, row, pieces[0].start_ns, LULL_STORE_UNKNOWN, LULL_NONE,
                        LULL_NONE);
    for (size_t i = 0; i < n; i++) {
        const enum lull_store_state state = state_of[pieces[i].state];
        const uint32_t label =
            state == LULL_STORE_SYSCALL
                ? store_writer_text(build->writer, lull_vcpu_state_name(pieces[i].state))
                : LULL_NONE;
        store_writer_append(build->writer, row, pieces[i].end_ns, state, label,
                            evidence_of(build, &pieces[i]));
    }
}

/* ---- facts ---- */

static void on_vcpu(void *user, const struct lull_vcpu_fact *fact)
{
    lull_vcpu_track_vcpu(((struct store_build *)user)->vcpus, fact);
}

static void on_state(void *user, const struct lull_state_fact *fact)
{
    lull_vcpu_track_state(((struct store_build *)user)->vcpus, fact);
}

static void on_switched(void *user, const struct lull_switch_fact *fact)
{
    lull_vcpu_track_switched(((struct store_build *)user)->vcpus, fact);
}

static void on_lost(void *user, const struct lull_lost_fact *fact)
{
    lull_vcpu_track_lost(((struct store_build *)user)->vcpus, fact);
}

void vcpus_start(struct store_build *build)
{
    static const struct lull_facts facts = {
        .vcpu = on_vcpu,
        .state = on_state,
        .switched = on_switched,
        .lost = on_lost,
    };
    const uint32_t n_hosts = lull_session_host_count(build->session);
    g_autofree int64_t *ends = g_new(int64_t, MAX(n_hosts, 1));
    for (uint32_t host = 0; host < n_hosts; host++) {
        ends[host] = build->coverage[host].last_ns;
    }
    build->vcpus = lull_vcpu_track_new(build->model, lull_session_sync(build->session), n_hosts,
                                       ends, take_pieces, build);
    lull_model_subscribe(build->model, &facts, build);
}

/* ---- the end ---- */

void vcpus_finish(struct store_build *build)
{
    for (uint32_t i = 0; i < build->vcpu_rows.count; i++) {
        const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(build->vcpus, i);
        const struct lull_task *task = lull_model_task(build->model, thread->task);
        const uint32_t row = build->vcpu_rows.items[i];
        if (row == LULL_NONE) {
            continue;
        }
        g_autofree char *guest =
            thread->guest == LULL_NONE
                ? lull_vm_name(build->model, thread->task, build->end_ns)
                : g_strdup(lull_session_host(build->session, thread->guest)->name);
        g_autofree char *name = thread->number < 0 ? g_strdup_printf("%s vCPU", guest)
                                                   : g_strdup_printf("%s vCPU %" G_GINT64_FORMAT,
                                                                     guest, thread->number);
        store_writer_name(build->writer, row, store_writer_text(build->writer, name), task->tid,
                          task->pid, -1);
        store_writer_append(build->writer, row, build->end_ns, LULL_STORE_UNKNOWN, LULL_NONE,
                            LULL_NONE);
    }
}

void vcpus_free(struct store_build *build)
{
    g_clear_pointer(&build->vcpus, lull_vcpu_track_free);
    lull_vec_free(&build->vcpu_rows);
}
