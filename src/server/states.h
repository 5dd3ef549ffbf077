/* SPDX-License-Identifier: MIT */
/* What views of the Trace Server Protocol ask of rows: trees, states, arrows, tooltips, use of CPUs. All
 * of them write JSON. */
#ifndef LULL_SERVER_STATES_H
#define LULL_SERVER_STATES_H

#include "server/match.h"
#include "server/served.h"

struct server_range {
    int64_t start_ns, end_ns;
    uint32_t n; /* times in it, at least 2; 0: not said */
};

/* {"headers":…,"entries":[…]} of tasks or resources, and of the users of CPUs in a range. */
void server_tree(const struct served *served, const struct served_tree *tree, bool is_tasks,
                 GString *out);
bool server_users(const struct served *served, const struct server_range *range, GString *out,
                  GError **error);
/* {"rows":[…]} of the entries with these numbers, with tags by the filters (or NULL). */
bool server_states(const struct served *served, const struct served_tree *tree,
                   const struct server_range *range, const int64_t *items, uint32_t n_items,
                   const struct server_filters *filters, GString *out, GError **error);
/* […] from each task that leaves a CPU to the next one there. */
bool server_arrows(const struct served *served, const struct server_range *range, GString *out,
                   GError **error);
/* {"key":"text",…} of one entry at a time. */
bool server_tooltip(const struct served *served, const struct served_tree *tree, int64_t item,
                    int64_t time_ns, GString *out, GError **error);
/* {"title":…,"series":[…]}: share of a CPU that tasks used before each time; item 0 is all. */
bool server_usage(const struct served *served, const struct server_range *range,
                  const int64_t *items, uint32_t n_items, GString *out, GError **error);
/* Time on CPUs of a row. */
bool server_cpu_time(const struct served *served, uint32_t row, int64_t start_ns, int64_t end_ns,
                     int64_t *ns, GError **error);
/* {"styles":{…}}, of what the kernel shows and of declared states (NULL: none). */
void server_styles(GString *out);
void server_declared_styles(const struct lull_states *states, GString *out);
/* Of calls, and of the tasks that they are of. */
void server_call_styles(GString *out);
/* Of a function: "Python function"; NULL for what is no slot. */
const char *server_call_style_of(enum lull_store_state slot);
/* Appends ,"style":{…}, if what a row is in is drawn. */
void server_append_style(GString *out, const struct served *served, uint32_t row,
                         enum lull_store_state state);
/* "Wait disk"; NULL for what is not drawn. */
const char *server_style_of(enum lull_store_state state);

#endif
