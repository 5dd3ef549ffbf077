/* SPDX-License-Identifier: MIT */
/* Takes addresses of live sessions apart. */
#include "source/live/url.h"

#include <lull/error.h>
#include <string.h>
#include <sys/socket.h>

#define DEFAULT_PORT "5344"

static const struct {
    const char *scheme;
    int family;
} schemes[] = {{"net://", AF_UNSPEC}, {"net4://", AF_INET}, {"net6://", AF_INET6}};

bool lull_live_url_is(const char *text)
{
    for (guint i = 0; i < G_N_ELEMENTS(schemes); i++) {
        if (g_str_has_prefix(text, schemes[i].scheme)) {
            return true;
        }
    }
    return false;
}

static bool is_port(const char *text)
{
    guint64 port;
    return g_ascii_string_to_unsigned(text, 10, 1, 65535, &port, NULL);
}

/* HOST, HOST:PORT, or the same with [HOST]. */
static bool parse_authority(char *text, struct lull_live_url *url)
{
    char *host = text, *port = NULL, *end;
    if (*text == '[' && (end = strchr(text, ']'))) {
        host = text + 1;
        *end++ = '\0';
        if (*end == ':') {
            port = end + 1;
        } else if (*end != '\0') {
            return false;
        }
    } else if ((end = strchr(text, ':'))) {
        *end = '\0';
        port = end + 1;
    }
    if (*host == '\0' || (port && !is_port(port))) {
        return false;
    }
    url->host = g_strdup(host);
    url->port = g_strdup(port ? port : DEFAULT_PORT);
    return true;
}

/* Nothing, or /host/TARGET/SESSION. */
static bool parse_path(const char *text, struct lull_live_url *url)
{
    if (*text == '\0' || strcmp(text, "/") == 0) {
        return true;
    }
    g_auto(GStrv) parts = g_strsplit(text, "/", -1);
    if (g_strv_length(parts) != 4 || strcmp(parts[1], "host") != 0 || *parts[2] == '\0' ||
        *parts[3] == '\0') {
        return false;
    }
    url->target = g_strdup(parts[2]);
    url->session = g_strdup(parts[3]);
    return true;
}

bool lull_live_url_parse(const char *text, struct lull_live_url *url, GError **error)
{
    memset(url, 0, sizeof *url);
    for (guint i = 0; i < G_N_ELEMENTS(schemes); i++) {
        const char *scheme = schemes[i].scheme;
        if (!g_str_has_prefix(text, scheme)) {
            continue;
        }
        const char *authority = text + strlen(scheme);
        size_t length = strcspn(authority, "/");
        g_autofree char *copy = g_strndup(authority, length);
        url->family = schemes[i].family;
        url->relay = g_strndup(text, strlen(scheme) + length);
        if (parse_authority(copy, url) && parse_path(authority + length, url)) {
            return true;
        }
        lull_live_url_clear(url);
        break;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "%s: not the address of a live session, which has the form "
                "net://HOST[:PORT]/host/TARGET/SESSION",
                text);
    return false;
}

void lull_live_url_clear(struct lull_live_url *url)
{
    g_free(url->relay);
    g_free(url->host);
    g_free(url->port);
    g_free(url->target);
    g_free(url->session);
    memset(url, 0, sizeof *url);
}
