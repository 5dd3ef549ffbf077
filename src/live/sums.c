/* SPDX-License-Identifier: MIT */
/* Reads the sums of the programs in the kernel: what tasks did from their slots, in shared memory, and the
 * chains from a map that it empties. */
#include "live/bpf_tracker.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

/* What was known of a process at the end of the last interval. */
struct before {
    struct lull_track_sums sums;
    char comm[LULL_TRACK_COMM];
};

struct lull_sums {
    struct lull_bpf_tracker *tracker;
    GHashTable *before; /* pid → struct before * */
    uint64_t start_ns, n_switches;
    struct lull_track_histograms histograms; /* until the last interval */
    uint32_t *pids;                          /* room for all that have ended */
    struct lull_track_ended *ended;
};

/* A process of this interval while it is added up. */
struct now {
    struct lull_live_process process;
    struct lull_track_sums living, ended;
    struct lull_track_sums asleep; /* of `living`, those of n_asleep */
};

static uint64_t now_ns(void)
{
    return (uint64_t)g_get_monotonic_time() * 1000;
}

static void add(struct lull_track_sums *to, const struct lull_track_sums *sums)
{
    to->ran_ns += sums->ran_ns;
    to->blocked_ns += sums->blocked_ns;
    to->runnable_ns += sums->runnable_ns;
    to->unknown_ns += sums->unknown_ns;
}

static struct now *process_of(GHashTable *processes, uint32_t pid)
{
    struct now *now = g_hash_table_lookup(processes, GUINT_TO_POINTER(pid));
    if (!now) {
        now = g_new0(struct now, 1);
        now->process.pid = pid;
        g_hash_table_insert(processes, GUINT_TO_POINTER(pid), now);
    }
    return now;
}

/* ---- slots ---- */

static void add_slots(const struct lull_sums *sums, uint64_t end_ns, GHashTable *processes)
{
    const uint32_t n = lull_bpf_slot_count(sums->tracker);
    for (uint32_t i = 0; i < n; i++) {
        struct lull_track_slot slot;
        if (!lull_bpf_slot(sums->tracker, i, &slot)) {
            continue;
        }
        struct now *now = process_of(processes, slot.tgid);
        const struct lull_track_sums did = lull_sums_of_slot(&slot, end_ns);
        add(&now->living, &did);
        now->process.n_tasks++;
        if (slot.since && slot.since <= sums->start_ns && slot.state &&
            lull_slot_woken(&slot) == 0) {
            now->process.n_asleep++;
        }
    }
}

/* ---- maps ---- */

/* Empties a map; false and an error. Waits that end in the nanoseconds between the reading and the
 * deleting of their sum are lost. */
static bool drain(int map, void *keys, void *values, uint32_t *n, GError **error)
{
    LIBBPF_OPTS(bpf_map_batch_opts, options);
    uint32_t position;
    *n = LULL_TRACK_MOST_CHAINS;
    if (bpf_map_lookup_and_delete_batch(map, NULL, &position, keys, values, n, &options) == 0 ||
        errno == ENOENT) { /* that was all */
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                "live tracking: cannot read the sums of waits: %s", g_strerror(errno));
    return false;
}

static bool add_ended(struct lull_sums *sums, GHashTable *processes, GError **error)
{
    uint32_t n;
    const int map = lull_bpf_map(sums->tracker, "ended_tasks");
    if (!drain(map, sums->pids, sums->ended, &n, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct now *now = process_of(processes, sums->pids[i]);
        add(&now->ended, &sums->ended[i].sums);
        g_strlcpy(now->process.comm, sums->ended[i].comm, sizeof now->process.comm);
    }
    return true;
}

bool lull_bpf_chains(const struct lull_bpf_tracker *tracker, GArray *chains, GError **error)
{
    uint32_t n;
    /* Only what is filled ever becomes memory. */
    g_autofree struct lull_track_chain *keys =
        g_new(struct lull_track_chain, LULL_TRACK_MOST_CHAINS);
    g_autofree struct lull_track_chain_sum *values =
        g_new(struct lull_track_chain_sum, LULL_TRACK_MOST_CHAINS);
    g_array_set_size(chains, 0);
    if (!drain(lull_bpf_map(tracker, "chains"), keys, values, &n, error)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_live_chain chain = {.key = keys[i], .sum = values[i]};
        if (lull_live_chain_is_sound(&chain)) {
            g_array_append_val(chains, chain);
        }
    }
    return true;
}

/* ---- intervals ---- */

/* Never below 0: a task that ends while slots are read is counted twice, and next time subtracted. */
static int64_t difference(uint64_t living, uint64_t ended, uint64_t before)
{
    return MAX((int64_t)(living + ended - before), 0);
}

static void name_process(struct lull_live_process *process, const struct before *before)
{
    g_autofree char *text = NULL;
    char path[64];
    g_snprintf(path, sizeof path, "/proc/%u/comm", process->pid);
    if (process->n_tasks == 0) { /* the name came with the last words of its tasks */
        return;
    }
    if (before && before->comm[0] && process->ran_ns == 0) { /* it cannot have changed it */
        memcpy(process->comm, before->comm, sizeof process->comm);
    } else if (g_file_get_contents(path, &text, NULL, NULL)) {
        g_strlcpy(process->comm, g_strchomp(text), sizeof process->comm);
    }
}

static void add_process(struct lull_sums *sums, struct now *now, GHashTable *before,
                        struct lull_interval *interval)
{
    static const struct before nothing;
    const struct before *known =
        g_hash_table_lookup(sums->before, GUINT_TO_POINTER(now->process.pid));
    const struct lull_track_sums *was = known ? &known->sums : &nothing.sums;
    struct lull_live_process *process = &now->process;
    const struct lull_track_sums *living = &now->living, *ended = &now->ended;
    const int64_t asleep_ns = (int64_t)process->n_asleep * (interval->end_ns - interval->start_ns);
    process->ran_ns = difference(living->ran_ns, ended->ran_ns, was->ran_ns);
    process->blocked_ns =
        MAX(difference(living->blocked_ns, ended->blocked_ns, was->blocked_ns) - asleep_ns, 0);
    process->runnable_ns = difference(living->runnable_ns, ended->runnable_ns, was->runnable_ns);
    process->unknown_ns = difference(living->unknown_ns, ended->unknown_ns, was->unknown_ns);
    name_process(process, known);
    g_array_append_val(interval->processes, *process);
    if (process->n_tasks > 0) {
        struct before *next = g_new0(struct before, 1);
        next->sums = *living;
        memcpy(next->comm, process->comm, sizeof next->comm);
        g_hash_table_insert(before, GUINT_TO_POINTER(process->pid), next);
    }
}

static int compare_pids(const void *a, const void *b)
{
    const uint32_t left = ((const struct lull_live_process *)a)->pid;
    const uint32_t right = ((const struct lull_live_process *)b)->pid;
    return (left > right) - (left < right);
}

static void take_processes(struct lull_sums *sums, GHashTable *processes,
                           struct lull_interval *interval)
{
    GHashTableIter iter;
    void *value;
    GHashTable *before = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    g_array_set_size(interval->processes, 0);
    g_hash_table_iter_init(&iter, processes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        add_process(sums, value, before, interval);
    }
    g_hash_table_unref(sums->before);
    sums->before = before;
    g_array_sort(interval->processes, compare_pids);
}

bool lull_sums_take(struct lull_sums *sums, struct lull_interval *interval, GError **error)
{
    g_autoptr(GHashTable) processes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    const uint64_t end_ns = now_ns();
    struct lull_track_histograms since = {0};
    interval->start_ns = (int64_t)sums->start_ns;
    interval->end_ns = (int64_t)end_ns;
    lull_bpf_governed(sums->tracker)->from_ns = end_ns;
    if (!lull_bpf_chains(sums->tracker, interval->chains, error) ||
        !lull_bpf_histograms(sums->tracker, &sums->histograms, &since, error) ||
        !lull_bpf_count(sums->tracker, &interval->counts, error)) {
        return false;
    }
    memcpy(interval->histogram, since.of, sizeof interval->histogram);
    add_slots(sums, end_ns, processes);
    if (!add_ended(sums, processes, error)) {
        return false;
    }
    take_processes(sums, processes, interval);
    interval->n_switches = interval->counts.kernel.switches - sums->n_switches;
    sums->n_switches = interval->counts.kernel.switches;
    sums->start_ns = end_ns;
    return true;
}

struct lull_sums *lull_sums_new(struct lull_bpf_tracker *tracker)
{
    struct lull_sums *sums = g_new0(struct lull_sums, 1);
    sums->tracker = tracker;
    sums->before = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    sums->pids = g_new(uint32_t, LULL_TRACK_MOST_CHAINS);
    sums->ended = g_new(struct lull_track_ended, LULL_TRACK_MOST_CHAINS);
    sums->start_ns = now_ns();
    lull_bpf_governed(tracker)->from_ns = sums->start_ns;
    return sums;
}

void lull_sums_free(struct lull_sums *sums)
{
    if (sums) {
        g_hash_table_unref(sums->before);
        g_free(sums->pids);
        g_free(sums->ended);
        g_free(sums);
    }
}
