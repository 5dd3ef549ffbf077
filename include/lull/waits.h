/* SPDX-License-Identifier: MIT */
/* What the tasks of a session waited for. One reading of the traces, then any number of questions:
 *
 *     struct lull_waits *waits = lull_waits_new(session, LULL_WANT_PATHS | LULL_WANT_REQUESTS,
 *                                               &error);
 *     lull_waits_read(waits, NULL, NULL);
 *     path = lull_waits_request_path(waits, 17, LULL_PATH_BOUNDED, &error);
 *
 * Join the clocks of several hosts first (lull_session_join()): otherwise they are taken as they
 * are; and leave them alone while struct lull_waits lives. A filter of the session hides events from
 * the reading as if they had not been recorded. Subscriptions of the session are lost.
 *
 * Ownership: struct lull_waits is the caller's, who frees it before the session. Paths (path.h) are
 * the caller's too, and are freed before it. All else is borrowed. Functions that fail return NULL,
 * LULL_NONE or false, with an error. */
#ifndef LULL_WAITS_H
#define LULL_WAITS_H

#include <lull/path.h>
#include <lull/session.h>

G_BEGIN_DECLS

/** What a reading is for; one or more of them or'ed. Memory is linear in what was recorded. */
enum lull_want {
    LULL_WANT_PATHS = 1 << 0,    /**< critical paths */
    LULL_WANT_REQUESTS = 1 << 1, /**< requests on TCP connections, see requests.h */
};

/** What of many things is meant. Start with LULL_SELECT_ALL and set what is wanted. */
struct lull_selection {
    size_t size;      /**< sizeof(struct lull_selection) */
    int32_t host;     /**< for lull_session_host(); -1: all */
    int64_t tid;      /**< of the task; -1: all */
    const char *comm; /**< name of the task, or a list with commas between of names and patterns
                           with *, ? and […]; NULL: all */
    int64_t port;     /**< of a request's server; -1: all */
    int64_t start_ns, end_ns;   /**< joined clock; INT64_MIN and INT64_MAX: all */
    int64_t pid;                /**< of the task's process; -1: all */
    const char *container;      /**< that the task was in last: its name, the start of its id, or a
                                   pattern for its name or the path of its control group, or a list
                                   with commas between; NULL: all */
    const int64_t *tids, *pids; /**< one of these, besides what tid and pid say */
    size_t n_tids, n_pids;      /**< how many; 0: all */
};

/** Value of a struct lull_selection that leaves nothing out. */
#define LULL_SELECT_ALL                                                                            \
    {sizeof(struct lull_selection),                                                                \
     -1,                                                                                           \
     -1,                                                                                           \
     NULL,                                                                                         \
     -1,                                                                                           \
     INT64_MIN,                                                                                    \
     INT64_MAX,                                                                                    \
     -1,                                                                                           \
     NULL,                                                                                         \
     NULL,                                                                                         \
     NULL,                                                                                         \
     0,                                                                                            \
     0}

/** What is known of a task. A tid that is used again is another task. */
struct lull_task {
    uint32_t host;     /**< for lull_session_host() */
    int32_t tid;       /**< 0: idle task of its CPU; negative: interrupt context of CPU -1-tid */
    int32_t pid, ppid; /**< process and its parent; -1: not known */
    int64_t first_ns;  /**< first seen alive */
    int64_t last_ns;   /**< last event that says something of it; its death if is_dead */
    int64_t exec_ns;   /**< its first exec that was seen; INT64_MIN: none */
    int64_t exit_ns;   /**< when it began to end; INT64_MAX: not seen */
    bool is_dead;
    uint32_t parent;  /**< the task that forked it; LULL_NONE: not seen */
    int64_t birth_ns; /**< when it was forked; INT64_MIN: not seen */
};

struct lull_waits;

/** Prepares a reading of the session, which is borrowed; `wanted` is made of enum lull_want. NULL
 * and LULL_ERROR_QUESTION if paths are wanted and no trace has sched_switch events. */
struct lull_waits *lull_waits_new(struct lull_session *session, unsigned wanted, GError **error);
void lull_waits_free(struct lull_waits *waits);

/** Reads the session from start to end, once. `progress` (or NULL) is called every some thousand
 * events; lull_session_progress() says how far it is. What was damaged is in
 * lull_session_problem(). */
void lull_waits_read(struct lull_waits *waits, void (*progress)(void *user), void *user);

/** Tasks are numbered from 0 in the order in which they were first seen. */
uint32_t lull_waits_task_count(const struct lull_waits *waits);
const struct lull_task *lull_waits_task(const struct lull_waits *waits, uint32_t task);
/** Name of a task at that time: the last it was known to have up to then, else the first known; "?"
 * if none is. */
const char *lull_waits_comm(const struct lull_waits *waits, uint32_t task, int64_t time_ns);

/** The task that had this tid last, on `host` (-1: on any). LULL_NONE and LULL_ERROR_QUESTION if
 * there is none, or one on each of several hosts. */
uint32_t lull_waits_find_tid(const struct lull_waits *waits, int32_t host, int64_t tid,
                             GError **error);
/** Of the tasks that ever had this name (or one of a list as in struct lull_selection), on `host` (-1: on any), the one that had it longest in the
 * trace; *others (or NULL): how many more there are. LULL_NONE and LULL_ERROR_QUESTION if there is
 * none. */
uint32_t lull_waits_find_comm(const struct lull_waits *waits, int32_t host, const char *comm,
                              uint32_t *others, GError **error);
/** Of the tasks that were in such a container last (a list as in struct lull_selection), on `host`
 * (-1: on any), the one that lived longest in the trace; *others (or NULL): how many more there are.
 * LULL_NONE and LULL_ERROR_QUESTION if there is none. */
uint32_t lull_waits_find_container(const struct lull_waits *waits, int32_t host,
                                   const char *container, uint32_t *others, GError **error);
/** The task whose path is meant, of all that the selection fits (its host, tid, tids, pid, pids, comm
 * and container): of a single tid the one that had it last, of processes the threads that they
 * started with, of several the one that lived longest, or had that name longest; *others (or NULL): how many more there are.
 * LULL_NONE and LULL_ERROR_QUESTION if there is none, or if several hosts have the single tid. */
uint32_t lull_waits_find_task(const struct lull_waits *waits,
                              const struct lull_selection *selection, uint32_t *others,
                              GError **error);
/** After reading: whether each tid, pid, name and container that the selection names is one of a task that was seen, or that only the
 * session's filter hides. False and LULL_ERROR_QUESTION that says which is not. */
bool lull_waits_check_tasks(struct lull_waits *waits, const struct lull_selection *selection,
                            GError **error);

/** The critical path of a task within start_ns <= t < end_ns, cut to what was recorded. INT64_MIN
 * and INT64_MAX: its whole life in the trace. NULL and LULL_ERROR_QUESTION if nothing that was
 * recorded lies within. Linear in the segments and the waits behind them. */
struct lull_path *lull_waits_task_path(const struct lull_waits *waits, uint32_t task,
                                       int64_t start_ns, int64_t end_ns, enum lull_path_kind kind,
                                       GError **error);
/** The same of a task that lull_waits_find_comm() found by this name; with INT64_MIN for the start, it goes from its first exec
 * if it had another name before: then a shell, say, had made it, and the program was not there yet. */
struct lull_path *lull_waits_comm_path(const struct lull_waits *waits, uint32_t task,
                                       const char *comm, int64_t start_ns, int64_t end_ns,
                                       enum lull_path_kind kind, GError **error);
/** The same of the command that a recording ran (recording.h), on `host` (-1: of the only one):
 * its life goes from its exec to its exit. */
struct lull_path *lull_waits_command_path(const struct lull_waits *waits, int32_t host,
                                          int64_t start_ns, int64_t end_ns,
                                          enum lull_path_kind kind, GError **error);
/** The path of a request by its id, from the first payload sent to the end of the answer. */
struct lull_path *lull_waits_request_path(const struct lull_waits *waits, int64_t id,
                                          enum lull_path_kind kind, GError **error);

G_END_DECLS

#endif
