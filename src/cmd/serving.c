/* SPDX-License-Identifier: MIT */
/* From traces to a server that answers: store, token, port, signals. */
#include "cmd/serving.h"

#include <errno.h>
#include <unistd.h>

#include <lull/error.h>

#include "cmd/store_args.h"

enum { TRIES = 20, LOOK_AGAIN_US = 5000 };

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
                                                 .user = serving->stage};
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
                            "a server should not run as root; start it as another user, or with "
                            "--allow-root");
        return false;
    }
    return true;
}

/* ---- the store ---- */

static void show_part(void *user, struct lull_store *part, int64_t end_ns)
{
    server_stage_show(user, part, end_ns, false);
}

static void *make_store(void *user)
{
    struct lull_serving *serving = user;
    const struct lull_store_making making = {serving->states, show_part, serving->stage,
                                             &serving->is_stopped};
    const struct lull_store_place *place = &serving->place;
    if (lull_args_store_make(serving->args, place, &making, &serving->status, &serving->failure)) {
        struct lull_store *store = lull_store_open(place->path, place->key, &serving->failure);
        if (store) {
            server_stage_show(serving->stage, store, INT64_MIN, true);
        }
    }
    g_atomic_int_set(&serving->is_over, 1);
    return NULL;
}

static bool parse_periods(struct lull_serving *serving, GError **error)
{
    const struct lull_args *args = serving->args;
    return !lull_args_takes(args, "period") ||
           lull_periods_parse_given(lull_args_texts(args, "period"),
                                    lull_args_texts(args, "period-captures"), &serving->periods,
                                    error);
}

/* Returns when there is something to see. Until then signals end us in the usual way. */
static bool open_stage(struct lull_serving *serving, GError **error)
{
    uint32_t count;
    const char *const *traces = lull_args_rest(serving->args, &count);
    if (!parse_periods(serving, error) ||
        !lull_args_store_place(serving->args, &serving->states, &serving->place, error)) {
        return false;
    }
    serving->stage = server_stage_new(traces, count, !lull_args_flag(serving->args, "no-sync"),
                                      serving->periods, serving->states);
    struct lull_store *store = lull_store_open(serving->place.path, serving->place.key, NULL);
    if (store) {
        server_stage_show(serving->stage, store, INT64_MIN, true);
        return true;
    }
    block_signals(serving);
    serving->indexer = g_thread_new("indexing", make_store, serving);
    pthread_sigmask(SIG_SETMASK, &serving->before, NULL);
    struct served *served = NULL;
    while (!served && !g_atomic_int_get(&serving->is_over)) {
        g_usleep(LOOK_AGAIN_US);
        served = server_stage_use(serving->stage);
    }
    served_unuse(served);
    return served || !serving->failure;
}

bool lull_serving_goes_on(struct lull_serving *serving)
{
    static const struct timespec second = {.tv_sec = 1};
    const bool is_over = g_atomic_int_get(&serving->is_over);
    return !(is_over && serving->failure) && sigtimedwait(&serving->ends, NULL, &second) < 0;
}

/* What was being made when it was ended is not missed. */
static void end_indexing(struct lull_serving *serving, GError **error)
{
    const bool was_over = g_atomic_int_get(&serving->is_over);
    g_atomic_int_set(&serving->is_stopped, 1);
    if (serving->indexer) {
        g_thread_join(serving->indexer);
    }
    if (!serving->failure) {
        return;
    }
    if (was_over) {
        serving->status = 1;
        g_clear_error(error);
        g_propagate_error(error, g_steal_pointer(&serving->failure));
    }
    g_clear_error(&serving->failure);
}

/* ---- the whole ---- */

static void serve(struct lull_serving *serving, uint16_t usual_port,
                  void (*wait)(struct lull_serving *serving), GError **error)
{
    const int64_t port = lull_args_number(serving->args, "port");
    block_signals(serving);
    if (prepare(serving->args, serving, error)) {
        serving->http = start(&serving->settings, port, usual_port, error);
    }
    if (serving->http) {
        wait(serving);
    }
}

int lull_args_serve(const struct lull_args *args, uint16_t usual_port,
                    void (*wait)(struct lull_serving *serving), GError **error)
{
    struct lull_serving serving = {.args = args};
    if (!check(args, error)) {
        return 2;
    }
    if (open_stage(&serving, error)) {
        serve(&serving, usual_port, wait, error);
        server_http_free(serving.http);
        pthread_sigmask(SIG_SETMASK, &serving.before, NULL);
    }
    end_indexing(&serving, error);
    const int status = serving.http ? serving.status : 1;
    server_stage_free(serving.stage);
    lull_periods_free(serving.periods);
    lull_states_free(serving.states);
    lull_store_place_clear(&serving.place);
    g_free(serving.fragment);
    return status;
}
