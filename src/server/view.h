/* SPDX-License-Identifier: MIT */
/* What the page of 'lull view' asks. Times are nanoseconds since the start of the traces, which
 * JavaScript's numbers hold for 104 days; rows are those of the store. */
#ifndef LULL_SERVER_VIEW_H
#define LULL_SERVER_VIEW_H

#include "server/http.h"
#include "server/served.h"

struct lull_path;

/* `path` is what follows "api/". */
void server_view(const struct served *served, const struct server_request *request,
                 const char *path, struct server_answer *answer);

#define SERVER_COLUMNS_MAGIC UINT32_C(0x31434c4c) /* "LLC1" */

/* Rows in at most `most` columns of 2^shift ns, in binary: u32 magic, rows, columns, shift; f64 start
 * of the first column; for each row, three times, u8 state[columns] and u8 share[columns], in 1/255,
 * largest first; then JSON: [[index, state, start, end, label?], …] of what is wide. */
bool server_columns(const struct served *served, int64_t start_ns, int64_t end_ns, uint32_t most,
                    const uint32_t *rows, uint32_t n_rows, GString *out, GError **error);
/* [[amount, …], …]: of each row, which is a meter's, in each of `count` columns of width_ns: bytes,
 * requests, requests times ns, cycles (amounts.c). */
bool server_amounts(const struct served *served, int64_t start_ns, int64_t width_ns, uint32_t count,
                    const uint32_t *rows, uint32_t n_rows, GString *out, GError **error);
/* What is written in an interval; NULL: nothing. */
const char *server_label_of(const struct served *served, enum lull_store_kind kind,
                            const struct lull_store_interval *interval);

/* What a row did at a time. */
struct server_moment {
    uint32_t row;
    int64_t time_ns;
    struct lull_store_interval at;
};

/* `step` -1: the interval before; 1: the one after it. */
bool server_moment(const struct served *served, uint32_t row, int64_t time_ns, int64_t step,
                   struct server_moment *moment, GError **error);
/* Where what happened then came from: the moment at which the waker ended a wait; of a task that
 * runs, its wait before. False and LULL_ERROR_QUESTION if the traces do not show it. */
bool server_cause(const struct served *served, uint32_t row, int64_t time_ns,
                  struct server_moment *cause, GError **error);
void server_moment_append(const struct served *served, const struct server_moment *moment,
                          GString *out);

/* The critical path of the task of a row; or of a request, by its id (flow.c). */
bool server_flow(const struct served *served, uint32_t row, int64_t start_ns, int64_t end_ns,
                 GString *out, GError **error);
bool server_flow_of_request(const struct served *served, int64_t id, GString *out, GError **error);
/* Or of an instance of a period, by its number; the periods by name; the slowest instances of one
 * (instances.c): {"count", "instances": [[number, host, tid, comm, start, end, row or -1, captures], …]}. */
bool server_flow_of_instance(const struct served *served, const char *period, int64_t number,
                             GString *out, GError **error);
const char *server_period_name(const struct served *served, uint32_t number);
void server_periods(const struct served *served, GString *out);
bool server_instances(const struct served *served, const char *period, GString *out,
                      GError **error);
struct server_reading;
void server_flow_append(const struct served *served, const struct server_reading *reading,
                        const struct lull_path *path, GString *out);
/* What the tasks of these rows (NULL: all) called in a range, and waited for meanwhile: {"total": ns, "names", "looks",
 * "nodes": [[parent or -1, name, self, total], …]}; callers come first, what is too small to be seen is left
 * out. A task is a frame, too, and so is a host if there are several. The look of a name is a state; of calls,
 * that and the number of states; 0 of tasks and hosts. */
bool server_flame(const struct served *served, const uint32_t *rows, uint32_t n_rows,
                  int64_t start_ns, int64_t end_ns, GString *out, GError **error);
/* Where the path of a wait was last with another task. */
bool server_flow_cause(const struct served *served, const struct server_moment *wait, uint32_t *row,
                       int64_t *time_ns, GError **error);
bool server_requests(const struct served *served, GString *out, GError **error);
/* Why some requests, and instances of periods, take longer (why.c): {"kinds": [{"period": its name or "",
 * "name", "said", "findings": [{"said", "evidence", "request": id or number of the instance, "start",
 * "end", "row" or -1}, …], "warning"}, …]}. */
bool server_why(const struct served *served, GString *out, GError **error);

#endif
