/* SPDX-License-Identifier: MIT */
/* libmicrohttpd around the guard: limits of size and number, headers of every answer. */
#include "server/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>

#include "base/json.h"
#include "base/late.h"
#include "server/guard.h"
#include "server/places.h"

#define FUNCTIONS(X)                                                                               \
    X(MHD_add_response_header)                                                                     \
    X(MHD_create_response_from_buffer)                                                             \
    X(MHD_destroy_response)                                                                        \
    X(MHD_get_connection_info)                                                                     \
    X(MHD_get_daemon_info)                                                                         \
    X(MHD_lookup_connection_value)                                                                 \
    X(MHD_queue_response)                                                                          \
    X(MHD_start_daemon)                                                                            \
    X(MHD_stop_daemon)
static LULL_LATE_STRUCT(functions, FUNCTIONS) libmicrohttpd;
static struct lull_late late = LULL_LATE(LULL_SONAME_MICROHTTPD, libmicrohttpd, FUNCTIONS);

enum {
    BODY_MOST = 1 << 20,
    DEPTH_MOST = 16,
    /* Of each thread: all that have a place, and some that have lost theirs and are still to be closed. */
    CONNECTIONS_MOST = SERVER_PLACES + 64,
    CONNECTION_BYTES = 32 << 10,
    IDLE_S = 60,
    THREADS_MOST = 4
};

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "  \
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct server_http {
    const struct server_settings *settings;
    struct MHD_Daemon *daemon;
    struct server_places *places;
    gint is_entered; /* atomic */
};

/* A request while it comes in. */
struct exchange {
    struct server_answer answer;
    GString *body;
    const char *path;   /* below the token; NULL: it is refused */
    const char *origin; /* that may read the answer, or NULL */
};

static bool find_ends(int fd, struct sockaddr_in *other_end, struct sockaddr_in *own_end)
{
    socklen_t size = sizeof *other_end, own_size = sizeof *own_end;
    return getpeername(fd, (struct sockaddr *)other_end, &size) == 0 &&
           getsockname(fd, (struct sockaddr *)own_end, &own_size) == 0;
}

uint64_t server_request_socket(const struct server_request *request)
{
    struct sockaddr_in other_end, own_end;
    const union MHD_ConnectionInfo *info = libmicrohttpd.MHD_get_connection_info(
        request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info && find_ends(info->connect_fd, &other_end, &own_end)
               ? server_places_socket(&other_end, &own_end)
               : 0;
}

const char *server_query(const struct server_request *request, const char *name)
{
    return libmicrohttpd.MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND,
                                                     name);
}

void server_refuse(struct server_answer *answer, unsigned status, const char *title,
                   const char *detail)
{
    answer->status = status;
    answer->type = "application/json";
    g_string_assign(answer->body, "{\"title\":");
    lull_json_append(answer->body, title, strlen(title));
    g_string_append(answer->body, ",\"detail\":");
    lull_json_append(answer->body, detail, strlen(detail));
    g_string_append_c(answer->body, '}');
}

/* ---- what comes in ---- */

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    return libmicrohttpd.MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* The path below the token, or NULL. */
static const char *find_path(const struct server_settings *settings, const char *url)
{
    if (!settings->token) {
        return *url == '/' ? url + 1 : NULL;
    }
    if (!g_str_has_prefix(url, "/t/")) {
        return NULL;
    }
    const char *token = url + strlen("/t/"), *end = strchr(token, '/');
    return end && server_token_is(settings->token, token, (size_t)(end - token)) ? end + 1 : NULL;
}

/* The address that was given to a browser, for the first time. */
static bool enters(struct server_http *http, const char *url)
{
    const char *entrance = http->settings->entrance;
    return entrance && http->settings->token && g_str_has_prefix(url, "/o/") &&
           server_token_is(entrance, url + strlen("/o/"), strlen(url) - strlen("/o/")) &&
           g_atomic_int_compare_and_exchange(&http->is_entered, 0, 1);
}

static void lead_to_page(const struct server_settings *settings, struct server_answer *answer)
{
    const char *fragment = settings->fragment;
    answer->status = 303;
    answer->location = g_strdup_printf("/t/%s/%s%s", settings->token, fragment ? "#" : "",
                                       fragment ? fragment : "");
}

/* Refuses what must not be answered. */
static void check(struct server_http *http, struct MHD_Connection *connection, const char *url,
                  const char *method, struct exchange *exchange)
{
    const struct server_settings *settings = http->settings;
    const char *host = header_of(connection, "Host"), *origin = header_of(connection, "Origin");
    const char *type = header_of(connection, "Content-Type");
    struct server_answer *answer = &exchange->answer;
    if (!server_host_is_ours(host, settings->host)) {
        server_refuse(answer, 421, "Wrong host", "the Host header names another machine");
    } else if (!server_origin_is_ours(origin, host, settings->origin)) {
        server_refuse(answer, 403, "Wrong origin", "pages from this origin may not ask");
    } else if (enters(http, url)) {
        lead_to_page(settings, answer);
    } else if (!find_path(settings, url)) {
        server_refuse(answer, 404, "Not found", "there is nothing here");
    } else if ((strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) &&
               (!type || !g_str_has_prefix(type, "application/json"))) {
        server_refuse(answer, 415, "Wrong type", "a body must be application/json");
    } else {
        exchange->path = find_path(settings, url);
        exchange->origin = origin;
    }
}

static void take_body(struct exchange *exchange, const char *data, size_t size)
{
    if (exchange->body->len + size <= BODY_MOST) {
        g_string_append_len(exchange->body, data, (gssize)size);
    } else if (exchange->path) {
        exchange->path = NULL;
        server_refuse(&exchange->answer, 413, "Too large", "a body has at most 1 MiB");
    }
}

/* The object in the body; NULL if there is none, *is_bad if it is something else. */
static struct json_object *parse(const GString *body, bool *is_bad)
{
    *is_bad = false;
    if (body->len == 0) {
        return NULL;
    }
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MOST);
    struct json_object *object = json_tokener_parse_ex(tokener, body->str, (int)body->len);
    *is_bad = json_tokener_get_error(tokener) != json_tokener_success ||
              !json_object_is_type(object, json_type_object) ||
              json_tokener_get_parse_end(tokener) != body->len;
    json_tokener_free(tokener);
    return object;
}

static void route(const struct server_settings *settings, struct MHD_Connection *connection,
                  const char *method, struct exchange *exchange)
{
    bool is_bad;
    struct json_object *object = parse(exchange->body, &is_bad);
    struct server_request request = {.method = method,
                                     .path = exchange->path,
                                     .body = object,
                                     .authorization = header_of(connection, "Authorization"),
                                     .connection = connection};
    if (strcmp(method, "OPTIONS") == 0) {
        exchange->answer.status = 204;
    } else if (is_bad) {
        server_refuse(&exchange->answer, 400, "Bad request", "the body is not a JSON object");
    } else {
        if (object) {
            json_object_object_get_ex(object, "parameters", &request.params);
        }
        settings->answer(settings->user, &request, &exchange->answer);
    }
    json_object_put(object);
}

/* ---- what goes out ---- */

static void add_headers(struct MHD_Response *response, const struct exchange *exchange)
{
    const struct server_answer *answer = &exchange->answer;
    libmicrohttpd.MHD_add_response_header(response, "Content-Type", answer->type);
    libmicrohttpd.MHD_add_response_header(response, "Cache-Control",
                                          answer->is_page ? "no-cache" : "no-store");
    libmicrohttpd.MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    libmicrohttpd.MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    libmicrohttpd.MHD_add_response_header(response, "Content-Security-Policy", POLICY);
    libmicrohttpd.MHD_add_response_header(response, "Vary", "Origin");
    if (answer->location) {
        libmicrohttpd.MHD_add_response_header(response, "Location", answer->location);
    }
    if (exchange->origin) {
        libmicrohttpd.MHD_add_response_header(response, "Access-Control-Allow-Origin",
                                              exchange->origin);
        libmicrohttpd.MHD_add_response_header(response, "Access-Control-Allow-Methods",
                                              "GET, POST, PUT, DELETE, OPTIONS");
        libmicrohttpd.MHD_add_response_header(response, "Access-Control-Allow-Headers",
                                              "content-type, accept");
        libmicrohttpd.MHD_add_response_header(response, "Access-Control-Allow-Private-Network",
                                              "true");
        libmicrohttpd.MHD_add_response_header(response, "Access-Control-Max-Age", "600");
    }
}

static enum MHD_Result reply(struct MHD_Connection *connection, struct exchange *exchange)
{
    GString *body = exchange->answer.body;
    const size_t size = body->len;
    struct MHD_Response *response =
        libmicrohttpd.MHD_create_response_from_buffer(size, body->str, MHD_RESPMEM_MUST_COPY);
    if (!response) {
        return MHD_NO;
    }
    add_headers(response, exchange);
    const enum MHD_Result result =
        libmicrohttpd.MHD_queue_response(connection, exchange->answer.status, response);
    libmicrohttpd.MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    struct server_http *http = cls;
    struct exchange *exchange = *state;
    if (!exchange) {
        *state = exchange = g_new0(struct exchange, 1);
        exchange->body = g_string_new(NULL);
        exchange->answer = (struct server_answer){
            .status = 200, .body = g_string_new(NULL), .type = "application/json"};
        check(http, connection, url, method, exchange);
        return MHD_YES;
    }
    if (*size) {
        take_body(exchange, data, *size);
        *size = 0;
        return MHD_YES;
    }
    if (exchange->path) {
        route(http->settings, connection, method, exchange);
    }
    return reply(connection, exchange);
}

static void complete(void *cls, struct MHD_Connection *connection, void **state,
                     enum MHD_RequestTerminationCode code)
{
    struct exchange *exchange = *state;
    if (exchange) {
        g_string_free(exchange->body, TRUE);
        g_string_free(exchange->answer.body, TRUE);
        g_free(exchange->answer.location);
        g_free(exchange);
        *state = NULL;
    }
}

/* ---- the daemon ---- */

/* A connection is there, or is over. */
static void meet(void *cls, struct MHD_Connection *connection, void **state,
                 enum MHD_ConnectionNotificationCode code)
{
    const struct server_http *http = cls;
    if (code != MHD_CONNECTION_NOTIFY_STARTED) {
        server_places_leave(http->places, connection);
        return;
    }
    const int fd =
        libmicrohttpd.MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
            ->connect_fd;
    struct sockaddr_in other_end, own_end;
    const bool is_known = find_ends(fd, &other_end, &own_end);
    server_places_take(http->places, connection, fd,
                       is_known ? server_places_user(&other_end, &own_end) : SERVER_NOBODY_KNOWN);
}

struct server_http *server_http_new(const struct server_settings *settings, GError **error)
{
    if (!lull_late_load(&late, error)) {
        return NULL;
    }
    struct server_http *http = g_new0(struct server_http, 1);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(settings->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const unsigned n_threads = CLAMP(g_get_num_processors(), 2, (unsigned)THREADS_MOST);
    http->settings = settings;
    http->places = server_places_new();
    /* Not epoll: libmicrohttpd 0.9.75 then does not see, for as long as IDLE_S, that who had to wait for a place has
     * gone. */
    http->daemon = libmicrohttpd.MHD_start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ITC, settings->port, NULL, NULL,
        handle, http, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, n_threads * (unsigned)CONNECTIONS_MOST,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_THREAD_POOL_SIZE, n_threads,
        MHD_OPTION_NOTIFY_COMPLETED, complete, NULL, MHD_OPTION_NOTIFY_CONNECTION, meet, http,
        MHD_OPTION_END);
    if (!http->daemon) {
        const int why = errno;
        g_set_error(error, LULL_ERROR, LULL_ERROR_IO, "cannot listen on port %u of 127.0.0.1: %s%s",
                    settings->port, g_strerror(why),
                    why == EADDRINUSE ? "; choose another with --port" : "");
        server_http_free(g_steal_pointer(&http));
    }
    return http;
}

uint16_t server_http_port(const struct server_http *http)
{
    return libmicrohttpd.MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void server_http_free(struct server_http *http)
{
    if (http) {
        if (http->daemon) {
            libmicrohttpd.MHD_stop_daemon(http->daemon);
        }
        server_places_free(http->places);
        g_free(http);
    }
}
