/* SPDX-License-Identifier: MIT */
/* How long virtual CPUs ran and were kept waiting while tasks of their guests were on them. */
#include "analysis/stolen.h"

#include "base/map.h"
#include "base/sums.h"
#include "base/vec.h"
#include "graph/vcpu_track.h"
#include "source/session/clocks.h"

struct lull_stolen {
    const struct lull_analysis *analysis;
    struct lull_vcpu_track *track;
    LULL_VEC(struct lull_stolen_sum) sums;
    struct lull_map by_row; /* row → sums */
};

bool lull_stolen_is_known(const struct lull_session *session)
{
    const struct lull_sync *sync = session ? lull_session_sync(session) : NULL;
    uint32_t n = 0;
    if (sync) {
        lull_sync_guest_cpus(sync, &n);
    }
    return n > 0;
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
    /* With one host chosen, the other is not read. */
    if (!lull_stolen_is_known(analysis->session) || analysis->params->host >= 0) {
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
    g_free(stolen);
}

void lull_stolen_vcpu(struct lull_stolen *stolen, const struct lull_vcpu_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_vcpu(stolen->track, fact);
    }
}

void lull_stolen_state(struct lull_stolen *stolen, const struct lull_state_fact *fact)
{
    if (stolen) {
        lull_vcpu_track_state(stolen->track, fact);
    }
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
