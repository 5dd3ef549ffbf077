/* SPDX-License-Identifier: MIT */
/* Critical paths as outputs of the Trace Server Protocol: clients make one by naming a task and a
 * time. The traces are read for it when the first one is asked for. Any thread may call these. */
#ifndef LULL_SERVER_PATHS_H
#define LULL_SERVER_PATHS_H

#include <glib.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include <lull/waits.h>

#include "server/states.h"

#define SERVER_PATH_ID                                                                             \
    "org.eclipse.tracecompass.analysis.graph.core.dataprovider.CriticalPathDataProvider"

struct server_paths;

struct served_about;

/* Of its traces; it is borrowed. */
struct server_paths *server_paths_new(const struct served_about *about);
/* The store is whole; it is borrowed. Before, there are no paths: the traces are being read already,
 * and not all tasks have rows. */
void server_paths_set_store(struct server_paths *paths, const struct lull_store *store);
void server_paths_free(struct server_paths *paths);

/* What was read of the traces. */
struct server_reading {
    struct lull_waits *waits;
    const uint32_t *rows; /* of the store, by task; LULL_NONE: none */
    uint32_t n_tasks;
    const char *why_no_periods; /* those of --period are not followed; NULL: they are */
};

/* Reads the traces if that was not done; until server_paths_unlock(), which is due in any case, no
 * other thread has them. NULL and an error if they cannot be read. */
const struct server_reading *server_paths_lock(struct server_paths *paths, GError **error);
void server_paths_unlock(struct server_paths *paths);

/* Whether it is the id of the base or of a path. */
bool server_paths_have(struct server_paths *paths, const char *id);
/* Their descriptors, with commas between. */
void server_paths_describe(struct server_paths *paths, GString *out);
/* The descriptor of one. */
void server_paths_describe_one(struct server_paths *paths, const char *id, GString *out);
/* The type of configuration that makes a path: alone, or in a list. */
void server_paths_types(bool is_alone, GString *out);
/* Makes a path of {"tid", "host"?, "begin"?, "end"?, "bounded"?} or {"request", "bounded"?}, and describes it; the same again
 * is the same. False with an error in LULL_ERROR_QUESTION or LULL_ERROR_USAGE if it cannot be. */
bool server_paths_make(struct server_paths *paths, struct json_object *params, GString *out,
                       GError **error);
/* Describes it for the last time; false if it is no path. */
bool server_paths_remove(struct server_paths *paths, const char *id, GString *out);

/* Models: entries of hosts and the tasks on the path; its segments; arrows from task to task. The base
 * shows the path of the longest request; for that the traces are read. */
void server_paths_tree(struct server_paths *paths, const char *id, GString *out);
void server_paths_states(struct server_paths *paths, const char *id,
                         const struct server_range *range, const int64_t *items, uint32_t n_items,
                         GString *out);
void server_paths_arrows(struct server_paths *paths, const char *id,
                         const struct server_range *range, GString *out);
void server_paths_styles(GString *out);

#endif
