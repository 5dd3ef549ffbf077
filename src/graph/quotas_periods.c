/* SPDX-License-Identifier: MIT */
/* When the periods of CPU quotas start, by the kernel's timer or by when tasks run again; and from that,
 * when the kernel kept tasks off the CPUs. */
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sums.h"
#include "graph/quotas_private.h"

/* ---- when periods start ---- */

/* A time in which tasks could not run, as long as no rhythm is known. */
struct gap {
    int64_t rest_ns; /* of its end, divided by the period */
    int64_t length_ns;
};

static int compare_gaps(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    return (x->rest_ns > y->rest_ns) - (x->rest_ns < y->rest_ns);
}

/* Where most of the time ends close together, the first of these ends; -1: nowhere. */
static int64_t densest(const GArray *gaps, int64_t ns)
{
    const struct gap *items = (const struct gap *)(const void *)gaps->data;
    int64_t first_ns = -1, most_ns = 0, all_ns = 0, near_ns = 0;
    guint end = 0;
    for (guint i = 0; i < gaps->len; i++) {
        lull_add(&all_ns, items[i].length_ns);
    }
    for (guint i = 0; i < gaps->len; i++) {
        while (end < i + gaps->len &&
               (items[end % gaps->len].rest_ns - items[i].rest_ns + ns) % ns <= ns / PHASE_PART) {
            lull_add(&near_ns, items[end++ % gaps->len].length_ns);
        }
        if (near_ns > most_ns) {
            most_ns = near_ns;
            first_ns = items[i].rest_ns;
        }
        lull_add(&near_ns, -items[i].length_ns);
    }
    return most_ns > all_ns / 2 ? first_ns : -1;
}

static void add_gap(const struct quota *quota, const struct throttling *found, GArray *gaps)
{
    const int64_t ns = quota_period_ns(quota);
    const struct gap gap = {(found->end_ns % ns + ns) % ns, found->end_ns - found->start_ns};
    g_array_append_val(gaps, gap);
}

/* ---- the timer that starts them ---- */

/* How much of the time in which tasks could not run ended soon after the timer; -1: it is one of
 * another period. */
static int64_t score_timer(const struct lull_execgraph *eg, uint32_t first,
                           const struct quota *quota, const GArray *gaps)
{
    enum { NEAR_NS = 1000000 };
    const struct timer_note *notes = eg->quota_timers.items;
    const int64_t ns = quota_period_ns(quota);
    int64_t score_ns = 0, last_ns = notes[first].time_ns;
    bool is_each = false;
    for (size_t i = first + 1; i < eg->quota_timers.count; i++) {
        if (notes[i].host == notes[first].host && notes[i].timer == notes[first].timer) {
            const int64_t apart_ns = notes[i].time_ns - last_ns;
            const int64_t rest_ns = (apart_ns + NEAR_NS) % ns;
            if (apart_ns < ns - NEAR_NS || rest_ns > 2 * NEAR_NS) {
                return -1;
            }
            is_each |= apart_ns < 2 * ns - NEAR_NS;
            last_ns = notes[i].time_ns;
        }
    }
    for (guint i = 0; i < gaps->len; i++) {
        const struct gap *gap = &g_array_index(gaps, struct gap, i);
        const int64_t late_ns = ((gap->rest_ns - last_ns) % ns + ns) % ns;
        lull_add(&score_ns, late_ns <= ns / PHASE_PART ? gap->length_ns : 0);
    }
    return is_each ? score_ns : -1;
}

/* Of several timers with the quota's period, that after which its tasks ran most. */
static void find_refills(const struct lull_execgraph *eg, struct quota *quota, const GArray *gaps)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, NULL);
    const struct timer_note *found = NULL;
    int64_t most_ns = -1;
    for (uint32_t i = 0; i < eg->quota_timers.count; i++) {
        const struct timer_note *note = &eg->quota_timers.items[i];
        if (note->host == quota->host && g_hash_table_add(known, (gpointer)&note->timer)) {
            const int64_t score_ns = score_timer(eg, i, quota, gaps);
            found = score_ns > most_ns ? note : found;
            most_ns = MAX(score_ns, most_ns);
        }
    }
    for (uint32_t i = 0; found && i < eg->quota_timers.count; i++) {
        const struct timer_note *note = &eg->quota_timers.items[i];
        if (note->host == found->host && note->timer == found->timer) {
            lull_vec_push(&quota->refills, note->time_ns);
        }
    }
}

/* ---- the quota as the kernel sees it ---- */

static int by_step(const void *a, const void *b)
{
    const struct lull_bandwidth_event *x = a, *y = b;
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->step > y->step) - (x->step < y->step);
}

struct bandwidth_events {
    LULL_VEC(struct lull_bandwidth_event) all;
};

/* How the task, which gets a CPU then, came to wait for it: where it was woken, and to which CPUs it was
 * moved while it waited. */
static void add_waits(const struct lull_execgraph *eg, uint32_t task, int64_t time_ns,
                      struct bandwidth_events *events)
{
    uint32_t n = 0;
    const struct lull_graph_point *points =
        task < lull_graph_line_count(eg->graph) ? lull_graph_points(eg->graph, task, &n) : NULL;
    size_t at = LULL_LOWER_BOUND(i, n, points[i].time_ns < time_ns);
    if (at == n || points[at].time_ns != time_ns) {
        return;
    }
    for (; at > 0 && points[at].state == LULL_STATE_PREEMPTED &&
           points[at - 1].state != LULL_STATE_RUNNING;
         at--) {
        if (points[at].cpu >= 0 && (points[at - 1].state != LULL_STATE_PREEMPTED ||
                                    points[at - 1].cpu != points[at].cpu)) {
            lull_vec_push(&events->all,
                          (struct lull_bandwidth_event){.time_ns = points[at - 1].time_ns,
                                                        .cpu = (uint32_t)points[at].cpu,
                                                        .task = task,
                                                        .step = LULL_BANDWIDTH_WAKE});
        }
    }
}

/* The timer that starts periods comes as an interrupt too. */
static bool has_refill(const struct quota *quota, const struct interrupt_note *note)
{
    const size_t n = quota->refills.count;
    const int64_t *all = quota->refills.items;
    const size_t at = LULL_LOWER_BOUND(i, n, all[i] < note->start_ns);
    return at < n && all[at] <= note->end_ns;
}

static void add_cpu_events(const struct lull_execgraph *eg, const struct quota *quota, uint32_t cpu,
                           struct bandwidth_events *events)
{
    const struct cpu_notes *notes = &eg->hosts.items[quota->host].cpus.items[cpu];
    const struct cpu_uses *uses = &quota->cpus.items[cpu];
    for (size_t i = 0; i < uses->all.count; i++) {
        const struct cpu_use *use = &uses->all.items[i];
        add_waits(eg, use->task, use->start_ns, events);
        lull_vec_push(&events->all, (struct lull_bandwidth_event){.time_ns = use->start_ns,
                                                                  .cpu = cpu,
                                                                  .task = use->task,
                                                                  .step = LULL_BANDWIDTH_START});
        lull_vec_push(&events->all,
                      (struct lull_bandwidth_event){.time_ns = use->end_ns,
                                                    .cpu = cpu,
                                                    .task = use->task,
                                                    .step = use->sleeps ? LULL_BANDWIDTH_SLEEP
                                                                        : LULL_BANDWIDTH_STOP,
                                                    .is_last = use->is_last});
    }
    for (size_t i = 0; uses->all.count && i < notes->interrupts.count; i++) {
        const struct interrupt_note *note = &notes->interrupts.items[i];
        if (strstr(lull_model_label(eg->model, note->label), "timer") && !has_refill(quota, note)) {
            lull_vec_push(&events->all, (struct lull_bandwidth_event){.time_ns = note->start_ns,
                                                                      .cpu = cpu,
                                                                      .step = LULL_BANDWIDTH_TICK});
        }
    }
    for (size_t i = 0; uses->all.count && i + 1 < notes->switches.count; i++) {
        const struct switch_note *note = &notes->switches.items[i];
        if (note->is_unknown) {
            lull_vec_push(&events->all,
                          (struct lull_bandwidth_event){.time_ns = note[1].time_ns,
                                                        .ns = note[1].time_ns - note->time_ns,
                                                        .cpu = cpu,
                                                        .step = LULL_BANDWIDTH_HIDDEN});
        }
    }
}

static void replay(const struct lull_execgraph *eg, struct quota *quota)
{
    struct bandwidth_events events = {0};
    for (uint32_t cpu = 0; cpu < quota->cpus.count; cpu++) {
        add_cpu_events(eg, quota, cpu, &events);
    }
    for (size_t i = 0; i < quota->refills.count; i++) {
        lull_vec_push(&events.all, (struct lull_bandwidth_event){.time_ns = quota->refills.items[i],
                                                                 .step = LULL_BANDWIDTH_REFILL});
    }
    if (events.all.count) {
        qsort(events.all.items, events.all.count, sizeof *events.all.items, by_step);
    }
    lull_bandwidth_replay(events.all.items, events.all.count, quota->info->quota_us * 1000,
                          quota->info->throttled_ns, &quota->pauses);
    lull_vec_free(&events.all);
}

/* The timer that starts periods keeps its rhythm, and tasks that had to wait run soon after it: it
 * is in the ends of the longest of such times. Who has none is not looked at any more. */
void quotas_find_periods(const struct lull_execgraph *eg, struct lull_quotas *quotas)
{
    g_autoptr(GPtrArray) gaps = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    for (size_t i = 0; i < quotas->all.count; i++) {
        g_ptr_array_add(gaps, g_array_new(FALSE, FALSE, sizeof(struct gap)));
    }
    const uint32_t n_lines = MIN(lull_graph_line_count(eg->graph), quotas->members.count);
    for (uint32_t task = 0; task < n_lines; task++) {
        uint32_t n = 0;
        const struct lull_graph_point *points = quotas->members.items[task].quota == LULL_NONE
                                                    ? NULL
                                                    : lull_graph_points(eg->graph, task, &n);
        for (uint32_t i = 1; i < n; i++) {
            struct throttling found;
            if (points[i].state == LULL_STATE_PREEMPTED &&
                lull_quotas_next(eg, task, points[i].cpu, points[i - 1].time_ns, points[i].time_ns,
                                 points[i].time_ns - 1, &found)) {
                add_gap(&quotas->all.items[found.quota], &found, gaps->pdata[found.quota]);
            }
        }
    }
    for (size_t i = 0; i < quotas->all.count; i++) {
        struct quota *quota = &quotas->all.items[i];
        g_array_sort(gaps->pdata[i], compare_gaps);
        quota->phase_ns = densest(gaps->pdata[i], quota_period_ns(quota));
        find_refills(eg, quota, gaps->pdata[i]);
        if (quota->refills.count) {
            replay(eg, quota);
        } else if (quota->phase_ns < 0) {
            lull_vec_free(&quota->use);
        }
    }
}
