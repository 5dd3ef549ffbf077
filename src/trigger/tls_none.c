/* SPDX-License-Identifier: MIT */
/* A build without GnuTLS: nothing is collected. */
#include "trigger/tls.h"

static struct lull_tls *refuse(GError **error)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                        "this lull was built without 'lull collect'; building it needs "
                        "libgnutls28-dev");
    return NULL;
}

struct lull_tls *lull_tls_client(int socket, const struct lull_peer_keys *keys, GError **error)
{
    return refuse(error);
}

struct lull_tls *lull_tls_server(int socket, const struct lull_peer_keys *keys, GError **error)
{
    return refuse(error);
}

void lull_tls_free(struct lull_tls *tls)
{
}

ssize_t lull_tls_read(struct lull_tls *tls, uint8_t *bytes, size_t size)
{
    return -1;
}

bool lull_tls_write(struct lull_tls *tls, const uint8_t *bytes, size_t size)
{
    return false;
}

void lull_tls_end(struct lull_tls *tls)
{
}
