/* SPDX-License-Identifier: MIT */
/* Remembers in which calls each task was since its counters were read last, and shares what they rose
 * among these calls. */
#include "calls/counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sums.h"
#include "base/vec.h"

/* Of a task more stays than these are kept as sums by call. */
enum { MOST_STAYS = 4096 };

/* Time in one call, up to end_ns from the end of the stay before it. */
struct stay {
    int64_t end_ns;
    int64_t running_ns; /* of that: on a CPU, as far as is known */
    uint32_t node;      /* LULL_NONE: it does not count, as it is before start_ns */
};

/* The time of a task in a call. */
struct part {
    uint32_t node;
    int64_t running_ns;
};

/* What a task did until now, as far as it may still have to be charged. */
struct tale {
    uint32_t root;    /* of its line: the node that is outside of all calls */
    int64_t *read_ns; /* by counter: the last read of which it was charged; INT64_MIN: none */
    int64_t mixed_ns; /* since when parts are known that have no order; start_ns: none */
    LULL_VEC(struct part) mixed; /* by node */
    int64_t start_ns;            /* of the first stay */
    LULL_VEC(struct stay) stays;
};

struct lull_calls_counts {
    struct lull_calls *calls;
    int64_t start_ns;
    uint32_t n;                               /* counters */
    LULL_VEC(struct tale) tales;              /* by line; root LULL_NONE: none yet */
    LULL_VEC(uint64_t) values;                /* by node and counter */
    LULL_VEC(struct part) parts;              /* that share what is charged at the moment */
    LULL_VEC(struct lull_calls_counted) sums; /* by host and counter */
    bool *are_estimates, *have_shared;        /* by counter */
};

/* ---- what a task did ---- */

/* How long it is from one time to another, which traces may say is any. */
static int64_t span(int64_t start_ns, int64_t end_ns)
{
    return lull_sum(end_ns, -MAX(start_ns, -INT64_MAX));
}

static struct tale *tale_of(struct lull_calls_counts *counts, uint32_t line, int64_t t)
{
    while (counts->tales.count <= line) {
        lull_vec_push(&counts->tales, (struct tale){.root = LULL_NONE});
    }
    struct tale *tale = &counts->tales.items[line];
    if (tale->root == LULL_NONE) {
        tale->root = lull_calls_line(counts->calls, line)->root;
        tale->mixed_ns = tale->start_ns = t;
        tale->read_ns = g_new(int64_t, counts->n);
        for (uint32_t i = 0; i < counts->n; i++) {
            tale->read_ns[i] = INT64_MIN;
        }
    }
    return tale;
}

static int64_t end_of(const struct tale *tale)
{
    return tale->stays.count ? tale->stays.items[tale->stays.count - 1].end_ns : tale->start_ns;
}

static int64_t start_of(const struct tale *tale, size_t stay)
{
    return stay ? tale->stays.items[stay - 1].end_ns : tale->start_ns;
}

/* Forgets what lies before all last reads. */
static void drop_stays(const struct lull_calls_counts *counts, struct tale *tale)
{
    int64_t first_ns = INT64_MAX;
    for (uint32_t i = 0; i < counts->n; i++) {
        first_ns = MIN(first_ns, tale->read_ns[i]);
    }
    const size_t over =
        LULL_LOWER_BOUND(i, tale->stays.count, tale->stays.items[i].end_ns <= first_ns);
    if (over == 0) {
        return;
    }
    tale->mixed_ns = tale->start_ns = tale->stays.items[over - 1].end_ns;
    tale->mixed.count = 0;
    tale->stays.count -= over;
    memmove(tale->stays.items, tale->stays.items + over,
            tale->stays.count * sizeof *tale->stays.items);
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

/* Keeps the stays as sums by call. */
static void mix_stays(struct tale *tale)
{
    size_t n = 0;
    for (size_t i = 0; i < tale->stays.count; i++) {
        lull_vec_push(&tale->mixed,
                      (struct part){tale->stays.items[i].node, tale->stays.items[i].running_ns});
    }
    qsort(tale->mixed.items, tale->mixed.count, sizeof *tale->mixed.items, compare_parts);
    for (size_t i = 0; i < tale->mixed.count; i++) {
        const struct part part = tale->mixed.items[i];
        if (n > 0 && tale->mixed.items[n - 1].node == part.node) {
            lull_add(&tale->mixed.items[n - 1].running_ns, part.running_ns);
        } else {
            tale->mixed.items[n++] = part;
        }
    }
    tale->mixed.count = n;
    tale->start_ns = end_of(tale);
    tale->stays.count = 0;
}

static void add_stay(const struct lull_calls_counts *counts, struct tale *tale, uint32_t node,
                     int64_t end_ns)
{
    const int64_t start_ns = end_of(tale);
    if (end_ns <= start_ns) {
        return;
    }
    if (tale->stays.count >= MAX(MOST_STAYS, tale->mixed.count)) {
        drop_stays(counts, tale);
        if (tale->stays.count > MOST_STAYS / 2) {
            mix_stays(tale);
        }
    }
    lull_vec_push(&tale->stays, (struct stay){end_ns, span(start_ns, end_ns), node});
}

/* Until t it was in no call. */
static void fill(const struct lull_calls_counts *counts, struct tale *tale, int64_t t)
{
    add_stay(counts, tale, LULL_NONE, MIN(t, counts->start_ns));
    add_stay(counts, tale, tale->root, t);
}

/* What an interrupt counted is no call's, where it is read apart; else it is taken for that of what was interrupted. */
static uint32_t interrupted(const struct lull_calls_counts *counts, uint32_t node)
{
    uint32_t outside = node;
    for (; node != LULL_NONE; node = lull_calls_node(counts->calls, node)->parent) {
        const uint32_t function = lull_calls_node(counts->calls, node)->function;
        if (function == LULL_NONE ||
            lull_calls_function(counts->calls, function)->layer < LULL_FUNCTION_KERNEL) {
            break;
        }
        if (lull_calls_function(counts->calls, function)->layer == LULL_FUNCTION_INTERRUPT) {
            outside = lull_calls_node(counts->calls, node)->parent;
        }
    }
    return outside;
}

static void on_spent(void *user, const struct lull_calls_stretch *stretch)
{
    struct lull_calls_counts *counts = user;
    struct tale *tale = tale_of(counts, stretch->line, stretch->start_ns);
    fill(counts, tale, stretch->start_ns);
    add_stay(counts, tale, interrupted(counts, stretch->node), stretch->end_ns);
}

/* What was taken for time on a CPU was none. */
static void on_state(void *user, const struct lull_state_fact *fact)
{
    struct lull_calls_counts *counts = user;
    if (fact->state != LULL_STATE_BLOCKED && fact->state != LULL_STATE_PREEMPTED) {
        return;
    }
    const uint32_t line = lull_calls_catch_up(counts->calls, fact->task, fact->end_ns);
    if (line == LULL_NONE) {
        return;
    }
    struct tale *tale = tale_of(counts, line, fact->start_ns);
    fill(counts, tale, fact->end_ns);
    for (size_t i = tale->stays.count; i-- > 0 && tale->stays.items[i].end_ns > fact->start_ns;) {
        struct stay *stay = &tale->stays.items[i];
        const int64_t start_ns = MAX(start_of(tale, i), fact->start_ns);
        const int64_t off_ns = span(start_ns, MIN(stay->end_ns, fact->end_ns));
        stay->running_ns -= CLAMP(off_ns, 0, stay->running_ns);
    }
}

/* ---- charging ---- */

static uint64_t share_of(uint64_t whole, int64_t part_ns, int64_t whole_ns)
{
    return (uint64_t)((unsigned __int128)whole * (uint64_t)part_ns / (uint64_t)whole_ns);
}

static void add_part(struct lull_calls_counts *counts, uint32_t node, int64_t running_ns)
{
    if (running_ns > 0) {
        lull_vec_push(&counts->parts, (struct part){node, running_ns});
    }
}

/* The part of some time that lies in a fact's. */
static int64_t cut(const struct lull_count_fact *fact, int64_t start_ns, int64_t end_ns,
                   int64_t running_ns)
{
    const int64_t from_ns = MAX(start_ns, fact->start_ns), to_ns = MIN(end_ns, fact->end_ns);
    if (to_ns <= from_ns) {
        return 0;
    }
    return (int64_t)share_of((uint64_t)running_ns, span(from_ns, to_ns), span(start_ns, end_ns));
}

/* Before anything is known of a task it was in no call. */
static void find_parts(struct lull_calls_counts *counts, const struct tale *tale,
                       const struct lull_count_fact *fact)
{
    const int64_t first_ns = MIN(tale->mixed_ns, fact->end_ns);
    counts->parts.count = 0;
    add_part(counts, LULL_NONE, span(fact->start_ns, MIN(first_ns, counts->start_ns)));
    add_part(counts, tale->root, span(MAX(fact->start_ns, counts->start_ns), first_ns));
    for (size_t i = 0; i < tale->mixed.count; i++) {
        add_part(counts, tale->mixed.items[i].node,
                 cut(fact, tale->mixed_ns, tale->start_ns, tale->mixed.items[i].running_ns));
    }
    const size_t first =
        LULL_LOWER_BOUND(i, tale->stays.count, tale->stays.items[i].end_ns <= fact->start_ns);
    for (size_t i = first; i < tale->stays.count && start_of(tale, i) < fact->end_ns; i++) {
        const struct stay *stay = &tale->stays.items[i];
        add_part(counts, stay->node, cut(fact, start_of(tale, i), stay->end_ns, stay->running_ns));
    }
    if (counts->parts.count == 0) { /* no time between the reads, or none on a CPU */
        const bool has_stay = tale->stays.count > 0;
        const uint32_t node = has_stay ? tale->stays.items[tale->stays.count - 1].node : tale->root;
        lull_vec_push(&counts->parts, (struct part){node, 1});
    }
}

/* The call of the program that made the system call. */
static uint32_t maker_of(const struct lull_calls_counts *counts, uint32_t node)
{
    for (; node != LULL_NONE; node = lull_calls_node(counts->calls, node)->parent) {
        const uint32_t function = lull_calls_node(counts->calls, node)->function;
        if (function == LULL_NONE ||
            lull_calls_function(counts->calls, function)->layer < LULL_FUNCTION_SYSCALL) {
            break;
        }
    }
    return node;
}

/* Counters of threads are read with calls, or with system calls: what they rose while there was one call
 * and what that had the kernel do is of that call, and nothing is shared. */
static void join_parts(struct lull_calls_counts *counts, bool is_of_thread)
{
    const struct part *parts = counts->parts.items;
    const uint32_t first = parts[0].node, maker = is_of_thread ? maker_of(counts, first) : first;
    bool is_same = true, has_same_maker = is_of_thread;
    for (size_t i = 1; i < counts->parts.count; i++) {
        is_same &= parts[i].node == first;
        has_same_maker = has_same_maker && maker_of(counts, parts[i].node) == maker;
    }
    if (is_same || has_same_maker) {
        counts->parts.items[0] = (struct part){is_same ? first : maker, 1};
        counts->parts.count = 1;
    }
}

static void charge(struct lull_calls_counts *counts, uint32_t node, uint32_t counter,
                   uint64_t value)
{
    const size_t at = (size_t)node * counts->n + counter, before = counts->values.count;
    if (at >= before) {
        const size_t want =
            (size_t)MAX(node + 1, lull_calls_node_count(counts->calls)) * counts->n - before;
        lull_vec_reserve(&counts->values, want);
        memset(counts->values.items + before, 0, want * sizeof *counts->values.items);
        counts->values.count += want;
    }
    lull_add_unsigned(&counts->values.items[at], value);
}

/* Shares among the parts, so that nothing is left; returns what counts of that. */
static uint64_t charge_parts(struct lull_calls_counts *counts, const struct lull_count_fact *fact)
{
    int64_t whole_ns = 0, so_far_ns = 0;
    uint64_t so_far = 0, counted = 0;
    for (size_t i = 0; i < counts->parts.count; i++) {
        lull_add(&whole_ns, counts->parts.items[i].running_ns);
    }
    for (size_t i = 0; i < counts->parts.count; i++) {
        const struct part *part = &counts->parts.items[i];
        lull_add(&so_far_ns, part->running_ns);
        const uint64_t until = share_of(fact->value, so_far_ns, whole_ns);
        if (part->node != LULL_NONE) {
            charge(counts, part->node, fact->counter, until - so_far);
            counted += until - so_far;
        }
        so_far = until;
    }
    counts->have_shared[fact->counter] |= counts->parts.count > 1 && fact->value > 0;
    return counted;
}

/* Of a task without calls, or of none: the part of the time that counts. */
static uint64_t clip(const struct lull_calls_counts *counts, const struct lull_count_fact *fact)
{
    if (fact->start_ns >= counts->start_ns || fact->end_ns <= fact->start_ns) {
        return fact->value;
    }
    return share_of(fact->value, MAX(span(counts->start_ns, fact->end_ns), 0),
                    span(fact->start_ns, fact->end_ns));
}

static struct lull_calls_counted *sum_of(struct lull_calls_counts *counts, uint32_t host,
                                         uint32_t counter)
{
    while (counts->sums.count <= (size_t)host * counts->n + counter) {
        lull_vec_push(&counts->sums, (struct lull_calls_counted){
                                         .host = (uint32_t)(counts->sums.count / counts->n),
                                         .counter = (uint32_t)(counts->sums.count % counts->n)});
    }
    return &counts->sums.items[(size_t)host * counts->n + counter];
}

static void on_count(void *user, const struct lull_count_fact *fact)
{
    struct lull_calls_counts *counts = user;
    if (fact->end_ns < counts->start_ns) {
        return;
    }
    const uint32_t line = fact->by == LULL_COUNTED_TASK && fact->task != LULL_NONE
                              ? lull_calls_catch_up(counts->calls, fact->task, fact->end_ns)
                              : LULL_NONE;
    uint64_t counted = 0;
    if (line == LULL_NONE) {
        counted = clip(counts, fact);
    } else {
        struct tale *tale = tale_of(counts, line, fact->start_ns);
        fill(counts, tale, fact->end_ns);
        find_parts(counts, tale, fact);
        join_parts(counts, fact->cpu < 0);
        counted = charge_parts(counts, fact);
        tale->read_ns[fact->counter] = fact->end_ns;
    }
    struct lull_calls_counted *sum = sum_of(counts, fact->host, fact->counter);
    const bool is_scaled = fact->value != fact->counted && fact->value > 0;
    lull_add_unsigned(&sum->by[fact->by], counted);
    lull_add_unsigned(
        &sum->counted,
        is_scaled ? (uint64_t)((unsigned __int128)fact->counted * counted / fact->value) : counted);
    counts->are_estimates[fact->counter] |= fact->is_estimate;
    counts->have_shared[fact->counter] |= fact->is_shared && line != LULL_NONE;
}

/* ---- the whole ---- */

struct lull_calls_counts *lull_calls_counts_new(struct lull_calls *calls, struct lull_model *model,
                                                int64_t start_ns)
{
    static const struct lull_facts facts = {.count = on_count, .state = on_state};
    struct lull_calls_counts *counts = g_new0(struct lull_calls_counts, 1);
    counts->calls = calls;
    counts->start_ns = start_ns;
    counts->n = lull_model_counter_count(model);
    counts->are_estimates = g_new0(bool, counts->n + 1);
    counts->have_shared = g_new0(bool, counts->n + 1);
    if (counts->n > 0) {
        lull_calls_watch(calls, on_spent, counts);
        lull_model_subscribe(model, &facts, counts);
    }
    return counts;
}

void lull_calls_counts_free(struct lull_calls_counts *counts)
{
    if (!counts) {
        return;
    }
    for (size_t i = 0; i < counts->tales.count; i++) {
        struct tale *tale = &counts->tales.items[i];
        g_free(tale->read_ns);
        lull_vec_free(&tale->mixed);
        lull_vec_free(&tale->stays);
    }
    lull_vec_free(&counts->tales);
    lull_vec_free(&counts->values);
    lull_vec_free(&counts->parts);
    lull_vec_free(&counts->sums);
    g_free(counts->are_estimates);
    g_free(counts->have_shared);
    g_free(counts);
}

uint64_t lull_calls_counts_of(const struct lull_calls_counts *counts, uint32_t node,
                              uint32_t counter)
{
    const size_t at = (size_t)node * counts->n + counter;
    return at < counts->values.count ? counts->values.items[at] : 0;
}

const struct lull_calls_counted *lull_calls_counts_sums(const struct lull_calls_counts *counts,
                                                        size_t *count)
{
    *count = counts->sums.count;
    return counts->sums.items;
}

bool lull_calls_counts_have_shared(const struct lull_calls_counts *counts, uint32_t counter)
{
    return counts->have_shared[counter];
}

bool lull_calls_counts_are_estimates(const struct lull_calls_counts *counts, uint32_t counter)
{
    return counts->are_estimates[counter];
}
