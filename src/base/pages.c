/* SPDX-License-Identifier: MIT */
/* Memory in huge pages: mapped with room to spare, so that it can start where such a page does. */
#include "base/pages.h"

#include <glib.h>
#include <stdint.h>
#include <sys/mman.h>

static size_t whole(size_t size)
{
    return (size + LULL_HUGE_PAGE - 1) & ~(LULL_HUGE_PAGE - 1);
}

void *lull_pages_new(size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        return g_malloc0(MAX(size, 1));
    }
    g_assert(size <= G_MAXSIZE - 2 * LULL_HUGE_PAGE);
    const size_t taken = whole(size) + LULL_HUGE_PAGE;
    char *mapped = mmap(NULL, taken, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        g_error("lull_pages_new: %zu bytes", size);
    }
    const size_t before = whole((uintptr_t)mapped) - (uintptr_t)mapped;
    if (before) {
        munmap(mapped, before);
    }
    if (before < LULL_HUGE_PAGE) {
        munmap(mapped + before + whole(size), LULL_HUGE_PAGE - before);
    }
    madvise(mapped + before, whole(size), MADV_HUGEPAGE); /* or not: it is memory all the same */
    return mapped + before;
}

void lull_pages_free(void *pages, size_t size)
{
    if (size < LULL_HUGE_PAGE) {
        g_free(pages);
    } else if (pages) {
        munmap(pages, whole(size));
    }
}
