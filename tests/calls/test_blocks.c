/* SPDX-License-Identifier: MIT */
/* Blocks of memory by address, against a hash table of GLib. */
#include "calls/blocks.h"

#include <glib.h>

static gpointer key_of(uint64_t address)
{
    return GSIZE_TO_POINTER((gsize)address);
}

/* As many programs do: what was freed last is allocated next; and addresses with little difference. */
static void test_random(void)
{
    struct lull_blocks blocks = {0}, copies = {0};
    g_autoptr(GHashTable) peer = g_hash_table_new(NULL, NULL);
    g_autoptr(GRand) chance = g_rand_new_with_seed(1);
    uint64_t bytes = 0;
    for (int i = 0; i < 200000; i++) {
        const uint64_t address = (uint64_t)g_rand_int_range(chance, 1, 5000)
                                 << g_rand_int_range(chance, 4, 6);
        struct lull_block block;
        const gsize size = GPOINTER_TO_SIZE(g_hash_table_lookup(peer, key_of(address)));
        g_assert_true(lull_blocks_take(&blocks, address, &block) == (size != 0));
        if (size) {
            g_assert_cmpuint(block.address, ==, address);
            g_assert_cmpuint(block.bytes, ==, size);
            g_assert_cmpuint(block.path, ==, size % 77);
            g_hash_table_remove(peer, key_of(address));
            bytes -= size;
        } else {
            const uint32_t more = (uint32_t)g_rand_int_range(chance, 1, 1 << 30);
            g_assert_true(lull_blocks_add(
                &blocks,
                (struct lull_block){.address = address, .bytes = more, .path = more % 77}));
            g_hash_table_insert(peer, key_of(address), GSIZE_TO_POINTER(more));
            bytes += more;
        }
        g_assert_cmpuint(blocks.n_live, ==, g_hash_table_size(peer));
    }
    g_assert_cmpuint(lull_blocks_bytes(&blocks), ==, bytes);
    lull_blocks_copy(&copies, &blocks, 5);
    g_assert_cmpuint(copies.n_live, ==, blocks.n_live);
    g_assert_cmpuint(lull_blocks_bytes(&copies), ==, bytes);
    GHashTableIter iter;
    gpointer address;
    g_hash_table_iter_init(&iter, peer);
    while (g_hash_table_iter_next(&iter, &address, NULL)) {
        struct lull_block block;
        g_assert_true(lull_blocks_take(&copies, GPOINTER_TO_SIZE(address), &block));
        g_assert_cmpuint(block.path, ==, 5);
    }
    g_assert_cmpuint(copies.n_live, ==, 0);
    lull_blocks_free(&blocks);
    lull_blocks_free(&copies);
}

/* What a block costs, when as many live as fit, and when that has just doubled. */
static void test_memory(void)
{
    struct lull_blocks blocks = {0};
    for (uint64_t i = 1; i <= 1 << 16; i++) {
        g_assert_true(
            lull_blocks_add(&blocks, (struct lull_block){.address = 16 * i, .bytes = 16}));
        if (i >= 64) {
            const size_t bytes =
                blocks.capacity * sizeof *blocks.items + blocks.n_heads * sizeof *blocks.heads;
            g_assert_cmpuint(bytes, <=, 64 * i);
        }
    }
    const size_t capacity = blocks.capacity;
    struct lull_block block;
    for (uint64_t i = 1; i < 1 << 16; i++) {
        g_assert_true(lull_blocks_take(&blocks, 16 * i, &block));
        g_assert_true(
            lull_blocks_add(&blocks, (struct lull_block){.address = 3 + 16 * i, .bytes = 1}));
    }
    g_assert_cmpuint(blocks.capacity, ==, capacity);
    g_assert_false(lull_blocks_take(&blocks, 16, &block));
    lull_blocks_free(&blocks);
    g_assert_false(lull_blocks_take(&blocks, 16, &block));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/blocks/random", test_random);
    g_test_add_func("/blocks/memory", test_memory);
    return g_test_run();
}
