/* SPDX-License-Identifier: MIT */
/* What a path of the server leads to: the Trace Server Protocol. */
#ifndef LULL_SERVER_H
#define LULL_SERVER_H

#include "server/http.h"
#include "server/stage.h"

/* For struct server_settings; `user` is a struct server_stage. */
void server_answer(void *user, const struct server_request *request, struct server_answer *answer);

#endif
