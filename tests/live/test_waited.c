/* SPDX-License-Identifier: MIT */
/* Sums of who waited for what, against a generator that knows what it gave to whom. */
#include <string.h>

#include "live/waited.h"

#define MS UINT64_C(1000000)

static void add_chain(struct lull_interval *interval, const char *comm, uint32_t end_kind,
                      uint64_t ns)
{
    struct lull_live_chain chain = {.key = {.tgid = 7, .call = 0, .state = LULL_TRACK_STATE_S},
                                    .sum = {.ns = ns, .waits = 1, .longest_ns = ns}};
    g_strlcpy(chain.key.comm, comm, sizeof chain.key.comm);
    chain.key.link[0].kind = LULL_TRACK_HOP_TASK;
    g_strlcpy(chain.key.link[0].comm, "between", sizeof chain.key.link[0].comm);
    chain.key.link[1].kind = end_kind;
    g_array_append_val(interval->chains, chain);
}

/* Its count; -1 if it is not named. */
static int64_t ns_of(const struct lull_waited *waited, const char *comm, enum lull_live_end end)
{
    const struct lull_waited_sums *sums = lull_waited_sums(waited);
    int64_t ns = -1;
    for (uint64_t i = 0; i < sums->n; i++) {
        if (strcmp(sums->named[i].comm, comm) == 0 && sums->named[i].end == end) {
            g_assert_cmpint(ns, ==, -1); /* it is there once */
            ns = (int64_t)sums->named[i].ns;
        }
    }
    return ns;
}

static uint64_t all_of(const struct lull_waited *waited)
{
    const struct lull_waited_sums *sums = lull_waited_sums(waited);
    uint64_t all = sums->other_ns;
    for (uint64_t i = 0; i < sums->n; i++) {
        all += sums->named[i].ns;
    }
    return all;
}

/* Two ends of one program are two pairs; a timer of its own is none, nor is a thread of the kernel's without work. */
static void test_pairs(void)
{
    struct lull_waited *waited = lull_waited_new();
    struct lull_interval interval;
    lull_interval_init(&interval);
    add_chain(&interval, "web", LULL_TRACK_HOP_DISK, 30 * MS);
    add_chain(&interval, "web", LULL_TRACK_HOP_PACKET, 5 * MS);
    add_chain(&interval, "web", LULL_TRACK_HOP_DISK, 1 * MS);
    add_chain(&interval, "cron", LULL_TRACK_HOP_NONE, 900 * MS);
    add_chain(&interval, "kworker/0:1", LULL_TRACK_HOP_DISK, 900 * MS);
    g_array_index(interval.chains, struct lull_live_chain, 4).key.flags = LULL_TRACK_IS_KERNEL;
    struct lull_live_chain *own = &g_array_index(interval.chains, struct lull_live_chain, 3);
    own->key.link[0].kind = LULL_TRACK_HOP_TIMER;
    lull_waited_add(waited, &interval);
    lull_waited_add(waited, &interval);
    g_assert_cmpint(ns_of(waited, "web", LULL_LIVE_END_DISK), ==, 62 * MS);
    g_assert_cmpint(ns_of(waited, "web", LULL_LIVE_END_NETWORK), ==, 10 * MS);
    g_assert_cmpuint(lull_waited_sums(waited)->n, ==, 2);
    g_assert_cmpuint(lull_waited_sums(waited)->other_ns, ==, 0);
    lull_interval_clear(&interval);
    lull_waited_free(waited);
}

/* Two hundred programs at random, of which another sixty wait much at each time: nothing is lost, no count
 * falls while its pair is named, and who waits most is named. */
static void test_most(void)
{
    struct lull_waited *waited = lull_waited_new();
    g_autoptr(GRand) rand = g_rand_new_with_seed(5);
    uint64_t given = 0, other = 0;
    int64_t before[200];
    memset(before, -1, sizeof before);
    for (uint32_t round = 0; round < 400; round++) {
        struct lull_interval interval;
        const uint32_t heavy = round / 100 * 40;
        lull_interval_init(&interval);
        for (uint32_t i = 0; i < 200; i++) {
            char comm[LULL_TRACK_COMM];
            const bool is_heavy = i >= heavy && i < heavy + 40;
            const uint64_t ns =
                (uint64_t)g_rand_int_range(rand, 1, 1000000) * (is_heavy ? 100000 : 1);
            g_snprintf(comm, sizeof comm, "p%u", i);
            add_chain(&interval, comm, LULL_TRACK_HOP_DISK, ns);
            given += ns;
        }
        lull_waited_add(waited, &interval);
        lull_interval_clear(&interval);
        g_assert_cmpuint(all_of(waited), ==, given);
        g_assert_cmpuint(lull_waited_sums(waited)->other_ns, >=, other);
        other = lull_waited_sums(waited)->other_ns;
        g_assert_cmpuint(lull_waited_sums(waited)->n, ==, LULL_WAITED_NAMED);
        for (uint32_t i = 0; i < 200; i++) {
            char comm[LULL_TRACK_COMM];
            g_snprintf(comm, sizeof comm, "p%u", i);
            const int64_t ns = ns_of(waited, comm, LULL_LIVE_END_DISK);
            g_assert_true(ns == -1 || before[i] == -1 || ns >= before[i]);
            before[i] = ns;
            if (round % 100 == 99 && i >= heavy && i < heavy + 40) {
                g_assert_cmpint(ns, >, 0);
            }
        }
    }
    lull_waited_free(waited);
}

/* More names than anybody has room for are counted together. */
static void test_flood(void)
{
    struct lull_waited *waited = lull_waited_new();
    struct lull_interval interval;
    lull_interval_init(&interval);
    for (uint32_t i = 0; i < 10000; i++) {
        char comm[LULL_TRACK_COMM];
        g_snprintf(comm, sizeof comm, "x%u", i);
        add_chain(&interval, comm, LULL_TRACK_HOP_DISK, MS);
    }
    lull_waited_add(waited, &interval);
    g_assert_cmpuint(all_of(waited), ==, 10000 * MS);
    g_assert_cmpuint(lull_waited_sums(waited)->other_ns, ==, (10000 - LULL_WAITED_NAMED) * MS);
    lull_interval_clear(&interval);
    lull_waited_free(waited);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/waited/pairs", test_pairs);
    g_test_add_func("/live/waited/most", test_most);
    g_test_add_func("/live/waited/flood", test_flood);
    return g_test_run();
}
