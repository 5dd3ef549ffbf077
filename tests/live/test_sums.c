/* SPDX-License-Identifier: MIT */
/* Sums of processes on a machine that is made here, on which tasks end and start while they are read: each nanosecond
 * that a task ran is in one interval, and in no other. */
#include <string.h>

#include "live/kind.h"

#define TASKS 64
#define SLOTS 96
#define PROCESSES 8

struct machine {
    struct lull_tracker tracker;
    GRand *random;
    struct lull_track_slot slots[SLOTS];
    struct lull_track_ended ended[PROCESSES];
    bool has_ended[PROCESSES];
    uint32_t most_ended; /* processes that there is room for; 0: for all */
    uint64_t n_unended, switches;
    uint32_t busy; /* of 100 slots that are read, tasks end, start or run meanwhile */
    uint64_t now, ran[PROCESSES];
};

static struct machine *machine_of(const struct lull_tracker *tracker)
{
    return (struct machine *)tracker;
}

static bool holds_tasks(uint32_t pid)
{
    return pid < PROCESSES;
}

static uint32_t count_slots(const struct lull_tracker *tracker)
{
    (void)tracker;
    return SLOTS;
}

static void end_task(struct machine *machine, struct lull_track_slot *slot)
{
    struct lull_track_ended *of = &machine->ended[slot->tgid];
    uint32_t n_ended = 0;
    for (uint32_t pid = 0; holds_tasks(pid); pid++) {
        n_ended += machine->has_ended[pid];
    }
    if (machine->most_ended && n_ended >= machine->most_ended && !machine->has_ended[slot->tgid]) {
        machine->n_unended++;
        *slot = (struct lull_track_slot){0};
        return;
    }
    of->sums.ran_ns += slot->sums.ran_ns;
    machine->has_ended[slot->tgid] = true;
    *slot = (struct lull_track_slot){0};
}

/* A task ends, or one starts in a free slot, or one has run some more. */
static void go_on(struct machine *machine)
{
    struct lull_track_slot *slot = &machine->slots[g_rand_int_range(machine->random, 0, SLOTS)];
    if (slot->tid == 0) {
        slot->tid = (uint32_t)g_rand_int_range(machine->random, 1, 1 << 15);
        slot->tgid = (uint32_t)g_rand_int_range(machine->random, 0, PROCESSES);
        slot->start_time = 1;
    } else if (g_rand_int_range(machine->random, 0, 3) == 0) {
        end_task(machine, slot);
    } else {
        const uint64_t ns = (uint64_t)g_rand_int_range(machine->random, 1, 1000);
        slot->sums.ran_ns += ns;
        machine->ran[slot->tgid] += ns;
    }
}

static bool get_slot(const struct lull_tracker *tracker, uint32_t i, struct lull_track_slot *slot)
{
    struct machine *machine = machine_of(tracker);
    *slot = machine->slots[i];
    if ((uint32_t)g_rand_int_range(machine->random, 0, 100) < machine->busy) {
        go_on(machine);
    }
    return slot->tid != 0;
}

static uint64_t turn(struct lull_tracker *tracker)
{
    return machine_of(tracker)->now += 1000;
}

static bool take_ended(struct lull_tracker *tracker,
                       void (*add)(void *user, uint32_t pid, const struct lull_track_ended *ended),
                       void *user, GError **error)
{
    struct machine *machine = machine_of(tracker);
    (void)error;
    for (uint32_t pid = 0; holds_tasks(pid); pid++) {
        if (machine->has_ended[pid]) {
            add(user, pid, &machine->ended[pid]);
        }
    }
    memset(machine->ended, 0, sizeof machine->ended);
    memset(machine->has_ended, 0, sizeof machine->has_ended);
    return true;
}

static bool no_chains(const struct lull_tracker *tracker, GArray *chains, GError **error)
{
    (void)tracker, (void)chains, (void)error;
    return true;
}

static bool no_histograms(const struct lull_tracker *tracker, struct lull_track_histograms *all,
                          GError **error)
{
    (void)tracker, (void)all, (void)error;
    return true;
}

static bool no_counts(struct lull_tracker *tracker, struct lull_tracker_counts *counts,
                      GError **error)
{
    const struct machine *machine = machine_of(tracker);
    (void)error;
    *counts = (struct lull_tracker_counts){
        .kernel = {.switches = machine->switches, .unended = machine->n_unended}};
    return true;
}

static const struct lull_live_slots slots = {
    .count = count_slots, .get = get_slot, .turn = turn, .ended = take_ended};
static const struct lull_live_kind kind = {.name = "made here",
                                           .has_alarms = true,
                                           .count = no_counts,
                                           .histograms = no_histograms,
                                           .chains = no_chains,
                                           .slots = &slots};

/* What intervals said of each process, and how many tasks live at the end. */
static uint32_t sum_up(struct machine *machine, struct lull_sums *sums, int n_intervals,
                       int64_t ran[PROCESSES])
{
    struct lull_interval interval;
    uint32_t n_tasks = 0;
    lull_interval_init(&interval);
    for (int i = 0; i < n_intervals; i++) {
        if (i == n_intervals - 1) {
            machine->busy = 0; /* the last one is of a machine that stands still */
        }
        for (int k = 0; machine->busy && k < TASKS; k++) {
            go_on(machine);
        }
        g_assert_true(lull_sums_take(sums, &interval, NULL));
        n_tasks = 0;
        for (uint32_t p = 0; p < interval.processes->len; p++) {
            const struct lull_live_process *process =
                &g_array_index(interval.processes, struct lull_live_process, p);
            g_assert_true(holds_tasks(process->pid));
            ran[process->pid] += process->ran_ns;
            n_tasks += process->n_tasks;
        }
    }
    lull_interval_clear(&interval);
    return n_tasks;
}

static void test_each_once(void)
{
    for (uint32_t seed = 0; seed < 200; seed++) {
        struct machine machine = {.tracker = {.kind = &kind},
                                  .random = g_rand_new_with_seed(seed),
                                  .busy = seed % 5 * 5,
                                  .now = 1000};
        int64_t ran[PROCESSES] = {0};
        uint32_t n_living = 0;
        for (int i = 0; i < SLOTS; i++) {
            go_on(&machine);
        }
        const uint32_t busy = machine.busy;
        machine.busy = 0; /* what came before the start is counted here as it is there */
        struct lull_sums *sums = lull_sums_new(&machine.tracker);
        memset(machine.ran, 0, sizeof machine.ran);
        machine.busy = busy;
        const uint32_t n_tasks = sum_up(&machine, sums, 20, ran);
        for (uint32_t i = 0; i < SLOTS; i++) {
            n_living += machine.slots[i].tid != 0;
        }
        for (uint32_t pid = 0; holds_tasks(pid); pid++) {
            g_assert_cmpint(ran[pid], ==, (int64_t)machine.ran[pid]);
        }
        g_assert_cmpuint(n_tasks, ==, n_living);
        lull_sums_free(sums);
        g_rand_free(machine.random);
    }
}

/* Where tasks end each time that a process is read, it is given up. */
static void test_ends(void)
{
    struct machine machine = {
        .tracker = {.kind = &kind}, .random = g_rand_new_with_seed(1), .busy = 100};
    int64_t ran[PROCESSES] = {0};
    struct lull_sums *sums = lull_sums_new(&machine.tracker);
    sum_up(&machine, sums, 50, ran);
    lull_sums_free(sums);
    g_rand_free(machine.random);
}

/* Of an interval in which more end than there is room for at a time: they are fetched meanwhile, or counted. */
static void test_room(void)
{
    struct machine machine = {.tracker = {.kind = &kind},
                              .random = g_rand_new_with_seed(1),
                              .most_ended = 2,
                              .switches = 1000};
    struct lull_interval interval;
    struct lull_sums *sums = lull_sums_new(&machine.tracker);
    lull_interval_init(&interval);
    machine.switches += 7;
    for (uint32_t pid = 1; holds_tasks(pid); pid++) {
        struct lull_track_slot slot = {
            .tid = pid, .tgid = pid, .start_time = 1, .sums = {.ran_ns = 1000 + pid}};
        if (pid % 2 && pid < 5) {
            g_usleep(250000);
            lull_sums_gather(sums);
        }
        end_task(&machine, &slot);
    }
    g_assert_true(lull_sums_take(sums, &interval, NULL));
    g_assert_cmpuint(interval.processes->len, ==, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const struct lull_live_process *process =
            &g_array_index(interval.processes, struct lull_live_process, i);
        g_assert_cmpuint(process->pid, ==, 1 + i);
        g_assert_cmpint(process->ran_ns, ==, 1001 + i);
    }
    g_assert_cmpuint(interval.counts.kernel.unended, ==, 3);
    g_assert_cmpuint(interval.n_switches, ==, 7); /* those before the start are in no interval */
    lull_interval_clear(&interval);
    lull_sums_free(sums);
    g_rand_free(machine.random);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sums/each-task-once", test_each_once);
    g_test_add_func("/sums/ends", test_ends);
    g_test_add_func("/sums/room", test_room);
    return g_test_run();
}
