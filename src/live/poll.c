/* SPDX-License-Identifier: MIT */
/* Watches without any tracer: looks again and again at what /proc says of each task. How long a task ran and
 * waited for a CPU is exact, for the kernel counts it; in which call it waited is that in which it was
 * seen. Nobody says who ended a wait. Works for everybody. */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "live/kind.h"

/* How often it looks at tasks that are not asleep. */
#define LEAST_EVERY_NS (10 * INT64_C(1000000))
#define FIRST_EVERY_NS (20 * INT64_C(1000000))
#define MOST_EVERY_NS LULL_NS_PER_S

#define MOST_TASKS 65536

struct task {
    uint32_t tid, pid;
    struct lull_proc_state state;
    struct lull_proc_times times; /* at the last look */
    int64_t looked_ns;
    int64_t
        owed_ns; /* neither ran nor waited for a CPU, and it has not been seen asleep since; below 0 if
                        the kernel had more to count than it had counted before */
    struct lull_proc_wait wait;  /* while it is asleep */
    struct lull_track_sums sums; /* of this interval */
    bool has_moved;              /* it did not sleep through all of this interval so far */
    bool is_active;              /* nor through the last */
    uint32_t scan;               /* the last that found it */
};

/* A row, without the moment. */
struct key {
    uint32_t pid;
    int32_t call;
    uint32_t state;
    uint32_t flags; /* LULL_TRACK_IS_KERNEL */
    char comm[LULL_TRACK_COMM];
    const char *function;
};

struct poll {
    struct lull_tracker tracker;
    struct lull_tracker_question question;
    int timer;
    int64_t start_ns, every_ns;
    int64_t boot_offset_ns; /* from CLOCK_MONOTONIC to CLOCK_BOOTTIME */
    GHashTable *tasks;      /* tid → struct task * */
    GHashTable *waits;      /* struct key * → uint64_t *: nanoseconds */
    GStringChunk *functions;
    uint32_t n_scans, n_hidden;
    uint64_t n_untracked, n_ended; /* tasks without room, and those that have ended */
    struct lull_proc_machine machine;
    uint64_t pressure_us[LULL_PRESSURES];
    bool has_pressure[LULL_PRESSURES];
    int64_t cost_ns; /* of this interval */
    double overhead; /* < 0: not known */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * LULL_NS_PER_S + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return g_get_monotonic_time() * 1000;
}

/* ---- what is summed ---- */

static guint hash_key(const void *data)
{
    const struct key *key = data;
    guint hash = key->pid * 31 + (guint)key->call;
    hash = hash * 31 + key->state;
    hash = hash * 31 + g_str_hash(key->comm);
    return hash ^ g_direct_hash(key->function);
}

static gboolean same_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct key)) == 0;
}

static void add_wait(struct poll *poll, const struct task *task, uint32_t state,
                     const struct lull_proc_wait *wait, int64_t ns)
{
    struct key key;
    memset(&key, 0, sizeof key); /* also what lies between its members */
    key.pid = task->pid;
    key.call = wait ? wait->call : LULL_TRACK_NO_CALL;
    key.state = state;
    key.flags = task->state.is_kernel ? LULL_TRACK_IS_KERNEL : 0;
    memcpy(key.comm, task->state.comm, sizeof key.comm);
    if (wait && wait->function[0]) {
        key.function = g_string_chunk_insert_const(poll->functions, wait->function);
    }
    uint64_t *sum = g_hash_table_lookup(poll->waits, &key);
    if (!sum) {
        sum = g_new0(uint64_t, 1);
        g_hash_table_insert(poll->waits, g_memdup2(&key, sizeof key), sum);
    }
    *sum += (uint64_t)ns;
}

/* The bits that lull_track_state_letter() makes the letter of. */
static uint32_t state_of(char letter)
{
    switch (letter) {
    case 'S':
        return LULL_TRACK_STATE_S;
    case 'D':
        return LULL_TRACK_STATE_D;
    case 'T':
        return LULL_TRACK_STATE_T;
    case 't':
        return LULL_TRACK_STATE_TRACED;
    default:
        return LULL_TRACK_STATE_IDLE;
    }
}

static bool is_asleep(const struct task *task)
{
    return task->state.letter && !strchr("RXZ", task->state.letter);
}

/* ---- looking ---- */

static void see_asleep(struct task *task)
{
    lull_proc_read_wait(task->pid, task->tid, &task->wait);
    if (task->state.is_kernel) { /* it makes no calls */
        task->wait.call = LULL_TRACK_NO_CALL;
        task->wait.is_hidden = false;
    }
}

/* What passed since the last look, and was neither running nor waiting for a CPU, was sleep; but the kernel
 * counts time on a CPU, and the wait for one, only when it ends. So it is owed until the task is asleep:
 * then everything before is counted. */
static void settle(struct poll *poll, struct task *task)
{
    if (!is_asleep(task) || !task->has_moved) {
        return;
    }
    if (task->owed_ns > 0) {
        task->sums.blocked_ns += (uint64_t)task->owed_ns;
        add_wait(poll, task, state_of(task->state.letter), &task->wait, task->owed_ns);
    }
    task->owed_ns = 0;
}

static void add_times(struct poll *poll, struct task *task, const struct lull_proc_times *times)
{
    const int64_t now = now_ns();
    const int64_t ran_ns = MAX((int64_t)(times->ran_ns - task->times.ran_ns), 0);
    const int64_t delayed_ns = MAX((int64_t)(times->delayed_ns - task->times.delayed_ns), 0);
    task->sums.ran_ns += (uint64_t)ran_ns;
    task->sums.runnable_ns += (uint64_t)delayed_ns;
    task->owed_ns += now - task->looked_ns - ran_ns - delayed_ns;
    task->looked_ns = now;
    task->times = *times;
    if (delayed_ns > 0) {
        add_wait(poll, task, 0, NULL, delayed_ns);
    }
}

/* False: it has ended. */
static bool look(struct poll *poll, struct task *task)
{
    struct lull_proc_times times;
    if (!lull_proc_read_times(task->pid, task->tid, &times)) {
        return false;
    }
    const bool is_same = times.slices == task->times.slices && is_asleep(task);
    if (is_same) {
        add_times(poll, task, &times);
        settle(poll, task);
        return true;
    }
    task->has_moved = true;
    settle(poll, task); /* until the last look it was in the wait that it was seen in */
    add_times(poll, task, &times);
    if (!lull_proc_read_state(task->pid, task->tid, &task->state)) {
        return false;
    }
    if (is_asleep(task)) {
        see_asleep(task);
        settle(poll, task);
    }
    return true;
}

/* Between scans. */
static void look_at_active(struct poll *poll)
{
    GHashTableIter iter;
    void *value;
    g_hash_table_iter_init(&iter, poll->tasks);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct task *task = value;
        if ((task->is_active || task->has_moved) && !look(poll, task)) {
            task->is_active = task->has_moved = false; /* what it did is summed at the next scan */
        }
    }
}

/* ---- scans ---- */

/* A task that is new here; of what it did before, only the part in this interval counts. */
static struct task *meet(struct poll *poll, uint32_t pid, uint32_t tid)
{
    struct task *task = g_new0(struct task, 1);
    *task = (struct task){.pid = pid, .tid = tid};
    if (!lull_proc_read_state(pid, tid, &task->state) ||
        !lull_proc_read_times(pid, tid, &task->times)) {
        g_free(task);
        return NULL;
    }
    task->looked_ns = now_ns();
    if (poll->n_scans >
        1) { /* it was not there at the last one: all that it did lies in the interval */
        const int64_t started_ns = (int64_t)task->state.start_ns - poll->boot_offset_ns;
        task->looked_ns = CLAMP(started_ns, poll->start_ns, task->looked_ns);
        task->times = (struct lull_proc_times){0};
        task->has_moved = true;
    }
    task->has_moved |= !is_asleep(task);
    if (is_asleep(task)) {
        see_asleep(task);
    }
    g_hash_table_insert(poll->tasks, GUINT_TO_POINTER(tid), task);
    return task;
}

static void visit_task(void *user, uint32_t pid, uint32_t tid)
{
    struct poll *poll = user;
    struct task *task = g_hash_table_lookup(poll->tasks, GUINT_TO_POINTER(tid));
    struct lull_proc_times times;
    if (task && (task->pid != pid ||
                 (lull_proc_read_times(pid, tid, &times) && times.slices < task->times.slices))) {
        g_hash_table_remove(poll->tasks, GUINT_TO_POINTER(tid)); /* the number was given again */
        task = NULL;
        poll->n_ended++;
    }
    if (!task && g_hash_table_size(poll->tasks) >= MOST_TASKS) {
        poll->n_untracked++;
        return;
    }
    task = task ? task : meet(poll, pid, tid);
    if (task && look(poll, task)) {
        task->scan = poll->n_scans;
    }
}

static bool scan(struct poll *poll, GError **error)
{
    poll->boot_offset_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
    poll->n_scans++;
    if (!lull_proc_each_task(visit_task, poll)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "live tracking: cannot read /proc: %s",
                    g_strerror(errno));
        return false;
    }
    return true;
}

/* ---- intervals ---- */

static struct lull_live_process *process_of(struct lull_interval *interval, GHashTable *processes,
                                            const struct task *task)
{
    gpointer at;
    if (!g_hash_table_lookup_extended(processes, GUINT_TO_POINTER(task->pid), NULL, &at)) {
        const struct lull_live_process none = {.pid = task->pid};
        at = GUINT_TO_POINTER(interval->processes->len);
        g_array_append_val(interval->processes, none);
        g_hash_table_insert(processes, GUINT_TO_POINTER(task->pid), at);
    }
    return &g_array_index(interval->processes, struct lull_live_process, GPOINTER_TO_UINT(at));
}

static void add_task(struct poll *poll, const struct task *task, struct lull_live_process *process)
{
    const bool has_ended = task->scan != poll->n_scans;
    if (task->tid == task->pid || !process->comm[0]) {
        memcpy(process->comm, task->state.comm, sizeof process->comm);
    }
    process->n_tasks += !has_ended;
    poll->n_hidden += task->wait.is_hidden && !has_ended && task->has_moved;
    if (!has_ended && !task->has_moved) {
        process->n_asleep++;
        return;
    }
    process->ran_ns += (int64_t)task->sums.ran_ns;
    process->blocked_ns += (int64_t)task->sums.blocked_ns;
    process->runnable_ns += (int64_t)task->sums.runnable_ns;
}

static int compare_pids(const void *a, const void *b)
{
    const uint32_t left = ((const struct lull_live_process *)a)->pid;
    const uint32_t right = ((const struct lull_live_process *)b)->pid;
    return (left > right) - (left < right);
}

static void take_processes(struct poll *poll, struct lull_interval *interval)
{
    g_autoptr(GHashTable) processes = g_hash_table_new(NULL, NULL);
    GHashTableIter iter;
    void *value;
    g_array_set_size(interval->processes, 0);
    poll->n_hidden = 0;
    g_hash_table_iter_init(&iter, poll->tasks);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct task *task = value;
        add_task(poll, task, process_of(interval, processes, task));
        if (task->scan != poll->n_scans) {
            poll->n_ended++;
            g_hash_table_iter_remove(&iter);
            continue;
        }
        task->is_active = task->has_moved;
        task->has_moved = !is_asleep(task);
        task->sums = (struct lull_track_sums){0};
        if (!task->has_moved) { /* an interval that it slept through is in no row */
            task->owed_ns = 0;
        }
    }
    g_array_sort(interval->processes, compare_pids);
}

static void take_chains(struct poll *poll, struct lull_interval *interval)
{
    GHashTableIter iter;
    void *at, *value;
    g_array_set_size(interval->chains, 0);
    g_hash_table_iter_init(&iter, poll->waits);
    while (g_hash_table_iter_next(&iter, &at, &value)) {
        const struct key *key = at;
        struct lull_live_chain chain = {.function = key->function};
        chain.key.tgid = key->pid;
        chain.key.call = key->call;
        chain.key.state = key->state;
        chain.key.flags = key->flags;
        memcpy(chain.key.comm, key->comm, sizeof chain.key.comm);
        chain.sum.ns = *(const uint64_t *)value;
        g_array_append_val(interval->chains, chain);
    }
    g_hash_table_remove_all(poll->waits);
}

static void take_pressure(struct poll *poll, struct lull_interval *interval)
{
    const double took_us = (double)MAX(interval->end_ns - interval->start_ns, 1) / 1000;
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        uint64_t us = 0;
        const bool has = lull_proc_read_pressure(i, &us);
        const bool is_known = has && poll->has_pressure[i] && us >= poll->pressure_us[i];
        interval->samples.pressure[i] =
            is_known ? MIN((double)(us - poll->pressure_us[i]) / took_us, 1) : -1;
        poll->pressure_us[i] = us;
        poll->has_pressure[i] = has;
    }
}

/* ---- what it costs ---- */

static bool set_timer(struct poll *poll)
{
    const struct timespec every = {.tv_sec = poll->every_ns / LULL_NS_PER_S,
                                   .tv_nsec = poll->every_ns % LULL_NS_PER_S};
    const struct itimerspec time = {.it_interval = every, .it_value = every};
    return timerfd_settime(poll->timer, 0, &time, NULL) == 0;
}

/* Looks more seldom if it costs more than it may, and more often if there is room. */
static void adjust(struct poll *poll, int64_t took_ns)
{
    int64_t every_ns = poll->every_ns;
    poll->overhead = (double)poll->cost_ns / ((double)MAX(took_ns, 1) * g_get_num_processors());
    poll->cost_ns = 0;
    if (poll->overhead > poll->question.most_overhead) {
        every_ns *= 2;
    } else if (poll->overhead < poll->question.most_overhead / 4) {
        every_ns /= 2;
    }
    every_ns = CLAMP(every_ns, LEAST_EVERY_NS, MOST_EVERY_NS);
    if (every_ns != poll->every_ns) {
        poll->every_ns = every_ns;
        set_timer(poll);
    }
}

/* ---- the kind ---- */

static bool count(struct lull_tracker *tracker, struct lull_tracker_counts *counts, GError **error)
{
    const struct poll *poll = (const struct poll *)tracker;
    *counts = (struct lull_tracker_counts){.overhead = poll->overhead, .has_no_chains = true};
    counts->kernel.untracked = poll->n_untracked;
    return true;
}

static bool sum(struct lull_tracker *tracker, struct lull_interval *interval, GError **error)
{
    struct poll *poll = (struct poll *)tracker;
    const int64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (!scan(poll, error)) {
        return false;
    }
    struct lull_proc_machine machine;
    lull_proc_read_machine(&machine);
    interval->start_ns = poll->start_ns;
    interval->end_ns = poll->start_ns = now_ns();
    interval->n_switches = machine.switches - poll->machine.switches;
    interval->samples.busy_ns = (int64_t)(machine.busy_ns - poll->machine.busy_ns);
    poll->machine = machine;
    take_chains(poll, interval);
    take_processes(poll, interval);
    take_pressure(poll, interval);
    memset(interval->histogram, 0, sizeof interval->histogram);
    interval->samples.every_ns = poll->every_ns;
    interval->samples.n_hidden = poll->n_hidden;
    interval->samples.n_ended = poll->n_ended;
    poll->cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost_ns;
    adjust(poll, interval->end_ns - interval->start_ns);
    return count(tracker, &interval->counts, error);
}

static bool take(struct lull_tracker *tracker, GError **error)
{
    struct poll *poll = (struct poll *)tracker;
    uint64_t n;
    const int64_t cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (read(poll->timer, &n, sizeof n) == sizeof n) {
        look_at_active(poll);
        poll->cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cost_ns;
    }
    return true;
}

static int fd_of(const struct lull_tracker *tracker)
{
    return ((const struct poll *)tracker)->timer;
}

static void free_poll(struct lull_tracker *tracker)
{
    struct poll *poll = (struct poll *)tracker;
    if (poll->timer >= 0) {
        close(poll->timer);
    }
    g_hash_table_unref(poll->tasks);
    g_hash_table_unref(poll->waits);
    g_string_chunk_free(poll->functions);
    g_free(poll);
}

static bool prepare(struct poll *poll, GError **error)
{
    struct lull_proc_times times;
    poll->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (poll->timer < 0 || !set_timer(poll)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED, "live tracking: no timer: %s",
                    g_strerror(errno));
        return false;
    }
    if (!lull_proc_read_times((uint32_t)getpid(), (uint32_t)getpid(), &times)) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
            "live tracking: /proc does not say how long tasks wait for a CPU "
            "(/proc/PID/schedstat): the kernel was built without CONFIG_SCHED_INFO, "
            "or /proc is not mounted");
        return false;
    }
    poll->start_ns = now_ns();
    lull_proc_read_machine(&poll->machine);
    for (uint32_t i = 0; i < LULL_PRESSURES; i++) {
        poll->has_pressure[i] = lull_proc_read_pressure(i, &poll->pressure_us[i]);
    }
    return scan(poll, error);
}

static struct lull_tracker *start(const struct lull_tracker_question *question, GError **error)
{
    struct poll *poll = g_new0(struct poll, 1);
    poll->question = *question;
    poll->every_ns = FIRST_EVERY_NS;
    poll->overhead = -1;
    poll->tasks = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    poll->waits = g_hash_table_new_full(hash_key, same_key, g_free, g_free);
    poll->functions = g_string_chunk_new(1024);
    if (prepare(poll, error)) {
        return &poll->tracker;
    }
    free_poll(&poll->tracker);
    return NULL;
}

const struct lull_live_kind lull_live_poll = {
    .name = "poll",
    .unseen = "who ended a wait, interrupts, single waits, and tasks that live for a moment",
    .start = start,
    .fd = fd_of,
    .take = take,
    .count = count,
    .sum = sum,
    .free = free_poll,
};
