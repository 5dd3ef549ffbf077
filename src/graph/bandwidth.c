/* SPDX-License-Identifier: MIT */
/* The pool of a CPU quota and what each CPU has of it. A CPU looks at the time its task has used when
 * a tick or another task comes; then it takes as much as gives it a slice again. One that gets nothing
 * may not run the group until the next period. Up to Linux 6.17 its tasks leave it there and then. From
 * 6.18 on each goes on until it would return to user space, which needs the CPU once more. */
#include "graph/bandwidth.h"

#include <glib.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/sums.h"

enum {
    SLICE_NS = 5000000,    /* sched_cfs_bandwidth_slice_us, as it is if nobody changed it */
    KEPT_NS = 1000000,     /* a CPU without tasks gives back the rest */
    LATE_NS = 5000000,     /* what was given back is given to others after that */
    TICK_NS = 4000000,     /* a CPU looks that often at least, where its ticks are not recorded */
    MOST_TICKS = 1000,     /* that are not recorded, in one stretch of running */
    IDLE_NS = 1000000,     /* a CPU needs less to wake up */
    LEAVING_NS = 200000,   /* what a task needs to return to user space, at most */
    TOLERANCE_NS = 300000, /* the time of interrupts may count or not, and clocks differ */
    COUNT_PART = 200,      /* so exact is the kernel's count */
    MOST_PERIODS = 1000,   /* a task that could run for so many is not waiting for the next */
};

struct cpu {
    int64_t left_ns;    /* of what it took; below 0: it has overdrawn */
    int64_t looked_ns;  /* it was looked at last, while the group ran */
    int64_t started_ns; /* since when its task runs */
    int64_t
        stopped_ns; /* the last time a task stopped that had run for more than a moment; or when the first came */
    int64_t short_ns; /* after that, the first that stopped after a moment; INT64_MIN: none */
    uint32_t queued;  /* tasks that are runnable here, as far as that was seen */
    bool is_running;
    bool is_out;    /* it got nothing any more */
    bool was_out;   /* when its task started */
    bool is_idle;   /* since the group's last task left it */
    bool is_fresh;  /* it got something, and has not run the group since */
    bool pauses;    /* its tasks wait until now, as it seems */
    bool is_active; /* the group has something to do here, or had since the last period started */
    uint32_t quiet; /* periods since something happened here */
    int64_t paused_ns; /* until then it is known that its tasks could not run */
    enum lull_bandwidth_doubt doubt;
    int64_t doubted_ns; /* they waited until then, maybe for that; INT64_MIN: no */
};

struct replay {
    LULL_VEC(struct cpu) cpus;
    LULL_VEC(uint32_t) active; /* by number, but for those that were added since a period started */
    bool is_sorted;
    struct lull_map place; /* of runnable tasks: task → CPU */
    struct lull_bandwidth_pauses *pauses;
    int64_t quota_ns, pool_ns;
    int64_t hidden_ns; /* in this period the group may have run so long, and nothing shows it */
    int64_t given_ns;  /* when something was given back that others have not got; INT64_MAX: none */
};

static void take_slice(struct replay *replay, struct cpu *cpu)
{
    if (cpu->left_ns <= 0 && !cpu->is_out) {
        const int64_t ns = MIN(lull_sum(SLICE_NS, -cpu->left_ns), replay->pool_ns);
        replay->pool_ns -= ns;
        lull_add(&cpu->left_ns, ns);
        cpu->is_out = cpu->left_ns <= 0;
        cpu->is_fresh &= !cpu->is_out;
    }
}

/* Ticks that were not seen come as they would. */
static void look(struct replay *replay, struct cpu *cpu, int64_t time_ns)
{
    for (int i = 0; cpu->is_running && cpu->looked_ns < time_ns; i++) {
        const int64_t ns = time_ns - cpu->looked_ns;
        const int64_t step_ns = i < MOST_TICKS ? MIN(ns, TICK_NS) : ns;
        cpu->looked_ns += step_ns;
        lull_add(&cpu->left_ns, -step_ns);
        take_slice(replay, cpu);
    }
}

static void leave(struct replay *replay, uint32_t number, int64_t time_ns)
{
    struct cpu *cpu = &replay->cpus.items[number];
    if (cpu->queued == 0 || --cpu->queued > 0 || cpu->left_ns <= KEPT_NS) {
        return;
    }
    lull_add(&replay->pool_ns, cpu->left_ns - KEPT_NS);
    cpu->left_ns = KEPT_NS;
    if (replay->pool_ns > SLICE_NS && replay->given_ns == INT64_MAX) {
        replay->given_ns = time_ns;
    }
}

/* The task is runnable there now. */
static void enqueue(struct replay *replay, struct cpu *cpu,
                    const struct lull_bandwidth_event *event)
{
    const uint32_t before = lull_map_find(&replay->place, event->task);
    if (before != event->cpu) {
        if (before != LULL_MAP_NONE) {
            leave(replay, before, event->time_ns);
        }
        lull_map_insert(&replay->place, event->task, event->cpu);
        cpu->queued++;
    }
    if (cpu->stopped_ns ==
        INT64_MIN) { /* none has run there: what keeps it off lasts since it came */
        cpu->stopped_ns = event->time_ns;
    }
    take_slice(replay, cpu);
}

static void add_pause(struct replay *replay, uint32_t number, int64_t end_ns,
                      enum lull_bandwidth_doubt doubt)
{
    struct cpu *cpu = &replay->cpus.items[number];
    const bool has_short = cpu->short_ns != INT64_MIN;
    const int64_t counted_ns = has_short ? cpu->short_ns : cpu->stopped_ns;
    lull_vec_push(&replay->pauses->all,
                  (struct lull_bandwidth_pause){.start_ns = MAX(cpu->stopped_ns, cpu->paused_ns),
                                                .end_ns = end_ns,
                                                .counted_ns = MAX(counted_ns, cpu->paused_ns),
                                                .cpu = number,
                                                .doubt = doubt});
    cpu->paused_ns = end_ns;
    cpu->left_ns = MIN(cpu->left_ns, 1);
}

/* One that waited for long, and gets the CPU as soon as a period starts, waited for that; one that gets it within a
 * tick, as others are on the CPU, may have, as far as the kernel counted more than what is surer. */
static void start(struct replay *replay, struct cpu *cpu, const struct lull_bandwidth_event *event)
{
    const int64_t after_ns = cpu->doubted_ns != INT64_MIN ? event->time_ns - cpu->doubted_ns : 0;
    if (cpu->doubted_ns != INT64_MIN && after_ns <= TICK_NS &&
        lull_sum(cpu->doubted_ns, -cpu->stopped_ns) >= IDLE_NS) {
        add_pause(replay, event->cpu, cpu->doubted_ns,
                  after_ns <= LEAVING_NS ? LULL_BANDWIDTH_LIKELY : LULL_BANDWIDTH_MAYBE);
    }
    cpu->doubted_ns = INT64_MIN;
    enqueue(replay, cpu, event);
    cpu->is_running = true;
    cpu->is_fresh = false;
    cpu->looked_ns = cpu->started_ns = event->time_ns;
    cpu->was_out = cpu->is_out;
}

/* Nearly nothing left counts as nothing. */
static bool is_used_up(const struct replay *replay, const struct cpu *cpu)
{
    return cpu->is_out ||
           lull_sum(cpu->left_ns, replay->pool_ns) <= lull_sum(TOLERANCE_NS, replay->hidden_ns);
}

/* It is not seen how much each CPU kept, and not each switch is recorded by all kernels. */
static bool is_nearly_used_up(const struct replay *replay, const struct cpu *cpu)
{
    return lull_sum(cpu->left_ns, replay->pool_ns) <= lull_sum(SLICE_NS, replay->hidden_ns);
}

/* A task that ran for no more than it takes to leave the kernel, and did not come back: that shows it
 * even where the pool seems to have something left. What it has is the sum of much that is not seen. */
static bool is_cut_short(const struct cpu *cpu, int64_t time_ns)
{
    return cpu->short_ns != INT64_MIN && time_ns - cpu->short_ns >= IDLE_NS;
}

static void stop(struct replay *replay, struct cpu *cpu, const struct lull_bandwidth_event *event)
{
    const bool is_short = event->time_ns - cpu->started_ns < LEAVING_NS;
    const bool was_out = cpu->was_out;
    look(replay, cpu, event->time_ns);
    if (was_out && !is_short) { /* it was not: something is not as it is taken to be */
        cpu->is_out = false;
        cpu->left_ns = 0;
        take_slice(replay, cpu);
    }
    cpu->is_running = false;
    cpu->is_idle = event->is_last;
    if (!is_short) {
        cpu->stopped_ns = event->time_ns;
        cpu->short_ns = INT64_MIN;
    } else if (cpu->short_ns == INT64_MIN) {
        cpu->short_ns = event->time_ns;
    }
    if (event->step == LULL_BANDWIDTH_SLEEP) {
        lull_map_remove(&replay->place, event->task);
        leave(replay, event->cpu, event->time_ns);
    }
}

/* A scheduler does not leave a CPU idle for long while a task waits for it. */
static bool is_left_idle(const struct cpu *cpu, int64_t time_ns)
{
    return cpu->is_idle && lull_sum(time_ns, -MAX(cpu->stopped_ns, cpu->short_ns)) >= IDLE_NS;
}

/* Whether the group's tasks wait for the period that starts, or for more than they got. */
static void judge(const struct replay *replay, struct cpu *cpu, int64_t time_ns)
{
    const bool waits = !cpu->is_running && cpu->queued > 0;
    const bool is_out = is_used_up(replay, cpu), is_idle = is_left_idle(cpu, time_ns);
    cpu->pauses = waits && (is_idle || (!cpu->is_fresh && (is_out || is_cut_short(cpu, time_ns))));
    cpu->doubt = is_idle || (is_out && cpu->short_ns != INT64_MIN) ? LULL_BANDWIDTH_SURE
                 : cpu->short_ns != INT64_MIN                      ? LULL_BANDWIDTH_SHORT
                                                                   : LULL_BANDWIDTH_LIKELY;
    cpu->doubted_ns = waits && !cpu->pauses && is_nearly_used_up(replay, cpu) ? time_ns : INT64_MIN;
}

static void end_pause(struct replay *replay, uint32_t number, int64_t time_ns)
{
    struct cpu *cpu = &replay->cpus.items[number];
    if (cpu->pauses) {
        add_pause(replay, number, time_ns, cpu->doubt);
        cpu->is_fresh = true;
    }
    cpu->short_ns = INT64_MIN;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* CPUs on which the group has nothing to do are not looked at when a period starts: there may be many. */
static void keep_active(struct replay *replay)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < replay->active.count; i++) {
        const uint32_t number = replay->active.items[i];
        struct cpu *cpu = &replay->cpus.items[number];
        cpu->is_active = (cpu->queued > 0 || cpu->is_out) && cpu->quiet++ < MOST_PERIODS;
        if (cpu->is_active) {
            replay->active.items[n++] = number;
        }
    }
    replay->active.count = n;
}

static void sort_active(struct replay *replay)
{
    if (!replay->is_sorted && replay->active.count) {
        qsort(replay->active.items, replay->active.count, sizeof *replay->active.items, by_number);
    }
    replay->is_sorted = true;
}

/* CPUs that got nothing any more get what they have overdrawn, as far as the pool has it. */
static void distribute(struct replay *replay, int64_t time_ns, int64_t more_ns)
{
    sort_active(replay);
    for (uint32_t i = 0; i < replay->active.count; i++) {
        judge(replay, &replay->cpus.items[replay->active.items[i]], time_ns);
    }
    replay->pool_ns =
        MIN(lull_sum(replay->pool_ns, more_ns), MAX(replay->quota_ns, replay->pool_ns));
    replay->given_ns = INT64_MAX;
    for (uint32_t i = 0; i < replay->active.count; i++) {
        const uint32_t number = replay->active.items[i];
        struct cpu *cpu = &replay->cpus.items[number];
        if (cpu->is_out) {
            const int64_t ns = MIN(lull_sum(1, -cpu->left_ns), replay->pool_ns);
            replay->pool_ns -= ns;
            lull_add(&cpu->left_ns, ns);
            cpu->is_out = cpu->left_ns <= 0 && !cpu->is_running;
        }
        if (!cpu->is_out) {
            end_pause(replay, number, time_ns);
        }
    }
    keep_active(replay);
}

static struct cpu *cpu_at(struct replay *replay, uint32_t number)
{
    while (replay->cpus.count <= number) {
        lull_vec_push(&replay->cpus, ((struct cpu){.stopped_ns = INT64_MIN,
                                                   .short_ns = INT64_MIN,
                                                   .doubted_ns = INT64_MIN,
                                                   .paused_ns = INT64_MIN}));
    }
    return &replay->cpus.items[number];
}

/* The group does something there. */
static void activate(struct replay *replay, uint32_t number)
{
    struct cpu *cpu = &replay->cpus.items[number];
    cpu->quiet = 0;
    if (!cpu->is_active) {
        cpu->is_active = true;
        replay->is_sorted = false;
        lull_vec_push(&replay->active, number);
    }
}

static void take(struct replay *replay, const struct lull_bandwidth_event *event)
{
    struct cpu *cpu = cpu_at(replay, event->cpu);
    if (event->step == LULL_BANDWIDTH_WAKE || event->step == LULL_BANDWIDTH_START) {
        activate(replay, event->cpu);
    }
    if (replay->given_ns != INT64_MAX && event->time_ns - replay->given_ns >= LATE_NS) {
        distribute(replay, replay->given_ns + LATE_NS, 0);
    }
    switch (event->step) {
    case LULL_BANDWIDTH_WAKE:
        enqueue(replay, cpu, event);
        break;
    case LULL_BANDWIDTH_START:
        start(replay, cpu, event);
        break;
    case LULL_BANDWIDTH_STOP:
    case LULL_BANDWIDTH_SLEEP:
        stop(replay, cpu, event);
        break;
    case LULL_BANDWIDTH_TICK:
        look(replay, cpu, event->time_ns);
        break;
    case LULL_BANDWIDTH_HIDDEN:
        lull_add(&replay->hidden_ns, cpu->queued > 0 && !cpu->is_running ? event->ns : 0);
        break;
    case LULL_BANDWIDTH_REFILL:
        distribute(replay, event->time_ns, replay->quota_ns);
        replay->hidden_ns = 0;
        break;
    }
}

/* ---- what the kernel counted ---- */

static int64_t counted(const struct lull_bandwidth_pause *pause)
{
    return pause->end_ns - pause->counted_ns;
}

static int by_doubt(const void *a, const void *b)
{
    const struct lull_bandwidth_pause *x = *(struct lull_bandwidth_pause *const *)a;
    const struct lull_bandwidth_pause *y = *(struct lull_bandwidth_pause *const *)b;
    if (x->doubt != y->doubt) {
        return x->doubt > y->doubt ? -1 : 1;
    }
    return (counted(x) > counted(y)) - (counted(x) < counted(y));
}

static void drop_unsure(struct lull_bandwidth_pauses *pauses, size_t first, int64_t kernel_ns)
{
    LULL_VEC(struct lull_bandwidth_pause *) unsure = {0};
    int64_t sum_ns = 0;
    size_t kept = first;
    for (size_t i = first; i < pauses->all.count; i++) {
        struct lull_bandwidth_pause *pause = &pauses->all.items[i];
        lull_add(&sum_ns, counted(pause));
        if (pause->doubt != LULL_BANDWIDTH_SURE) {
            lull_vec_push(&unsure, pause);
        }
    }
    if (unsure.count) {
        qsort(unsure.items, unsure.count, sizeof *unsure.items, by_doubt);
    }
    for (size_t i = 0; i < unsure.count && sum_ns - kernel_ns > kernel_ns / COUNT_PART; i++) {
        const int64_t ns = counted(unsure.items[i]);
        if (ns / 2 < sum_ns - kernel_ns) { /* the sum comes nearer */
            sum_ns -= ns;
            unsure.items[i]->end_ns = INT64_MIN;
        }
    }
    for (size_t i = first; i < pauses->all.count; i++) {
        if (pauses->all.items[i].end_ns != INT64_MIN) {
            pauses->all.items[kept++] = pauses->all.items[i];
        }
    }
    pauses->all.count = kept;
    lull_vec_free(&unsure);
}

void lull_bandwidth_replay(const struct lull_bandwidth_event *events, size_t count,
                           int64_t quota_ns, int64_t kernel_ns,
                           struct lull_bandwidth_pauses *pauses)
{
    struct replay replay = {
        .pauses = pauses, .quota_ns = quota_ns, .pool_ns = quota_ns, .given_ns = INT64_MAX};
    const size_t first = pauses->all.count;
    for (size_t i = 0; i < count; i++) {
        take(&replay, &events[i]);
    }
    drop_unsure(pauses, first, kernel_ns);
    lull_vec_free(&replay.cpus);
    lull_vec_free(&replay.active);
    lull_map_free(&replay.place);
}
