/* SPDX-License-Identifier: MIT */
/* Which matches of processes and guests are believed: by hand, and of made-up ones as a search that follows its definition
 * step by step says. Many of them must not take the square of the time. */
#include <glib.h>
#include <string.h>

#include "clock/contain_private.h"

enum { HOSTS = 7, PROCESSES = 9, MOST = 16 };

/* Host 0 runs guest 1 in process 0, and that runs guest 2 in its process 1, which therefore lies in the windows of
 * process 0, too. Hosts 3 and 4 claim to run each other; guest 5 seems to run in two processes; 6 in one. */
static void test_by_hand(void)
{
    struct contain_match matches[] = {
        {.process = 0, .host = 0, .guest = 1}, {.process = 0, .host = 0, .guest = 2},
        {.process = 1, .host = 1, .guest = 2}, {.process = 2, .host = 3, .guest = 4},
        {.process = 3, .host = 4, .guest = 3}, {.process = 4, .host = 0, .guest = 5},
        {.process = 5, .host = 0, .guest = 5}, {.process = 6, .host = 0, .guest = 6},
    };
    static const bool expected[] = {true, false, true, false, false, false, false, true};
    contain_judge(matches, G_N_ELEMENTS(matches), HOSTS, PROCESSES);
    for (size_t i = 0; i < G_N_ELEMENTS(matches); i++) {
        g_assert_cmpint(matches[i].is_alone, ==, expected[i]);
    }
}

static bool runs(const struct contain_match *matches, size_t n, uint32_t process, uint32_t guest)
{
    for (size_t i = 0; i < n; i++) {
        if (matches[i].process == process && matches[i].guest == guest) {
            return true;
        }
    }
    return false;
}

static bool is_outer(const struct contain_match *matches, size_t n, const struct contain_match *one)
{
    for (size_t i = 0; i < n; i++) {
        if (matches[i].guest == one->guest && runs(matches, n, one->process, matches[i].host)) {
            return true;
        }
    }
    return false;
}

static bool is_reached(const struct contain_match *matches, size_t n, uint32_t from, uint32_t to)
{
    bool is_seen[HOSTS] = {false};
    is_seen[from] = true;
    for (uint32_t round = 0; round < HOSTS; round++) {
        for (size_t i = 0; i < n; i++) {
            is_seen[matches[i].guest] |= is_seen[matches[i].host];
        }
    }
    return is_seen[to];
}

static bool is_alone(const struct contain_match *matches, size_t n, const struct contain_match *one)
{
    if (is_outer(matches, n, one) || is_reached(matches, n, one->guest, one->host)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (&matches[i] != one && !is_outer(matches, n, &matches[i]) &&
            (matches[i].process == one->process || matches[i].guest == one->guest)) {
            return false;
        }
    }
    return true;
}

static void test_random(void)
{
    GRand *random = g_rand_new_with_seed(16);
    uint32_t n_alone = 0;
    for (int round = 0; round < 20000; round++) {
        struct contain_match matches[MOST];
        uint32_t host_of[PROCESSES];
        size_t n = 0;
        for (uint32_t process = 0; process < PROCESSES; process++) {
            host_of[process] = (uint32_t)g_rand_int_range(random, 0, HOSTS);
        }
        for (int32_t more = g_rand_int_range(random, 0, MOST); more > 0; more--) {
            const uint32_t process = (uint32_t)g_rand_int_range(random, 0, PROCESSES);
            const uint32_t guest = (uint32_t)g_rand_int_range(random, 0, HOSTS);
            if (guest != host_of[process] && !runs(matches, n, process, guest)) {
                matches[n++] = (struct contain_match){process, host_of[process], guest, false};
            }
        }
        contain_judge(matches, n, HOSTS, PROCESSES);
        for (size_t i = 0; i < n; i++) {
            g_assert_cmpint(matches[i].is_alone, ==, is_alone(matches, n, &matches[i]));
            n_alone += matches[i].is_alone;
        }
    }
    g_assert_cmpuint(n_alone, >, 1000);
    g_rand_free(random);
}

/* A chain in which each machine runs the next. Looking for rings from each would take 10^10 steps. */
static void test_chain(void)
{
    enum { LENGTH = 100000 };
    g_autofree struct contain_match *matches = g_new0(struct contain_match, LENGTH);
    for (uint32_t i = 0; i < LENGTH; i++) {
        matches[i] = (struct contain_match){.process = i, .host = i, .guest = i + 1};
    }
    contain_judge(matches, LENGTH, LENGTH + 1, LENGTH);
    for (uint32_t i = 0; i < LENGTH; i++) {
        g_assert_true(matches[i].is_alone);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contain/by-hand", test_by_hand);
    g_test_add_func("/contain/random", test_random);
    g_test_add_func("/contain/chain", test_chain);
    return g_test_run();
}
