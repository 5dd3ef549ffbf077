/* SPDX-License-Identifier: MIT */
/* A build without libmicrohttpd: there is no server. */
#include "server/http.h"

#include "base/json.h"

struct server_http *server_http_new(const struct server_settings *settings, GError **error)
{
    g_set_error_literal(
        error, LULL_ERROR, LULL_ERROR_UNSUPPORTED,
        "this lull was built without a server; building it needs libmicrohttpd-dev");
    return NULL;
}

uint16_t server_http_port(const struct server_http *http)
{
    return 0;
}

void server_http_free(struct server_http *http)
{
}

const char *server_query(const struct server_request *request, const char *name)
{
    return NULL;
}

void server_refuse(struct server_answer *answer, unsigned status, const char *title,
                   const char *detail)
{
    answer->status = status;
    g_string_assign(answer->body, title);
}
