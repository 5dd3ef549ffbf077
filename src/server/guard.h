/* SPDX-License-Identifier: MIT */
/* Who may talk to the server: requests that name this machine, come from no web page of others, and
 * know the token. */
#ifndef LULL_SERVER_GUARD_H
#define LULL_SERVER_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define SERVER_TOKEN_LENGTH 32

/* 128 random bits as 32 lower-case hexadecimal digits; false, with errno, if there are none. */
bool server_token_make(char token[static SERVER_TOKEN_LENGTH + 1]);
/* Whether the `length` bytes are the token; takes as long for each guess. */
bool server_token_is(const char *token, const char *text, size_t length);

/* Whether a Host header names this machine, or is `more` (or NULL), with any port. */
bool server_host_is_ours(const char *host, const char *more);
/* Whether an Origin header (NULL: none) is of our own page at `host`, of the webviews of VS Code,
 * or `more` (or NULL). */
bool server_origin_is_ours(const char *origin, const char *host, const char *more);

#endif
