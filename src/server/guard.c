/* SPDX-License-Identifier: MIT */
/* The checks before anything is answered. A page of another site can send requests to this machine,
 * and can give its own name our address; it can neither forge Host and Origin nor know the token. */
#include "server/guard.h"

#include <glib.h>
#include <string.h>
#include <sys/random.h>

bool server_token_make(char token[static SERVER_TOKEN_LENGTH + 1])
{
    unsigned char bytes[SERVER_TOKEN_LENGTH / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        return false;
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        g_snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

bool server_token_is(const char *token, const char *text, size_t length)
{
    unsigned difference = length != SERVER_TOKEN_LENGTH;
    for (size_t i = 0; i < SERVER_TOKEN_LENGTH && i < length; i++) {
        difference |= (unsigned char)token[i] ^ (unsigned char)text[i];
    }
    return difference == 0;
}

/* A port, with its colon, or nothing. */
static bool is_port(const char *text)
{
    return !*text ||
           (*text == ':' && text[1] && strspn(text + 1, "0123456789") == strlen(text + 1));
}

static bool is_name(const char *host, const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    return name && g_ascii_strncasecmp(host, name, length) == 0 && is_port(host + length);
}

bool server_host_is_ours(const char *host, const char *more)
{
    return host && (is_name(host, "localhost") || is_name(host, "127.0.0.1") ||
                    is_name(host, "[::1]") || is_name(host, more));
}

/* A name below `domain` ("….vscode-cdn.net"), with nothing after it. */
static bool is_below(const char *origin, const char *domain)
{
    return g_str_has_prefix(origin, "https://") && g_str_has_suffix(origin, domain) &&
           strlen(origin) > strlen("https://") + strlen(domain) &&
           strcspn(origin + strlen("https://"), "/?#@\\:") == strlen(origin + strlen("https://"));
}

bool server_origin_is_ours(const char *origin, const char *host, const char *more)
{
    if (!origin || (more && strcmp(origin, more) == 0)) {
        return true;
    }
    return (g_str_has_prefix(origin, "http://") && host &&
            g_ascii_strcasecmp(origin + strlen("http://"), host) == 0) ||
           g_str_has_prefix(origin, "vscode-webview://") || is_below(origin, ".vscode-cdn.net") ||
           is_below(origin, ".vscode-webview.net");
}
