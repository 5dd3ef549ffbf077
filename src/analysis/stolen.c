/* SPDX-License-Identifier: MIT */
/* How long virtual CPUs ran and were kept waiting while tasks of their guests were on them. */
#include "analysis/stolen.h"

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"
#include "graph/vcpu_track.h"
#include "source/session/clocks.h"

/* A task of a guest that can run waits for a virtual CPU. */
struct wait {
    struct lull_vcpu_stolen since; /* when it came to the virtual CPU */
    uint32_t guest;
    int32_t cpu;       /* of the guest */
    int64_t before_ns; /* stolen before that, where it waited for another; -1: not known */
};

struct lull_stolen {
    const struct lull_analysis *analysis;
    struct lull_vcpu_track *track;
    LULL_VEC(struct lull_stolen_sum) sums;
    struct lull_map by_row; /* row → sums */
    LULL_VEC(struct wait) waits;
    struct lull_map by_task; /* task → waits */
};

bool lull_stolen_is_known(const struct lull_session *session, int32_t host)
{
    const struct lull_sync *sync = session ? lull_session_sync(session) : NULL;
    uint32_t n = 0;
    if (sync) {
        lull_sync_guest_cpus(sync, &n);
    }
    return n > 0 && host < 0;
}

static struct lull_stolen_sum *sum_of(struct lull_stolen *stolen, uint32_t row)
{
    uint32_t number = lull_map_find(&stolen->by_row, row);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)stolen->sums.count;
        lull_map_insert(&stolen->by_row, row, number);
        lull_vec_push(&stolen->sums, (struct lull_stolen_sum){0});
    }
    return &stolen->sums.items[number];
}

static void take_pieces(void *user, uint32_t vcpu, const struct lull_vcpu_piece *pieces, size_t n)
{
    struct lull_stolen *stolen = user;
    const struct lull_analysis *analysis = stolen->analysis;
    const struct lull_vcpu_thread *thread = lull_vcpu_track_thread(stolen->track, vcpu);
    if (thread->guest == LULL_NONE ||
        !lull_params_want_cpu(analysis->params, thread->guest, thread->guest_cpu)) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct lull_vcpu_piece *piece = &pieces[i];
        if (piece->task == LULL_VCPU_UNKNOWN || piece->task == LULL_NONE ||
            !lull_params_want_task(analysis->params, analysis->model, piece->task, piece->end_ns)) {
            continue;
        }
        struct lull_stolen_sum *sum =
            sum_of(stolen, lull_params_row(analysis->params, analysis->model, piece->task));
        const int64_t ns = piece->end_ns - piece->start_ns;
        if (piece->state == LULL_VCPU_IN_GUEST) {
            lull_add(&sum->real_ns, ns);
        } else if (piece->state == LULL_VCPU_PREEMPTED || piece->state == LULL_VCPU_WOKEN) {
            lull_add(&sum->stolen_ns, ns);
        }
    }
}

struct lull_stolen *lull_stolen_new(const struct lull_analysis *analysis)
{
    if (!lull_stolen_is_known(analysis->session, analysis->params->host)) {
        return NULL;
    }
    struct lull_stolen *stolen = g_new0(struct lull_stolen, 1);
    const uint32_t n_hosts = lull_session_host_count(analysis->session);
    g_autofree int64_t *ends = g_new(int64_t, n_hosts);
    for (uint32_t host = 0; host < n_hosts; host++) {
        ends[host] = analysis->coverage ? analysis->coverage[host].last_ns : INT64_MAX;
    }
    stolen->analysis = analysis;
    stolen->track = lull_vcpu_track_new(analysis->model, lull_session_sync(analysis->session),
                                        n_hosts, ends, take_pieces, stolen);
    return stolen;
}

void lull_stolen_free(struct lull_stolen *stolen)
{
    if (!stolen) {
        return;
    }
    lull_vcpu_track_free(stolen->track);
    lull_vec_free(&stolen->sums);
    lull_map_free(&stolen->by_row);
    lull_vec_free(&stolen->waits);
    lull_map_free(&stolen->by_task);
    g_free(stolen);
}

void lull_stolen_vcpu(struct lull_stolen *stolen, const struct lull_vcpu_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_vcpu(stolen->track, fact);
    }
}

/* ---- waits of a guest's tasks ---- */

/* Stolen from the virtual CPU since the task came to it, and before; -1: not known. */
static int64_t stolen_until(const struct lull_stolen *stolen, const struct wait *wait,
                            int64_t time_ns)
{
    struct lull_vcpu_stolen now;
    return wait->before_ns >= 0 &&
                   lull_vcpu_track_stolen(stolen->track, wait->guest, wait->cpu, time_ns, &now) &&
                   now.lost == wait->since.lost
               ? wait->before_ns + MAX(now.ns - wait->since.ns, 0)
               : -1;
}

/* The task can run from now on, on this CPU. */
static void start_wait(struct lull_stolen *stolen, const struct lull_state_fact *fact)
{
    const uint32_t guest = lull_model_task(stolen->analysis->model, fact->task)->host;
    struct wait wait = {.guest = guest, .cpu = fact->next_cpu};
    uint32_t number = lull_map_find(&stolen->by_task, fact->task);
    if (number != LULL_MAP_NONE && fact->state == LULL_STATE_PREEMPTED) {
        wait.before_ns = stolen_until(stolen, &stolen->waits.items[number], fact->end_ns);
    }
    if (!lull_vcpu_track_stolen(stolen->track, guest, wait.cpu, fact->end_ns, &wait.since)) {
        wait.before_ns = -1;
    }
    if (number == LULL_MAP_NONE && wait.before_ns < 0) {
        return;
    }
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)stolen->waits.count;
        lull_map_insert(&stolen->by_task, fact->task, number);
        lull_vec_push(&stolen->waits, wait);
    }
    stolen->waits.items[number] = wait;
}

void lull_stolen_state(struct lull_stolen *stolen, const struct lull_state_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_state(stolen->track, fact);
        if (fact->next == LULL_STATE_PREEMPTED) {
            start_wait(stolen, fact);
        }
    }
}

int64_t lull_stolen_wait(const struct lull_stolen *stolen, const struct lull_switch_fact *fact)
{
    const uint32_t number = stolen ? lull_map_find(&stolen->by_task, fact->task) : LULL_MAP_NONE;
    const struct wait *wait = number == LULL_MAP_NONE ? NULL : &stolen->waits.items[number];
    if (!wait || wait->cpu != fact->cpu || fact->wakeup_ns == INT64_MIN) {
        return -1;
    }
    const int64_t ns = stolen_until(stolen, wait, fact->time_ns);
    return MIN(ns, fact->time_ns - fact->wakeup_ns);
}

void lull_stolen_switched(struct lull_stolen *stolen, const struct lull_switch_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_switched(stolen->track, fact);
    }
}

void lull_stolen_lost(struct lull_stolen *stolen, const struct lull_lost_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_lost(stolen->track, fact);
    }
}

const struct lull_stolen_sum *lull_stolen_find(const struct lull_stolen *stolen, uint32_t row)
{
    const uint32_t number = stolen ? lull_map_find(&stolen->by_row, row) : LULL_MAP_NONE;
    return number == LULL_MAP_NONE ? NULL : &stolen->sums.items[number];
}
