/* SPDX-License-Identifier: MIT */
/* lull serve: answers trace viewers until a signal ends it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "cmd/store_args.h"
#include "server/guard.h"
#include "server/server.h"

enum { PORT = 8080, TRIES = 20 };

/* On the port that was asked for, or on the first free one after the usual. */
static struct server_http *start(struct server_settings *settings, int64_t port, GError **error)
{
    settings->port = (uint16_t)(port >= 0 ? port : PORT);
    struct server_http *http = server_http_new(settings, port >= 0 ? error : NULL);
    for (int i = 1; !http && port < 0 && i < TRIES; i++) {
        settings->port++;
        http = server_http_new(settings, i + 1 == TRIES ? error : NULL);
    }
    return http;
}

static void print_urls(const struct lull_args *args, const struct server_http *http,
                       const struct server_settings *settings)
{
    const unsigned port = server_http_port(http);
    g_autofree char *path =
        settings->token ? g_strdup_printf("t/%s/tsp/api", settings->token) : g_strdup("tsp/api");
    if (lull_args_flag(args, "json")) {
        printf("{\"version\":1,\"tsp\":\"http://127.0.0.1:%u/%s\"}\n", port, path);
    } else {
        printf("Trace Server Protocol: http://127.0.0.1:%u/%s\n"
               "VS Code: set trace-compass.traceserver.url to http://localhost:%u\n"
               "         and trace-compass.traceserver.apiPath to %s\n"
               "Theia:   TRACE_SERVER_URL=http://localhost:%u/%s\n"
               "Ctrl-C ends the server.\n",
               port, path, port, path, port, path);
    }
    fflush(stdout);
}

static int serve(const struct lull_args *args, struct served *served, const sigset_t *ends,
                 GError **error)
{
    char token[SERVER_TOKEN_LENGTH + 1];
    int signal_number;
    if (!server_token_make(token)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot make a random token: %s",
                    g_strerror(errno));
        return 1;
    }
    struct server_settings settings = {.token = lull_args_flag(args, "no-token") ? NULL : token,
                                       .origin = lull_args_text(args, "allow-origin"),
                                       .host = lull_args_text(args, "host-name"),
                                       .answer = server_answer,
                                       .user = served};
    struct server_http *http = start(&settings, lull_args_number(args, "port"), error);
    if (!http) {
        return 1;
    }
    print_urls(args, http, &settings);
    while (sigwait(ends, &signal_number) != 0) { /* EINTR */
    }
    server_http_free(http);
    return 0;
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

static int run(const struct lull_args *args, GError **error)
{
    struct lull_store_place place;
    sigset_t ends, before;
    int status = 0;
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    if (!check(args, error)) {
        return 2;
    }
    if (!lull_args_store_place(args, &place, error)) {
        return 1;
    }
    struct lull_store *store = lull_args_store(args, &place, NULL, &status, error);
    lull_store_place_clear(&place);
    if (!store) {
        return 1;
    }
    struct served *served = served_new(store, traces, count, !lull_args_flag(args, "no-sync"));
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    /* The threads of the server have this mask too, so the signal comes to sigwait(). */
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    const int served_status = serve(args, served, &ends, error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    served_free(served);
    return MAX(status, served_status);
}

static const struct lull_option options[] = {
    {.name = "port",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "listen on port N; 0: any that is free (default: 8080, or the next that is free)"},
    {.name = "no-token",
     .kind = LULL_OPTION_FLAG,
     .help = "answer everyone on this machine, for clients that know no other address than "
             "http://localhost:8080/tsp/api"},
    {.name = "allow-origin",
     .kind = LULL_OPTION_TEXT,
     .argument = "URL",
     .help = "pages of this origin may ask too, as in https://viewer.example"},
    {.name = "host-name",
     .kind = LULL_OPTION_TEXT,
     .argument = "NAME",
     .help = "requests may call this machine NAME too, as behind a proxy"},
    {.name = "allow-root", .kind = LULL_OPTION_FLAG, .help = "serve as root"},
    {.name = NULL},
};

static const char *const common[] = {"no-sync", "threads", "json", NULL};

static const struct lull_example examples[] = {
    {"lull serve my-trace", "Prints what to set in VS Code or Theia."},
    {"lull serve --port 0 client httpd db", "Three machines, on any free port."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_serve = {
    .name = "serve",
    .summary = "serve traces to viewers in VS Code and Theia",
    .usage = "TRACE…",
    .description =
        "Answers the Trace Server Protocol, version 0.6, about the given traces, so that the "
        "Trace Viewer of VS Code, of Theia, or tsp-python-client can show them: what each task "
        "did at every moment and what it waited for (Thread Status), what each CPU and interrupt "
        "did (Resources Status), and who used the CPUs (CPU Usage). From Critical Path, clients derive "
        "the path of a task, by its tid, between two times; the first one takes as long as 'lull "
        "critpath'. The store of the traces is "
        "made first if it is not there; see 'lull index'.\n"
        "\n"
        "The server listens on 127.0.0.1 alone. Its addresses contain a token, new at each start, "
        "without which nothing is answered: whoever has the address can read the traces. Requests "
        "must name this machine, and web pages of others may not ask; the webviews of VS Code "
        "may. Nothing but the given traces can be opened, and nothing be deleted.",
    .output = "The addresses. With --json, on one line:\n"
              "\n"
              " {\"version\":1,\"tsp\"}",
    .options = options,
    .common = common,
    .examples = examples,
    .has_no_pager = true,
    .run = run,
};
