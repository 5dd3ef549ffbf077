/* SPDX-License-Identifier: MIT */
/* A task of a guest that seems to run while its virtual CPU is not in the guest waits: for the thread
 * of the host that is this virtual CPU, until that enters the guest again. What the thread did
 * explains the wait, as with any other. So does one that would run next, and whose timer has expired.
 * One that waits for a device waits for whom on the host raises the device's interrupt. */
#include "graph/execgraph_private.h"

/* Exits that KVM is done with at once are part of running. */
enum { LEAST_NS = 100000 };

static bool is_off_cpu(const struct lull_vcpu_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].state != LULL_VCPU_IN_KVM && pieces[i].state != LULL_VCPU_IN_QEMU) {
            return true;
        }
    }
    return false;
}

/* The guest had nothing for it to do. */
static bool was_asleep(const struct lull_vcpu_piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].state == LULL_VCPU_HALTED || pieces[i].state == LULL_VCPU_BLOCKED) {
            return true;
        }
    }
    return false;
}

static uint32_t note_evidence(struct lull_execgraph *eg, uint32_t thread)
{
    struct lull_wait_reason reason = LULL_WAIT_REASON_NONE;
    reason.is_guest = 1;
    lull_vec_push(&eg->evidence,
                  (struct evidence){.label = LULL_NONE,
                                    .reason = lull_wait_reasons_add(&eg->reasons, &reason),
                                    .index = LULL_NONE,
                                    .waker = thread});
    return (uint32_t)eg->evidence.count - 1;
}

/* A point at the end of the wait, which has one at its start. False: that is not before it, by as much
 * as the clocks are wrong. */
static bool add_wait(struct lull_execgraph *eg, uint32_t task, uint32_t thread, int64_t end_ns)
{
    uint32_t count;
    const struct lull_graph_point *points = lull_graph_points(eg->graph, task, &count);
    if (count == 0 || points[count - 1].time_ns >= end_ns) {
        return false;
    }
    const uint32_t evidence = note_evidence(eg, thread);
    lull_graph_append(eg->graph, task, end_ns, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, evidence);
    lull_graph_link_bounded(eg->graph, thread, end_ns, task, end_ns, LULL_CAUSE_TASK, evidence);
    return true;
}

/* The guest's CPU was about to run a task. */
static void note_idle(struct lull_execgraph *eg, uint32_t vcpu, int64_t start_ns, int64_t end_ns)
{
    while (eg->idle_notes.count <= vcpu) {
        lull_vec_push(&eg->idle_notes, (struct idle_note){INT64_MIN, INT64_MIN});
    }
    eg->idle_notes.items[vcpu] = (struct idle_note){start_ns, end_ns};
}

static void take_absence(struct lull_execgraph *eg, uint32_t vcpu,
                         const struct lull_vcpu_piece *pieces, size_t n)
{
    const int64_t start_ns = pieces[0].start_ns, end_ns = pieces[n - 1].end_ns;
    const uint32_t task = pieces[n - 1].task;
    if (task == LULL_VCPU_UNKNOWN || (end_ns - start_ns < LEAST_NS && !is_off_cpu(pieces, n))) {
        return;
    }
    if (task == LULL_NONE) { /* idle is no task that waits */
        if (!was_asleep(pieces, n)) {
            note_idle(eg, vcpu, start_ns, end_ns);
        }
        return;
    }
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(eg->vcpus, vcpu);
    lull_graph_append(eg->graph, task, start_ns, LULL_STATE_RUNNING, LULL_CAUSE_NONE,
                      thread->guest_cpu, LULL_NONE);
    add_wait(eg, task, thread->task, end_ns);
}

/* A guest in a guest may have to wait several times from an entry to the exit. */
static void take_pieces(void *user, uint32_t vcpu, const struct lull_vcpu_piece *pieces, size_t n)
{
    for (size_t i = 0, from = 0; i < n; i++) {
        if (pieces[i].state == LULL_VCPU_IN_GUEST) {
            from = i + 1;
        } else if (i + 1 == n || pieces[i + 1].state == LULL_VCPU_IN_GUEST) {
            take_absence(user, vcpu, &pieces[from], i + 1 - from);
        }
    }
}

/* ---- waits that end in an interrupt ---- */

/* The virtual CPU that is a CPU of the task's host, or LULL_NONE. */
static uint32_t vcpu_at(const struct lull_execgraph *eg, uint32_t task, int32_t cpu)
{
    return cpu >= 0
               ? lull_vcpu_track_of_guest(eg->vcpus, lull_model_task(eg->model, task)->host, cpu)
               : LULL_NONE;
}

/* The task was to run next, on a CPU that was idle until then, and that did not run. */
static void split_preempted(struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    const uint32_t vcpu = vcpu_at(eg, fact->task, fact->next_cpu);
    if (fact->next != LULL_STATE_RUNNING || vcpu >= eg->idle_notes.count) {
        return;
    }
    const struct idle_note *note = &eg->idle_notes.items[vcpu];
    if (note->start_ns >= fact->start_ns && note->end_ns <= fact->end_ns) {
        lull_graph_append(eg->graph, fact->task, note->start_ns, LULL_STATE_PREEMPTED,
                          LULL_CAUSE_NONE, fact->cpu, LULL_NONE);
        add_wait(eg, fact->task, lull_vcpu_track_thread(eg->vcpus, vcpu)->task, note->end_ns);
    }
}

/* What the virtual CPU did from its waking until it was in the guest is a part of the wait; what comes
 * before has the state's own cause, or that of the raiser. */
static void split_wait(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                       const struct lull_vcpu_sleep *sleep, uint32_t thread, uint32_t evidence)
{
    lull_graph_append(eg->graph, fact->task, sleep->woken_ns, LULL_STATE_BLOCKED,
                      fact->wakeup->cause, -1, evidence);
    add_wait(eg, fact->task, thread, sleep->resumed_ns);
}

/* Whether it had slept until a moment within the wait, and was in the guest before the wait ended. */
static bool is_within(const struct lull_vcpu_sleep *sleep, const struct lull_state_fact *fact)
{
    return sleep->woken_ns > fact->start_ns && sleep->resumed_ns > sleep->woken_ns &&
           sleep->resumed_ns <= fact->end_ns;
}

/* Who raised the interrupt in which the wait ended. */
static bool find_raise(const struct lull_execgraph *eg, const struct lull_state_fact *fact,
                       uint32_t thread, struct lull_raise *raise)
{
    return lull_raises_find(eg->raises, thread, fact->wakeup->label, fact->end_ns, raise) &&
           raise->time_ns > fact->start_ns && raise->time_ns <= fact->end_ns;
}

/* The thread of the virtual CPU on which the wait ended, in an interrupt; or LULL_NONE. */
static uint32_t thread_of(const struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    const uint32_t vcpu =
        fact->state == LULL_STATE_BLOCKED && fact->wakeup && fact->wakeup->cause != LULL_CAUSE_TASK
            ? vcpu_at(eg, fact->task, fact->wakeup->cpu)
            : LULL_NONE;
    return vcpu == LULL_NONE ? LULL_NONE : lull_vcpu_track_thread(eg->vcpus, vcpu)->task;
}

void lull_hypervisor_state(struct lull_execgraph *eg, const struct lull_state_fact *fact,
                           uint32_t evidence)
{
    if (fact->state == LULL_STATE_PREEMPTED) {
        split_preempted(eg, fact);
        return;
    }
    const uint32_t thread = thread_of(eg, fact);
    struct lull_vcpu_sleep sleep;
    struct lull_raise raise;
    if (thread == LULL_NONE || !lull_raises_sleep(eg->raises, thread, &sleep) ||
        !is_within(&sleep, fact)) {
        return;
    }
    if (fact->wakeup->cause == LULL_CAUSE_TIMER) { /* which expired on the host */
        if (sleep.is_last && sleep.is_timer && sleep.resumed_ns - sleep.woken_ns >= LEAST_NS) {
            split_wait(eg, fact, &sleep, thread, evidence);
        }
    } else if (find_raise(eg, fact, thread, &raise) && raise.time_ns <= sleep.woken_ns) {
        split_wait(eg, fact, &sleep, thread, evidence);
        lull_graph_link_bounded(eg->graph, raise.task, raise.time_ns, fact->task, sleep.woken_ns,
                                LULL_CAUSE_TASK, note_evidence(eg, thread));
    }
}

/* The virtual CPU did something else before it took the interrupt. */
void lull_hypervisor_woken(struct lull_execgraph *eg, const struct lull_state_fact *fact)
{
    const uint32_t thread = thread_of(eg, fact);
    struct lull_vcpu_sleep sleep;
    struct lull_raise raise;
    if (thread == LULL_NONE || fact->wakeup->cause == LULL_CAUSE_TIMER ||
        !find_raise(eg, fact, thread, &raise) ||
        (lull_raises_sleep(eg->raises, thread, &sleep) && is_within(&sleep, fact) &&
         raise.time_ns <= sleep.woken_ns)) {
        return;
    }
    lull_graph_link_bounded(eg->graph, raise.task, raise.time_ns, fact->task, fact->end_ns,
                            LULL_CAUSE_TASK, note_evidence(eg, thread));
}

/* ---- facts ---- */

void lull_hypervisor_vcpu(struct lull_execgraph *eg, const struct lull_vcpu_fact *fact)
{
    lull_raises_vcpu(eg->raises, fact);
    lull_vcpu_track_vcpu(eg->vcpus, fact);
}

void lull_hypervisor_interrupt(struct lull_execgraph *eg, const struct lull_interrupt_fact *fact)
{
    const uint32_t vcpu = lull_vcpu_track_of_guest(eg->vcpus, fact->host, fact->cpu);
    if (vcpu != LULL_NONE) {
        lull_raises_handled(eg->raises, lull_vcpu_track_thread(eg->vcpus, vcpu)->task, fact->label,
                            fact->start_ns);
    }
}

void lull_hypervisor_start(struct lull_execgraph *eg)
{
    uint32_t n = 0;
    if (eg->sync) {
        lull_sync_guest_cpus(eg->sync, &n);
    }
    if (n) {
        eg->vcpus = lull_vcpu_track_new(eg->model, eg->sync, 0, NULL, take_pieces, eg);
        eg->raises = lull_raises_new(eg->model);
    }
}

void lull_hypervisor_free(struct lull_execgraph *eg)
{
    lull_vcpu_track_free(eg->vcpus);
    lull_raises_free(eg->raises);
    lull_vec_free(&eg->idle_notes);
}
