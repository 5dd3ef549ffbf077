/* SPDX-License-Identifier: MIT */
/* Which of the processes and guests that match belong together. A guest in a guest lies in the windows of
 * both, and machines that somebody made up may even run each other. */
#include "base/map.h"
#include "base/vec.h"
#include "clock/contain_private.h"

/* The matches of each machine, one range of `items` after the other. */
struct by_machine {
    uint32_t *starts; /* of n_hosts and one */
    uint32_t *items;
};

struct judging {
    struct contain_match *matches;
    size_t n;
    uint32_t n_hosts;
    bool *is_outer;            /* by match: another guest is between the two */
    struct by_machine runs;    /* by host */
    struct by_machine runs_in; /* by guest */
};

static uint32_t end_of(const struct contain_match *match, bool is_host)
{
    return is_host ? match->host : match->guest;
}

static struct by_machine sort(const struct judging *judging, bool is_host)
{
    struct by_machine by = {g_new0(uint32_t, judging->n_hosts + 1), g_new(uint32_t, judging->n)};
    for (size_t i = 0; i < judging->n; i++) {
        by.starts[end_of(&judging->matches[i], is_host) + 1]++;
    }
    for (uint32_t i = 0; i < judging->n_hosts; i++) {
        by.starts[i + 1] += by.starts[i];
    }
    g_autofree uint32_t *next = g_memdup2(by.starts, judging->n_hosts * sizeof *next);
    for (size_t i = 0; i < judging->n; i++) {
        by.items[next[end_of(&judging->matches[i], is_host)]++] = (uint32_t)i;
    }
    return by;
}

static void free_by(struct by_machine *by)
{
    g_free(by->starts);
    g_free(by->items);
}

static uint64_t process_and(const struct contain_match *match, uint32_t guest)
{
    return (uint64_t)match->process << 32 | guest;
}

/* The process that runs the host of a guest seems to run the guest, too. */
static void find_outer(struct judging *judging)
{
    struct lull_map runs = {0}; /* process and guest → match */
    for (size_t i = 0; i < judging->n; i++) {
        const struct contain_match *match = &judging->matches[i];
        lull_map_insert(&runs, process_and(match, match->guest), (uint32_t)i);
    }
    for (size_t i = 0; i < judging->n; i++) {
        const struct contain_match *match = &judging->matches[i];
        const uint32_t *starts = judging->runs_in.starts, end = starts[match->guest + 1];
        for (uint32_t k = starts[match->guest]; k < end && !judging->is_outer[i]; k++) {
            const struct contain_match *inner = &judging->matches[judging->runs_in.items[k]];
            judging->is_outer[i] =
                lull_map_find(&runs, process_and(match, inner->host)) != LULL_MAP_NONE;
        }
    }
    lull_map_free(&runs);
}

/* ---- machines that run each other ---- */

/* A walk from machine to machine; `next` is where it goes on at each. */
struct walk {
    uint32_t *next, *stack;
    bool *is_seen;
};

static void walk_init(struct walk *walk, const struct by_machine *by, uint32_t n_hosts)
{
    *walk = (struct walk){.next = g_memdup2(by->starts, n_hosts * sizeof *walk->next),
                          .stack = g_new(uint32_t, n_hosts),
                          .is_seen = g_new0(bool, n_hosts)};
}

static void walk_free(struct walk *walk)
{
    g_free(walk->next);
    g_free(walk->stack);
    g_free(walk->is_seen);
}

/* Goes from `start` to all that can be reached and were not seen, and calls leave() when all behind one have
 * been seen. */
static void walk_from(struct walk *walk, const struct judging *judging, const struct by_machine *by,
                      uint32_t start, void (*leave)(void *user, uint32_t machine), void *user)
{
    uint32_t depth = 0;
    walk->stack[0] = start;
    walk->is_seen[start] = true;
    for (;;) {
        const uint32_t machine = walk->stack[depth];
        if (walk->next[machine] < by->starts[machine + 1]) {
            const struct contain_match *match = &judging->matches[by->items[walk->next[machine]++]];
            const uint32_t other = end_of(match, by == &judging->runs_in);
            if (!walk->is_seen[other]) {
                walk->is_seen[other] = true;
                walk->stack[++depth] = other;
            }
            continue;
        }
        leave(user, machine);
        if (depth-- == 0) {
            return;
        }
    }
}

struct order {
    uint32_t *machines, n;
};

static void put_in_order(void *user, uint32_t machine)
{
    struct order *order = user;
    order->machines[order->n++] = machine;
}

struct naming {
    uint32_t *ring_of, ring;
};

static void name_ring(void *user, uint32_t machine)
{
    const struct naming *naming = user;
    naming->ring_of[machine] = naming->ring;
}

/* Machines that run each other, by what they recorded themselves, get the same number: somebody made that
 * up (S. R. Kosaraju's strongly connected components). */
static uint32_t *find_rings(const struct judging *judging)
{
    const uint32_t n = judging->n_hosts;
    struct order order = {g_new(uint32_t, n), 0};
    struct naming naming = {g_new(uint32_t, n), 0};
    struct walk down, up;
    walk_init(&down, &judging->runs, n);
    walk_init(&up, &judging->runs_in, n);
    for (uint32_t i = 0; i < n; i++) {
        if (!down.is_seen[i]) {
            walk_from(&down, judging, &judging->runs, i, put_in_order, &order);
        }
    }
    for (uint32_t i = n; i-- > 0; naming.ring++) {
        if (!up.is_seen[order.machines[i]]) {
            walk_from(&up, judging, &judging->runs_in, order.machines[i], name_ring, &naming);
        }
    }
    walk_free(&down);
    walk_free(&up);
    g_free(order.machines);
    return naming.ring_of;
}

/* ---- all of them ---- */

void contain_judge(struct contain_match *matches, size_t n, uint32_t n_hosts, uint32_t n_processes)
{
    g_autofree bool *is_outer = g_new0(bool, n);
    struct judging judging = {matches, n, n_hosts, is_outer, {0}, {0}};
    judging.runs = sort(&judging, true);
    judging.runs_in = sort(&judging, false);
    find_outer(&judging);
    g_autofree uint32_t *rings = find_rings(&judging);
    g_autofree uint32_t *of_guest = g_new0(uint32_t, n_hosts); /* how many matches are not outer */
    g_autofree uint32_t *of_process = g_new0(uint32_t, n_processes);
    for (size_t i = 0; i < n; i++) {
        of_guest[matches[i].guest] += !is_outer[i];
        of_process[matches[i].process] += !is_outer[i];
    }
    for (size_t i = 0; i < n; i++) {
        matches[i].is_alone = !is_outer[i] && rings[matches[i].host] != rings[matches[i].guest] &&
                              of_guest[matches[i].guest] == 1 &&
                              of_process[matches[i].process] == 1;
    }
    free_by(&judging.runs);
    free_by(&judging.runs_in);
}
