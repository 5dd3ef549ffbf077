/* SPDX-License-Identifier: MIT */
/* Offsets of clocks that may be right, by what host and guest recorded of the same moments: interrupts
 * of timers, and pauses in which the guest did nothing. */
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "clock/contain_private.h"

enum {
    MOST_VOTERS = 2000, /* of either side */
    PAUSE_NS = 1000000, /* shorter ones are too many, and all alike */
    MOST_BINS = 8,      /* a gap that fits within more says too little */
};

struct votes {
    struct lull_map by_bin; /* → counts */
    LULL_VEC(struct vote {
        int64_t bin;
        uint32_t count;
    })
    counts;
};

static void vote(struct votes *votes, int64_t bin)
{
    uint32_t number = lull_map_find(&votes->by_bin, (uint64_t)bin);
    if (bin > LULL_VCPUS_MOST_OFFSET / BIN_NS || bin < -LULL_VCPUS_MOST_OFFSET / BIN_NS) {
        return;
    }
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)votes->counts.count;
        lull_map_insert(&votes->by_bin, (uint64_t)bin, number);
        lull_vec_push(&votes->counts, (struct vote){bin, 0});
    }
    votes->counts.items[number].count++;
}

static int64_t bin_of(int64_t offset_ns)
{
    return offset_ns >= 0 ? offset_ns / BIN_NS : (offset_ns - BIN_NS + 1) / BIN_NS;
}

static int most_first(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return (x->bin > y->bin) - (x->bin < y->bin);
}

/* Those with most votes. */
static void count_votes(struct votes *votes, struct offsets *offsets)
{
    if (votes->counts.count) {
        qsort(votes->counts.items, votes->counts.count, sizeof *votes->counts.items, most_first);
    }
    for (size_t i = 0; i < MIN(votes->counts.count, MOST_CANDIDATES); i++) {
        offsets->items[offsets->n++] = votes->counts.items[i].bin * BIN_NS;
    }
    lull_map_free(&votes->by_bin);
    lull_vec_free(&votes->counts);
}

/* Each injection of the guest's timer may be each tick that the guest saw. */
void contain_vote_by_ticks(const struct vm *vm, struct offsets *offsets)
{
    struct votes votes = {0};
    uint32_t n_injections = 0;
    for (uint32_t v = 0; v < vm->n; v++) {
        const struct lull_vcpu *vcpu = &vm->vcpus[v];
        for (size_t i = 0; i < vcpu->injections.count && n_injections < MOST_VOTERS; i++) {
            const struct lull_injection *injection = &vcpu->injections.items[i];
            if (injection->vector != vm->guest->tick_vector) {
                continue;
            }
            n_injections++;
            for (size_t k = 0; k < MIN(vm->guest->ticks.count, MOST_VOTERS); k++) {
                vote(&votes, bin_of(injection->time_ns - vm->guest->ticks.items[k]));
            }
        }
    }
    count_votes(&votes, offsets);
}

static int by_length(const void *a, const void *b)
{
    const struct lull_window *x = a, *y = b;
    const int64_t left = x->end_ns - x->start_ns, right = y->end_ns - y->start_ns;
    return (left > right) - (left < right);
}

/* In what the guest calls a gap a pause has room, and not much more. */
static void vote_for_gaps(const struct lull_window *gaps, size_t n, const struct lull_window *pause,
                          struct votes *votes)
{
    const int64_t ns = pause->end_ns - pause->start_ns;
    const size_t from = LULL_LOWER_BOUND(i, n, gaps[i].end_ns - gaps[i].start_ns < ns);
    for (size_t i = from; i < n && gaps[i].end_ns - gaps[i].start_ns <= ns + MOST_BINS * BIN_NS;
         i++) {
        const int64_t last = bin_of(pause->start_ns - gaps[i].start_ns);
        for (int64_t bin = bin_of(pause->end_ns - gaps[i].end_ns); bin <= last; bin++) {
            vote(votes, bin);
        }
    }
}

/* The pauses of one virtual CPU, and the gaps of its CPU in the guest. */
void contain_vote_by_pauses(const struct vm *vm, struct offsets *offsets)
{
    struct votes votes = {0};
    for (int32_t cpu = 0; cpu < vm->guest->n_cpus; cpu++) {
        const struct lull_vcpu *vcpu = contain_vcpu_for(vm, cpu);
        LULL_VEC(struct lull_window) gaps = {0};
        int64_t last_ns = INT64_MAX;
        for (size_t i = 0; vcpu && i < vm->guest->moments.count && gaps.count < MOST_VOTERS; i++) {
            const struct lull_moment *moment = &vm->guest->moments.items[i];
            if (moment->cpu == cpu && last_ns < moment->time_ns - PAUSE_NS) {
                lull_vec_push(&gaps, (struct lull_window){last_ns, moment->time_ns});
            }
            last_ns = moment->cpu == cpu ? moment->time_ns : last_ns;
        }
        if (gaps.count) {
            qsort(gaps.items, gaps.count, sizeof *gaps.items, by_length);
        }
        for (size_t i = 1, n = 0; vcpu && i < vcpu->windows.count && n < MOST_VOTERS; i++) {
            const struct lull_window pause = {vcpu->windows.items[i - 1].end_ns,
                                              vcpu->windows.items[i].start_ns};
            if (pause.end_ns - pause.start_ns >= PAUSE_NS) {
                vote_for_gaps(gaps.items, gaps.count, &pause, &votes);
                n++;
            }
        }
        lull_vec_free(&gaps);
    }
    count_votes(&votes, offsets);
}
