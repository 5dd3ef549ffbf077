/* SPDX-License-Identifier: MIT */
/* Offsets of clocks that may be right, by what host and guest recorded of the same moments: interrupts
 * of timers, and pauses in which the guest did nothing. */
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "clock/contain_private.h"

enum {
    MOST_VOTES = 2000000, /* of ticks; of all intervals, */
    FEWEST_VOTES = 1000,  /* but of those of one virtual CPU so many */
    PAUSE_NS = 1000000,   /* shorter ones are too many, and all alike */
    MOST_BINS = 8,        /* a gap that fits within more says too little */
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

static bool is_tick(const struct vm *vm, const struct lull_injection *injection)
{
    return injection->vector == vm->guest->tick_vector;
}

static size_t count_tick_injections(const struct vm *vm)
{
    size_t n = 0;
    for (uint32_t v = 0; v < vm->n; v++) {
        for (size_t i = 0; i < vm->vcpus[v].injections.count; i++) {
            n += is_tick(vm, &vm->vcpus[v].injections.items[i]);
        }
    }
    return n;
}

/* Each injection of the guest's timer may be each tick that the guest saw. */
static void vote_by_each_tick(const struct vm *vm, struct offsets *offsets)
{
    struct votes votes = {0};
    for (uint32_t v = 0; v < vm->n; v++) {
        for (size_t i = 0; i < vm->vcpus[v].injections.count; i++) {
            const struct lull_injection *injection = &vm->vcpus[v].injections.items[i];
            for (size_t k = 0; is_tick(vm, injection) && k < vm->guest->ticks.count; k++) {
                vote(&votes, bin_of(injection->time_ns - vm->guest->ticks.items[k].time_ns));
            }
        }
    }
    count_votes(&votes, offsets);
}

/* ---- intervals ---- */

struct intervals {
    LULL_VEC(struct lull_window) list;
};

static int by_length(const void *a, const void *b)
{
    const struct lull_window *x = a, *y = b;
    const int64_t left = x->end_ns - x->start_ns, right = y->end_ns - y->start_ns;
    return (left > right) - (left < right);
}

static void add_interval(struct intervals *to, int64_t start_ns, int64_t end_ns)
{
    if (end_ns - start_ns >= PAUSE_NS) {
        lull_vec_push(&to->list, (struct lull_window){start_ns, end_ns});
    }
}

/* Whose interval of each CPU it is: by virtual CPU, or by CPU of the guest if that is not known; vm->n:
 * of none. */
static size_t place_of(const struct vm *vm, bool is_any_cpu, int32_t cpu)
{
    const struct lull_vcpu *vcpu = is_any_cpu ? NULL : contain_vcpu_for(vm, cpu);
    return is_any_cpu ? MIN((size_t)cpu, vm->n) : vcpu ? (size_t)(vcpu - vm->vcpus) : vm->n;
}

/* Between two moments of a CPU, by as much longer at either side. */
static void add_gaps(struct intervals *to, const struct vm *vm, bool is_any_cpu,
                     const struct lull_moment *moments, size_t n, int64_t longer_ns)
{
    g_autofree const struct lull_moment **last = g_new0(const struct lull_moment *, vm->n + 1);
    for (size_t i = 0; i < n; i++) {
        const size_t k = place_of(vm, is_any_cpu, moments[i].cpu);
        if (k < vm->n && last[k]) {
            add_interval(&to[k], last[k]->time_ns - longer_ns, moments[i].time_ns + longer_ns);
        }
        last[k] = &moments[i];
    }
}

static void add_pauses(struct intervals *to, const struct lull_vcpu *vcpu)
{
    for (size_t i = 1; i < vcpu->windows.count; i++) {
        add_interval(to, vcpu->windows.items[i - 1].end_ns, vcpu->windows.items[i].start_ns);
    }
}

/* Between two ticks. */
static void add_tick_pauses(struct intervals *to, const struct vm *vm, const struct lull_vcpu *vcpu)
{
    const struct lull_injection *last = NULL;
    for (size_t i = 0; i < vcpu->injections.count; i++) {
        if (is_tick(vm, &vcpu->injections.items[i])) {
            if (last) {
                add_interval(to, last->time_ns, vcpu->injections.items[i].time_ns);
            }
            last = &vcpu->injections.items[i];
        }
    }
}

/* In what the guest calls a gap a pause has room, and not much more. The longest pauses are first:
 * fewest gaps are so long. */
static void vote_for_gaps(const struct intervals *gaps, const struct intervals *pauses,
                          uint64_t most_votes, struct votes *votes)
{
    const struct lull_window *gap = gaps->list.items;
    const size_t n = gaps->list.count;
    for (size_t p = pauses->list.count; p-- > 0 && most_votes;) {
        const struct lull_window *pause = &pauses->list.items[p];
        const int64_t ns = pause->end_ns - pause->start_ns;
        const int64_t most_ns = ns + (int64_t)MOST_BINS * BIN_NS;
        size_t i = LULL_LOWER_BOUND(k, n, gap[k].end_ns - gap[k].start_ns < ns);
        for (; i < n && gap[i].end_ns - gap[i].start_ns <= most_ns && most_votes; i++) {
            const int64_t last = bin_of(pause->start_ns - gap[i].start_ns);
            for (int64_t bin = bin_of(pause->end_ns - gap[i].end_ns); bin <= last && most_votes;
                 bin++, most_votes--) {
                vote(votes, bin);
            }
        }
    }
}

static void sort_intervals(struct intervals *intervals)
{
    if (intervals->list.count) {
        qsort(intervals->list.items, intervals->list.count, sizeof *intervals->list.items,
              by_length);
    }
}

static void free_intervals(struct intervals *intervals, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        lull_vec_free(&intervals[i].list);
    }
    g_free(intervals);
}

static void vote_by_intervals(const struct vm *vm, bool is_any_cpu, struct intervals *gaps,
                              struct intervals *pauses, struct offsets *offsets)
{
    const uint64_t most_votes = MOST_VOTES / (is_any_cpu ? vm->n * vm->n : vm->n);
    struct votes votes = {0};
    for (uint32_t v = 0; v < vm->n; v++) {
        sort_intervals(&gaps[v]);
        sort_intervals(&pauses[v]);
    }
    for (uint32_t k = 0; k < vm->n; k++) {
        for (uint32_t v = is_any_cpu ? 0 : k; v < (is_any_cpu ? vm->n : k + 1); v++) {
            vote_for_gaps(&gaps[k], &pauses[v], MAX(most_votes, FEWEST_VOTES), &votes);
        }
    }
    free_intervals(gaps, vm->n);
    free_intervals(pauses, vm->n);
    count_votes(&votes, offsets);
}

void contain_vote_by_pauses(const struct vm *vm, bool is_any_cpu, struct offsets *offsets)
{
    struct intervals *gaps = g_new0(struct intervals, vm->n);
    struct intervals *pauses = g_new0(struct intervals, vm->n);
    const struct lull_guest_times *guest = vm->guest;
    add_gaps(gaps, vm, is_any_cpu, guest->moments.items, guest->moments.count, 0);
    for (uint32_t v = 0; v < vm->n; v++) {
        add_pauses(&pauses[v], &vm->vcpus[v]);
    }
    vote_by_intervals(vm, is_any_cpu, gaps, pauses, offsets);
}

void contain_vote_by_ticks(const struct vm *vm, bool is_any_cpu, struct offsets *offsets)
{
    const struct lull_guest_times *guest = vm->guest;
    if (guest->ticks.count <= MOST_VOTES / MAX(count_tick_injections(vm), 1)) {
        vote_by_each_tick(vm, offsets);
        return;
    }
    struct intervals *gaps = g_new0(struct intervals, vm->n);
    struct intervals *pauses = g_new0(struct intervals, vm->n);
    /* A tick comes a little later than it is injected. */
    add_gaps(gaps, vm, is_any_cpu, guest->ticks.items, guest->ticks.count, BIN_NS);
    for (uint32_t v = 0; v < vm->n; v++) {
        add_tick_pauses(&pauses[v], vm, &vm->vcpus[v]);
    }
    vote_by_intervals(vm, is_any_cpu, gaps, pauses, offsets);
}
