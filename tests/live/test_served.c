/* SPDX-License-Identifier: MIT */
/* What a server did during a request, from waits that are written here by hand; the sums are arithmetic. */
#include <glib.h>
#include <string.h>

#include "live/served.h"

static void add_wait(struct lull_track_past *past, uint64_t since, uint64_t woken, uint64_t until,
                     uint32_t kind, uint32_t a)
{
    past->wait[past->n++ % LULL_TRACK_PAST] = (struct lull_track_past_wait){
        .since = since, .woken = woken, .until = until, .link = {.kind = kind, .a = a}};
}

static int64_t all_of(const struct lull_served *served)
{
    int64_t all = served->rest_ns + served->cpu_ns + served->ran_ns + served->unknown_ns;
    for (uint32_t i = 0; i < served->n_parts; i++) {
        all += served->part[i].ns;
    }
    return all;
}

static void test_parts(void)
{
    struct lull_track_past past = {.n = 0};
    struct lull_served served;
    add_wait(&past, 50, 60, 70, LULL_TRACK_HOP_TIMER, 0); /* before the request */
    add_wait(&past, 90, 120, 125, LULL_TRACK_HOP_PACKET,
             80); /* its last 20 are in it, and 5 for a CPU */
    add_wait(&past, 200, 300, 300, LULL_TRACK_HOP_TASK, 7);
    add_wait(&past, 310, 330, 340, LULL_TRACK_HOP_PACKET, 80);
    add_wait(&past, 400, 400, 450, LULL_TRACK_HOP_NONE, 0); /* it lost the CPU */
    add_wait(&past, 500, 560, 565, LULL_TRACK_HOP_NONE, 0); /* nobody was seen to wake it */
    lull_served_sum(&past, 100, 1000, &served);
    g_assert_cmpuint(served.n_parts, ==, 3);
    g_assert_cmpuint(served.part[0].link.a, ==, 7);
    g_assert_cmpint(served.part[0].ns, ==, 100);
    g_assert_cmpint(served.part[1].ns, ==, 60);
    g_assert_cmpuint(served.part[1].link.kind, ==, LULL_TRACK_HOP_NONE);
    g_assert_cmpint(served.part[2].ns, ==, 40);
    g_assert_cmpuint(served.part[2].link.a, ==, 80);
    g_assert_cmpint(served.cpu_ns, ==, 5 + 10 + 50 + 5);
    g_assert_cmpint(served.unknown_ns + served.rest_ns, ==, 0);
    g_assert_cmpint(served.ran_ns, ==, 900 - 200 - 70);
}

/* More causes than are shown, and more waits than are kept. */
static void test_many(void)
{
    struct lull_track_past past = {.n = 0};
    struct lull_served served;
    for (uint32_t i = 0; i < 100; i++) { /* of 10 each, from 1000 on */
        add_wait(&past, 1000 + 20 * i, 1000 + 20 * i + 10, 1000 + 20 * i + 10, LULL_TRACK_HOP_TASK,
                 1 + i % 6);
    }
    lull_served_sum(&past, 900, 3000, &served);
    g_assert_cmpint(served.unknown_ns, ==, 100 + 36 * 20);
    g_assert_cmpuint(served.n_parts, ==, LULL_SERVED_PARTS);
    g_assert_cmpint(served.part[0].ns, >=, served.part[1].ns);
    g_assert_cmpint(served.rest_ns, >, 0);
    g_assert_cmpint(all_of(&served), ==, 2100);
    g_assert_cmpint(served.ran_ns, ==, 2100 - served.unknown_ns - 640);
    lull_served_sum(&past, 2800, 3000, &served); /* all of it is kept */
    g_assert_cmpint(served.unknown_ns, ==, 0);
    g_assert_cmpint(all_of(&served), ==, 200);
}

/* Bytes at random never break the sum. */
static void test_unsound(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(11);
    for (uint32_t round = 0; round < 2000; round++) {
        struct lull_track_past past;
        struct lull_served served;
        for (size_t i = 0; i < sizeof past / sizeof(uint32_t); i++) {
            ((uint32_t *)&past)[i] = g_rand_int(rand) >> g_rand_int_range(rand, 0, 32);
        }
        for (uint32_t i = 0; i < LULL_TRACK_PAST; i++) { /* most would be too late */
            past.wait[i].since &= 0xfff;
            past.wait[i].woken &= 0xfff;
            past.wait[i].until &= 0xfff;
            past.wait[i].link.kind %= LULL_TRACK_HOP_KINDS;
        }
        lull_served_sum(&past, 100, 4000, &served);
        g_assert_cmpint(all_of(&served), ==, 3900);
        g_assert_cmpint(MIN(MIN(served.cpu_ns, served.rest_ns), served.unknown_ns), >=, 0);
        g_assert_cmpint(served.ran_ns, >=, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/live/served/parts", test_parts);
    g_test_add_func("/live/served/many", test_many);
    g_test_add_func("/live/served/unsound", test_unsound);
    return g_test_run();
}
