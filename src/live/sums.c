/* SPDX-License-Identifier: MIT */
/* Makes intervals of what a tracker sums: what tasks did from their slots, and of tasks that have ended. */
#include <string.h>

#include "live/kind.h"

/* What was known of a process at the end of the last interval. */
struct before {
    struct lull_track_sums sums;
    char comm[LULL_TRACK_COMM];
};

struct lull_sums {
    struct lull_tracker *tracker;
    GHashTable *before; /* pid → struct before * */
    GArray *next;       /* uint32_t by slot: 1 + another slot of its process; 0: none */
    GHashTable *ended;  /* pid → struct lull_track_ended *, of this interval so far */
    int64_t gathered_us;
    uint64_t n_unended; /* without room there */
    uint64_t start_ns, n_switches;
    struct lull_track_histograms histograms; /* until the last interval */
};

/* A process of this interval while it is added up. */
struct now {
    struct lull_live_process process;
    struct lull_track_sums living, ended;
    uint32_t slots; /* 1 + one of its slots; 0: none */
};

/* Processes while their tasks are read. */
struct reading {
    GHashTable *processes; /* pid → struct now * */
    GPtrArray *changed;    /* those of which tasks have ended since they were read; borrowed */
};

/* How often a process is read again of which tasks ended meanwhile: until none did, or it is given up. */
#define READINGS 32
/* The tracker has room for some thousand processes that end: of a long interval they are fetched so often. */
#define GATHER_US (G_USEC_PER_SEC / 5)
#define MOST_ENDED (1u << 18)

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

static void add_task(const struct lull_sums *sums, const struct lull_track_slot *slot,
                     uint64_t end_ns, struct now *now)
{
    const struct lull_track_sums did = lull_sums_of_slot(slot, end_ns);
    add(&now->living, &did);
    now->process.n_tasks++;
    if (slot->since && slot->since <= sums->start_ns && slot->state && lull_slot_woken(slot) == 0) {
        now->process.n_asleep++;
    }
}

static void add_slots(const struct lull_sums *sums, uint64_t end_ns, GHashTable *processes)
{
    const struct lull_live_slots *slots = sums->tracker->kind->slots;
    const uint32_t n = slots->count(sums->tracker);
    g_array_set_size(sums->next, n);
    for (uint32_t i = 0; i < n; i++) {
        struct lull_track_slot slot;
        if (slots->get(sums->tracker, i, &slot)) {
            struct now *now = process_of(processes, slot.tgid);
            add_task(sums, &slot, end_ns, now);
            g_array_index(sums->next, uint32_t, i) = now->slots;
            now->slots = i + 1;
        }
    }
}

/* Only what was known of it: what it has started since is next time's. */
static void read_again(const struct lull_sums *sums, uint64_t end_ns, struct now *now)
{
    now->living = (struct lull_track_sums){0};
    now->process.n_tasks = now->process.n_asleep = 0;
    for (uint32_t i = now->slots; i; i = g_array_index(sums->next, uint32_t, i - 1)) {
        struct lull_track_slot slot;
        if (sums->tracker->kind->slots->get(sums->tracker, i - 1, &slot) &&
            slot.tgid == now->process.pid) {
            add_task(sums, &slot, end_ns, now);
        }
    }
}

/* ---- tasks that have ended ---- */

static void add_ended(void *user, uint32_t pid, const struct lull_track_ended *ended)
{
    const struct reading *reading = user;
    struct now *now = process_of(reading->processes, pid);
    add(&now->ended, &ended->sums);
    g_strlcpy(now->process.comm, ended->comm, sizeof now->process.comm);
    g_ptr_array_add(reading->changed, now);
}

static void gather(void *user, uint32_t pid, const struct lull_track_ended *ended)
{
    struct lull_sums *sums = user;
    struct lull_track_ended *of = g_hash_table_lookup(sums->ended, GUINT_TO_POINTER(pid));
    if (!of && g_hash_table_size(sums->ended) >= MOST_ENDED) {
        sums->n_unended++;
        return;
    }
    if (!of) {
        of = g_new0(struct lull_track_ended, 1);
        g_hash_table_insert(sums->ended, GUINT_TO_POINTER(pid), of);
    }
    add(&of->sums, &ended->sums);
    memcpy(of->comm, ended->comm, sizeof of->comm);
}

void lull_sums_gather(struct lull_sums *sums)
{
    const int64_t now_us = g_get_monotonic_time();
    if (now_us - sums->gathered_us >= GATHER_US) {
        sums->gathered_us = now_us;
        sums->tracker->kind->slots->ended(sums->tracker, gather, sums, NULL);
    }
}

static void add_gathered(const struct lull_sums *sums, struct reading *reading)
{
    GHashTableIter iter;
    void *pid, *ended;
    g_hash_table_iter_init(&iter, sums->ended);
    while (g_hash_table_iter_next(&iter, &pid, &ended)) {
        add_ended(reading, GPOINTER_TO_UINT(pid), ended);
    }
    g_hash_table_remove_all(sums->ended);
}

/* Each task once, among those that live or those that ended, although they go on and end meanwhile. */
static bool read_tasks(const struct lull_sums *sums, uint64_t end_ns, GHashTable *processes,
                       GError **error)
{
    g_autoptr(GPtrArray) changed = g_ptr_array_new();
    struct reading reading = {processes, changed};
    const struct lull_live_slots *slots = sums->tracker->kind->slots;
    add_gathered(sums, &reading);
    if (!slots->ended(sums->tracker, add_ended, &reading, error)) {
        return false;
    }
    add_slots(sums, end_ns, processes);
    for (int i = 0; i < READINGS; i++) {
        g_ptr_array_set_size(changed, 0);
        if (!slots->ended(sums->tracker, add_ended, &reading, error)) {
            return false;
        }
        if (changed->len == 0) {
            break;
        }
        for (uint32_t k = 0; k < changed->len; k++) {
            read_again(sums, end_ns, changed->pdata[k]);
        }
    }
    return true;
}

/* ---- intervals ---- */

/* Never below 0: a task whose slot and last words could not be told apart. */
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
    } else if (before && !process->comm[0]) { /* it has ended just now */
        memcpy(process->comm, before->comm, sizeof process->comm);
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
    const struct lull_live_kind *kind = sums->tracker->kind;
    const uint64_t end_ns = kind->slots->turn(sums->tracker);
    struct lull_track_histograms since = {0};
    interval->start_ns = (int64_t)sums->start_ns;
    interval->end_ns = (int64_t)end_ns;
    /* Tasks first: they go on, and what they do until they are read counts to this interval. */
    if (!read_tasks(sums, end_ns, processes, error) ||
        !kind->chains(sums->tracker, interval->chains, error) ||
        !lull_tracker_histograms(sums->tracker, &sums->histograms, &since, error) ||
        !kind->count(sums->tracker, &interval->counts, error)) {
        return false;
    }
    memcpy(interval->histogram, since.of, sizeof interval->histogram);
    interval->counts.kernel.unended += sums->n_unended;
    sums->gathered_us = g_get_monotonic_time();
    take_processes(sums, processes, interval);
    interval->n_switches = interval->counts.kernel.switches - sums->n_switches;
    sums->n_switches = interval->counts.kernel.switches;
    sums->start_ns = end_ns;
    return true;
}

/* What tasks did until now is in no interval, and no wait that has ended; if that cannot be read, it is said next time. */
static void begin(struct lull_sums *sums)
{
    const struct lull_live_kind *kind = sums->tracker->kind;
    struct lull_tracker_counts counts = {0};
    struct lull_track_histograms since;
    g_autoptr(GArray) chains = g_array_new(FALSE, TRUE, sizeof(struct lull_live_chain));
    kind->chains(sums->tracker, chains, NULL);
    lull_tracker_histograms(sums->tracker, &sums->histograms, &since, NULL);
    if (kind->count(sums->tracker, &counts, NULL)) {
        sums->n_switches = counts.kernel.switches;
    }
    g_autoptr(GHashTable) processes = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    GHashTableIter iter;
    void *value;
    read_tasks(sums, sums->start_ns, processes, NULL);
    g_hash_table_iter_init(&iter, processes);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const struct now *now = value;
        struct before *before = g_new0(struct before, 1);
        before->sums = now->living;
        g_hash_table_insert(sums->before, GUINT_TO_POINTER(now->process.pid), before);
    }
}

struct lull_sums *lull_sums_new(struct lull_tracker *tracker)
{
    struct lull_sums *sums = g_new0(struct lull_sums, 1);
    sums->tracker = tracker;
    sums->before = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    sums->next = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    sums->ended = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    sums->gathered_us = g_get_monotonic_time();
    sums->start_ns = tracker->kind->slots->turn(tracker);
    begin(sums);
    return sums;
}

void lull_sums_free(struct lull_sums *sums)
{
    if (sums) {
        g_hash_table_unref(sums->before);
        g_array_unref(sums->next);
        g_hash_table_unref(sums->ended);
        g_free(sums);
    }
}
