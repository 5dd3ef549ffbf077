/* SPDX-License-Identifier: MIT */
/* Leads requests to what answers them. */
#include "server/server.h"

#include <string.h>

#include "server/page.h"
#include "server/tsp.h"
#include "server/view.h"

void server_answer(void *user, const struct server_request *request, struct server_answer *answer)
{
    static const char tsp[] = "tsp/api/", view[] = "api/";
    struct served *served = server_stage_use(user);
    if (g_str_has_prefix(request->path, tsp)) {
        server_tsp(served, request, request->path + strlen(tsp), answer);
    } else if (g_str_has_prefix(request->path, view)) {
        server_view(served, request, request->path + strlen(view), answer);
    } else {
        server_page(request->path, answer);
    }
    served_unuse(served);
}
