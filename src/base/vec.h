/* SPDX-License-Identifier: MIT */
/* Growable typed arrays for hot paths: an append is one compare and one store, the item type is
 * checked by the compiler, and a zeroed vector is a valid empty one.
 *
 *   LULL_VEC(struct point) points = {0};
 *   lull_vec_push(&points, (struct point){1, 2});
 *   points.items[0].x = 3;
 *   lull_vec_free(&points);
 *
 * Growing moves the items: pointers into them hold only until the next push or reserve. They are not
 * g_malloc()'s: nobody else frees them. */
#ifndef LULL_BASE_VEC_H
#define LULL_BASE_VEC_H

#include <glib.h>
#include <stddef.h>

#include "base/pages.h"

#define LULL_VEC(type)                                                                             \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }

/* Room for at least `need` items, doubling, so that n appends cost O(n). Aborts like g_malloc() if
 * memory or the address space is not enough. Used by the macros only. */
static inline void *lull_vec_grow(void *items, size_t *capacity, size_t need, size_t item_size)
{
    const size_t before = *capacity, grown = before > G_MAXSIZE / 2 ? need : before * 2;
    *capacity = MAX(MAX(need, grown), 8);
    if (*capacity > (G_MAXSIZE - 2 * LULL_HUGE_PAGE) / item_size) {
        g_error("lull_vec_grow: %zu items of %zu bytes", *capacity, item_size);
    }
    return lull_growing_resize(items, before * item_size, *capacity * item_size);
}

/* Makes room for `extra` more items than there are. */
#define lull_vec_reserve(vec, extra)                                                               \
    do {                                                                                           \
        __auto_type vec_ = (vec);                                                                  \
        size_t extra_ = (extra);                                                                   \
        if (G_UNLIKELY(vec_->capacity - vec_->count < extra_)) {                                   \
            g_assert(extra_ <= G_MAXSIZE - vec_->count);                                           \
            vec_->items = lull_vec_grow(vec_->items, &vec_->capacity, vec_->count + extra_,        \
                                        sizeof *vec_->items);                                      \
        }                                                                                          \
    } while (0)

/* Appends an item, not initialised, and yields the pointer to it. */
#define lull_vec_add(vec)                                                                          \
    (__extension__({                                                                               \
        __auto_type add_ = (vec);                                                                  \
        if (G_UNLIKELY(add_->count == add_->capacity)) {                                           \
            add_->items =                                                                          \
                lull_vec_grow(add_->items, &add_->capacity, add_->count + 1, sizeof *add_->items); \
        }                                                                                          \
        &add_->items[add_->count++];                                                               \
    }))

/* Appends a value. The value may contain commas (compound literals) and may come from the vector
 * itself. */
#define lull_vec_push(vec, ...)                                                                    \
    do {                                                                                           \
        __auto_type push_ = (vec);                                                                 \
        __typeof__(*push_->items) value_ = __VA_ARGS__;                                            \
        *lull_vec_add(push_) = value_;                                                             \
    } while (0)

/* Takes the last item off and yields it; the vector must not be empty. */
#define lull_vec_pop(vec)                                                                          \
    (__extension__({                                                                               \
        __auto_type pop_ = (vec);                                                                  \
        g_assert(pop_->count > 0);                                                                 \
        pop_->items[--pop_->count];                                                                \
    }))

/* Gives back the room that the items do not take. */
#define lull_vec_trim(vec)                                                                         \
    do {                                                                                           \
        __auto_type vec_ = (vec);                                                                  \
        vec_->items = lull_growing_resize(vec_->items, vec_->capacity * sizeof *vec_->items,       \
                                          vec_->count * sizeof *vec_->items);                      \
        vec_->capacity = vec_->count;                                                              \
    } while (0)

/* Yields the items, which g_free() frees, and leaves a valid empty vector. For few: it copies more. */
#define lull_vec_steal(vec)                                                                        \
    (__extension__({                                                                               \
        __auto_type steal_ = (vec);                                                                \
        __typeof__(steal_->items) stolen_ = steal_->items;                                         \
        if (stolen_) {                                                                             \
            stolen_ = lull_growing_give(stolen_, steal_->capacity * sizeof *stolen_,               \
                                        steal_->count * sizeof *stolen_);                          \
        }                                                                                          \
        steal_->items = NULL;                                                                      \
        steal_->count = steal_->capacity = 0;                                                      \
        stolen_;                                                                                   \
    }))

/* Frees the items and leaves a valid empty vector. */
#define lull_vec_free(vec)                                                                         \
    do {                                                                                           \
        __auto_type vec_ = (vec);                                                                  \
        lull_growing_free(vec_->items, vec_->capacity * sizeof *vec_->items);                      \
        vec_->items = NULL;                                                                        \
        vec_->count = vec_->capacity = 0;                                                          \
    } while (0)

#endif
