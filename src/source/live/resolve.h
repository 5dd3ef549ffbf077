/* SPDX-License-Identifier: MIT */
/* The addresses of a relay. A lookup can take long and cannot be cancelled, so a thread does it,
 * which is left alone if nobody wants to wait any more. */
#ifndef LULL_SOURCE_LIVE_RESOLVE_H
#define LULL_SOURCE_LIVE_RESOLVE_H

#include <netdb.h>

#include "source/live/url.h"

struct live_lookup;

/* Starts the lookup. */
struct live_lookup *live_lookup_new(const struct lull_live_url *url);
/* Waits up to `ms` milliseconds. True when it is known: *code is what getaddrinfo() gave, and if
 * that is 0, *found the addresses, which belong to the lookup. */
bool live_lookup_wait(struct live_lookup *lookup, int ms, int *code, struct addrinfo **found);
void live_lookup_free(struct live_lookup *lookup);

#endif
