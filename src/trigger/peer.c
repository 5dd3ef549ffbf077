/* SPDX-License-Identifier: MIT */
/* The datagram of daemons: numbers are big-endian, texts are padded with NULs. */
#include "trigger/peer.h"

#include <string.h>

#define MAGIC "LULT"
#define VERSION 1
#define SET_BYTES 24
#define MAC_BYTES 32
#define HEADER_BYTES (4 + 4 + 8 + 8 + SET_BYTES)
#define ASK_BYTES (HEADER_BYTES + LULL_TRIGGER_NAME + 8 + 8)
#define CONNECTION_BYTES (2 * sizeof(struct in6_addr) + 2 * sizeof(uint16_t))
#define ANSWER_BYTES (HEADER_BYTES + SET_BYTES)

G_STATIC_ASSERT(ASK_BYTES + LULL_PEER_CONNECTIONS * CONNECTION_BYTES + MAC_BYTES <=
                LULL_PEER_MOST_BYTES);
/* Who answers never sends more than it got. */
G_STATIC_ASSERT(ANSWER_BYTES <= ASK_BYTES);

static void sign(const uint8_t *bytes, size_t size, const struct lull_peer_key *key,
                 uint8_t mac[static MAC_BYTES])
{
    gsize length = MAC_BYTES;
    GHmac *hmac = g_hmac_new(G_CHECKSUM_SHA256, key->bytes, sizeof key->bytes);
    g_hmac_update(hmac, bytes, (gssize)size);
    g_hmac_get_digest(hmac, mac, &length);
    g_hmac_unref(hmac);
}

/* In a time that does not depend on where they differ. */
static bool is_same(const uint8_t a[static MAC_BYTES], const uint8_t b[static MAC_BYTES])
{
    uint8_t difference = 0;
    for (size_t i = 0; i < MAC_BYTES; i++) {
        difference |= a[i] ^ b[i];
    }
    return difference == 0;
}

/* ---- writing ---- */

static void put(uint8_t **at, const void *bytes, size_t size)
{
    memcpy(*at, bytes, size);
    *at += size;
}

static void put_number(uint8_t **at, uint64_t number)
{
    number = GUINT64_TO_BE(number);
    put(at, &number, sizeof number);
}

static void put_port(uint8_t **at, uint16_t port)
{
    port = GUINT16_TO_BE(port);
    put(at, &port, sizeof port);
}

static void put_text(uint8_t **at, const char *text, size_t size)
{
    memset(*at, 0, size);
    memcpy(*at, text, strnlen(text, size));
    *at += size;
}

static void put_ask(uint8_t **at, const struct lull_peer_message *message)
{
    put_text(at, message->rule, LULL_TRIGGER_NAME);
    put_number(at, (uint64_t)message->start_age_ns);
    put_number(at, (uint64_t)message->end_age_ns);
    for (uint32_t i = 0; i < message->n_connections; i++) {
        const struct lull_peer_connection *connection = &message->connection[i];
        put(at, &connection->local, sizeof connection->local);
        put(at, &connection->remote, sizeof connection->remote);
        put_port(at, connection->local_port);
        put_port(at, connection->remote_port);
    }
}

size_t lull_peer_write(const struct lull_peer_message *message, const struct lull_peer_keys *keys,
                       uint8_t bytes[static LULL_PEER_MOST_BYTES])
{
    const bool is_ask = message->kind == LULL_PEER_ASK;
    const uint8_t kind[] = {VERSION, (uint8_t)message->kind,
                            is_ask ? message->hops : message->verdict,
                            is_ask ? (uint8_t)message->n_connections : 0};
    uint8_t *at = bytes;
    put(&at, MAGIC, 4);
    put(&at, kind, sizeof kind);
    put_number(&at, (uint64_t)message->sent_ns);
    put_number(&at, message->nonce);
    put_text(&at, message->set, SET_BYTES);
    if (is_ask) {
        put_ask(&at, message);
    } else {
        put_text(&at, message->made, SET_BYTES);
    }
    sign(bytes, (size_t)(at - bytes), &keys->key[0], at);
    return (size_t)(at - bytes) + MAC_BYTES;
}

/* ---- reading ---- */

static void take(const uint8_t **at, void *to, size_t size)
{
    memcpy(to, *at, size);
    *at += size;
}

static uint64_t take_number(const uint8_t **at)
{
    uint64_t number;
    take(at, &number, sizeof number);
    return GUINT64_FROM_BE(number);
}

static uint16_t take_port(const uint8_t **at)
{
    uint16_t port;
    take(at, &port, sizeof port);
    return GUINT16_FROM_BE(port);
}

/* False unless it is the name of a set, or is empty and may be. */
static bool take_set(const uint8_t **at, bool may_be_empty, char to[static LULL_SET_ID])
{
    take(at, to, SET_BYTES);
    to[SET_BYTES] = '\0';
    return (may_be_empty && !*to) || lull_sets_is_name(to);
}

static bool take_connections(const uint8_t **at, struct lull_peer_message *message)
{
    bool is_sound = true;
    for (uint32_t i = 0; i < message->n_connections; i++) {
        struct lull_peer_connection *connection = &message->connection[i];
        take(at, &connection->local, sizeof connection->local);
        take(at, &connection->remote, sizeof connection->remote);
        connection->local_port = take_port(at);
        connection->remote_port = take_port(at);
        is_sound = is_sound && connection->local_port > 0 && connection->remote_port > 0;
    }
    return is_sound;
}

static bool take_ask(const uint8_t **at, struct lull_peer_message *message)
{
    take(at, message->rule, sizeof message->rule);
    message->start_age_ns = (int64_t)take_number(at);
    message->end_age_ns = (int64_t)take_number(at);
    return memchr(message->rule, '\0', sizeof message->rule) &&
           lull_trigger_is_name(message->rule) && message->hops <= LULL_PEER_HOPS &&
           message->end_age_ns >= 0 && message->start_age_ns >= message->end_age_ns &&
           message->start_age_ns <= LULL_PEER_MOST_AGE_NS && take_connections(at, message);
}

static bool take_message(const uint8_t *at, const uint8_t kind[static 4],
                         struct lull_peer_message *message)
{
    message->sent_ns = (int64_t)take_number(&at);
    message->nonce = take_number(&at);
    if (!take_set(&at, false, message->set)) {
        return false;
    }
    if (message->kind == LULL_PEER_ASK) {
        message->hops = kind[2];
        message->n_connections = kind[3];
        return take_ask(&at, message);
    }
    message->verdict = kind[2];
    return message->verdict < LULL_TRIGGER_FAST && kind[3] == 0 &&
           take_set(&at, true, message->made);
}

/* The length that a message with such a header has, with its MAC; 0: there is none. */
static size_t length_of(const uint8_t kind[static 4])
{
    if (kind[0] != VERSION || kind[3] > LULL_PEER_CONNECTIONS) {
        return 0;
    }
    return kind[1] == LULL_PEER_ASK      ? ASK_BYTES + kind[3] * CONNECTION_BYTES + MAC_BYTES
           : kind[1] == LULL_PEER_ANSWER ? ANSWER_BYTES + MAC_BYTES
                                         : 0;
}

static bool is_signed(const uint8_t *bytes, size_t size, const struct lull_peer_keys *keys)
{
    uint8_t mac[MAC_BYTES];
    bool done = false;
    for (uint32_t i = 0; i < keys->n && !done; i++) {
        sign(bytes, size - MAC_BYTES, &keys->key[i], mac);
        done = is_same(mac, bytes + size - MAC_BYTES);
    }
    return done;
}

enum lull_peer_fault lull_peer_read(const uint8_t *bytes, size_t size,
                                    const struct lull_peer_keys *keys, int64_t now_ns,
                                    struct lull_peer_message *message)
{
    uint8_t kind[4];
    *message = (struct lull_peer_message){.kind = LULL_PEER_ASK};
    if (size < HEADER_BYTES || memcmp(bytes, MAGIC, 4) != 0) {
        return LULL_PEER_DAMAGED;
    }
    memcpy(kind, bytes + 4, sizeof kind);
    if (size != length_of(kind)) {
        return LULL_PEER_DAMAGED;
    }
    if (!is_signed(bytes, size, keys)) {
        return LULL_PEER_FORGED;
    }
    message->kind = kind[1];
    if (!take_message(bytes + 4 + sizeof kind, kind, message)) {
        return LULL_PEER_DAMAGED;
    }
    return message->sent_ns >= now_ns - LULL_PEER_MOST_SKEW_NS &&
                   message->sent_ns <= now_ns + LULL_PEER_MOST_SKEW_NS
               ? LULL_PEER_SOUND
               : LULL_PEER_CLOCK;
}
