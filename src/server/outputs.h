/* SPDX-License-Identifier: MIT */
/* Outputs of the Trace Server Protocol that are read from the traces themselves: how many events there
 * were, the events, and latencies. Ids are those of Trace Compass where it has such. */
#ifndef LULL_SERVER_OUTPUTS_H
#define LULL_SERVER_OUTPUTS_H

#include <json-c/json.h>

#include "server/states.h"

struct server_output {
    const struct server_output_type *type;
    const struct server_latency_kind *kind; /* of latencies; NULL: not about those */
};

/* What is asked for; range and items as far as the question has them. */
struct server_output_question {
    const struct served *served;
    struct server_output output;
    struct json_object *params;
    const struct server_range *range; /* NULL: none was given */
    const int64_t *items;
    uint32_t n_items;
};

/* How many there are; the one of a number, and of an id; false: there is none. */
uint32_t server_output_count(const struct served *served);
void server_output_at(const struct served *served, uint32_t number, struct server_output *output);
bool server_output_find(const struct served *served, const char *id, struct server_output *output);
/* Its name; its descriptor. To be freed with g_free(). */
char *server_output_name(const struct server_output *output);
char *server_output_describe(const struct server_output *output);

/* What an output can be asked: "xy" of "XY", "lines" of "table". */
enum server_output_needs {
    SERVER_OUTPUT_NOT, /* it cannot */
    SERVER_OUTPUT_NOTHING,
    SERVER_OUTPUT_RANGE, /* and items */
};
enum server_output_needs server_output_needs(const struct server_output *output, const char *kind,
                                             const char *what);
/* The model. While the traces are indexed it is empty. */
bool server_output_model(const struct server_output_question *question, const char *what,
                         GString *out, GError **error);

/* ---- what models are made of ---- */

/* The start of a series, up to its xValues; and its end, from what follows its yValues. */
void server_series_start(GString *out, int64_t id, const char *name, const char *type);
void server_series_end(GString *out, const char *x_label, const char *x_type, const char *y_label,
                       const char *y_type);
/* The i-th of the times of a range. */
int64_t server_range_time(const struct server_range *range, uint32_t i);

/* Histogram (counts.c) and events (event_lines.c). */
bool server_histogram_tree(const struct server_output_question *question, GString *out,
                           GError **error);
bool server_histogram_xy(const struct server_output_question *question, GString *out,
                         GError **error);
bool server_event_columns(const struct server_output_question *question, GString *out,
                          GError **error);
bool server_event_lines(const struct server_output_question *question, GString *out,
                        GError **error);

/* Latencies (latency_outputs.c). */
bool server_latency_tree(const struct server_output_question *question, GString *out,
                         GError **error);
bool server_latency_scatter(const struct server_output_question *question, GString *out,
                            GError **error);
bool server_latency_density(const struct server_output_question *question, GString *out,
                            GError **error);
bool server_latency_statistics(const struct server_output_question *question, GString *out,
                               GError **error);
bool server_latency_columns(const struct server_output_question *question, GString *out,
                            GError **error);
bool server_latency_lines(const struct server_output_question *question, GString *out,
                          GError **error);

#endif
