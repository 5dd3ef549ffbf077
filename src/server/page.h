/* SPDX-License-Identifier: MIT */
/* The page of 'lull view' and what it loads, from the program itself. */
#ifndef LULL_SERVER_PAGE_H
#define LULL_SERVER_PAGE_H

#include <stdbool.h>

#include "server/http.h"

/* False if the page was not built. */
bool server_has_page(void);
/* `path` is "", for the page itself, or the name of a file. */
void server_page(const char *path, struct server_answer *answer);

#endif
