/* SPDX-License-Identifier: MIT */
/* Memory of any size comes zeroed, can all be written, and goes; what grows or shrinks from any size to any
 * other keeps what is in it; the heap of a short program takes few pages; large arenas hand out pieces that do not touch one another. */
#include "base/arena.h"
#include "base/pages.h"
#include "base/vec.h"

#include <errno.h>
#include <glib.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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

/* The memory lies in one mapping of those that the kernel lists. */
static bool is_one_mapping(const void *memory, size_t size)
{
    g_autofree char *maps = NULL;
    g_assert_true(g_file_get_contents("/proc/self/maps", &maps, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(maps, "\n", -1);
    for (char **line = lines; *line; line++) {
        char *rest = NULL;
        const uint64_t start = g_ascii_strtoull(*line, &rest, 16);
        const uint64_t end = *rest == '-' ? g_ascii_strtoull(rest + 1, NULL, 16) : 0;
        if (start <= (uintptr_t)memory && (uintptr_t)memory < end) {
            return (uintptr_t)memory + size <= end;
        }
    }
    return false;
}

/* However often it grew: mremap() of Linux before 6.17 does not move what lies in two. */
static void test_one_mapping(void)
{
    const size_t first = 100000;
    size_t size = first;
    uint8_t *memory = lull_growing_resize(NULL, 0, size);
    memset(memory, 1, size);
    while (size < 20 * LULL_HUGE_PAGE) {
        const size_t more = size + size / 2;
        memory = lull_growing_resize(memory, size, more);
        memset(memory + size, 1, more - size);
        size = more;
        g_assert_true(size < (128 << 10) || is_one_mapping(memory, size));
    }
    for (size_t at = 0; at < size; at += 101) {
        g_assert_cmpuint(memory[at], ==, 1);
    }
    lull_growing_free(memory, size);
}

/* In a process of its own: from here on the system refuses to move memory. False: it cannot be made to. */
static bool forbid_moving(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {G_N_ELEMENTS(code), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Then it is copied. */
static void test_not_moved(void)
{
    if (!g_test_subprocess()) {
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        return;
    }
    if (!forbid_moving()) {
        g_test_skip("no filter of system calls can be set here");
        return;
    }
    g_assert_true(mremap(NULL, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOMEM);
    test_growing();
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

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define IS_HEAP_OF_GLIBC 1
#else
#define IS_HEAP_OF_GLIBC 0
#endif

/* The kernel counts the pages that it makes: of small ones it takes one for each block. */
static bool has_huge_pages(void)
{
    g_autofree char *text = NULL;
    return g_file_get_contents("/sys/kernel/mm/transparent_hugepage/enabled", &text, NULL, NULL) &&
           !strstr(text, "[never]");
}

static uint64_t count_in(const char *path, const char *name)
{
    g_autofree char *text = NULL;
    const char *line = g_file_get_contents(path, &text, NULL, NULL) ? strstr(text, name) : NULL;
    return line ? g_ascii_strtoull(line + strlen(name), NULL, 10) : 0;
}

static void test_heap(void)
{
    enum { BLOCKS = 300, SIZE = 8000 };
    void *blocks[BLOCKS];
    struct rusage before, after;
    const uint64_t refused = count_in("/proc/vmstat", "thp_fault_fallback ");
    if (!has_huge_pages() || !IS_HEAP_OF_GLIBC) {
        g_test_skip("this system has no huge pages, or malloc() is not glibc's");
        return;
    }
    getrusage(RUSAGE_SELF, &before);
    for (unsigned i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(SIZE);
        memset(blocks[i], 0xff, SIZE);
    }
    getrusage(RUSAGE_SELF, &after);
    for (unsigned i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
    if (count_in("/proc/vmstat", "thp_fault_fallback ") != refused) {
        g_test_skip("the system has no huge page left");
        return;
    }
    g_assert_cmpint(after.ru_minflt - before.ru_minflt, <, BLOCKS / 4);
}

int main(int argc, char **argv)
{
    lull_pages_for_heap();
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/base/pages/sizes", test_sizes);
    g_test_add_func("/base/pages/heap", test_heap);
    g_test_add_func("/base/pages/growing", test_growing);
    g_test_add_func("/base/pages/one-mapping", test_one_mapping);
    g_test_add_func("/base/pages/not-moved", test_not_moved);
    g_test_add_func("/base/vec/all", test_vector);
    g_test_add_func("/base/arena/large", test_large_arena);
    return g_test_run();
}
