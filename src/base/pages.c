/* SPDX-License-Identifier: MIT */
/* Memory in huge pages: mapped with room to spare, so that it can start where such a page does. */
#include "base/pages.h"

#include <glib.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* To move less to other addresses costs more than to copy it. */
#define LEAST_MAPPED ((size_t)128 << 10)

/* All page sizes of the machines that Lull knows divide this. */
#define SMALL_PAGES ((size_t)64 << 10)

static size_t whole(size_t size)
{
    return (size + LULL_HUGE_PAGE - 1) & ~(LULL_HUGE_PAGE - 1);
}

static size_t whole_small(size_t size)
{
    return (size + SMALL_PAGES - 1) & ~(SMALL_PAGES - 1);
}

static void *map(size_t size, int protection)
{
    void *mapped = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        g_error("lull_pages: no memory for %zu bytes", size);
    }
    return mapped;
}

/* Where a huge page can start. `size` is a multiple of LULL_HUGE_PAGE. */
static void *map_aligned(size_t size, int protection)
{
    g_assert(size <= G_MAXSIZE - LULL_HUGE_PAGE);
    char *mapped = map(size + LULL_HUGE_PAGE, protection);
    const size_t before = whole((uintptr_t)mapped) - (uintptr_t)mapped;
    if (before) {
        munmap(mapped, before);
    }
    if (before < LULL_HUGE_PAGE) {
        munmap(mapped + before + size, LULL_HUGE_PAGE - before);
    }
    return mapped + before;
}

static void *map_huge(size_t size)
{
    void *mapped = map_aligned(size, PROT_READ | PROT_WRITE);
    madvise(mapped, size, MADV_HUGEPAGE); /* or not: it is memory all the same */
    return mapped;
}

void *lull_pages_new(size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        return g_malloc0(MAX(size, 1));
    }
    g_assert(size <= G_MAXSIZE - 2 * LULL_HUGE_PAGE);
    return map_huge(whole(size));
}

void lull_pages_free(void *pages, size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        g_free(pages);
    } else if (pages) {
        munmap(pages, whole(size));
    }
}

/* ---- the heap of malloc() ---- */

#ifdef __GLIBC__
/* Of these, those are made that are used. */
#define HEAP_IN_HUGE_PAGES (8 * LULL_HUGE_PAGE)

void lull_pages_for_heap(void)
{
    enum { BLOCK = 64 << 10, MOST_BLOCKS = 8, BEFORE = BLOCK + (4 << 10) };
    const uintptr_t end = (uintptr_t)sbrk(0), huge = whole(end + BEFORE);
    void *volatile blocks[MOST_BLOCKS];
    unsigned n = 0;
    /* What is touched before madvise() has small pages: the block that extends the heap lies before huge ones. */
    if (sbrk((intptr_t)(huge - BEFORE - end)) == (void *)-1) {
        return;
    }
    mallopt(M_TOP_PAD, HEAP_IN_HUGE_PAGES);
    do {
        blocks[n++] = malloc(BLOCK);
    } while ((uintptr_t)sbrk(0) <= huge && n < MOST_BLOCKS);
    const uintptr_t new_end = (uintptr_t)sbrk(0) & ~(LULL_HUGE_PAGE - 1);
    if (new_end > huge) {
        madvise((void *)huge, new_end - huge, MADV_HUGEPAGE);
    }
    while (n > 0) {
        free(blocks[--n]);
    }
}
#else
void lull_pages_for_heap(void)
{
}
#endif

/* ---- what grows ---- */

/* How much is mapped for it; 0: nothing, it is the allocator's. */
static size_t mapped_size(size_t size)
{
    g_assert(size <= G_MAXSIZE - 2 * LULL_HUGE_PAGE);
    return size < LEAST_MAPPED ? 0 : size < LULL_HUGE_PAGE ? whole_small(size) : whole(size);
}

static void *map_new(size_t size)
{
    return size < LULL_HUGE_PAGE ? map(size, PROT_READ | PROT_WRITE) : map_huge(size);
}

/* Moves the pages and has more of them, all in one mapping: Linux before 6.17 moves no two at once. NULL if the
 * system does not; what the memory was to become may be gone then, the memory itself is not. */
static void *extend(void *memory, size_t before, size_t after)
{
    void *moved = MAP_FAILED;
    if (after < LULL_HUGE_PAGE) {
        moved = mremap(memory, before, after, MREMAP_MAYMOVE);
    } else {
        void *reserved = map_aligned(after, PROT_NONE);
        moved = mremap(memory, before, after, MREMAP_MAYMOVE | MREMAP_FIXED, reserved);
    }
    if (moved == MAP_FAILED) {
        return NULL;
    }
    if (after >= LULL_HUGE_PAGE) {
        madvise(moved, after, MADV_HUGEPAGE);
    }
    return moved;
}

void *lull_growing_resize(void *memory, size_t size, size_t new_size)
{
    const size_t before = mapped_size(size), after = mapped_size(new_size);
    if (before == 0 && after == 0) {
        return g_realloc(memory, new_size);
    }
    if (before == after) {
        return memory;
    }
    if (after > 0 && after < before) {
        munmap((char *)memory + after, before - after);
        return memory;
    }
    void *moved = before > 0 && after > before ? extend(memory, before, after) : NULL;
    if (moved) {
        return moved;
    }
    moved = after == 0 ? g_malloc(new_size) : map_new(after);
    if (memory) {
        memcpy(moved, memory, MIN(size, new_size));
    }
    lull_growing_free(memory, size);
    return moved;
}

void *lull_growing_give(void *memory, size_t size, size_t used)
{
    if (mapped_size(size) == 0) {
        return memory;
    }
    void *given = g_memdup2(memory, used);
    lull_growing_free(memory, size);
    return given;
}

void lull_growing_free(void *memory, size_t size)
{
    const size_t mapped = mapped_size(size);
    if (mapped == 0) {
        g_free(memory);
    } else {
        munmap(memory, mapped);
    }
}
