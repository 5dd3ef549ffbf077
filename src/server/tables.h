/* SPDX-License-Identifier: MIT */
/* Tables of the Trace Server Protocol: lines by their numbers, or around a time, or by what is in them. */
#ifndef LULL_SERVER_TABLES_H
#define LULL_SERVER_TABLES_H

#include <glib.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

struct server_table {
    const char *const *columns;
    uint32_t n_columns;
    uint64_t size; /* lines */
    /* Appends `count` lines from `first` on to `lines`, each a char *[n_columns + 1]. Columns that are not
     * in `wanted` (a bit each) may be empty. */
    bool (*read)(void *user, uint64_t first, uint32_t count, uint32_t wanted, GPtrArray *lines,
                 GError **error);
    /* The first line that is not before a time; `size` if there is none. */
    bool (*find)(void *user, int64_t time_ns, uint64_t *index, GError **error);
    void *user;
};

/* […] */
void server_table_columns(const struct server_table *table, GString *out);
/* {"size", "lowIndex", "columnIds", "lines"}. LULL_ERROR_USAGE if the parameters are wrong. */
bool server_table_lines(const struct server_table *table, struct json_object *params, GString *out,
                        GError **error);

#endif
