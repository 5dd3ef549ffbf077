/* SPDX-License-Identifier: MIT */
/* Which pages are open: each says so now and then, and when it is closed. Any thread may call these. */
#ifndef LULL_SERVER_VISITORS_H
#define LULL_SERVER_VISITORS_H

#include <stdbool.h>
#include <stdint.h>

struct server_visitors;

struct server_visitors *server_visitors_new(void);
void server_visitors_free(struct server_visitors *visitors);

/* The page that calls itself `id` is there, perhaps in the background; or it was closed. `now_us` is
 * g_get_monotonic_time(). */
void server_visitors_here(struct server_visitors *visitors, const char *id, bool is_hidden,
                          int64_t now_us);
void server_visitors_left(struct server_visitors *visitors, const char *id, int64_t now_us);
/* Whether there were pages, and all of them are gone: closed for some seconds, since a page that is
 * loaded again is closed first; or silent for longer than an open page is. */
bool server_visitors_are_gone(struct server_visitors *visitors, int64_t now_us);

#endif
