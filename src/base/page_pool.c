/* SPDX-License-Identifier: MIT */
/* Pages in order of their addresses, each with a bit for each grain that is free. The first page is
 * made of small ones: what needs no second does not need all of the first either. */
#include "base/page_pool.h"

#include <glib.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/pages.h"
#include "base/search.h"

#define GRAINS 64u /* of a page */
_Static_assert(GRAINS *LULL_POOL_GRAIN == LULL_HUGE_PAGE, "a bit for each grain of a page");

struct page {
    char *start;
    uint64_t free; /* grain i: bit i */
};

static struct {
    pthread_mutex_t lock;
    struct page *pages;
    size_t n_pages, capacity;
    size_t n_empty;
    size_t hint; /* no page before has a free grain */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned grains(size_t size)
{
    return (unsigned)(size / LULL_POOL_GRAIN);
}

/* n bits from `first` on; n is not 0. */
static uint64_t bits(unsigned first, unsigned n)
{
    return UINT64_MAX >> (GRAINS - n) << first;
}

/* Where a run of n free grains starts; GRAINS: nowhere. */
static unsigned find_run(uint64_t free, unsigned n)
{
    for (unsigned have = 1; have < n && free;) {
        const unsigned by = MIN(have, n - have);
        free &= free >> by;
        have += by;
    }
    return free ? (unsigned)__builtin_ctzll(free) : GRAINS;
}

static size_t page_after(const char *at)
{
    return LULL_LOWER_BOUND(i, pool.n_pages, pool.pages[i].start <= at);
}

/* Returns its number. */
static size_t add_page(void)
{
    if (pool.n_pages == pool.capacity) {
        pool.capacity = MAX(2 * pool.capacity, 16);
        pool.pages = g_renew(struct page, pool.pages, pool.capacity);
    }
    char *start = lull_pages_map(LULL_HUGE_PAGE, pool.n_pages > 0);
    const size_t number = page_after(start);
    memmove(&pool.pages[number + 1], &pool.pages[number],
            (pool.n_pages - number) * sizeof *pool.pages);
    pool.pages[number] = (struct page){start, UINT64_MAX};
    pool.n_pages++;
    pool.n_empty++;
    pool.hint = MIN(pool.hint, number);
    return number;
}

static void occupy(struct page *page, uint64_t wanted)
{
    pool.n_empty -= page->free == UINT64_MAX;
    page->free &= ~wanted;
}

void *lull_pool_take(size_t size)
{
    const unsigned n = grains(size);
    unsigned first = GRAINS;
    size_t number;
    pthread_mutex_lock(&pool.lock);
    while (pool.hint < pool.n_pages && pool.pages[pool.hint].free == 0) {
        pool.hint++;
    }
    for (number = pool.hint; number < pool.n_pages; number++) {
        first = find_run(pool.pages[number].free, n);
        if (first < GRAINS) {
            break;
        }
    }
    if (first == GRAINS) {
        number = add_page();
        first = 0;
    }
    occupy(&pool.pages[number], bits(first, n));
    char *room = pool.pages[number].start + first * LULL_POOL_GRAIN;
    pthread_mutex_unlock(&pool.lock);
    return room;
}

/* The page of a room, and the grain at which it starts. */
static struct page *page_of(const char *room, unsigned *first)
{
    struct page *page = &pool.pages[page_after(room) - 1];
    *first = grains((size_t)(room - page->start));
    return page;
}

bool lull_pool_extend(void *room, size_t size, size_t new_size)
{
    unsigned first;
    pthread_mutex_lock(&pool.lock);
    struct page *page = page_of(room, &first);
    const bool fits = first + grains(new_size) <= GRAINS;
    const uint64_t more = fits ? bits(first + grains(size), grains(new_size - size)) : 0;
    const bool is_free = fits && (page->free & more) == more;
    if (is_free) {
        occupy(page, more);
    }
    pthread_mutex_unlock(&pool.lock);
    return is_free;
}

void lull_pool_shrink(void *room, size_t old_size, size_t size)
{
    unsigned first;
    pthread_mutex_lock(&pool.lock);
    struct page *page = page_of(room, &first);
    const size_t number = (size_t)(page - pool.pages);
    page->free |= bits(first + grains(size), grains(old_size - size));
    pool.hint = MIN(pool.hint, number);
    if (page->free == UINT64_MAX && pool.n_empty > 0) { /* one is kept */
        lull_pages_unmap(page->start, LULL_HUGE_PAGE);
        memmove(page, page + 1, (--pool.n_pages - number) * sizeof *page);
    } else if (page->free == UINT64_MAX) {
        pool.n_empty++;
    }
    pthread_mutex_unlock(&pool.lock);
}

/* ---- fork ---- */

static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* A child whose parent was growing something in another thread finds the pool as it should be. */
static __attribute__((constructor)) void survive_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}
