/* SPDX-License-Identifier: MIT */
/* lull view: shows traces in the browser until its page is closed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include <lull/error.h>

#include "cmd/period_args.h"
#include "cmd/say.h"
#include "cmd/serving.h"
#include "cmd/store_args.h"
#include "server/page.h"
#include "server/visitors.h"

/* In the child, which must not have our mask of signals. */
static void restore_signals(gpointer before)
{
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* False, and says why, if there is no browser to be seen. The address that the browser is given
 * works once, since all users of this machine can read it in the list of processes. */
static bool open_browser(struct lull_serving *serving)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *url = g_strdup_printf(
        "http://127.0.0.1:%u/o/%s", (unsigned)server_http_port(serving->http), serving->entrance);
    char *command[] = {(char *)"xdg-open", url, NULL};
    if (!g_getenv("DISPLAY") && !g_getenv("WAYLAND_DISPLAY") && !g_getenv("BROWSER")) {
        lull_say("lull: there is no display here; open this address in a browser\n");
        return false;
    }
    if (!g_spawn_async(NULL, command, NULL,
                       G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL |
                           G_SPAWN_STDERR_TO_DEV_NULL,
                       restore_signals, &serving->before, NULL, &error)) {
        lull_say("lull: cannot start a browser with xdg-open: %s; open this address\n",
                 error->message);
        return false;
    }
    return true;
}

static void print_url(const struct lull_args *args, const struct lull_serving *serving)
{
    const char *fragment = serving->settings.fragment;
    g_autofree char *url =
        g_strdup_printf("http://127.0.0.1:%u/t/%s/%s%s", (unsigned)server_http_port(serving->http),
                        serving->token, fragment ? "#" : "", fragment ? fragment : "");
    if (lull_args_flag(args, "json")) {
        printf("{\"version\":1,\"view\":\"%s\"}\n", url);
    } else {
        printf("Time view: %s\nIt ends when the page is closed, or with Ctrl-C.\n", url);
    }
    fflush(stdout);
}

static void wait_for_end(struct lull_serving *serving)
{
    struct server_visitors *visitors = server_stage_about(serving->stage)->visitors;
    if (!lull_args_flag(serving->args, "no-browser")) {
        open_browser(serving);
    }
    print_url(serving->args, serving);
    while (!server_visitors_are_gone(visitors, g_get_monotonic_time()) &&
           lull_serving_goes_on(serving)) {
    }
}

static int run(const struct lull_args *args, GError **error)
{
    if (!server_has_page()) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
                            "this Lull was built without the time view; building it needs "
                            "libmicrohttpd-dev, node-typescript and esbuild");
        return 1;
    }
    return lull_args_serve(args, 0, wait_for_end, error);
}

static const struct lull_option options[] = {
    {.name = "at",
     .kind = LULL_OPTION_TEXT,
     .argument = "FRAGMENT",
     .help = "open it as the page was whose address ended with #FRAGMENT"},
    {.name = "no-browser",
     .kind = LULL_OPTION_FLAG,
     .help = "only print the address, as on a machine that you reach through SSH"},
    LULL_OPTION_STORE_STATES,
    LULL_OPTIONS_PERIOD("show how long such periods took (Latency), and their critical paths "
                        "(Requests)"),
    {.name = "port",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "listen on port N (default: any that is free)"},
    {.name = "allow-root", .kind = LULL_OPTION_FLAG, .help = "serve as root"},
    {.name = NULL},
};

static const char *const common[] = {"no-sync", "threads", "json", NULL};

static const struct lull_example examples[] = {
    {"lull view my-trace", "Opens the browser."},
    {"lull view client httpd db", "Three machines on one clock."},
    {"lull view --period 'req : $evt.$name == \"req_start\" : $evt.$name == \"req_end\"' my-trace",
     "Latency also shows how long each request took."},
    {"lull view --no-browser --port 8000 my-trace",
     "Prints the address; with 'ssh -L 8000:localhost:8000 HOST' it can be opened elsewhere."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_view = {
    .name = "view",
    .summary = "look at traces in the browser",
    .usage = "TRACE…",
    .description =
        "Opens the browser on a page that shows what each task did at every moment and what it "
        "waited for (Control flow), what each CPU and interrupt did (Resources), which functions each "
        "task was in (Calls, if calls were recorded) and where it spent a range of time (Flame graph), the critical "
        "path of a task through all machines (Critical flow), how much of the CPUs was used "
        "(CPU usage), what disks and network interfaces moved (Disk and network use), at which "
        "frequency each CPU ran and how many of its cycles had a task (CPU frequency), how long "
        "each system call, wait for a CPU, block request, interrupt, wait on a futex and instance "
        "of a --period took (Latency), the events themselves (Events), the requests that the "
        "machines sent each other, or the instances of a --period (Requests), and what makes some of "
        "them slow (Why). Select a "
        "wait to read what it waited for; Enter goes to who ended it, Backspace comes back, so a "
        "chain of causes can be walked by keyboard. P holds the "
        "selected row at the top, M sets a bookmark, Ctrl Z goes back to what was seen before; '?' on the page lists all keys.\n"
        "\n"
        "The page comes from Lull itself and needs no network. Lull listens on 127.0.0.1 alone, "
        "and answers nothing without the token in the address; whoever has the address can read "
        "the traces. It ends some seconds after the page was closed. The address of the page "
        "holds what it shows: --at opens it there again.\n"
        "\n"
        "The store of the traces is made if it is not there; see 'lull index'. The page opens at once, "
        "says how far that is, and fills in; critical paths and requests come with the end.",
    .output = "The address. With --json, on one line:\n"
              "\n"
              " {\"version\":1,\"view\"}",
    .options = options,
    .common = common,
    .examples = examples,
    .has_no_pager = true,
    .run = run,
};
