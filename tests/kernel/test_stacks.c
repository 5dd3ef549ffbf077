/* SPDX-License-Identifier: MIT */
/* Call chains: addresses become places in what was mapped where; worked out by hand. */
#include <glib.h>
#include <string.h>

#include "kernel/stacks.h"

#define KERNEL_MARK ((uint64_t)-128)
#define USER_MARK ((uint64_t)-512)
#define KERNEL UINT64_C(0xffffffff81000000)

static void map(struct lull_stacks *stacks, int32_t pid, uint64_t address, uint64_t length,
                uint64_t offset, const char *path)
{
    lull_stacks_map(stacks, 0, pid, address, length, offset,
                    (struct lull_text){path, (uint32_t)strlen(path)}, 0, 0);
}

static uint32_t chain(struct lull_stacks *stacks, int32_t pid, const uint64_t *addresses, size_t n)
{
    return lull_stacks_chain(
        stacks, 0, pid, (struct lull_text){(const char *)addresses, (uint32_t)(n * 8)}, INT64_MIN);
}

static void check(struct lull_stacks *stacks, int32_t pid, uint64_t address, const char *object,
                  uint64_t offset)
{
    uint32_t n, number = chain(stacks, pid, &address, 1);
    const struct lull_frame *frames = lull_stacks_frames(stacks, number, &n);
    g_assert_cmpuint(n, ==, 1);
    g_assert_cmpstr(frames[0].object, ==, object);
    g_assert_cmpuint(frames[0].offset, ==, offset);
}

static void test_frames(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    const uint64_t calls[] = {KERNEL_MARK, KERNEL + 0x10, USER_MARK, 0x401234, 0x999999};
    uint32_t n;
    map(stacks, -1, KERNEL, 0x1000000, 0, "[kernel.kallsyms]");
    map(stacks, 7, 0x400000, 0x2000, 0x3000, "/bin/program");
    const struct lull_frame *frames =
        lull_stacks_frames(stacks, chain(stacks, 7, calls, G_N_ELEMENTS(calls)), &n);
    g_assert_cmpuint(n, ==, 3);
    g_assert_cmpstr(frames[0].object, ==, "[kernel.kallsyms]");
    g_assert_cmpuint(frames[0].offset, ==, 0x10);
    g_assert_cmpstr(frames[1].object, ==, "/bin/program");
    g_assert_cmpuint(frames[1].offset, ==, 0x4234);
    g_assert_null(frames[2].object);
    g_assert_cmpuint(frames[2].offset, ==, 0x999999);
    g_assert_cmpuint(chain(stacks, 7, calls, 1), ==, LULL_NO_CHAIN);
    lull_stacks_frames(stacks, LULL_NO_CHAIN, &n);
    g_assert_cmpuint(n, ==, 0);
    lull_stacks_free(stacks);
}

/* A mapping takes the place of what was there: in the middle, at both ends, and of all. */
static void test_overlap(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    map(stacks, 7, 0x1000, 0x9000, 0, "a");
    map(stacks, 7, 0x4000, 0x1000, 0, "b");
    check(stacks, 7, 0x3fff, "a", 0x2fff);
    check(stacks, 7, 0x4000, "b", 0);
    check(stacks, 7, 0x4fff, "b", 0xfff);
    check(stacks, 7, 0x5000, "a", 0x4000);
    check(stacks, 7, 0x9fff, "a", 0x8fff);
    check(stacks, 7, 0xa000, NULL, 0xa000);
    check(stacks, 7, 0xfff, NULL, 0xfff);
    map(stacks, 7, 0x4800, 0x1000, 0x100, "c");
    check(stacks, 7, 0x47ff, "b", 0x7ff);
    check(stacks, 7, 0x4800, "c", 0x100);
    check(stacks, 7, 0x5800, "a", 0x4800);
    map(stacks, 7, 0, 0x10000, 0, "d");
    check(stacks, 7, 0x4800, "d", 0x4800);
    map(stacks, 7, UINT64_MAX - 5, 100, 0, "beyond the end");
    map(stacks, 7, 0x4000, 0, 0, "nothing");
    check(stacks, 7, 0x4000, "d", 0x4000);
    lull_stacks_free(stacks);
}

/* Of each page a table knows which mapping it has last been given, whatever there was and in whatever order. */
static void test_any_order(void)
{
    enum { PAGES = 600, PAGE = 0x1000, MOST = 40, ROUNDS = 60, MAPPINGS = 400 };
    static const char *const names[] = {"a", "b", "c", "d"};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct lull_stacks *stacks = lull_stacks_new();
        const char *table[PAGES] = {0};
        uint64_t starts[PAGES] = {0};
        for (uint32_t i = 0; i < MAPPINGS; i++) {
            const uint32_t anywhere = (uint32_t)g_test_rand_int_range(0, PAGES);
            const uint32_t first = round % 2 ? anywhere : PAGES - 1 - i % PAGES;
            const uint32_t many = round % 3 ? (uint32_t)g_test_rand_int_range(1, MOST) : 1;
            const uint32_t n = MIN(many, PAGES - first);
            const char *name = names[i % G_N_ELEMENTS(names)];
            map(stacks, 7, (uint64_t)(first + 1) * PAGE, (uint64_t)n * PAGE, 0, name);
            for (uint32_t k = first; k < first + n; k++) {
                table[k] = name;
                starts[k] = first;
            }
            if (round % 5 == 4 && i % 100 == 99) {
                lull_stacks_exec(stacks, 0, 7);
                memset(table, 0, sizeof table);
            }
        }
        for (uint32_t k = 0; k < PAGES; k++) {
            check(stacks, 7, (uint64_t)(k + 1) * PAGE + 8, table[k],
                  table[k] ? (k - starts[k]) * PAGE + 8 : (uint64_t)(k + 1) * PAGE + 8);
        }
        lull_stacks_free(stacks);
    }
}

/* A child has its parent's mappings until it executes another program. */
static void test_processes(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    map(stacks, 7, 0x1000, 0x1000, 0, "parent's");
    check(stacks, 8, 0x1000, NULL, 0x1000);
    lull_stacks_fork(stacks, 0, 7, 8);
    lull_stacks_fork(stacks, 0, 8, 9);
    lull_stacks_fork(stacks, 0, 9, 9);
    check(stacks, 9, 0x1000, "parent's", 0);
    map(stacks, 8, 0x1000, 0x1000, 0, "own");
    check(stacks, 8, 0x1000, "own", 0);
    check(stacks, 7, 0x1000, "parent's", 0);
    lull_stacks_exec(stacks, 0, 9);
    check(stacks, 9, 0x1000, NULL, 0x1000);
    lull_stacks_fork(stacks, 0, 9, 8); /* and in a circle */
    lull_stacks_fork(stacks, 0, 8, 9);
    check(stacks, 9, 0x5000, NULL, 0x5000);
    lull_stacks_free(stacks);
}

/* The same calls of two processes with the file at different addresses are one chain. */
static void test_once(void)
{
    struct lull_stacks *stacks = lull_stacks_new();
    const uint64_t here[] = {0x1010, 0x1020}, there[] = {0x7010, 0x7020},
                   other[] = {0x1020, 0x1010};
    map(stacks, 7, 0x1000, 0x1000, 0, "/lib/library");
    map(stacks, 8, 0x7000, 0x1000, 0, "/lib/library");
    uint32_t first = chain(stacks, 7, here, 2);
    g_assert_cmpuint(chain(stacks, 8, there, 2), ==, first);
    g_assert_cmpuint(chain(stacks, 7, here, 2), ==, first);
    g_assert_cmpuint(chain(stacks, 7, other, 2), !=, first);
    g_assert_cmpuint(chain(stacks, 7, here, 1), !=, first);
    g_assert_cmpuint(chain(stacks, 8, here, 2), !=, first);
    lull_stacks_free(stacks);
}

/* A process has 16384 mappings at most; what comes then finds no place, but may replace others. */
static void test_most(void)
{
    enum { MOST = 16384 };
    struct lull_stacks *stacks = lull_stacks_new();
    for (uint64_t i = 0; i < MOST; i++) {
        map(stacks, 7, (i + 1) * 0x2000, 0x1000, 0, "kept");
    }
    check(stacks, 7, MOST * 0x2000, "kept", 0);
    map(stacks, 7, 0x1000, 0x1000, 0, "too many");
    check(stacks, 7, 0x1000, NULL, 0x1000);
    map(stacks, 7, 0x2400, 0x100, 0, "makes three of one");
    check(stacks, 7, 0x2400, "kept", 0x400);
    map(stacks, 7, 0x2000, 0x3000, 0, "for two");
    check(stacks, 7, 0x4800, "for two", 0x2800);
    map(stacks, 7, 0x1000, 0x1000, 0, "fits now");
    check(stacks, 7, 0x1000, "fits now", 0);
    map(stacks, 8, 0x1000, 0x1000, 0, "another's");
    check(stacks, 8, 0x1000, "another's", 0);
    lull_stacks_free(stacks);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernel/stacks/frames", test_frames);
    g_test_add_func("/kernel/stacks/overlap", test_overlap);
    g_test_add_func("/kernel/stacks/any_order", test_any_order);
    g_test_add_func("/kernel/stacks/processes", test_processes);
    g_test_add_func("/kernel/stacks/once", test_once);
    g_test_add_func("/kernel/stacks/most", test_most);
    return g_test_run();
}
