/* SPDX-License-Identifier: MIT */
/* Three steps for each process that runs a virtual machine and each host that may be in it. Votes for
 * offsets (contain_votes.c): timer interrupts that the host injected and the guest saw; where there are
 * none, pauses between windows that fit into gaps between the guest's events. A check of the offsets with most
 * votes: how many of the guest's events lie in a window of their CPU, on a line that may drift. And the
 * first and last event in each window, which bound the clock. */
#include "clock/contain.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "clock/contain_private.h"

enum {
    SLOT_NS = 1000,               /* the first guess is as exact as that */
    SLOTS = 5 * BIN_NS / SLOT_NS, /* two bins around the one with the votes */
    SAMPLE = 1000,        /* moments for the first guess, at most, to either side of the middle */
    SAMPLE_LEAST = 25,    /* and at least, even if they last longer than */
    SAMPLE_NS = 50000000, /* that, in which clocks hardly drift */
    GUESS_NS = 10000,     /* yet the guess may be wrong by so much */
    DRIFT_PPM = 200,      /* at most, from one window to the next */
    FEWEST_MOMENTS = 300,
    FEWEST_WINDOWS = 50,
    MOST_PAIRS = 10000, /* of processes and hosts that are tried */
};
#define ENOUGH 0.999  /* share of the events inside */
#define TOO_GOOD 0.99 /* for another offset */

/* How the guest's events lie on one line. */
struct fit {
    int64_t offset_ns;         /* host - guest, in the middle */
    int64_t first_ns, last_ns; /* the same at both ends */
    uint64_t inside, outside, windows;
    double other;               /* share that is inside at another offset */
    uint32_t of_cpu[MOST_CPUS]; /* as in struct vm */
};

/* The first that ends at that time or later. */
static size_t window_at(const struct lull_vcpu *vcpu, int64_t time_ns)
{
    return LULL_LOWER_BOUND(i, vcpu->windows.count, vcpu->windows.items[i].end_ns < time_ns);
}

/* From the first window to the last. */
static bool is_covered(const struct lull_vcpu *vcpu, int64_t time_ns)
{
    return vcpu && vcpu->windows.count && time_ns >= vcpu->windows.items[0].start_ns &&
           time_ns <= vcpu->windows.items[vcpu->windows.count - 1].end_ns;
}

/* ---- the check of one offset ---- */

/* Whether it is not known if it ran, at any moment from one to the other. */
static bool is_lost(const struct lull_vcpu *vcpu, int64_t from_ns, int64_t to_ns)
{
    const size_t i = LULL_LOWER_BOUND(k, vcpu->lost.count, vcpu->lost.items[k].end_ns < from_ns);
    return i < vcpu->lost.count && vcpu->lost.items[i].start_ns <= to_ns;
}

/* The offsets that are possible at some time of the guest. */
struct range {
    int64_t low_ns, high_ns;
};

/* The moment in the middle of those that lie between the first and the last window, or after a loss
 * there. */
static size_t middle_moment(const struct vm *vm, int64_t offset_ns)
{
    const struct lull_moment *moments = vm->guest->moments.items;
    const size_t n = vm->guest->moments.count;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (uint32_t v = 0; v < vm->n; v++) {
        const struct lull_vcpu *vcpu = &vm->vcpus[v];
        if (vcpu->windows.count) {
            first_ns = MIN(first_ns, vcpu->windows.items[0].start_ns);
            last_ns = MAX(last_ns, vcpu->windows.items[vcpu->windows.count - 1].end_ns);
        }
    }
    const size_t from = LULL_LOWER_BOUND(i, n, moments[i].time_ns + offset_ns < first_ns);
    const size_t to = LULL_LOWER_BOUND(i, n, moments[i].time_ns + offset_ns <= last_ns);
    size_t middle = from + (MAX(to, from) - from) / 2;
    while (middle < to) {
        const struct lull_vcpu *vcpu = contain_vcpu_for(vm, moments[middle].cpu);
        const int64_t time_ns = moments[middle].time_ns + offset_ns;
        if (!vcpu || !is_lost(vcpu, time_ns, time_ns)) {
            break;
        }
        middle++;
    }
    return middle;
}

/* Counts the moment for the slots from which on, and up to which, it lies in the window. */
static void count_slots(const struct lull_window *window, int64_t time_ns, int64_t low_ns,
                        int32_t counts[static SLOTS + 1])
{
    const int64_t from = window->start_ns - time_ns - low_ns,
                  to = window->end_ns - time_ns - low_ns;
    const int64_t first = from <= 0 ? 0 : (from + SLOT_NS - 1) / SLOT_NS;
    const int64_t last = to < 0 ? -1 : MIN(to / SLOT_NS, SLOTS - 1);
    if (first <= last) {
        counts[first]++;
        counts[last + 1]--;
    }
}

/* How far from the middle, in a direction, moments take part in the guess. */
static size_t sample_end(const struct vm *vm, size_t middle, int direction)
{
    const struct lull_moment *moments = vm->guest->moments.items;
    size_t i = middle;
    for (uint32_t n = 0; n < SAMPLE && i > 0 && i < vm->guest->moments.count; n++) {
        if (n >= SAMPLE_LEAST &&
            (moments[i].time_ns - moments[middle].time_ns) * direction > SAMPLE_NS) {
            break;
        }
        i += (size_t)direction;
    }
    return i;
}

/* Counts the moment for the slots in which it lies in a window. */
static void count_moment(const struct lull_vcpu *vcpu, int64_t time_ns, int64_t low_ns,
                         int32_t counts[static SLOTS + 1])
{
    for (size_t w = window_at(vcpu, time_ns + low_ns);
         w < vcpu->windows.count &&
         vcpu->windows.items[w].start_ns <= time_ns + low_ns + SLOTS * SLOT_NS;
         w++) {
        count_slots(&vcpu->windows.items[w], time_ns, low_ns, counts);
    }
}

/* The offsets, near the one with the votes, at which most moments around the middle are inside. */
static struct range guess(const struct vm *vm, int64_t offset_ns, size_t middle)
{
    const struct lull_moment *moments = vm->guest->moments.items;
    const int64_t low_ns = offset_ns - 2 * BIN_NS;
    int32_t counts[SLOTS + 1] = {0}, most = -1, count = 0;
    const size_t from = sample_end(vm, middle, -1), to = sample_end(vm, middle, 1);
    for (size_t i = from; i < to; i++) {
        const struct lull_vcpu *vcpu = contain_vcpu_for(vm, moments[i].cpu);
        if (vcpu) {
            count_moment(vcpu, moments[i].time_ns, low_ns, counts);
        }
    }
    struct range range = {low_ns, low_ns};
    bool is_going_on = false;
    for (int slot = 0; slot < SLOTS; slot++) {
        count += counts[slot];
        if (count > most) {
            most = count;
            range.low_ns = range.high_ns = low_ns + slot * SLOT_NS;
            is_going_on = true;
        } else if (count == most && is_going_on) {
            range.high_ns = low_ns + slot * SLOT_NS;
        } else {
            is_going_on = false;
        }
    }
    return (struct range){range.low_ns - GUESS_NS, range.high_ns + GUESS_NS};
}

/* Called for each moment that lies in exactly one window, in the order in which they are visited. */
typedef void take_inside(void *user, const struct lull_window *window, int64_t time_ns);

struct walk {
    const struct vm *vm;
    struct fit *fit;
    struct range range;
    int64_t at_ns; /* of the guest, where the range is true */
    const struct lull_window *last;
    take_inside *take; /* or NULL */
    void *user;
};

/* Which window a moment lies in says more of the offset; how long ago that was, less. */
static void visit(struct walk *walk, const struct lull_moment *moment)
{
    const int64_t t = moment->time_ns;
    const int64_t apart = t > walk->at_ns ? t - walk->at_ns : walk->at_ns - t;
    const int64_t wider = apart / (1000000 / DRIFT_PPM);
    const struct range range = {walk->range.low_ns - wider, walk->range.high_ns + wider};
    const struct lull_vcpu *vcpu = contain_vcpu_for(walk->vm, moment->cpu);
    if (!is_covered(vcpu, t + range.low_ns) || !is_covered(vcpu, t + range.high_ns) ||
        is_lost(vcpu, t + range.low_ns, t + range.high_ns)) {
        return;
    }
    const size_t w = window_at(vcpu, t + range.low_ns);
    const struct lull_window *window = &vcpu->windows.items[w];
    walk->at_ns = t;
    walk->range = range;
    if (window->start_ns > t + range.high_ns) {
        walk->fit->outside++;
        return;
    }
    walk->fit->inside++;
    if (w + 1 < vcpu->windows.count && window[1].start_ns <= t + range.high_ns) {
        return; /* in one of several */
    }
    walk->range.low_ns = MAX(range.low_ns, window->start_ns - t);
    walk->range.high_ns = MIN(range.high_ns, window->end_ns - t);
    walk->fit->windows += window != walk->last;
    walk->last = window;
    if (walk->take) {
        walk->take(walk->user, window, t);
    }
}

static int64_t middle_of(struct range range)
{
    return range.low_ns + (range.high_ns - range.low_ns) / 2;
}

/* Follows the clocks from the middle to both ends, or until more moments are outside. */
static struct fit check(const struct vm *vm, int64_t offset_ns, uint64_t most_outside,
                        take_inside *take, void *user)
{
    const struct lull_moment *moments = vm->guest->moments.items;
    const size_t n = vm->guest->moments.count, middle = middle_moment(vm, offset_ns);
    struct fit fit = {.offset_ns = offset_ns};
    if (middle == n) {
        return fit;
    }
    const struct range range = guess(vm, offset_ns, middle);
    const struct walk start = {vm, &fit, range, moments[middle].time_ns, NULL, take, user};
    struct walk forwards = start, backwards = start;
    fit.offset_ns = middle_of(range);
    for (size_t i = middle; i < n && fit.outside <= most_outside; i++) {
        visit(&forwards, &moments[i]);
    }
    for (size_t i = middle; i-- > 0 && fit.outside <= most_outside;) {
        visit(&backwards, &moments[i]);
    }
    fit.first_ns = middle_of(backwards.range);
    fit.last_ns = middle_of(forwards.range);
    return fit;
}

static double share_of(const struct fit *fit)
{
    return fit->inside ? (double)fit->inside / (double)(fit->inside + fit->outside) : 0;
}

static bool is_enough(const struct fit *fit)
{
    return fit->inside + fit->outside >= FEWEST_MOMENTS && fit->windows >= FEWEST_WINDOWS;
}

static bool is_far(int64_t a_ns, int64_t b_ns)
{
    return a_ns - b_ns > BIN_NS || b_ns - a_ns > BIN_NS;
}

/* From a start that is nearly right the walk finds the same line on one way or both. */
static bool are_apart(const struct fit *a, const struct fit *b)
{
    return is_far(a->offset_ns, b->offset_ns) && is_far(a->first_ns, b->first_ns) &&
           is_far(a->last_ns, b->last_ns);
}

/* How many moments around the middle, of each CPU of the guest, lie in windows of each virtual CPU at some
 * offset near that one. */
static void count_cells(const struct vm *vm, int64_t offset_ns,
                        int32_t cells[static MOST_CPUS][MOST_CPUS])
{
    const struct lull_moment *moments = vm->guest->moments.items;
    const size_t n = vm->guest->moments.count, middle = middle_moment(vm, offset_ns);
    const size_t from = middle - MIN(middle, SAMPLE), to = middle + MIN(n - middle, SAMPLE);
    for (uint32_t v = 0; v < vm->n; v++) {
        int32_t counts[MOST_CPUS][SLOTS + 1] = {0};
        for (size_t i = from; i < to; i++) {
            count_moment(&vm->vcpus[v], moments[i].time_ns, offset_ns - 2 * BIN_NS,
                         counts[moments[i].cpu]);
        }
        for (uint32_t cpu = 0; cpu < vm->n; cpu++) {
            cells[v][cpu] = 0;
            for (int32_t slot = 0, count = 0; slot < SLOTS; slot++) {
                count += counts[cpu][slot];
                cells[v][cpu] = MAX(cells[v][cpu], count);
            }
        }
    }
}

/* Which virtual CPU is which of the guest's, if that is the offset: those first that have most in
 * common. */
static void assign(struct vm *vm, int64_t offset_ns)
{
    int32_t cells[MOST_CPUS][MOST_CPUS];
    count_cells(vm, offset_ns, cells);
    for (uint32_t done = 0; done < vm->n; done++) {
        uint32_t best_vcpu = 0, best_cpu = 0;
        for (uint32_t i = 0; i < vm->n * vm->n; i++) {
            if (cells[i / vm->n][i % vm->n] > cells[best_vcpu][best_cpu]) {
                best_vcpu = i / vm->n;
                best_cpu = i % vm->n;
            }
        }
        vm->of_cpu[best_cpu] = best_vcpu;
        for (uint32_t i = 0; i < vm->n; i++) {
            cells[best_vcpu][i] = cells[i][best_cpu] = -1;
        }
    }
}

static struct fit fit_at(struct vm *vm, int64_t offset_ns, uint64_t most_outside)
{
    if (vm->is_permuted) {
        assign(vm, offset_ns);
    }
    struct fit fit = check(vm, offset_ns, most_outside, NULL, NULL);
    memcpy(fit.of_cpu, vm->of_cpu, sizeof fit.of_cpu);
    return fit;
}

/* All moments are visited for those that come near to being right and, so that it can be told, for the
 * best. For others as many as show that they are wrong: nothing is said of them. */
static void fit_all(struct vm *vm, const struct offsets *offsets, struct fit *fits)
{
    const uint64_t most_outside = (uint64_t)((double)vm->guest->moments.count * (1 - TOO_GOOD)) + 1;
    uint32_t best = 0;
    for (uint32_t i = 0; i < offsets->n; i++) {
        fits[i] = fit_at(vm, offsets->items[i], most_outside);
        best = share_of(&fits[i]) > share_of(&fits[best]) ? i : best;
    }
    for (uint32_t i = 0; i < offsets->n; i++) {
        if (fits[i].outside > most_outside) {
            fits[i] = i == best ? fit_at(vm, offsets->items[i], UINT64_MAX) : (struct fit){0};
        }
    }
}

/* The best of the offsets; true if it is right, and none of the others could be. */
static bool choose(struct vm *vm, const struct offsets *offsets, struct fit *best)
{
    struct fit fits[2 * MOST_CANDIDATES];
    *best = (struct fit){0};
    fit_all(vm, offsets, fits);
    for (uint32_t i = 0; i < offsets->n; i++) {
        if (is_enough(&fits[i]) && share_of(&fits[i]) > share_of(best)) {
            *best = fits[i];
        }
    }
    for (uint32_t i = 0; i < offsets->n; i++) {
        if (is_enough(&fits[i]) && are_apart(&fits[i], best)) {
            best->other = MAX(best->other, share_of(&fits[i]));
        }
    }
    memcpy(vm->of_cpu, best->of_cpu, sizeof vm->of_cpu);
    return share_of(best) >= ENOUGH && best->other < TOO_GOOD;
}

static bool try_offsets(struct vm *vm, struct fit *best)
{
    struct offsets offsets = {.n = 0};
    contain_vote_by_ticks(vm, vm->is_permuted, &offsets);
    contain_vote_by_pauses(vm, vm->is_permuted, &offsets);
    return choose(vm, &offsets, best);
}

/* Whether the host is in the process: first with CPUs as KVM numbers them, then in any other order. */
static bool match(struct vm *vm, struct fit *best)
{
    if (try_offsets(vm, best)) {
        return true;
    }
    if (vm->n < 2 || vm->n > MOST_CPUS || vm->guest->n_cpus > (int32_t)vm->n) {
        return false;
    }
    struct fit any;
    vm->is_permuted = true;
    if (try_offsets(vm, &any)) {
        *best = any;
        return true;
    }
    vm->is_permuted = false;
    return false;
}

/* ---- what that says of the clocks ---- */

struct pair {
    struct vm vm;
    uint32_t host, guest;
    bool is_match;
    bool is_joined;
    struct fit fit;
};

struct bounds {
    struct lull_sync *sync;
    const struct pair *pair;
    const struct lull_window *window;
    int64_t first_ns, last_ns; /* in the window */
};

static void add_bounds(struct bounds *bounds)
{
    const struct pair *pair = bounds->pair;
    if (bounds->window) {
        lull_sync_add_message(bounds->sync, pair->host, bounds->window->start_ns, pair->guest,
                              bounds->first_ns);
        lull_sync_add_message(bounds->sync, pair->guest, bounds->last_ns, pair->host,
                              bounds->window->end_ns);
    }
}

static void take_bounds(void *user, const struct lull_window *window, int64_t time_ns)
{
    struct bounds *bounds = user;
    if (window != bounds->window) {
        add_bounds(bounds);
        bounds->window = window;
        bounds->first_ns = bounds->last_ns = time_ns;
    }
    bounds->first_ns = MIN(bounds->first_ns, time_ns);
    bounds->last_ns = MAX(bounds->last_ns, time_ns);
}

static void join(const struct pair *pair, struct lull_sync *sync)
{
    struct bounds bounds = {.sync = sync, .pair = pair};
    const struct fit fit = check(&pair->vm, pair->fit.offset_ns, UINT64_MAX, take_bounds, &bounds);
    add_bounds(&bounds);
    lull_sync_add_contained(sync, pair->host, pair->guest, fit.inside, fit.outside);
    for (int32_t cpu = 0; cpu < pair->vm.guest->n_cpus; cpu++) {
        const struct lull_vcpu *vcpu = contain_vcpu_for(&pair->vm, cpu);
        if (vcpu) {
            lull_sync_add_guest_cpu(
                sync, &(struct lull_guest_cpu){pair->guest, pair->host, cpu, vcpu->tid});
        }
    }
}

/* Of the pairs that match, those whose clocks can be joined. */
static void choose_pairs(const struct lull_vcpus *vcpus, struct pair *pairs, size_t n)
{
    LULL_VEC(struct contain_match) matches = {0};
    LULL_VEC(size_t) places = {0};
    for (size_t i = 0; i < n; i++) {
        if (pairs[i].is_match) {
            lull_vec_push(&places, i);
            lull_vec_push(&matches, (struct contain_match){.process = (uint32_t)(pairs[i].vm.vcpus -
                                                                                 vcpus->list.items),
                                                           .host = pairs[i].host,
                                                           .guest = pairs[i].guest});
        }
    }
    contain_judge(matches.items, matches.count, vcpus->n_hosts, (uint32_t)vcpus->list.count);
    for (size_t i = 0; i < matches.count; i++) {
        pairs[places.items[i]].is_joined = matches.items[i].is_alone;
    }
    lull_vec_free(&matches);
    lull_vec_free(&places);
}

/* ---- what could not be joined ---- */

/* Of two that were tried for one process, which comes nearer to being its guest. */
static bool is_nearer(const struct pair *a, const struct pair *b)
{
    return a->is_match != b->is_match ? a->is_match : share_of(&a->fit) > share_of(&b->fit);
}

/* Pairs with the same process, of which none is joined. */
static void report_unmatched(const struct pair *pairs, size_t n, const bool *is_guest,
                             struct lull_sync *sync)
{
    const struct pair *nearest = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_guest[pairs[i].guest] && (!nearest || is_nearer(&pairs[i], nearest))) {
            nearest = &pairs[i];
        }
    }
    if (nearest) {
        const struct fit *fit = &nearest->fit;
        const struct lull_sync_unmatched unmatched = {
            .host = nearest->host,
            .pid = nearest->vm.vcpus->pid > 0 ? nearest->vm.vcpus->pid : nearest->vm.vcpus->tid,
            .nearest = is_enough(fit) ? nearest->guest : LULL_NONE,
            .why = nearest->is_match        ? LULL_UNMATCHED_SEVERAL
                   : !is_enough(fit)        ? LULL_UNMATCHED_FEW
                   : share_of(fit) < ENOUGH ? LULL_UNMATCHED_OUTSIDE
                                            : LULL_UNMATCHED_UNSURE,
            .contained = fit->inside,
            .not_contained = fit->outside,
            .other = fit->other};
        lull_sync_add_unmatched(sync, &unmatched);
    }
}

static void report(const struct pair *pairs, size_t n, uint32_t n_hosts, struct lull_sync *sync)
{
    g_autofree bool *is_guest = g_new0(bool, n_hosts);
    for (size_t i = 0; i < n; i++) {
        is_guest[pairs[i].guest] |= pairs[i].is_joined;
    }
    for (size_t i = 0, next; i < n; i = next) {
        bool is_joined = false;
        for (next = i; next < n && pairs[next].vm.vcpus == pairs[i].vm.vcpus; next++) {
            is_joined |= pairs[next].is_joined;
        }
        if (!is_joined) {
            report_unmatched(&pairs[i], next - i, is_guest, sync);
        }
    }
}

void lull_contain(struct lull_session *session, struct lull_sync *sync,
                  void (*progress)(void *user), void *user)
{
    if (!lull_vcpus_are_recorded(session)) {
        return;
    }
    struct lull_vcpus *vcpus = lull_vcpus_read(session, progress, user);
    LULL_VEC(struct pair) pairs = {0};
    for (uint32_t i = 0, next; i < vcpus->list.count; i = next) {
        const struct lull_vcpu *first = &vcpus->list.items[i];
        for (next = i; next < vcpus->list.count && vcpus->list.items[next].host == first->host &&
                       vcpus->list.items[next].pid == first->pid;
             next++) {
        }
        for (uint32_t guest = 0; guest < vcpus->n_hosts && pairs.count < MOST_PAIRS; guest++) {
            struct pair pair = {
                .vm = {.vcpus = first, .n = next - i, .guest = &vcpus->hosts[guest]},
                .host = first->host,
                .guest = guest};
            if (guest != first->host) {
                pair.is_match = vcpus->hosts[guest].moments.count >= FEWEST_MOMENTS &&
                                match(&pair.vm, &pair.fit);
                lull_vec_push(&pairs, pair);
            }
        }
    }
    choose_pairs(vcpus, pairs.items, pairs.count);
    for (size_t i = 0; i < pairs.count; i++) {
        if (pairs.items[i].is_joined) {
            join(&pairs.items[i], sync);
        }
    }
    report(pairs.items, pairs.count, vcpus->n_hosts, sync);
    lull_vec_free(&pairs);
    lull_vcpus_free(vcpus);
}
