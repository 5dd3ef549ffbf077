/* SPDX-License-Identifier: MIT */
/* A bump allocator: many small pieces that live and die together, such as a schema. Memory comes
 * zeroed; like the rest of GLib it aborts when the system has none left. */
#ifndef LULL_BASE_ARENA_H
#define LULL_BASE_ARENA_H

#include <stddef.h>

struct lull_arena;

/* Free with lull_arena_free(), which frees every piece too. */
struct lull_arena *lull_arena_new(void);
/* For pieces that may become many and are looked up at random: they lie in huge pages then (pages.h). */
struct lull_arena *lull_arena_new_large(void);
void lull_arena_free(struct lull_arena *arena);

/* `size` zeroed bytes, aligned for any type without extended alignment. Never NULL. */
void *lull_arena_alloc(struct lull_arena *arena, size_t size);
/* The same for an array of `n` elements; aborts if the product overflows, as g_malloc_n() does. */
void *lull_arena_alloc_n(struct lull_arena *arena, size_t n, size_t size);
/* Copies of bytes, and of a text with a NUL added. */
void *lull_arena_copy(struct lull_arena *arena, const void *data, size_t size);
char *lull_arena_strndup(struct lull_arena *arena, const char *text, size_t length);

#endif
