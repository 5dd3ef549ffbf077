/* SPDX-License-Identifier: MIT */
/* Memory of any size comes zeroed, can all be written, and goes; what grows or shrinks from any size to any
 * other keeps what is in it; large arenas hand out pieces that do not touch one another. */
#include "base/arena.h"
#include "base/pages.h"
#include "base/vec.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_sizes(void)
{
    static const size_t sizes[] = {
        0, 1, LULL_HUGE_PAGE - 1, LULL_HUGE_PAGE, LULL_HUGE_PAGE + 1, 3 * LULL_HUGE_PAGE - 5};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        uint8_t *pages = lull_pages_new(sizes[i]);
        g_assert_nonnull(pages);
        g_assert_true(sizes[i] < LULL_HUGE_PAGE || (uintptr_t)pages % LULL_HUGE_PAGE == 0);
        for (size_t at = 0; at < sizes[i]; at += 509) {
            g_assert_cmpuint(pages[at], ==, 0);
        }
        memset(pages, 0xff, sizes[i]);
        lull_pages_free(pages, sizes[i]);
    }
}

/* As the allocator has it, mapped, in huge pages: from each of them to each other. */
static void test_growing(void)
{
    static const size_t sizes[] = {8,
                                   100000,
                                   (128 << 10) - 1,
                                   128 << 10,
                                   (192 << 10) + 1,
                                   LULL_HUGE_PAGE - 1,
                                   LULL_HUGE_PAGE,
                                   LULL_HUGE_PAGE + 1,
                                   3 * LULL_HUGE_PAGE - 5};
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
        for (size_t k = 0; k < G_N_ELEMENTS(sizes); k++) {
            uint8_t *memory = lull_growing_resize(NULL, 0, sizes[i]);
            for (size_t at = 0; at < sizes[i]; at++) {
                memory[at] = (uint8_t)(at % 251);
            }
            memory = lull_growing_resize(memory, sizes[i], sizes[k]);
            for (size_t at = 0; at < MIN(sizes[i], sizes[k]); at++) {
                g_assert_cmpuint(memory[at], ==, at % 251);
            }
            memset(memory, 0xff, sizes[k]);
            lull_growing_free(memory, sizes[k]);
        }
    }
    lull_growing_free(NULL, 0);
}

/* Of so many memories one is resized at random at a time; each holds its mark from end to end. Several
 * threads do so, and one more forks. */
static gpointer resize_at_random(gpointer seed)
{
    enum { N = 60, STEPS = 3000 };
    struct {
        uint8_t *bytes;
        size_t size;
    } all[N] = {0};
    g_autoptr(GRand) random = g_rand_new_with_seed(GPOINTER_TO_UINT(seed));
    for (unsigned step = 0; step < STEPS; step++) {
        const unsigned i = (unsigned)g_rand_int_range(random, 0, N);
        const size_t most = g_rand_int_range(random, 0, 50) == 0 ? 3 * LULL_HUGE_PAGE : 400000;
        const size_t size = (size_t)g_rand_int_range(random, 0, (gint32)most), before = all[i].size;
        const uint8_t mark = (uint8_t)(i + GPOINTER_TO_UINT(seed) * N);
        if (g_rand_int_range(random, 0, 4) == 0) {
            lull_growing_free(all[i].bytes, before);
            all[i].bytes = NULL;
            all[i].size = 0;
            continue;
        }
        all[i].bytes = lull_growing_resize(all[i].bytes, before, size);
        for (size_t at = 0; at < MIN(before, size); at += 1021) {
            g_assert_cmpuint(all[i].bytes[at], ==, mark);
        }
        if (size > before) {
            memset(all[i].bytes + before, mark, size - before);
        }
        all[i].size = size;
    }
    for (unsigned i = 0; i < N; i++) {
        lull_growing_free(all[i].bytes, all[i].size);
    }
    return NULL;
}

static void test_pool(void)
{
    GThread *threads[3];
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++) {
        threads[i] = g_thread_new("resizes", resize_at_random, GUINT_TO_POINTER(i));
    }
    for (unsigned i = 0; i < 500; i++) {
        const pid_t child = fork();
        if (child == 0) { /* would wait for ever if the pool were in use */
            alarm(20);
            lull_growing_free(lull_growing_resize(NULL, 0, 100000), 100000);
            _exit(0);
        }
        int status = -1;
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_cmpint(status, ==, 0);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(threads); i++) {
        g_thread_join(threads[i]);
    }
}

/* A vector through all of that: trimmed on the way, and given away in the end. */
static void test_vector(void)
{
    enum { N = 1000000 };
    LULL_VEC(uint64_t) numbers = {0};
    for (uint64_t i = 0; i < N; i++) {
        lull_vec_push(&numbers, i * i);
        if (i % 100003 == 0) {
            lull_vec_trim(&numbers);
            g_assert_cmpuint(numbers.capacity, ==, i + 1);
        }
    }
    for (uint64_t i = 0; i < N; i++) {
        g_assert_cmpuint(numbers.items[i], ==, i * i);
    }
    g_autofree uint64_t *given = lull_vec_steal(&numbers);
    g_assert_null(numbers.items);
    g_assert_cmpuint(numbers.capacity, ==, 0);
    for (uint64_t i = 0; i < N; i++) {
        g_assert_cmpuint(given[i], ==, i * i);
    }
    lull_vec_free(&numbers);
}

/* 40 MB in pieces of many sizes, each filled with its number. */
static void test_large_arena(void)
{
    enum { N = 40000 };
    struct lull_arena *arena = lull_arena_new_large();
    uint32_t **pieces = g_new(uint32_t *, N);
    for (uint32_t i = 0; i < N; i++) {
        const size_t n = i == 7 ? LULL_HUGE_PAGE : 1 + i % 499;
        pieces[i] = lull_arena_alloc_n(arena, n, sizeof **pieces);
        for (size_t k = 0; k < n; k++) {
            g_assert_cmpuint(pieces[i][k], ==, 0);
            pieces[i][k] = i;
        }
    }
    for (uint32_t i = 0; i < N; i++) {
        g_assert_cmpuint(pieces[i][0], ==, i);
        g_assert_cmpuint(pieces[i][i % 499], ==, i);
    }
    g_free(pieces);
    lull_arena_free(arena);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/pages/sizes", test_sizes);
    g_test_add_func("/base/pages/growing", test_growing);
    g_test_add_func("/base/pages/pool", test_pool);
    g_test_add_func("/base/vec/all", test_vector);
    g_test_add_func("/base/arena/large", test_large_arena);
    return g_test_run();
}
