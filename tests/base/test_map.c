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

/* How far keys lie behind where they would be in an empty map, on average. */
static double displacement(const struct lull_map *map, size_t n, uint64_t (*key_of)(size_t i))
{
    struct lull_map empty = {0};
    size_t sum = 0;
    lull_map_insert(&empty, 0, 0);
    while (empty.capacity < map->capacity) {
        lull_map_insert(&empty, empty.count, 0);
    }
    lull_map_clear(&empty);
    empty.seed = map->seed;
    for (size_t i = 0; i < n; i++) {
        size_t home = 0, slot = 0;
        lull_map_insert(&empty, key_of(i), 0);
        while (empty.slots[home].value == LULL_MAP_NONE) {
            home++;
        }
        lull_map_remove(&empty, key_of(i));
        while (map->slots[slot].value != i) {
            slot++;
        }
        sum += (slot - home) & (map->capacity - 1);
    }
    lull_map_free(&empty);
    return (double)sum / (double)n;
}

static uint64_t key_tid(size_t i)
{
    return 300 + i + (i % 3) * 1024;
}

static uint64_t key_of_host(size_t i)
{
    return (uint64_t)i << 32 | 1;
}

static uint64_t key_address(size_t i)
{
    return UINT64_C(0xffff888000000000) + i * 256;
}

static uint64_t key_high(size_t i)
{
    return (uint64_t)i << 54;
}

/* Keys of traces follow each other. With random places, successful probes of a table of that load go
 * (1 / (1 - 5/8) - 1) / 2 = 0.83 slots too far (Knuth, The Art of Computer Programming 6.4); with
 * 160 keys few tables have a mean above 3. */
static void test_map_spreads_rows_of_keys(void)
{
    enum { KEYS = 160, MAPS = 100 };
    uint64_t (*const rows[])(size_t i) = {key_tid, key_of_host, key_address, key_high};
    for (size_t r = 0; r < G_N_ELEMENTS(rows); r++) {
        double sum = 0;
        for (int m = 0; m < MAPS; m++) {
            struct lull_map map = {0};
            for (uint32_t i = 0; i < KEYS; i++) {
                lull_map_insert(&map, rows[r](i), i);
            }
            g_assert_cmpuint(map.capacity, ==, 256);
            const double mean = displacement(&map, KEYS, rows[r]);
            g_test_message("row %zu, map %d: %.2f", r, m, mean);
            g_assert_cmpfloat(mean, <, 6);
            sum += mean;
            lull_map_free(&map);
        }
        g_assert_cmpfloat(sum / MAPS, <, 1.2);
    }
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
    g_test_add_func("/map/spreads-rows-of-keys", test_map_spreads_rows_of_keys);
    g_test_add_func("/vec/push-pop-reserve", test_vec);
    return g_test_run();
}
