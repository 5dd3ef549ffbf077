/* SPDX-License-Identifier: MIT */
/* Periods and their instances: intervals that one event opens and another closes, as in
 *
 *     request : $evt.$name == "begin" : $evt.$name == "end" && $evt.id == $begin.$evt.id
 *
 * (docs/PERIODS.md describes the language), and the critical path of each: that of the task that
 * ran the closing event, or, if that is not known, the opening one. Requests (requests.h) are
 * instances too, for readings that follow no periods.
 *
 * Ownership: struct lull_periods and struct lull_instances are the caller's; instances are freed
 * before the struct lull_waits they come from, that before its periods. What is reached from them
 * is borrowed. */
#ifndef LULL_INSTANCES_H
#define LULL_INSTANCES_H

#include <lull/requests.h>

G_BEGIN_DECLS

struct lull_periods;
struct lull_instances;

/** Parses definitions, as lull critpath --period takes them, and captures of values, as
 * --period-captures takes them. Both arrays end with NULL, `captures` may be NULL; a parent must
 * come before its children. NULL and LULL_ERROR_USAGE if one is wrong: the message gives column
 * and reason, then the text with a caret below the place. */
struct lull_periods *lull_periods_parse(const char *const *definitions, const char *const *captures,
                                        GError **error);
void lull_periods_free(struct lull_periods *periods);

/** Has the reading follow these periods, which are borrowed, by the events in start_ns <= time <
 * end_ns (INT64_MIN, INT64_MAX: all). Once, before lull_waits_read(). */
void lull_waits_follow(struct lull_waits *waits, const struct lull_periods *periods,
                       int64_t start_ns, int64_t end_ns);
/** How many instances were not followed because there were too many; more than 0 calls for a
 * warning. */
uint64_t lull_waits_refused(const struct lull_waits *waits);

/** One instance of a period, or one request. */
struct lull_instance {
    uint32_t number;          /**< 1, 2, … in order of start; of a request its id */
    uint32_t task;            /**< that did it, for lull_waits_task(); LULL_NONE: not known */
    int64_t start_ns, end_ns; /**< joined clock */
    bool is_complete;         /**< else it had not ended when the recording did, or its parent */
    uint32_t kind;            /**< for lull_instances_kind() */
    const char *captures;     /**< "request.id = 42"; NULL: none */
    const char *json;         /**< captures as a JSON object; NULL: none */
};

/** The instances of the period of this name (or of which it is the end of the path; NULL: the first
 * definition), or without periods all requests. Those that captured the same under the names
 * `group_by` (ends with NULL; or NULL) are of one kind; requests of one kind have a client of the
 * same host and name and the same server. NULL and LULL_ERROR_USAGE if there is no such period or
 * capture. After lull_waits_read(). */
struct lull_instances *lull_waits_instances(const struct lull_waits *waits, const char *period,
                                            const char *const *group_by, GError **error);
void lull_instances_free(struct lull_instances *instances);

/** In order of their numbers: that of index i has the number i + 1. */
uint32_t lull_instances_count(const struct lull_instances *instances);
const struct lull_instance *lull_instances_at(const struct lull_instances *instances,
                                              uint32_t index);
/** "uri = /add/"; NULL: all instances are of one kind. */
const char *lull_instances_kind(const struct lull_instances *instances, uint32_t kind);
/** True if it has a critical path: it is complete, took time, and its task is known. */
bool lull_instance_has_path(const struct lull_instance *instance);

/** Those of the selection that lie within its time, as const struct lull_instance *, by number; with
 * slowest >= 0 only that many of those with a path that took longest, the slowest first. Free the
 * array with g_ptr_array_unref(). */
GPtrArray *lull_instances_select(const struct lull_instances *instances,
                                 const struct lull_selection *selection, int64_t slowest);

/** The bounded path of an instance. NULL and LULL_ERROR_QUESTION if it has none. */
struct lull_path *lull_instances_path(const struct lull_instances *instances,
                                      const struct lull_instance *instance, GError **error);

/** How long the paths of many instances are about one thing: host, name of the task (without what
 * tells siblings apart), state, cause, and what is the same each time of the detail. */
struct lull_portion_sum {
    uint32_t host;
    const char *comm;
    enum lull_state state;
    enum lull_cause cause;
    const char *detail; /**< device, peer, waker, system call; or NULL */
    uint32_t n_samples; /**< instances that are about it at all */
    int64_t total_ns;
    int64_t min_ns, max_ns; /**< of those instances */
    uint32_t portion;       /**< the same number: the same thing */
};

/** Sums up the paths of instances (an array of const struct lull_instance *), as struct
 * lull_portion_sum *, longest first. Those without a path count nothing. Linear in the paths.
 * Texts are borrowed from `instances`; free the array with g_ptr_array_unref(). */
GPtrArray *lull_instances_sum(struct lull_instances *instances, const GPtrArray *chosen);

G_END_DECLS

#endif
