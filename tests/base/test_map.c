/* SPDX-License-Identifier: MIT */
/* The hash map against GHashTable as reference, and the growable array. */
#include <glib.h>
#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"

static void test_map_empty(void)
{
    struct lull_map map = {0};
    g_assert_cmpuint(lull_map_find(&map, 0), ==, LULL_MAP_NONE);
    g_assert_cmpuint(lull_map_remove(&map, 7), ==, LULL_MAP_NONE);
    lull_map_clear(&map);
    lull_map_free(&map);
    lull_map_free(&map);
}

static void test_map_extreme_keys(void)
{
    struct lull_map map = {0};
    g_assert_cmpuint(lull_map_insert(&map, 0, 0), ==, LULL_MAP_NONE);
    g_assert_cmpuint(lull_map_insert(&map, UINT64_MAX, UINT32_MAX - 1), ==, LULL_MAP_NONE);
    g_assert_cmpuint(lull_map_insert(&map, 0, 5), ==, 0);
    g_assert_cmpuint(map.count, ==, 2);
    g_assert_cmpuint(lull_map_find(&map, 0), ==, 5);
    g_assert_cmpuint(lull_map_find(&map, UINT64_MAX), ==, UINT32_MAX - 1);
    g_assert_cmpuint(lull_map_find(&map, 1), ==, LULL_MAP_NONE);
    lull_map_clear(&map);
    g_assert_cmpuint(lull_map_find(&map, 0), ==, LULL_MAP_NONE);
    lull_map_free(&map);
}

/* Few keys, so that inserts, replacements and removals of the same key alternate often; several
 * strides, so that keys share their low or their high bits. */
static void test_map_against_reference(void)
{
    static const uint64_t strides[] = {1, 64, 4096, UINT64_C(1) << 32, UINT64_C(1) << 52};
    for (size_t s = 0; s < G_N_ELEMENTS(strides); s++) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(4711 + (guint32)s);
        g_autoptr(GHashTable) reference =
            g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        struct lull_map map = {0};
        for (uint32_t i = 0; i < 40000; i++) {
            uint64_t key = strides[s] * (uint64_t)g_rand_int_range(rand, 0, 700);
            uint32_t got, want = LULL_MAP_NONE;
            gpointer stored;
            if (g_hash_table_lookup_extended(reference, &key, NULL, &stored)) {
                want = GPOINTER_TO_UINT(stored);
            }
            switch (g_rand_int_range(rand, 0, 5)) {
            case 0:
            case 1:
                got = lull_map_insert(&map, key, i);
                g_hash_table_replace(reference, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(i));
                break;
            case 2:
            case 3:
                got = lull_map_remove(&map, key);
                g_hash_table_remove(reference, &key);
                break;
            default:
                got = lull_map_find(&map, key);
                break;
            }
            g_assert_cmpuint(got, ==, want);
            g_assert_cmpuint(map.count, ==, g_hash_table_size(reference));
        }
        for (uint64_t k = 0; k < 700; k++) {
            uint64_t key = strides[s] * k;
            gpointer stored;
            bool has = g_hash_table_lookup_extended(reference, &key, NULL, &stored);
            g_assert_cmpuint(lull_map_find(&map, key), ==,
                             has ? GPOINTER_TO_UINT(stored) : LULL_MAP_NONE);
        }
        lull_map_free(&map);
    }
}

/* Keys that pass through in great number must not make the map grow. */
static void test_map_does_not_grow_with_churn(void)
{
    struct lull_map map = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        lull_map_insert(&map, i, i);
        if (i >= 8) {
            g_assert_cmpuint(lull_map_remove(&map, i - 8), ==, i - 8);
        }
    }
    g_assert_cmpuint(map.count, ==, 8);
    g_assert_cmpuint(map.capacity, <=, 16);
    lull_map_free(&map);
}

struct pair {
    int64_t a;
    uint32_t b;
};

static void test_vec(void)
{
    LULL_VEC(struct pair) vec = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        lull_vec_push(&vec, (struct pair){.a = -(int64_t)i, .b = i});
    }
    g_assert_cmpuint(vec.count, ==, 100000);
    g_assert_cmpuint(vec.capacity, <, 200001);
    for (uint32_t i = 0; i < vec.count; i++) {
        g_assert_cmpint(vec.items[i].a, ==, -(int64_t)i);
        g_assert_cmpuint(vec.items[i].b, ==, i);
    }
    /* pushing an item of the array itself while it grows */
    while (vec.count < vec.capacity) {
        lull_vec_push(&vec, vec.items[1]);
    }
    lull_vec_push(&vec, vec.items[1]);
    g_assert_cmpint(vec.items[vec.count - 1].a, ==, -1);
    g_assert_cmpuint(lull_vec_pop(&vec).b, ==, 1);
    lull_vec_reserve(&vec, 1000000);
    struct pair *before = vec.items;
    for (uint32_t i = 0; i < 1000000; i++) {
        lull_vec_add(&vec)->b = i;
    }
    g_assert_true(vec.items == before);
    g_assert_cmpuint(vec.items[vec.count - 1].b, ==, 999999);
    lull_vec_free(&vec);
    g_assert_null(vec.items);
    g_assert_cmpuint(vec.count + vec.capacity, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/map/empty", test_map_empty);
    g_test_add_func("/map/extreme-keys", test_map_extreme_keys);
    g_test_add_func("/map/against-reference", test_map_against_reference);
    g_test_add_func("/map/does-not-grow-with-churn", test_map_does_not_grow_with_churn);
    g_test_add_func("/vec/push-pop-reserve", test_vec);
    return g_test_run();
}
