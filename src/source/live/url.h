/* SPDX-License-Identifier: MIT */
/* Addresses of live sessions: net://HOST[:PORT][/host/TARGET/SESSION]. */
#ifndef LULL_SOURCE_LIVE_URL_H
#define LULL_SOURCE_LIVE_URL_H

#include <glib.h>
#include <stdbool.h>

struct lull_live_url {
    char *relay;   /* "net://HOST" or "net://HOST:PORT", for messages and for further addresses */
    char *host;    /* of the relay */
    char *port;    /* decimal */
    int family;    /* AF_UNSPEC, AF_INET or AF_INET6 */
    char *target;  /* hostname of the traced machine, or NULL: no session is named */
    char *session; /* or NULL */
};

/* True if `text` starts like such an address: net://, net4:// or net6://. */
bool lull_live_url_is(const char *text);
/* False and LULL_ERROR_USAGE if it is malformed. Clear with lull_live_url_clear(). */
bool lull_live_url_parse(const char *text, struct lull_live_url *url, GError **error);
void lull_live_url_clear(struct lull_live_url *url);

#endif
