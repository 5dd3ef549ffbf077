/* SPDX-License-Identifier: MIT */
/* Queues of waiting packets: in order however they are filled, and which entries go when there are
 * too many. */
#include "clock/pending.h"

#include <glib.h>

static void insert(struct lull_pending_queue *queue, int64_t first, uint32_t id, int64_t time_ns)
{
    const struct lull_pending entry = {
        .time_ns = time_ns, .first = first, .bytes = 1, .id = id, .rest = LULL_PENDING_BYTES};

    lull_pending_insert(queue, &entry);
}

static void expect_ids(const struct lull_pending_queue *queue, const uint32_t *ids, uint32_t count)
{
    g_assert_cmpuint(queue->count, ==, count);
    for (uint32_t i = 0; i < count; i++) {
        g_assert_cmpuint(lull_pending_at(queue, i)->id, ==, ids[i]);
    }
}

/* By number, equal ones in order of arrival; removals at the front, in the middle and at the end. */
static void test_order(void)
{
    static const uint32_t all[] = {1, 4, 3, 5, 0, 2}, left[] = {4, 5, 0};
    struct lull_pending_queue queue = {0};

    insert(&queue, 30, 0, 0);
    insert(&queue, 10, 1, 0);
    insert(&queue, 40, 2, 0);
    insert(&queue, 20, 3, 0);
    insert(&queue, 10, 4, 0);
    insert(&queue, 20, 5, 0);
    expect_ids(&queue, all, G_N_ELEMENTS(all));
    g_assert_cmpuint(lull_pending_find(&queue, 20, LULL_PENDING_BYTES), ==, 2);
    g_assert_cmpuint(lull_pending_find(&queue, 21, 0), ==, 4);
    g_assert_cmpuint(lull_pending_find(&queue, 41, 0), ==, 6);
    lull_pending_remove(&queue, 5);
    lull_pending_remove(&queue, 2);
    lull_pending_remove(&queue, 0);
    expect_ids(&queue, left, G_N_ELEMENTS(left));
    lull_pending_clear(&queue);
}

static void test_expire(void)
{
    static const uint32_t left[] = {2, 1};
    struct lull_pending_queue queue = {0};

    insert(&queue, 3, 0, 99);
    insert(&queue, 2, 1, 100);
    insert(&queue, 1, 2, 101);
    lull_pending_expire(&queue, 100);
    expect_ids(&queue, left, G_N_ELEMENTS(left));
    lull_pending_clear(&queue);
}

/* What came last stays: half, as far as ids are even. The newest is never among those that go. */
static void test_older_half(void)
{
    static const struct {
        uint32_t ids[8], left[8], n_left;
    } cases[] = {
        {{13, 17, 10, 12, 16, 11, 15, 14}, {17, 16, 15, 14}, 4},
        {{50, 10, 51, 11, 52, 12, 53, 13}, {50, 51, 52, 53}, 4},
        {{1, 2, 3, 4, 5, 6, 7, 1000}, {1000}, 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        struct lull_pending_queue queue = {0};

        for (uint32_t k = 0; k < 8; k++) {
            insert(&queue, k, cases[i].ids[k], 0);
        }
        lull_pending_drop_older_half(&queue);
        expect_ids(&queue, cases[i].left, cases[i].n_left);
        lull_pending_clear(&queue);
    }
}

/* Half of an even number goes, from everywhere. */
static void test_thin(void)
{
    static const uint32_t twice[] = {3, 7};
    struct lull_pending_queue queue = {0};

    for (uint32_t i = 0; i < 8; i++) {
        insert(&queue, i, i, 0);
    }
    lull_pending_thin(&queue);
    g_assert_cmpuint(queue.count, ==, 4);
    lull_pending_thin(&queue);
    expect_ids(&queue, twice, G_N_ELEMENTS(twice));
    lull_pending_thin(&queue);
    g_assert_cmpuint(queue.count, ==, 1);
    lull_pending_clear(&queue);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/clock/pending/order", test_order);
    g_test_add_func("/clock/pending/expire", test_expire);
    g_test_add_func("/clock/pending/older-half", test_older_half);
    g_test_add_func("/clock/pending/thin", test_thin);
    return g_test_run();
}
