/* SPDX-License-Identifier: MIT */
/* Leads requests to what answers them. */
#include "server/server.h"

#include <string.h>

#include "server/tsp.h"

void server_answer(void *user, const struct server_request *request, struct server_answer *answer)
{
    static const char tsp[] = "tsp/api/";
    if (g_str_has_prefix(request->path, tsp)) {
        server_tsp(user, request, request->path + strlen(tsp), answer);
    } else {
        server_refuse(answer, 404, "Not found", "there is nothing here");
    }
}
