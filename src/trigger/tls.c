/* SPDX-License-Identifier: MIT */
/* TLS by GnuTLS. */
#include "trigger/tls.h"

#include <gnutls/gnutls.h>
#include <string.h>

#include "base/late.h"

#define FUNCTIONS(X)                                                                               \
    X(gnutls_bye)                                                                                  \
    X(gnutls_credentials_set)                                                                      \
    X(gnutls_deinit)                                                                               \
    X(gnutls_error_is_fatal)                                                                       \
    X(gnutls_handshake)                                                                            \
    X(gnutls_handshake_set_timeout)                                                                \
    X(gnutls_init)                                                                                 \
    X(gnutls_malloc)                                                                               \
    X(gnutls_priority_set_direct)                                                                  \
    X(gnutls_psk_allocate_client_credentials)                                                      \
    X(gnutls_psk_allocate_server_credentials)                                                      \
    X(gnutls_psk_free_client_credentials)                                                          \
    X(gnutls_psk_free_server_credentials)                                                          \
    X(gnutls_psk_set_client_credentials)                                                           \
    X(gnutls_psk_set_server_credentials_function)                                                  \
    X(gnutls_record_recv)                                                                          \
    X(gnutls_record_send)                                                                          \
    X(gnutls_session_get_ptr)                                                                      \
    X(gnutls_session_set_ptr)                                                                      \
    X(gnutls_strerror)                                                                             \
    X(gnutls_transport_set_int2)
static LULL_LATE_STRUCT(functions, FUNCTIONS) libgnutls;
static struct lull_late late = LULL_LATE(LULL_SONAME_GNUTLS, libgnutls, FUNCTIONS);

#define PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:-KX-ALL:+ECDHE-PSK"
#define HANDSHAKE_MS 10000
/* The start of the key's SHA-256, in hexadecimal digits: which of two keys is meant. */
#define NAME_DIGITS 8

struct lull_tls {
    gnutls_session_t session;
    gnutls_psk_client_credentials_t client; /* NULL: it is a server */
    gnutls_psk_server_credentials_t server;
    struct lull_peer_keys keys;
};

static void name_of(const struct lull_peer_key *key, char name[static NAME_DIGITS + 1])
{
    g_autofree char *sum =
        g_compute_checksum_for_data(G_CHECKSUM_SHA256, key->bytes, sizeof key->bytes);
    g_strlcpy(name, sum, NAME_DIGITS + 1);
}

static int find_key(gnutls_session_t session, const char *username, gnutls_datum_t *found)
{
    const struct lull_tls *tls = libgnutls.gnutls_session_get_ptr(session);
    char name[NAME_DIGITS + 1];
    for (uint32_t i = 0; i < tls->keys.n; i++) {
        name_of(&tls->keys.key[i], name);
        if (strcmp(username, name) == 0) {
            found->data = (*libgnutls.gnutls_malloc)(LULL_PEER_KEY_BYTES);
            found->size = LULL_PEER_KEY_BYTES;
            if (found->data) {
                memcpy(found->data, tls->keys.key[i].bytes, LULL_PEER_KEY_BYTES);
            }
            return found->data ? 0 : -1;
        }
    }
    return -1;
}

static int set_credentials(struct lull_tls *tls, bool is_server)
{
    char name[NAME_DIGITS + 1];
    if (is_server) {
        const int why = libgnutls.gnutls_psk_allocate_server_credentials(&tls->server);
        if (why == 0) {
            libgnutls.gnutls_psk_set_server_credentials_function(tls->server, find_key);
        }
        return why ? why
                   : libgnutls.gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->server);
    }
    gnutls_datum_t key = {tls->keys.key[0].bytes, LULL_PEER_KEY_BYTES};
    int why = libgnutls.gnutls_psk_allocate_client_credentials(&tls->client);
    name_of(&tls->keys.key[0], name);
    why = why ? why
              : libgnutls.gnutls_psk_set_client_credentials(tls->client, name, &key,
                                                            GNUTLS_PSK_KEY_RAW);
    return why ? why : libgnutls.gnutls_credentials_set(tls->session, GNUTLS_CRD_PSK, tls->client);
}

static int shake_hands(struct lull_tls *tls, int socket)
{
    int why = libgnutls.gnutls_priority_set_direct(tls->session, PRIORITIES, NULL);
    if (why < 0) {
        return why;
    }
    libgnutls.gnutls_transport_set_int(tls->session, socket);
    libgnutls.gnutls_handshake_set_timeout(tls->session, HANDSHAKE_MS);
    do {
        why = libgnutls.gnutls_handshake(tls->session);
    } while (why < 0 && !libgnutls.gnutls_error_is_fatal(why));
    return why;
}

static struct lull_tls *start(int socket, const struct lull_peer_keys *keys, bool is_server,
                              GError **error)
{
    if (!lull_late_load(&late, error)) {
        return NULL;
    }
    struct lull_tls *tls = g_new0(struct lull_tls, 1);
    tls->keys = *keys;
    int why = libgnutls.gnutls_init(&tls->session,
                                    (is_server ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NO_SIGNAL);
    if (why == 0) {
        libgnutls.gnutls_session_set_ptr(tls->session, tls);
        why = set_credentials(tls, is_server);
    }
    why = why ? why : shake_hands(tls, socket);
    if (why >= 0) {
        return tls;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_IO,
                "no encrypted connection: %s; do both machines have the same key?",
                libgnutls.gnutls_strerror(why));
    lull_tls_free(tls);
    return NULL;
}

struct lull_tls *lull_tls_client(int socket, const struct lull_peer_keys *keys, GError **error)
{
    return start(socket, keys, false, error);
}

struct lull_tls *lull_tls_server(int socket, const struct lull_peer_keys *keys, GError **error)
{
    return start(socket, keys, true, error);
}

void lull_tls_free(struct lull_tls *tls)
{
    if (!tls) {
        return;
    }
    if (tls->session) {
        libgnutls.gnutls_deinit(tls->session);
    }
    if (tls->client) {
        libgnutls.gnutls_psk_free_client_credentials(tls->client);
    }
    if (tls->server) {
        libgnutls.gnutls_psk_free_server_credentials(tls->server);
    }
    explicit_bzero(tls, sizeof *tls);
    g_free(tls);
}

ssize_t lull_tls_read(struct lull_tls *tls, uint8_t *bytes, size_t size)
{
    ssize_t n;
    do {
        n = libgnutls.gnutls_record_recv(tls->session, bytes, size);
    } while (n == GNUTLS_E_INTERRUPTED);
    return n < 0 ? -1 : n;
}

bool lull_tls_write(struct lull_tls *tls, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t n = libgnutls.gnutls_record_send(tls->session, bytes, size);
        if (n < 0 && n != GNUTLS_E_INTERRUPTED) {
            return false;
        }
        bytes += MAX(n, 0);
        size -= (size_t)MAX(n, 0);
    }
    return true;
}

void lull_tls_end(struct lull_tls *tls)
{
    libgnutls.gnutls_bye(tls->session, GNUTLS_SHUT_WR);
}
