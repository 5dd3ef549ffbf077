/* SPDX-License-Identifier: MIT */
/* From traces to a server that answers: store, token, port, signals. */
#include "cmd/serving.h"

#include <errno.h>
#include <unistd.h>

#include <lull/error.h>

#include "cmd/store_args.h"

enum { TRIES = 20 };

/* On the port that was asked for, or on the first free one after the usual. */
static struct server_http *start(struct server_settings *settings, int64_t port,
                                 uint16_t usual_port, GError **error)
{
    settings->port = port >= 0 ? (uint16_t)port : usual_port;
    const bool is_fixed = port >= 0 || usual_port == 0;
    struct server_http *http = server_http_new(settings, is_fixed ? error : NULL);
    for (int i = 1; !http && !is_fixed && i < TRIES; i++) {
        settings->port++;
        http = server_http_new(settings, i + 1 == TRIES ? error : NULL);
    }
    return http;
}

static const char *text(const struct lull_args *args, const char *option)
{
    return lull_args_takes(args, option) ? lull_args_text(args, option) : NULL;
}

static bool prepare(const struct lull_args *args, struct lull_serving *serving, GError **error)
{
    if (!server_token_make(serving->token) || !server_token_make(serving->entrance)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot make a random token: %s",
                    g_strerror(errno));
        return false;
    }
    const bool is_open = lull_args_takes(args, "no-token") && lull_args_flag(args, "no-token");
    serving->settings = (struct server_settings){.token = is_open ? NULL : serving->token,
                                                 .origin = text(args, "allow-origin"),
                                                 .host = text(args, "host-name"),
                                                 .answer = server_answer,
                                                 .user = serving->served};
    if (lull_args_takes(args, "at")) {
        const char *at = lull_args_text(args, "at");
        /* It becomes part of a header, and of JSON. */
        serving->fragment =
            at ? g_uri_escape_string(*at == '#' ? at + 1 : at, "=&,:@/;!*()+", FALSE) : NULL;
        serving->settings.fragment = serving->fragment;
        serving->settings.entrance = serving->entrance;
    }
    return true;
}

/* The threads of the server have this mask too, so that a signal comes to who waits for it. */
static void block_signals(struct lull_serving *serving)
{
    sigemptyset(&serving->ends);
    sigaddset(&serving->ends, SIGINT);
    sigaddset(&serving->ends, SIGTERM);
    sigaddset(&serving->ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &serving->ends, &serving->before);
}

static bool check(const struct lull_args *args, GError **error)
{
    if (lull_args_number(args, "port") > UINT16_MAX) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, "--port is at most 65535");
        return false;
    }
    if (geteuid() == 0 && !lull_args_flag(args, "allow-root")) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "a server should not be root; start it as another user, or with "
                            "--allow-root");
        return false;
    }
    return true;
}

static struct served *open_served(const struct lull_args *args, int *status, GError **error)
{
    struct lull_store_place place;
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    if (!lull_args_store_place(args, &place, error)) {
        return NULL;
    }
    struct lull_store *store = lull_args_store(args, &place, NULL, status, error);
    lull_store_place_clear(&place);
    return store ? served_new(store, traces, count, !lull_args_flag(args, "no-sync")) : NULL;
}

int lull_args_serve(const struct lull_args *args, uint16_t usual_port,
                    void (*wait)(const struct lull_args *args, struct lull_serving *serving),
                    GError **error)
{
    struct lull_serving serving = {0};
    int status = 0;
    if (!check(args, error)) {
        return 2;
    }
    serving.served = open_served(args, &status, error);
    if (!serving.served) {
        return 1;
    }
    block_signals(&serving);
    if (prepare(args, &serving, error)) {
        serving.http = start(&serving.settings, lull_args_number(args, "port"), usual_port, error);
    }
    if (serving.http) {
        wait(args, &serving);
    }
    status = serving.http ? status : 1;
    server_http_free(serving.http);
    pthread_sigmask(SIG_SETMASK, &serving.before, NULL);
    served_free(serving.served);
    g_free(serving.fragment);
    return status;
}
