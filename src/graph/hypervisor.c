/* SPDX-License-Identifier: MIT */
/* A task of a guest that seems to run while its virtual CPU is not in the guest waits: for the thread
 * of the host that is this virtual CPU, until that enters the guest again. What the thread did
 * explains the wait, as with any other. */
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

static uint32_t note_evidence(struct lull_execgraph *eg, uint32_t thread)
{
    const struct lull_wait_reason reason = {.call = LULL_NONE,
                                            .file = LULL_NONE,
                                            .fd = -1,
                                            .release = LULL_NONE,
                                            .release_file = LULL_NONE,
                                            .is_guest = 1};
    lull_vec_push(&eg->evidence,
                  (struct evidence){.label = LULL_NONE,
                                    .reason = lull_wait_reasons_add(&eg->reasons, &reason),
                                    .index = LULL_NONE,
                                    .waker = thread});
    return (uint32_t)eg->evidence.count - 1;
}

static void add_wait(struct lull_execgraph *eg, uint32_t vcpu, const struct lull_vcpu_piece *pieces,
                     size_t n)
{
    const int64_t start_ns = pieces[0].start_ns, end_ns = pieces[n - 1].end_ns;
    const uint32_t task = pieces[n - 1].task; /* idle is no task that waits */
    if (task >= LULL_VCPU_UNKNOWN || (end_ns - start_ns < LEAST_NS && !is_off_cpu(pieces, n))) {
        return;
    }
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(eg->vcpus, vcpu);
    uint32_t count;
    lull_graph_append(eg->graph, task, start_ns, LULL_STATE_RUNNING, LULL_CAUSE_NONE,
                      thread->guest_cpu, LULL_NONE);
    const struct lull_graph_point *points = lull_graph_points(eg->graph, task, &count);
    if (points[count - 1].time_ns >= end_ns) {
        return; /* by as much as the clocks are wrong */
    }
    const uint32_t evidence = note_evidence(eg, thread->task);
    lull_graph_append(eg->graph, task, end_ns, LULL_STATE_BLOCKED, LULL_CAUSE_TASK, -1, evidence);
    lull_graph_link_bounded(eg->graph, thread->task, end_ns, task, end_ns, LULL_CAUSE_TASK,
                            evidence);
}

/* A guest in a guest may have to wait several times from an entry to the exit. */
static void take_pieces(void *user, uint32_t vcpu, const struct lull_vcpu_piece *pieces, size_t n)
{
    for (size_t i = 0, from = 0; i < n; i++) {
        if (pieces[i].state == LULL_VCPU_IN_GUEST) {
            from = i + 1;
        } else if (i + 1 == n || pieces[i + 1].state == LULL_VCPU_IN_GUEST) {
            add_wait(user, vcpu, &pieces[from], i + 1 - from);
        }
    }
}

struct lull_vcpu_track *lull_hypervisor_track(struct lull_execgraph *eg)
{
    uint32_t n = 0;
    if (eg->sync) {
        lull_sync_guest_cpus(eg->sync, &n);
    }
    return n ? lull_vcpu_track_new(eg->model, eg->sync, 0, NULL, take_pieces, eg) : NULL;
}
