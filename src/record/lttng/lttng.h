/* SPDX-License-Identifier: MIT */
/* The parts of the LTTng tracer: the names of its sessions, and the session daemon. */
#ifndef LULL_RECORD_LTTNG_H
#define LULL_RECORD_LTTNG_H

#include <lttng/lttng.h>

#include "record/invoker.h"
#include "record/keeper.h"
#include "record/tracer.h"

/* ---- lttng_sessions.c ---- */

/* The name of a recording session of this process: "lull-PID-START-NAMESPACE". Free with g_free().
 */
char *lull_lttng_session_name(void);
/* Whether it is such a name, and the process that it names is no more, as far as can be seen from
 * here. */
bool lull_lttng_is_left(const char *session);
/* The implementations of these operations of a tracer. */
uint32_t lull_lttng_clean_up(void);
void lull_lttng_remove(const char *session);

/* ---- lttng_daemon.c ---- */

/* The session daemon, without which nothing goes. */
struct lull_lttng_daemon {
    GPid pid; /* of the one that we started; 0: it was there before */
};

/* Starts the session daemon if there is none. It ends with the thread that called this, however
 * that ends. */
bool lull_lttng_daemon_start(struct lull_lttng_daemon *daemon, GError **error);
/* Ends the one that we started. */
void lull_lttng_daemon_end(struct lull_lttng_daemon *daemon);
/* Names of the kernel tracepoints that LTTng knows here: a set, to be released with
 * g_hash_table_unref(). */
GHashTable *lull_lttng_tracepoints(GError **error);
/* The implementation of this operation of a tracer. */
char *lull_lttng_missing(const struct lull_tracer_request *request);

/* Sets the error "LTTng: WHAT: WHY" of a negative code of liblttng-ctl; false always. */
bool lull_lttng_fail(const char *what, int code, GError **error);

#endif
