/* SPDX-License-Identifier: MIT */
/* Memory for much that is looked up at random: zeroed, and from 2 MiB on in huge pages where the system
 * grants them, so that finding where a page lies does not cost more than what is in it. */
#ifndef LULL_BASE_PAGES_H
#define LULL_BASE_PAGES_H

#include <stddef.h>

#define LULL_HUGE_PAGE ((size_t)2 << 20)

/* Never NULL; like g_malloc() it aborts when the system has no memory left. */
void *lull_pages_new(size_t size);
/* `size` is that of lull_pages_new(). */
void lull_pages_free(void *pages, size_t size);

#endif
