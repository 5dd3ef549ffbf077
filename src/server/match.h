/* SPDX-License-Identifier: MIT */
/* Filters of time graphs in the Trace Server Protocol: filter_query_parameters. Which states of a picture
 * a user looks for, by what the tooltip would say of them. */
#ifndef LULL_SERVER_MATCH_H
#define LULL_SERVER_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <json-c/json.h>
#include <lull/error.h>

/* What a state has to show. */
struct server_fact {
    const char *key, *value;
};

/* A regular expression that a client sent, whatever the case; NULL: it is none. Texts of traces, and what
 * is searched for, may be no UTF-8. */
GRegex *server_pattern(const char *text);

struct server_filters;

/* From the parameters of a question. NULL: there are none, or, with LULL_ERROR_USAGE, they are wrong. */
struct server_filters *server_filters_new(struct json_object *params, GError **error);
void server_filters_free(struct server_filters *filters); /* NULL is allowed */

/* Whether states that are too short to be drawn are looked at as well. */
bool server_filters_are_deep(const struct server_filters *filters);

/* Bits of TSP's "tags": 1 dims a state, 2 emphasises it, 4 leaves it out. Facts of a state give its own. */
unsigned server_filters_tags(const struct server_filters *filters, const struct server_fact *facts,
                             uint32_t n);
/* Of two states that are drawn as one: it is as visible as the more visible one. */
unsigned server_tags_of_both(unsigned a, unsigned b);

#endif
