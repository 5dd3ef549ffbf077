/* SPDX-License-Identifier: MIT */
/* What all analyses share: the class of an analysis, its question, and the runner that feeds facts
 * to one instance for each window of time (the whole range, slices, periods).
 *
 * An analysis is a file with one struct lull_analysis_class. When a window opens, an instance is
 * made; the runner hands it the facts it has callbacks for; when the window closes, the instance
 * adds what still lasts (it may ask the model what is so now), gives its tables to a sink, and is
 * freed. A fact that reaches over an edge of the window is cut there by the analysis: durations of
 * what ran are clipped; a call, handler or request counts where it ends, with its whole duration,
 * as with lttng-analyses. */
#ifndef LULL_ANALYSIS_H
#define LULL_ANALYSIS_H

#include "analysis/coverage.h"
#include "analysis/result.h"
#include "base/distribution.h"
#include "base/numbers.h"
#include "kernel/model.h"

enum lull_section {
    LULL_SECTION_USAGE = 1 << 0,
    LULL_SECTION_STATS = 1 << 1,
    LULL_SECTION_TOP = 1 << 2,
    LULL_SECTION_FREQ = 1 << 3,
    LULL_SECTION_LOG = 1 << 4,
};

enum lull_grouping {
    LULL_GROUPING_TOTAL = 1 << 0,
    LULL_GROUPING_TID = 1 << 1,
    LULL_GROUPING_PRIO = 1 << 2,
};

/* The question; borrowed by the runner and its instances. */
struct lull_question_params {
    unsigned sections;  /* enum lull_section; analyses without sections ignore it */
    unsigned groupings; /* enum lull_grouping; 0: the analysis chooses */
    int32_t host;       /* -1: all */
    struct lull_numbers tids, pids, cpus, irqs, softirqs;
    const char *comms;      /* for lull_comm_matches(); or NULL: all */
    const char *containers; /* for lull_container_matches(); or NULL: all */
    enum lull_group_by by;  /* what tables of tasks have a row for */
    int64_t min_ns, max_ns; /* durations or latencies outside are left out; INT64_MIN, INT64_MAX */
    int64_t min_bytes, max_bytes;
    uint32_t limit;           /* rows of a top; 0: all */
    uint32_t list_limit;      /* rows of every other table or list, as a log; 0: all */
    uint32_t freq_resolution; /* linear bins, at least 1 */
    bool freq_uniform;        /* the same bins for all histograms of an analysis */
    bool freq_series;         /* and in one table, a column each */
    bool freq_logarithmic;    /* bins are powers of two */
    bool by_order;            /* memtop: a row for each order */
    bool by_stack;            /* waits: a row for each chain of calls */
    bool with_asleep;         /* waits: also tasks that did nothing */
    bool with_all_tasks;      /* waits: not those of a recorded command alone */
    const char *states;       /* waits: letters of the states that count; NULL: all */
    bool is_joint_irq_choice; /* irqs and softirqs were both given; else giving one excludes the
                                 other */
    bool has_windows;         /* there are several windows: LAMI's summaries are wanted */
    const struct lull_periods_question *periods; /* of the analysis of periods; periods.h */
    const struct lull_hot_waits *hot_waits;      /* of the analysis of that name; hot_waits.h */
    bool is_lami;   /* the peer's exact choice of rows, where it differs */
    bool is_report; /* one of many analyses: of statistics by task or call only `limit`
                       rows, those that took most; histograms over all tasks alone */
};

struct lull_runner;

/* The head of every instance; an analysis puts it first in a struct of its own. */
struct lull_analysis {
    const struct lull_analysis_class *class;
    struct lull_model *model;
    const struct lull_session *session; /* may be NULL in tests */
    const struct lull_question_params *params;
    const struct lull_coverage *coverage; /* by host: the time it was recorded in; or NULL */
    int64_t start_ns;                     /* of the window */
};

struct lull_analysis_class {
    const char *name;        /* "cputop": names the analysis in views and in LAMI */
    const char *title;       /* "Top CPU usage" */
    const char *description; /* one sentence without full stop */
    const char *const *tags; /* LAMI's, NULL-terminated, without the two base tags */
    const struct lull_result_class *const *tables; /* all it can give, NULL-terminated */
    const char *question; /* id in lull_questions[]: says what the trace lacks for it; or NULL */
    bool has_priorities;  /* it shows those of tasks */
    unsigned groups;      /* enum lull_event_group that the model must read for it */
    bool needs_periods;   /* is nothing without params->periods: not for running all of them */
    bool is_by_host; /* what it says of a host depends on no other, and nothing but its logs is in
                        order of time: hosts may be read one after the other */
    size_t size;     /* of an instance */
    struct lull_facts facts; /* called with the instance as `user` */
    /* NULL, or what it takes besides, with LULL_GROUP_VIRT, if the clock of a guest was joined with
       that of its host: then it needs both in order of time. */
    const struct lull_facts *guest_facts;
    /* All but emit may be NULL. The instance is zeroed, its head filled. */
    void (*open)(struct lull_analysis *analysis);
    /* The window is over at end_ns (no fact at or after it was reported). */
    void (*close)(struct lull_analysis *analysis, int64_t end_ns);
    void (*emit)(struct lull_analysis *analysis, const struct lull_window *window,
                 struct lull_sink *sink);
    void (*free)(struct lull_analysis *analysis);
};

/* All analyses, NULL-terminated: one line each in analyses.c. */
extern const struct lull_analysis_class lull_analysis_cputop;
extern const struct lull_analysis_class lull_analysis_counters;
extern const struct lull_analysis_class lull_analysis_findings;
extern const struct lull_analysis_class lull_analysis_futex;
extern const struct lull_analysis_class lull_analysis_io;
extern const struct lull_analysis_class lull_analysis_pressure;
extern const struct lull_analysis_class lull_analysis_sched;
extern const struct lull_analysis_class lull_analysis_freq;
extern const struct lull_analysis_class lull_analysis_irq;
extern const struct lull_analysis_class lull_analysis_memtop;
extern const struct lull_analysis_class lull_analysis_nettop;
extern const struct lull_analysis_class lull_analysis_periods;
extern const struct lull_analysis_class lull_analysis_syscallstats;
extern const struct lull_analysis_class lull_analysis_timeline;
extern const struct lull_analysis_class lull_analysis_vms;
extern const struct lull_analysis_class lull_analysis_waits;
extern const struct lull_analysis_class *const lull_analyses[];
const struct lull_analysis_class *lull_analysis_find(const char *name);

/* Whether the question names tasks. */
static inline bool lull_params_name_tasks(const struct lull_question_params *params)
{
    return params->tids.count || params->pids.count || params->comms || params->containers;
}

/* For the following, where not all are wanted. */
bool lull_params_choose_task(const struct lull_question_params *params,
                             const struct lull_model *model, uint32_t task, int64_t time_ns);

/* Whether a task is one of --host, --tid, --procname at that time. LULL_NONE passes only if the
 * query names no task. */
static inline bool lull_params_want_task(const struct lull_question_params *params,
                                         const struct lull_model *model, uint32_t task,
                                         int64_t time_ns)
{
    return (params->host < 0 && !lull_params_name_tasks(params)) ||
           lull_params_choose_task(params, model, task, time_ns);
}

/* Whether a call that has not returned is listed: idle servers are in one since before the recording, which says something only of tasks
 * that the question names. */
static inline bool lull_params_want_open(const struct lull_question_params *params,
                                         const struct lull_syscall_fact *fact)
{
    return fact->start_ns != INT64_MIN || lull_params_name_tasks(params);
}

/* Of what a task did from since_ns to until_ns: when the last part began in which it had one name, if
 * --procname asks for names; else since_ns. */
int64_t lull_params_part_since(const struct lull_question_params *params,
                               const struct lull_model *model, uint32_t task, int64_t since_ns,
                               int64_t until_ns);

/* The task whose row counts for a task: itself, or the pseudo-task of its container or pod. */
static inline uint32_t lull_params_row(const struct lull_question_params *params,
                                       const struct lull_model *model, uint32_t task)
{
    return params->by == LULL_BY_TASK || task == LULL_NONE ? task : lull_model_row(model, task);
}

static inline bool lull_params_want_cpu(const struct lull_question_params *params, uint32_t host,
                                        int32_t cpu)
{
    return (params->host < 0 || host == (uint32_t)params->host) &&
           (params->cpus.count == 0 || lull_numbers_have(params->cpus, cpu));
}

static inline bool lull_params_want_duration(const struct lull_question_params *params,
                                             int64_t duration_ns)
{
    return duration_ns >= params->min_ns && duration_ns <= params->max_ns;
}

/* A note that starts with how many there are, if there are any: what is so of one, and of many. */
void lull_note_count(struct lull_sink *sink, uint64_t count, const char *one, const char *many);
/* How many of n things to show that are shown whole by default; if not all, a note says how many
 * `what` (a plural) are left out. Like all notes, before the first table. */
uint64_t lull_params_listed(const struct lull_question_params *params, uint64_t n, const char *what,
                            struct lull_sink *sink);

/* PROCESS cell of a task with the name it has at that time. */
struct lull_cell lull_cell_task(const struct lull_model *model, uint32_t task, int64_t time_ns,
                                bool with_pid);
struct lull_cell lull_cell_host_of(const struct lull_analysis *analysis, uint32_t host);

/* Runs one or more analyses over one session in one pass. `params[i]` is for `classes[i]`. Makes
 * the model with the groups they need. Free with lull_runner_free(). */
struct lull_runner *lull_runner_new(struct lull_session *session,
                                    const struct lull_analysis_class *const *classes,
                                    const struct lull_question_params *params, uint32_t n,
                                    struct lull_sink *sink);
void lull_runner_free(struct lull_runner *runner);
struct lull_model *lull_runner_model(struct lull_runner *runner);

/* One window from start_ns (INT64_MIN: the first event) to end_ns (INT64_MAX: the last event), in
 * slices of slice_ns (0: one). Events before start_ns are read, so that the state is known. */
void lull_runner_range(struct lull_runner *runner, int64_t start_ns, int64_t end_ns,
                       int64_t slice_ns);

/* Before lull_runner_range(): its end_ns, not INT64_MAX, is the last moment in the range, as that
 * of lttng-analyses, not the first after it. */
void lull_runner_include_end(struct lull_runner *runner);

/* Windows that others open and close while reading, such as the period engine: any number at once.
 * open: the event at start_ns is the first in it. close: the event at end_ns is not in it; `window`
 * says the rest (start_ns, end_ns, number and losses are filled by the runner). */
uint32_t lull_runner_open(struct lull_runner *runner, int64_t start_ns);
void lull_runner_close(struct lull_runner *runner, uint32_t handle, int64_t end_ns,
                       const struct lull_window *window);

/* Calls `at_end` once when reading ends, before what still lasts is reported: the time to close
 * windows whose end was not seen. */
void lull_runner_at_end(struct lull_runner *runner, void (*at_end)(void *user), void *user);

/* Asks `may_report` before the first window is reported, if that is the last of the range: a
 * question about what nobody has seen gets no results. */
void lull_runner_may_report(struct lull_runner *runner,
                            bool (*may_report)(void *user, const struct lull_model *model),
                            void *user);

/* Times of the first and the last event of any name in the session; false if it has none. Windows
 * of a range never reach farther. */
bool lull_runner_coverage(const struct lull_runner *runner, int64_t *first_ns, int64_t *last_ns);

/* Reads the session to its end, or to the end of the range. A session without events gives no
 * results. */
void lull_runner_run(struct lull_runner *runner, void (*progress)(void *user), void *user);

#endif
