/* SPDX-License-Identifier: MIT */
/* HTTP on the loopback interface: what comes here has passed the guard, and is a method, a path
 * below the token, and a JSON object. */
#ifndef LULL_SERVER_HTTP_H
#define LULL_SERVER_HTTP_H

#include <json-c/json.h>
#include <lull/error.h>
#include <stdbool.h>
#include <stdint.h>

struct server_request {
    const char *method;
    const char *path;           /* "tsp/api/health" */
    struct json_object *body;   /* or NULL: there is none */
    struct json_object *params; /* its "parameters", or NULL */
    const char *authorization;  /* the header, or NULL */
    void *connection;           /* of the HTTP library */
};

struct server_answer {
    unsigned status; /* 200 until it is set */
    GString *body;
    const char *type; /* "application/json" until it is set */
    bool is_page;     /* may be kept by the browser; else nothing is */
    char *location;   /* where else to look, to be freed; or NULL */
};

struct server_settings {
    uint16_t port;        /* 0: any */
    const char *token;    /* NULL: none */
    const char *origin;   /* one more that may ask, or NULL */
    const char *host;     /* one more name of this machine, or NULL */
    const char *entrance; /* a second token: "/o/ENTRANCE" leads to the page, once; NULL: none. Who
                             starts a browser shows all users of the machine its arguments */
    const char *fragment; /* of the page's address, behind the entrance; NULL: none */
    void (*answer)(void *user, const struct server_request *request, struct server_answer *answer);
    void *user;
};

struct server_http;

/* Starts to listen on 127.0.0.1; `settings` is borrowed. `answer` is called in threads of the
 * server's, several at once. NULL and an error if the port cannot be had. */
struct server_http *server_http_new(const struct server_settings *settings, GError **error);
uint16_t server_http_port(const struct server_http *http);
/* Waits for what is being answered. */
void server_http_free(struct server_http *http);

/* The inode of the socket of who asks, as /proc/PID/fd names it; 0: not known. */
uint64_t server_request_socket(const struct server_request *request);
/* The value of a query's argument, or NULL. */
const char *server_query(const struct server_request *request, const char *name);
/* Sets the status, and a body as the Trace Server Protocol has it. */
void server_refuse(struct server_answer *answer, unsigned status, const char *title,
                   const char *detail);

#endif
