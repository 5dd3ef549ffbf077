/* SPDX-License-Identifier: MIT */
/* The bump allocator: a list of chunks, each twice the size of the one before up to a limit, so
 * that a small schema stays small and a large one needs few calls of malloc. */
#include "base/arena.h"

#include <glib.h>
#include <stdint.h>
#include <string.h>

#include "base/pages.h"

#define FIRST_CHUNK ((size_t)16 << 10)
#define LARGEST_CHUNK ((size_t)1 << 20)
#define LARGEST_LARGE_CHUNK (4 * LULL_HUGE_PAGE)
#define GRAIN _Alignof(max_align_t)

struct chunk {
    struct chunk *previous;
    size_t size; /* with this head */
    max_align_t data[];
};

struct lull_arena {
    struct chunk *chunks;
    char *next;
    size_t left;
    size_t chunk_size; /* of the next chunk, with its head */
    size_t largest_chunk;
};

struct lull_arena *lull_arena_new(void)
{
    struct lull_arena *arena = g_new0(struct lull_arena, 1);
    arena->chunk_size = FIRST_CHUNK;
    arena->largest_chunk = LARGEST_CHUNK;
    return arena;
}

struct lull_arena *lull_arena_new_large(void)
{
    struct lull_arena *arena = lull_arena_new();
    arena->largest_chunk = LARGEST_LARGE_CHUNK;
    return arena;
}

void lull_arena_free(struct lull_arena *arena)
{
    if (!arena) {
        return;
    }
    for (struct chunk *chunk = arena->chunks; chunk;) {
        struct chunk *previous = chunk->previous;
        lull_pages_free(chunk, chunk->size);
        chunk = previous;
    }
    g_free(arena);
}

static struct chunk *add_chunk(struct lull_arena *arena, size_t size)
{
    struct chunk *chunk = lull_pages_new(size);
    chunk->previous = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    return chunk;
}

void *lull_arena_alloc(struct lull_arena *arena, size_t size)
{
    if (size > SIZE_MAX - sizeof(struct chunk) - GRAIN) {
        g_error("lull_arena_alloc: %zu bytes", size);
    }
    size = (MAX(size, 1) + GRAIN - 1) & ~(GRAIN - 1); /* never NULL */
    if (size > arena->left) {
        /* A large piece gets its own chunk, so that it does not waste the rest of the current one.
         */
        if (size > arena->chunk_size / 4) {
            return add_chunk(arena, sizeof(struct chunk) + size)->data;
        }
        arena->next = (char *)add_chunk(arena, arena->chunk_size)->data;
        arena->left = arena->chunk_size - sizeof(struct chunk);
        arena->chunk_size = MIN(arena->chunk_size * 2, arena->largest_chunk);
    }
    void *piece = arena->next;
    arena->next += size;
    arena->left -= size;
    return piece;
}

void *lull_arena_alloc_n(struct lull_arena *arena, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total)) {
        g_error("lull_arena_alloc_n: %zu times %zu bytes", n, size);
    }
    return lull_arena_alloc(arena, total);
}

void *lull_arena_copy(struct lull_arena *arena, const void *data, size_t size)
{
    void *copy = lull_arena_alloc(arena, size);
    if (size) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *lull_arena_strndup(struct lull_arena *arena, const char *text, size_t length)
{
    char *copy = lull_arena_alloc(arena, length + 1);
    if (length) {
        memcpy(copy, text, length);
    }
    return copy;
}
