/* SPDX-License-Identifier: MIT */
/* What programs of this machine may ask and report over HTTP, if they know the token (docs/DAEMON.md). */
#ifndef LULL_TRIGGER_HTTP_H
#define LULL_TRIGGER_HTTP_H

#include "server/http.h"
#include "trigger/counts.h"
#include "trigger/hook.h"
#include "trigger/key.h"

/* What becomes of a report. */
enum lull_http_report {
    LULL_HTTP_PASSED_ON,
    LULL_HTTP_FAST,    /* no rule allows less */
    LULL_HTTP_NO_RULE, /* of that name */
    LULL_HTTP_BUSY,    /* there is no room; try again */
};

struct lull_trigger_http {
    struct lull_peer_keys tokens; /* any of them will do; none: nobody may */
    /* `rule`: its name; NULL: the first that the request is too slow for. `socket`: of who reports; 0: not known. Called in
     * threads of the server's. */
    enum lull_http_report (*report)(void *user, const struct lull_hook *hook, const char *rule,
                                    uint64_t socket);
    void *user;
};

/* Whether a path is one of these. */
bool lull_trigger_http_has(const char *path);
/* Answers a request for one of them. */
void lull_trigger_http_answer(const struct lull_trigger_http *http,
                              const struct lull_trigger_counts *counts,
                              const struct server_request *request, struct server_answer *answer);

/* The line that a report over HTTP stands for (hook.h), and the rule that it names ("": none). False, and *why, to be
 * freed, if it is no report. */
bool lull_trigger_http_read(struct json_object *body, struct lull_hook *hook,
                            char rule[static LULL_TRIGGER_NAME], char **why);

#endif
