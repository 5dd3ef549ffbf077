/* SPDX-License-Identifier: MIT */
/* The latest turns of each CPU. A wait for a CPU looks back over those that it saw. */
#include "analysis/turns.h"

#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "base/vec.h"

/* So many turns are kept of a CPU, at least; so many tasks are summed up of those that a wait saw. */
enum { MOST_TURNS = 1024, MOST_TASKS = 16 };

struct turn {
    int64_t start_ns;
    uint32_t task; /* LULL_NONE: idle, or not known */
};

struct cpu_turns {
    LULL_VEC(struct turn) list;
    bool is_idle; /* known to be */
};

/* From then on some CPU of the host was idle, or none. */
struct idle_change {
    int64_t time_ns;
    int64_t idle_ns; /* for how long some was idle before */
    bool is_idle;
};

struct host_turns {
    LULL_VEC(struct idle_change) changes;
    uint32_t n_idle; /* CPUs */
};

struct lull_turns {
    LULL_VEC(struct cpu_turns) cpus;
    LULL_VEC(struct host_turns) hosts;
    struct lull_map by_cpu;  /* host, cpu → cpus */
    struct lull_map by_host; /* → hosts */
};

struct lull_turns *lull_turns_new(void)
{
    return g_new0(struct lull_turns, 1);
}

void lull_turns_free(struct lull_turns *turns)
{
    for (size_t i = 0; i < turns->cpus.count; i++) {
        lull_vec_free(&turns->cpus.items[i].list);
    }
    for (size_t i = 0; i < turns->hosts.count; i++) {
        lull_vec_free(&turns->hosts.items[i].changes);
    }
    lull_vec_free(&turns->cpus);
    lull_vec_free(&turns->hosts);
    lull_map_free(&turns->by_cpu);
    lull_map_free(&turns->by_host);
    g_free(turns);
}

static uint64_t cpu_key(uint32_t host, int32_t cpu)
{
    return (uint64_t)host << 32 | (uint32_t)cpu;
}

static struct cpu_turns *turns_of(struct lull_turns *turns, uint32_t host, int32_t cpu)
{
    uint32_t number = lull_map_find(&turns->by_cpu, cpu_key(host, cpu));
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)turns->cpus.count;
        memset(lull_vec_add(&turns->cpus), 0, sizeof *turns->cpus.items);
        lull_map_insert(&turns->by_cpu, cpu_key(host, cpu), number);
    }
    return &turns->cpus.items[number];
}

/* For how long some CPU was idle, from the first change that is kept to time_ns. */
static int64_t idle_until(const struct host_turns *host, int64_t time_ns)
{
    const size_t n = host->changes.count;
    const size_t after = LULL_LOWER_BOUND(i, n, host->changes.items[i].time_ns <= time_ns);
    if (after == 0) {
        return n ? host->changes.items[0].idle_ns : 0;
    }
    const struct idle_change *change = &host->changes.items[after - 1];
    return change->idle_ns + (change->is_idle ? time_ns - change->time_ns : 0);
}

static struct host_turns *host_of(struct lull_turns *turns, uint32_t host)
{
    uint32_t number = lull_map_find(&turns->by_host, host);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)turns->hosts.count;
        memset(lull_vec_add(&turns->hosts), 0, sizeof *turns->hosts.items);
        lull_map_insert(&turns->by_host, host, number);
    }
    return &turns->hosts.items[number];
}

/* unseen: it left idleness, nobody knows when: then it was not idle, as far as it was the only one. */
static void set_idle(struct lull_turns *turns, uint32_t number, struct cpu_turns *cpu, bool is_idle,
                     bool unseen, int64_t time_ns)
{
    if (cpu->is_idle == is_idle) {
        return;
    }
    struct host_turns *host = host_of(turns, number);
    const uint32_t before = host->n_idle;
    cpu->is_idle = is_idle;
    host->n_idle += is_idle ? 1 : UINT32_MAX;
    if ((before > 0) == (host->n_idle > 0)) {
        return;
    }
    if (unseen && !is_idle) {
        host->changes.count--; /* since when some was idle */
        return;
    }
    if (host->changes.count == 2 * MOST_TURNS) {
        memmove(host->changes.items, host->changes.items + MOST_TURNS,
                MOST_TURNS * sizeof *host->changes.items);
        host->changes.count = MOST_TURNS;
    }
    /* A loss may be reported late. */
    const size_t n = host->changes.count;
    const int64_t at_ns = n ? MAX(time_ns, host->changes.items[n - 1].time_ns) : time_ns;
    lull_vec_push(&host->changes, (struct idle_change){at_ns, idle_until(host, at_ns), is_idle});
}

void lull_turns_switched(struct lull_turns *turns, const struct lull_switch_fact *fact)
{
    struct cpu_turns *cpu = turns_of(turns, fact->host, fact->cpu);
    set_idle(turns, fact->host, cpu, fact->task == LULL_NONE && !fact->is_unknown,
             fact->unknown_ns > 0, fact->time_ns);
    if (cpu->list.count == 2 * MOST_TURNS) {
        memmove(cpu->list.items, cpu->list.items + MOST_TURNS,
                MOST_TURNS * sizeof *cpu->list.items);
        cpu->list.count = MOST_TURNS;
    }
    lull_vec_push(&cpu->list, (struct turn){fact->time_ns, fact->task});
}

/* Adds to the sum of a task. If there are too many, one that had the CPU longer takes the place of the least. */
static void add(struct lull_kept sums[static MOST_TASKS], uint32_t *n, uint32_t task, int64_t ns)
{
    uint32_t i = 0, least = 0;
    for (; i < *n && sums[i].task != task; i++) {
        least = sums[i].ns < sums[least].ns ? i : least;
    }
    if (i < *n) {
        sums[i].ns += ns;
    } else if (i < MOST_TASKS) {
        sums[(*n)++] = (struct lull_kept){ns, task};
    } else if (ns > sums[least].ns) {
        sums[least] = (struct lull_kept){ns, task};
    }
}

int64_t lull_turns_free_ns(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                           int64_t start_ns, int64_t end_ns)
{
    const uint32_t number = lull_map_find(&turns->by_cpu, cpu_key(host, cpu));
    if (number == LULL_MAP_NONE) {
        return end_ns - start_ns;
    }
    const struct turn *list = turns->cpus.items[number].list.items;
    const uint32_t count = (uint32_t)turns->cpus.items[number].list.count;
    int64_t free_ns = end_ns - start_ns, next_ns = end_ns;
    for (uint32_t i = count; i > 0 && next_ns > start_ns; i--) {
        const int64_t from_ns = CLAMP(list[i - 1].start_ns, start_ns, next_ns);
        free_ns -= list[i - 1].task == LULL_NONE ? 0 : next_ns - from_ns;
        next_ns = from_ns;
    }
    return free_ns;
}

int64_t lull_turns_idle_elsewhere_ns(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                                     int64_t start_ns, int64_t end_ns)
{
    const uint32_t number = lull_map_find(&turns->by_host, host);
    if (number == LULL_MAP_NONE || start_ns >= end_ns) {
        return 0;
    }
    const struct host_turns *of = &turns->hosts.items[number];
    const int64_t idle_ns = idle_until(of, end_ns) - idle_until(of, start_ns);
    return MAX(idle_ns - lull_turns_free_ns(turns, host, cpu, start_ns, end_ns), 0);
}

struct lull_kept lull_turns_longest(const struct lull_turns *turns, uint32_t host, int32_t cpu,
                                    uint32_t task, int64_t start_ns, int64_t end_ns)
{
    struct lull_kept sums[MOST_TASKS], longest = {0, LULL_NONE};
    uint32_t n = 0;
    const uint32_t number = lull_map_find(&turns->by_cpu, cpu_key(host, cpu));
    if (number == LULL_MAP_NONE) {
        return longest;
    }
    const struct turn *list = turns->cpus.items[number].list.items;
    const uint32_t count = (uint32_t)turns->cpus.items[number].list.count;
    const uint32_t after = LULL_LOWER_BOUND(i, count, list[i].start_ns <= start_ns);
    for (uint32_t i = after > 0 ? after - 1 : 0; i < count && list[i].start_ns < end_ns; i++) {
        const int64_t until_ns = i + 1 < count ? MIN(list[i + 1].start_ns, end_ns) : end_ns;
        const int64_t ns = until_ns - MAX(list[i].start_ns, start_ns);
        if (list[i].task != LULL_NONE && list[i].task != task && ns > 0) {
            add(sums, &n, list[i].task, ns);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        longest = sums[i].ns > longest.ns ? sums[i] : longest;
    }
    return longest;
}
