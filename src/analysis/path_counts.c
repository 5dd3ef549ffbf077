/* SPDX-License-Identifier: MIT */
/* Charges what counters counted to the segments of a critical path. Tasks go by host and number, as
 * this reading of the session knows them by other indices. */
#include "analysis/path_counts.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

/* A segment on a CPU. */
struct stay {
    uint32_t host;
    int32_t tid; /* negative: interrupts of CPU -1-tid */
    int64_t start_ns, end_ns;
    uint32_t segment;
    int64_t counted_until_ns; /* for unknown_ns */
};

struct reading {
    struct lull_path_counts *counts;
    struct stay *stays; /* by host, tid, time */
    size_t n_stays;
};

static int compare_tasks(const struct stay *x, const struct stay *y)
{
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int compare_stays(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;
    const int by_task = compare_tasks(x, y);
    return by_task ? by_task : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void find_stays(struct reading *reading, const struct lull_path *path)
{
    reading->stays = g_new(struct stay, path->n_segments + 1);
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        if (segment->state == LULL_STATE_RUNNING || segment->state == LULL_STATE_INTERRUPTED) {
            reading->stays[reading->n_stays++] =
                (struct stay){segment->host,    segment->tid, segment->start_ns, segment->end_ns, i,
                              segment->start_ns};
        }
    }
    qsort(reading->stays, reading->n_stays, sizeof *reading->stays, compare_stays);
}

/* The first of a task that ends after start_ns, or where it would be. */
static struct stay *first_stay(const struct reading *reading, uint32_t host, int32_t tid,
                               int64_t start_ns)
{
    const struct stay key = {.host = host, .tid = tid};
    size_t low = 0, high = reading->n_stays;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct stay *stay = &reading->stays[middle];
        const int by_task = compare_tasks(stay, &key);
        if (by_task < 0 || (by_task == 0 && stay->end_ns <= start_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return &reading->stays[low];
}

/* Of what was counted in the whole interval, what lies before `ns` of it. */
static uint64_t until(const struct lull_count_fact *fact, int64_t ns)
{
    const int64_t whole_ns = fact->end_ns - fact->start_ns;
    return (uint64_t)((unsigned __int128)fact->value * (uint64_t)ns / (uint64_t)whole_ns);
}

static void on_count(void *user, const struct lull_count_fact *fact)
{
    struct reading *reading = user;
    struct lull_path_counts *counts = reading->counts;
    int32_t tid = -1 - fact->cpu;
    if (fact->by == LULL_COUNTED_TASK) {
        tid = lull_model_task(counts->model, fact->task)->tid;
    } else if (fact->by != LULL_COUNTED_INTERRUPT) {
        return;
    }
    struct stay *stay = first_stay(reading, fact->host, tid, fact->start_ns);
    const struct stay *end = reading->stays + reading->n_stays;
    for (; stay < end && stay->host == fact->host && stay->tid == tid &&
           stay->start_ns < fact->end_ns;
         stay++) {
        const int64_t start_ns = MAX(stay->start_ns, fact->start_ns);
        const int64_t end_ns = MIN(stay->end_ns, fact->end_ns);
        struct lull_counted *counted = &counts->by_segment[stay->segment];
        if (end_ns <= start_ns) {
            continue;
        }
        lull_add_unsigned(&counted->values[fact->counter],
                          until(fact, end_ns - fact->start_ns) -
                              until(fact, start_ns - fact->start_ns));
        counted->is_known = true;
        counts->has_shared |= fact->is_shared || start_ns > fact->start_ns || end_ns < fact->end_ns;
        counts->has_estimates |= fact->is_estimate;
        if (end_ns > stay->counted_until_ns) {
            lull_add(&counts->unknown_ns, MAX(start_ns - stay->counted_until_ns, 0));
            stay->counted_until_ns = end_ns;
        }
    }
}

/* Parts of a path with a value for each counter, in one piece of memory. */
static struct lull_counted *counted_new(const struct lull_path_counts *counts, uint32_t n_parts)
{
    struct lull_counted *parts = g_new0(struct lull_counted, (size_t)n_parts + 1);
    uint64_t *values = g_new0(uint64_t, (size_t)counts->n *n_parts + 1);
    parts[0].values = values; /* also if there is none: it is what is freed */
    for (uint32_t i = 0; i < n_parts; i++) {
        parts[i].values = values + (size_t)counts->n * i;
    }
    return parts;
}

static void counted_free(struct lull_counted *parts)
{
    g_free(parts[0].values);
    g_free(parts);
}

static void add(const struct lull_path_counts *counts, struct lull_counted *to,
                const struct lull_counted *from)
{
    to->is_known |= from->is_known;
    for (uint32_t i = 0; i < counts->n; i++) {
        lull_add_unsigned(&to->values[i], from->values[i]);
    }
}

/* Sums by task and by state. */
static void sum_up(struct lull_path_counts *counts, const struct lull_path *path)
{
    struct lull_map tasks = {0};
    for (uint32_t i = 0; i < path->n_by_task; i++) {
        lull_map_insert(&tasks, (uint64_t)path->by_task[i].host << 32 | path->by_task[i].task, i);
    }
    for (uint32_t i = 0; i < path->n_segments; i++) {
        const struct lull_segment *segment = &path->segments[i];
        const uint32_t task = lull_map_find(&tasks, (uint64_t)segment->host << 32 | segment->task);
        if (task != LULL_MAP_NONE) {
            add(counts, &counts->by_task[task], &counts->by_segment[i]);
        }
        for (uint32_t k = 0; k < path->n_by_state; k++) {
            if (path->by_state[k].state == segment->state &&
                path->by_state[k].cause == segment->cause) {
                add(counts, &counts->by_state[k], &counts->by_segment[i]);
            }
        }
    }
    lull_map_free(&tasks);
}

struct lull_path_counts *lull_path_counts_read(struct lull_session *session,
                                               const struct lull_path *path,
                                               void (*progress)(void *user), void *user)
{
    static const struct lull_facts facts = {.count = on_count};
    struct lull_path_counts *counts = g_new0(struct lull_path_counts, 1);
    struct reading reading = {.counts = counts};
    counts->model = lull_model_new(session, LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_IRQ |
                                                LULL_GROUP_COUNTERS);
    counts->n = lull_model_counter_count(counts->model);
    counts->by_segment = counted_new(counts, path->n_segments);
    counts->by_task = counted_new(counts, path->n_by_task);
    counts->by_state = counted_new(counts, path->n_by_state);
    find_stays(&reading, path);
    lull_model_subscribe(counts->model, &facts, &reading);
    if (counts->n > 0) {
        lull_model_run(counts->model, progress, user);
    }
    for (size_t i = 0; i < reading.n_stays; i++) {
        lull_add(&counts->unknown_ns, reading.stays[i].end_ns - reading.stays[i].counted_until_ns);
    }
    g_free(reading.stays);
    sum_up(counts, path);
    return counts;
}

void lull_path_counts_free(struct lull_path_counts *counts)
{
    if (counts) {
        lull_model_free(counts->model);
        counted_free(counts->by_segment);
        counted_free(counts->by_task);
        counted_free(counts->by_state);
        g_free(counts);
    }
}

const char *lull_path_counts_name(const struct lull_path_counts *counts, uint32_t counter)
{
    return lull_model_label(counts->model, lull_model_counter(counts->model, counter));
}
