/* SPDX-License-Identifier: MIT */
/* Memory in huge pages: mapped with room to spare, so that it can start where such a page does. */
#include "base/pages.h"

#include "base/page_pool.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Less than this is the allocator's. */
#define LEAST_POOLED (2 * LULL_POOL_GRAIN)

static size_t whole(size_t size)
{
    return (size + LULL_HUGE_PAGE - 1) & ~(LULL_HUGE_PAGE - 1);
}

static void *map(size_t size)
{
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        g_error("lull_pages: no memory for %zu bytes", size);
    }
    return mapped;
}

void *lull_pages_map(size_t size, bool are_huge)
{
    g_assert(size <= G_MAXSIZE - LULL_HUGE_PAGE);
    char *mapped = map(size + LULL_HUGE_PAGE);
    const size_t before = whole((uintptr_t)mapped) - (uintptr_t)mapped;
    if (before) {
        munmap(mapped, before);
    }
    if (before < LULL_HUGE_PAGE) {
        munmap(mapped + before + size, LULL_HUGE_PAGE - before);
    }
    if (are_huge) {
        madvise(mapped + before, size, MADV_HUGEPAGE); /* or not: it is memory all the same */
    }
    return mapped + before;
}

void lull_pages_unmap(void *pages, size_t size)
{
    munmap(pages, size);
}

void *lull_pages_new(size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        return g_malloc0(MAX(size, 1));
    }
    g_assert(size <= G_MAXSIZE - 2 * LULL_HUGE_PAGE);
    return lull_pages_map(whole(size), true);
}

void lull_pages_free(void *pages, size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        g_free(pages);
    } else if (pages) {
        munmap(pages, whole(size));
    }
}

/* ---- what grows ---- */

/* How much there is for it; 0: what the allocator gives. Below LULL_HUGE_PAGE it is of the pool. */
static size_t room_for(size_t size)
{
    g_assert(size <= G_MAXSIZE - 2 * LULL_HUGE_PAGE);
    const size_t pooled = (size + LULL_POOL_GRAIN - 1) & ~(LULL_POOL_GRAIN - 1);
    return size < LEAST_POOLED ? 0 : pooled < LULL_HUGE_PAGE ? pooled : whole(size);
}

/* `room` as room_for() says. */
static void *take_room(size_t room, size_t size)
{
    return room == 0               ? g_malloc(size)
           : room < LULL_HUGE_PAGE ? lull_pool_take(room)
                                   : lull_pages_map(room, true);
}

/* False: it has to move. */
static bool resize_in_place(void *memory, size_t before, size_t after)
{
    if (before == after) {
        return true;
    }
    if (MIN(before, after) == 0 || (before < LULL_HUGE_PAGE) != (after < LULL_HUGE_PAGE)) {
        return false;
    }
    if (after > before) {
        return before < LULL_HUGE_PAGE && lull_pool_extend(memory, before, after);
    }
    if (before < LULL_HUGE_PAGE) {
        lull_pool_shrink(memory, before, after);
    } else {
        munmap((char *)memory + after, before - after);
    }
    return true;
}

void *lull_growing_resize(void *memory, size_t size, size_t new_size)
{
    const size_t before = room_for(size), after = room_for(new_size);
    if (before == 0 && after == 0) {
        return g_realloc(memory, new_size);
    }
    if (resize_in_place(memory, before, after)) {
        return memory;
    }
    void *moved = take_room(after, new_size);
    if (MIN(before, after) >= LULL_HUGE_PAGE) {
        /* Its pages, which takes the place of as much of what was mapped. */
        if (mremap(memory, before, before, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved) {
            return moved;
        }
    }
    if (memory) {
        memcpy(moved, memory, MIN(size, new_size));
    }
    lull_growing_free(memory, size);
    return moved;
}

void *lull_growing_give(void *memory, size_t size, size_t used)
{
    if (room_for(size) == 0) {
        return memory;
    }
    void *given = g_memdup2(memory, used);
    lull_growing_free(memory, size);
    return given;
}

void lull_growing_free(void *memory, size_t size)
{
    const size_t room = room_for(size);
    if (room == 0) {
        g_free(memory);
    } else if (room < LULL_HUGE_PAGE) {
        lull_pool_shrink(memory, room, 0);
    } else {
        munmap(memory, room);
    }
}
