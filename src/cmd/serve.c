/* SPDX-License-Identifier: MIT */
/* lull serve: answers trace viewers until a signal ends it. */
#include <signal.h>
#include <stdio.h>

#include "cmd/period_args.h"
#include "cmd/serving.h"
#include "cmd/store_args.h"
#include "server/page.h"

static void print_urls(const struct lull_args *args, const struct lull_serving *serving)
{
    const unsigned port = server_http_port(serving->http);
    const char *token = serving->settings.token;
    g_autofree char *path = token ? g_strdup_printf("t/%s/", token) : g_strdup("");
    if (lull_args_flag(args, "json")) {
        printf("{\"version\":1,\"tsp\":\"http://127.0.0.1:%u/%stsp/api\"}\n", port, path);
        return;
    }
    printf("Trace Server Protocol: http://127.0.0.1:%u/%stsp/api\n"
           "VS Code: set trace-compass.traceserver.url to http://localhost:%u\n"
           "         and trace-compass.traceserver.apiPath to %stsp/api\n"
           "Theia:   TRACE_SERVER_URL=http://localhost:%u/%stsp/api\n",
           port, path, port, path, port, path);
    if (server_has_page()) {
        printf("Browser: http://127.0.0.1:%u/%s\n", port, path);
    }
    printf("Ctrl-C ends the server.\n");
}

static void wait_for_end(struct lull_serving *serving)
{
    print_urls(serving->args, serving);
    fflush(stdout);
    while (lull_serving_goes_on(serving)) {
    }
}

static int run(const struct lull_args *args, GError **error)
{
    return lull_args_serve(args, 8080, wait_for_end, error);
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
     .help = "accept requests that call this machine NAME, as behind a proxy"},
    LULL_OPTION_STORE_STATES,
    LULL_OPTIONS_PERIOD("how long such periods took becomes outputs too"),
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
        "did (Resources Status), which functions each task was in, if calls were recorded (Call Stacks), who used the CPUs (CPU Usage), how many events there were "
        "(Histogram), the events (Events Table), and how long system calls, waits for a CPU, block "
        "requests, interrupts, waits on futexes and instances of a --period took (Latency, over "
        "time, as density, statistics and table). From Critical Path, clients derive the path of a task, by its tid, between two times; the first one takes as long as 'lull "
        "critpath'. Histogram, events and latencies are read when they are first asked for. The store of the traces is "
        "made if it is not there (see 'lull index'); meanwhile viewers see what is finished.\n"
        "\n"
        "The server listens on 127.0.0.1 alone. Its addresses contain a token, new at each start, "
        "without which nothing is answered: whoever has the address can read the traces. Requests must name this machine; web pages from elsewhere are refused, the webviews of VS Code are not. Only the given traces can be opened, and no trace can be deleted.",
    .output = "The addresses. With --json, on one line:\n"
              "\n"
              " {\"version\":1,\"tsp\"}",
    .options = options,
    .common = common,
    .examples = examples,
    .has_no_pager = true,
    .run = run,
};
