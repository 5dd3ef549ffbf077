/* SPDX-License-Identifier: MIT */
/* Entering a program is measured where it is cheap to come by an event that nobody else looks at: a timer is stopped
 * that does not run. A byte goes through a pipe each time, for a program that is entered again and again, with
 * nothing between, costs less than those of switches do. */
#include "live/bpf_cost.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

/* The kernel counts for so long, so often. */
#define COUNT_NS (100 * INT64_C(1000000))
#define EVERY_NS (10 * LULL_NS_PER_S)
/* How often tasks are switched is looked at so often. */
#define RATE_NS (LULL_NS_PER_S / 4)

/* Of batches the shortest counts: what else runs on the machine only ever adds. */
enum { ROUNDS = 3, BATCHES = 100, BATCH = 8 };

/* What entering takes beyond the reading of the clock, as measured on an AMD EPYC. */
#define USUAL_NS 20
#define MOST_ENTER_NS 500

struct totals {
    uint64_t run_ns, runs, missed;
};

struct lull_bpf_cost {
    double enter_ns; /* of one run, beyond what the kernel counts; may be negative */
    int stats;       /* open while the kernel counts */
    int64_t since_ns, next_ns;
    struct totals before;
    double share; /* that was counted last; negative: none yet */
    struct {
        int64_t at_ns;
        uint64_t switches;
        double now,
            counted; /* a second: lately, and when the cost was counted last; 0: not known */
    } rate;
    uint32_t n;
    int fd[];
};

/* To the nanosecond, as g_get_monotonic_time() is not. */
static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * LULL_NS_PER_S + now.tv_nsec;
}

struct lull_bpf_cost *lull_bpf_cost_new(const int *fds, uint32_t n)
{
    struct lull_bpf_cost *cost = g_malloc0(sizeof *cost + n * sizeof *cost->fd);
    cost->enter_ns = USUAL_NS;
    cost->stats = -1;
    cost->share = -1;
    cost->n = n;
    memcpy(cost->fd, fds, n * sizeof *fds);
    return cost;
}

static void stop_counting(struct lull_bpf_cost *cost)
{
    if (cost->stats >= 0) {
        close(cost->stats);
    }
    cost->stats = -1;
}

void lull_bpf_cost_free(struct lull_bpf_cost *cost)
{
    if (cost) {
        stop_counting(cost);
        g_free(cost);
    }
}

/* ---- calibration ---- */

/* Where a byte goes by, and an event happens; ns of the shortest batch. */
static int64_t time_batches(const int ends[2])
{
    int64_t least_ns = INT64_MAX;
    for (int i = 0; i < BATCHES; i++) {
        const int64_t start_ns = clock_ns();
        for (int j = 0; j < BATCH; j++) {
            const struct itimerval none = {.it_value = {0}};
            char byte = 0;
            if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) {
                return INT64_MAX;
            }
            setitimer(ITIMER_VIRTUAL, &none, NULL);
        }
        least_ns = MIN(least_ns, clock_ns() - start_ns);
    }
    return least_ns;
}

static struct totals ask_program(int fd)
{
    struct bpf_prog_info info = {0};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0) {
        return (struct totals){0};
    }
    return (struct totals){info.run_time_ns, info.run_cnt, info.recursion_misses};
}

/* What the kernel counts of a program that does nothing: ns of one run; negative: not known. */
static double count_empty(int fd, const int ends[2])
{
    const struct totals before = ask_program(fd);
    const int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
    if (stats < 0) {
        return -1;
    }
    time_batches(ends);
    close(stats);
    const struct totals after = ask_program(fd);
    return after.runs > before.runs
               ? (double)(after.run_ns - before.run_ns) / (double)(after.runs - before.runs)
               : -1;
}

void lull_bpf_cost_calibrate(struct lull_bpf_cost *cost, const struct bpf_program *empty)
{
    struct itimerval timer;
    int64_t without_ns = INT64_MAX, with_ns = INT64_MAX;
    double counted_ns = -1;
    int ends[2];
    if (getitimer(ITIMER_VIRTUAL, &timer) != 0 || timer.it_value.tv_sec || timer.it_value.tv_usec ||
        pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return;
    }
    for (int i = 0; i < ROUNDS; i++) {
        without_ns = MIN(without_ns, time_batches(ends));
        struct bpf_link *link = bpf_program__attach((struct bpf_program *)empty);
        if (!link) {
            break;
        }
        with_ns = MIN(with_ns, time_batches(ends));
        counted_ns = i == 0 ? count_empty(bpf_program__fd(empty), ends) : counted_ns;
        bpf_link__destroy(link);
    }
    close(ends[0]);
    close(ends[1]);
    if (counted_ns >= 0 && with_ns < INT64_MAX && without_ns < INT64_MAX) {
        const double enter_ns = (double)(with_ns - without_ns) / BATCH;
        cost->enter_ns = CLAMP(enter_ns, 0, MOST_ENTER_NS) - MIN(counted_ns, MOST_ENTER_NS);
    }
}

/* ---- counting ---- */

static struct totals ask_programs(const struct lull_bpf_cost *cost)
{
    struct totals all = {0};
    for (uint32_t i = 0; i < cost->n; i++) {
        const struct totals one = ask_program(cost->fd[i]);
        all.run_ns += one.run_ns;
        all.runs += one.runs;
        all.missed += one.missed;
    }
    return all;
}

bool lull_bpf_cost_look(struct lull_bpf_cost *cost, int64_t now_ns, double *share)
{
    if (cost->stats < 0) {
        if (now_ns >= cost->next_ns) {
            cost->next_ns = now_ns + EVERY_NS;
            cost->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
            cost->since_ns = clock_ns();
            cost->before = ask_programs(cost);
        }
        return false;
    }
    if (now_ns - cost->since_ns < COUNT_NS) {
        return false;
    }
    const struct totals now = ask_programs(cost);
    stop_counting(cost);
    const double ns = (double)(now.run_ns - cost->before.run_ns) +
                      cost->enter_ns * (double)(now.runs - cost->before.runs);
    *share = MAX(ns, 0) / ((double)(now_ns - cost->since_ns) * g_get_num_processors());
    cost->share = *share;
    cost->rate.counted = cost->rate.now;
    return true;
}

/* Also where counting starts and ends, so that the rate of just that time is known. */
bool lull_bpf_cost_is_due(const struct lull_bpf_cost *cost, int64_t now_ns)
{
    return cost->stats >= 0 ? now_ns - cost->since_ns >= COUNT_NS
                            : now_ns >= cost->next_ns || now_ns - cost->rate.at_ns >= RATE_NS;
}

void lull_bpf_cost_expect(struct lull_bpf_cost *cost, int64_t now_ns, uint64_t switches,
                          double most_share)
{
    const double s = (double)MAX(now_ns - cost->rate.at_ns, 1) / (double)LULL_NS_PER_S;
    cost->rate.now = cost->rate.at_ns ? (double)(switches - cost->rate.switches) / s : 0;
    cost->rate.at_ns = now_ns;
    cost->rate.switches = switches;
    if (cost->stats < 0 && cost->rate.counted > 0 &&
        cost->share * cost->rate.now > most_share * cost->rate.counted) {
        lull_bpf_cost_hurry(cost);
    }
}

void lull_bpf_cost_hurry(struct lull_bpf_cost *cost)
{
    cost->next_ns = 0;
}

uint64_t lull_bpf_cost_missed(const struct lull_bpf_cost *cost)
{
    return ask_programs(cost).missed;
}
