/* SPDX-License-Identifier: MIT */
/* Memory for much that is looked up at random: zeroed, and from 2 MiB on in huge pages where the system
 * grants them, so that finding where a page lies does not cost more than what is in it. And memory that
 * grows: once it is large its pages are moved, not copied, and most of them are huge: the system has a
 * few hundred times fewer to make. */
#ifndef LULL_BASE_PAGES_H
#define LULL_BASE_PAGES_H

#include <stddef.h>

#define LULL_HUGE_PAGE ((size_t)2 << 20)

/* Lets the first 16 MiB of what malloc() hands out lie in huge pages: small ones take longer to make than their
 * contents, and a short run needs a thousand. As much may stay with the program when it is freed. For main(), before there are threads; it does nothing
 * where malloc() is not glibc's own. */
void lull_pages_for_heap(void);

/* Never NULL; like g_malloc() it aborts when the system has no memory left. */
void *lull_pages_new(size_t size);
/* `size` is that of lull_pages_new(). */
void lull_pages_free(void *pages, size_t size);

/* Like g_realloc(), of memory of this size that came from here; NULL has 0 bytes. What is new is not
 * zeroed. */
void *lull_growing_resize(void *memory, size_t size, size_t new_size);
/* Makes it g_malloc()'s, of which the first `used` bytes matter. */
void *lull_growing_give(void *memory, size_t size, size_t used);
/* `size` is that of its last lull_growing_resize(). */
void lull_growing_free(void *memory, size_t size);

#endif
