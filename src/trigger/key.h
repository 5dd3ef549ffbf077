/* SPDX-License-Identifier: MIT */
/* The key that the daemons of several machines share: a file that nobody else can read. */
#ifndef LULL_TRIGGER_KEY_H
#define LULL_TRIGGER_KEY_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define LULL_PEER_KEY_BYTES 32
/* A new key is added before the old one is taken away. */
#define LULL_PEER_KEYS 2

struct lull_peer_key {
    uint8_t bytes[LULL_PEER_KEY_BYTES];
};

struct lull_peer_keys {
    struct lull_peer_key key[LULL_PEER_KEYS]; /* the first signs, all are valid */
    uint32_t n;
};

/* Reads one or two lines of 64 hexadecimal digits. False and an error if that is not what is there, or
 * if it is not the file of this user alone. */
bool lull_peer_keys_read(const char *path, struct lull_peer_keys *keys, GError **error);
/* Writes a file with a new random key; there must be none. */
bool lull_peer_keys_make(const char *path, GError **error);

/* Whether these are the digits of one of them; takes as long for each guess. */
bool lull_peer_keys_have(const struct lull_peer_keys *keys, const char *digits);

#endif
