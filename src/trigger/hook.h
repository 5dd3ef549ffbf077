/* SPDX-License-Identifier: MIT */
/* What a server says of a request that is over: one line, which anybody in the group may send.
 *   lull1 t=END d=TIME [pid=N] [tid=N] [id=TEXT] [peer=A:P] [local=A:P] [up=A:P, A:P …] …
 * Times with a point are seconds, others microseconds; END is since the epoch. An end of a connection is ADDRESS:PORT. */
#ifndef LULL_TRIGGER_HOOK_H
#define LULL_TRIGGER_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigger/config.h"

#define LULL_HOOK_MOST_BYTES 1024u
/* Of an id, with its NUL; longer ones are cut. */
#define LULL_HOOK_ID 64

/* Others are not looked at. */
#define LULL_HOOK_UP 8

struct lull_hook {
    int64_t end_ns, delay_ns;
    int32_t pid, tid;      /* 0: not said */
    char id[LULL_HOOK_ID]; /* visible ASCII; "" */
    /* The connection by which the request came: its two ends; port 0: not said. */
    struct lull_trigger_endpoint peer, local;
    struct lull_trigger_endpoint up[LULL_HOOK_UP]; /* who was asked to serve it */
    uint32_t n_up;
};

/* Words that are not known are ignored, and so is what comes before "lull1 " (syslog). False if it is no
 * such line: END or TIME is missing, twice there, or no number, or it is too long. */
bool lull_hook_parse(const char *text, size_t size, struct lull_hook *hook);

#endif
