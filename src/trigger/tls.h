/* SPDX-License-Identifier: MIT */
/* TLS 1.3 between machines that share a key (RFC 8446, section 4.2.11, with an ephemeral exchange, so that who learns the
 * key later cannot read what was sent). */
#ifndef LULL_TRIGGER_TLS_H
#define LULL_TRIGGER_TLS_H

#include <lull/error.h>
#include <sys/types.h>

#include "trigger/key.h"

struct lull_tls;

/* Agrees with the other side over the connected socket, which stays the caller's and has time-outs. A client
 * uses its first key, a server takes any. NULL and an error. */
struct lull_tls *lull_tls_client(int socket, const struct lull_peer_keys *keys, GError **error);
struct lull_tls *lull_tls_server(int socket, const struct lull_peer_keys *keys, GError **error);
void lull_tls_free(struct lull_tls *tls);

/* How many bytes came; 0: the other side has ended, -1: it has gone. */
ssize_t lull_tls_read(struct lull_tls *tls, uint8_t *bytes, size_t size);
bool lull_tls_write(struct lull_tls *tls, const uint8_t *bytes, size_t size);
/* Says that this was all. */
void lull_tls_end(struct lull_tls *tls);

#endif
