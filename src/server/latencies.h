/* SPDX-License-Identifier: MIT */
/* How long things took: each system call, wait for a CPU, block request, interrupt, wait on a futex
 * and instance of a period, as a point of time and duration. Those of a kind are read from the
 * traces when they are first asked for. Any thread may call these. */
#ifndef LULL_SERVER_LATENCIES_H
#define LULL_SERVER_LATENCIES_H

#include <json-c/json.h>

#include "base/vec.h"
#include "server/served.h"

struct server_latencies;

struct latency_point {
    int64_t start_ns, took_ns;
    uint32_t row;  /* of the store: the task, or the CPU of an interrupt; LULL_NONE: none */
    uint32_t name; /* index in the set's names */
};

/* All of a kind. */
struct latency_set {
    LULL_VEC(struct latency_point) points; /* by start */
    GPtrArray *names;                      /* of char * */
    uint64_t n_left_out;                   /* more than are kept */
};

/* `about` is borrowed. */
struct server_latencies *server_latencies_new(const struct served_about *about);
void server_latencies_free(struct server_latencies *latencies);

/* What there are latencies of. */
struct server_latency_kind {
    const char *id, *title;
    const char *needs; /* which events it is read from */
};

uint32_t server_latency_kinds(const struct server_latencies *latencies);
const struct server_latency_kind *server_latency_kind(const struct server_latencies *latencies,
                                                      uint32_t number);
/* The set of a kind, read if that was not done; until server_latencies_unlock(), which is due in any
 * case, no other thread has it. NULL and an error if it cannot be read. */
const struct latency_set *server_latencies_lock(const struct served *served, const char *id,
                                                GError **error);
void server_latencies_unlock(const struct served *served);

/* The first point that does not start before a time; their number, if there is none. */
size_t server_latency_first(const struct latency_set *set, int64_t time_ns);

/* Answers for the page (latency.c), as JSON. */
void server_latency_list_kinds(const struct served *served, GString *out);
/* What a picture and a table of names need of the points that start in a range. */
bool server_latency_picture(const struct served *served, struct json_object *params, GString *out,
                            GError **error);
/* The longest of them, longest first. */
bool server_latency_longest(const struct served *served, struct json_object *params, GString *out,
                            GError **error);

#endif
