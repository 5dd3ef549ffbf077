/* SPDX-License-Identifier: MIT */
/* Times that clients of the Trace Server Protocol keep, until the server ends. */
#ifndef LULL_SERVER_BOOKMARKS_H
#define LULL_SERVER_BOOKMARKS_H

#include "server/tsp_private.h"

struct server_bookmarks;

struct server_bookmarks *server_bookmarks_new(void);
void server_bookmarks_free(struct server_bookmarks *bookmarks);
/* experiments/E/bookmarks[/UUID]: all, one, a new one, another name or time for one, without one. */
void server_bookmarks_route(struct tsp_call *call);

#endif
