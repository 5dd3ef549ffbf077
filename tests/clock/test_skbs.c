/* SPDX-License-Identifier: MIT */
/* The table of sent packets by buffer: what still waits is kept however many there are, what was
 * received or is too old is dropped when the table would grow, the oldest go when there are too
 * many. */
#include "clock/skbs.h"

#include <glib.h>

enum { MANY = 10000, MOST = 1 << 19 };

static struct lull_skb waiting(uint32_t id)
{
    return (struct lull_skb){.skb = 4096 + 64 * (uint64_t)id,
                             .host = id % 3,
                             .id = id,
                             .time_ns = id,
                             .is_waiting = true};
}

static const struct lull_skb *find(const struct lull_skbs *skbs, uint32_t id)
{
    return lull_skbs_find(skbs, waiting(id).host, waiting(id).skb);
}

static void test_all_wait(void)
{
    struct lull_skbs skbs = {0};
    for (uint32_t id = 0; id < MANY; id++) {
        const struct lull_skb entry = waiting(id);
        lull_skbs_put(&skbs, &entry, 0);
    }
    for (uint32_t id = 0; id < MANY; id++) {
        g_assert_nonnull(find(&skbs, id));
        g_assert_cmpuint(find(&skbs, id)->id, ==, id);
        g_assert_null(lull_skbs_find(&skbs, (id + 1) % 3, waiting(id).skb));
    }
    lull_skbs_clear(&skbs);
}

/* One in ten waits for ever, the others are received at once, or are older than the horizon. */
static void test_few_wait(void)
{
    for (int by_age = 0; by_age < 2; by_age++) {
        struct lull_skbs skbs = {0};
        for (uint32_t id = 0; id < MANY; id++) {
            struct lull_skb entry = waiting(id);
            if (id % 10 > 0) {
                entry.is_waiting = by_age;
                entry.time_ns = -1;
            }
            lull_skbs_put(&skbs, &entry, 0);
        }
        for (uint32_t id = 0; id < MANY; id += 10) {
            g_assert_nonnull(find(&skbs, id));
        }
        g_assert_cmpuint(skbs.n_slots, <=, MANY); /* a tenth, and those since it was built anew */
        lull_skbs_clear(&skbs);
    }
}

/* Half full of what is too old, but for the first, the table is built anew and holds nothing of it,
 * wherever it lay. */
static void test_all_too_old(void)
{
    for (uint32_t round = 0; round < 16; round++) {
        struct lull_skbs skbs = {0};
        const uint32_t first = round * MANY;
        uint32_t id = first, n_slots;
        do {
            struct lull_skb entry = waiting(id++);
            entry.time_ns = entry.id == first ? INT64_MAX : 0;
            lull_skbs_put(&skbs, &entry, 0);
            n_slots = skbs.n_slots;
        } while (skbs.used * 2 < n_slots);
        struct lull_skb late = waiting(id);
        late.time_ns = INT64_MAX;
        lull_skbs_put(&skbs, &late, INT64_MAX);
        g_assert_cmpuint(skbs.used, ==, 2);
        g_assert_nonnull(find(&skbs, first));
        g_assert_nonnull(find(&skbs, id));
        g_assert_null(find(&skbs, id - 1));
        lull_skbs_clear(&skbs);
    }
}

/* A buffer is used again: the later packet is the one in it. */
static void test_again(void)
{
    struct lull_skbs skbs = {0};
    struct lull_skb entry = waiting(1);
    lull_skbs_put(&skbs, &entry, 0);
    entry.id = 2;
    lull_skbs_put(&skbs, &entry, 0);
    g_assert_cmpuint(find(&skbs, 1)->id, ==, 2);
    g_assert_cmpuint(skbs.used, ==, 1);
    entry.skb = 0; /* no buffer */
    lull_skbs_put(&skbs, &entry, 0);
    g_assert_null(lull_skbs_find(&skbs, entry.host, 0));
    g_assert_cmpuint(skbs.used, ==, 1);
    lull_skbs_clear(&skbs);
}

static void test_too_many(void)
{
    struct lull_skbs skbs = {0};
    for (uint32_t id = 0; id < 3 * MOST; id++) {
        const struct lull_skb entry = waiting(id);
        lull_skbs_put(&skbs, &entry, 0);
    }
    g_assert_null(find(&skbs, 0));
    g_assert_nonnull(find(&skbs, 3 * MOST - 1));
    g_assert_nonnull(find(&skbs, 3 * MOST - MOST / 2));
    g_assert_cmpuint(skbs.n_slots, <=, 8 * MOST);
    lull_skbs_clear(&skbs);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/skbs/all-wait", test_all_wait);
    g_test_add_func("/clock/skbs/few-wait", test_few_wait);
    g_test_add_func("/clock/skbs/all-too-old", test_all_too_old);
    g_test_add_func("/clock/skbs/again", test_again);
    g_test_add_func("/clock/skbs/too-many", test_too_many);
    return g_test_run();
}
