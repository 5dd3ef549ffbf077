/* SPDX-License-Identifier: MIT */
/* The parts of the LTTng tracer: the names of its sessions, and the session daemon. */
#ifndef LULL_RECORD_LTTNG_H
#define LULL_RECORD_LTTNG_H

#include <lttng/lttng.h>

#include "base/late.h"
#include "record/invoker.h"
#include "record/keeper.h"
#include "record/tracer.h"

/* Of liblttng-ctl, once lull_lttng_load() has loaded it. */
#define LULL_LTTNG_FUNCTIONS(X)                                                                    \
    X(lttng_add_context)                                                                           \
    X(lttng_channel_create)                                                                        \
    X(lttng_channel_destroy)                                                                       \
    X(lttng_channel_get_discarded_event_count)                                                     \
    X(lttng_create_handle)                                                                         \
    X(lttng_create_session_ext)                                                                    \
    X(lttng_data_pending)                                                                          \
    X(lttng_destroy_handle)                                                                        \
    X(lttng_destroy_session)                                                                       \
    X(lttng_enable_channel)                                                                        \
    X(lttng_enable_event)                                                                          \
    X(lttng_event_create)                                                                          \
    X(lttng_event_destroy)                                                                         \
    X(lttng_list_channels)                                                                         \
    X(lttng_list_sessions)                                                                         \
    X(lttng_list_tracepoints)                                                                      \
    X(lttng_session_daemon_alive)                                                                  \
    X(lttng_session_descriptor_destroy)                                                            \
    X(lttng_session_descriptor_local_create)                                                       \
    X(lttng_session_descriptor_snapshot_create)                                                    \
    X(lttng_snapshot_output_create)                                                                \
    X(lttng_snapshot_output_destroy)                                                               \
    X(lttng_snapshot_output_set_local_path)                                                        \
    X(lttng_snapshot_output_set_name)                                                              \
    X(lttng_snapshot_record)                                                                       \
    X(lttng_start_tracing)                                                                         \
    X(lttng_stop_tracing_no_wait)                                                                  \
    X(lttng_strerror)
extern LULL_LATE_STRUCT(lull_lttng_functions, LULL_LTTNG_FUNCTIONS) lttng_ctl;

/* ---- sessions.c ---- */

/* The name of a recording session of this process: "lull-PID-START-NAMESPACE". Free with g_free().
 */
char *lull_lttng_session_name(void);
/* Whether it is such a name, and the process that it names is no more, as far as can be seen from
 * here. */
bool lull_lttng_is_left(const char *session);
/* The implementations of these operations of a tracer. */
uint32_t lull_lttng_clean_up(void);
void lull_lttng_remove(const char *session);

/* ---- daemon.c ---- */

/* The session daemon, without which nothing goes. */
struct lull_lttng_daemon {
    GPid pid; /* of the one that we started; 0: it was there before */
};

/* Loads liblttng-ctl: before anything else of LTTng. */
bool lull_lttng_load(GError **error);
/* Whether a session daemon answers. False without liblttng-ctl. */
bool lull_lttng_is_alive(void);
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
