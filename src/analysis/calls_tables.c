/* SPDX-License-Identifier: MIT */
/* The tables of calls of functions. */
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/counter_names.h"
#include "analysis/limit.h"
#include "calls/names.h"

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN}
#define FUNCTION {"Function", "FUNCTION", "function", LULL_CELL_STRING, NULL, LULL_USE_OWN}
#define KIND                                                                                       \
    {"Whose it is: native, python, recording, syscall, kernel, irq",                               \
     "KIND",                                                                                       \
     "kind",                                                                                       \
     LULL_CELL_STRING,                                                                             \
     NULL,                                                                                         \
     LULL_USE_OWN | LULL_USE_DETAIL}
#define TASK {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN}
#define SOURCE                                                                                     \
    {"Source file of the function",   "SOURCE", "file", LULL_CELL_STRING, NULL,                    \
     LULL_USE_OWN | LULL_USE_NOT_TEXT},                                                            \
        {"Line at which it starts there", "LINE", "line", LULL_CELL_NUMBER, NULL,                  \
         LULL_USE_OWN | LULL_USE_NOT_TEXT},                                                        \
    {                                                                                              \
        "Source file without its directories, and line", "LINE", "where", LULL_CELL_STRING, NULL,  \
            LULL_USE_OWN | LULL_USE_DETAIL                                                         \
    }
#define TIME(title, heading, key) {title, heading, key, LULL_CELL_DURATION, NULL, LULL_USE_OWN}
#define COUNT(title, heading, key, unit) {title, heading, key, LULL_CELL_NUMBER, unit, LULL_USE_OWN}

static struct lull_cell duration(int64_t ns)
{
    return lull_cell_integer(LULL_CELL_DURATION, ns);
}

static struct lull_cell number(uint64_t n)
{
    return lull_cell_integer(LULL_CELL_NUMBER, (int64_t)MIN(n, INT64_MAX));
}

static const struct lull_cell unknown = {.class = LULL_CELL_UNKNOWN};

/* ---- functions ---- */

static const struct lull_result_column function_columns[] = {
    HOST,
    FUNCTION,
    KIND,
    {"File that it is in", "OBJECT", "object", LULL_CELL_STRING, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    SOURCE,
    COUNT("Calls", "CALLS", "calls", "calls"),
    TIME("Time from its calls to its returns; of a function that calls itself, once", "TOTAL",
         "total_ns"),
    TIME("Of that: time in which it called nothing else that was recorded", "SELF", "self_ns"),
    TIME("Of the time of its own: on a CPU", "ON CPU", "self_cpu_ns"),
    TIME("Of the total: its task was blocked", "BLOCKED", "blocked_ns"),
    TIME("Shortest call", "MIN", "min_ns"),
    TIME("Average call", "AVG", "avg_ns"),
    TIME("Longest call", "MAX", "max_ns"),
    {0},
};
static const struct lull_result_class function_class = {.name = "functions",
                                                        .title = "Functions",
                                                        .columns = function_columns,
                                                        .kind = LULL_TABLE_OPEN,
                                                        .is_own = true};
enum { BEFORE_TIMES = 8 }; /* columns */

/* Of all counters: with what it called, and own. */
static struct lull_cell *put_counters(const struct calls_report *report,
                                      const struct calls_row *row, struct lull_cell *cells)
{
    for (uint32_t i = 0; i < report->n_counters; i++) {
        const char *name = lull_counter_name(report->reading.model, i);
        const enum lull_cell_class class = lull_counter_class(name);
        for (int is_own = 0; is_own < 2; is_own++) {
            const uint64_t value = row->counted[2 * (size_t)i + !is_own];
            *cells++ = lull_cell_integer(class, (int64_t)MIN(value, INT64_MAX));
        }
    }
    return cells;
}

/* Returns the cell after them; their text holds until the next row. */
static struct lull_cell *source_cells(const struct calls_report *report,
                                      const struct lull_calls_function *function,
                                      struct lull_cell *cells)
{
    const struct lull_source_line start = lull_calls_start(report->reading.model, function);
    g_autofree char *where = lull_source_line_text(&start);
    *cells++ = lull_cell_text(LULL_CELL_STRING, start.file);
    *cells++ = start.line > 0 ? number(start.line) : unknown;
    g_string_assign(report->where, where ? where : "");
    *cells++ = where ? lull_cell_text(LULL_CELL_STRING, report->where->str)
                     : (struct lull_cell){.class = LULL_CELL_EMPTY};
    return cells;
}

static void function_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    const struct calls_row *row = &report->rows.items[at];
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_function *function = lull_calls_function(calls, row->function);
    const char *object = lull_calls_object(report->reading.model, function);
    const uint32_t host = lull_calls_line(calls, function->line)->host;
    const bool has_times = row->min_ns != INT64_MAX || row->total_ns > 0;
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, host)->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, row->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_calls_kind(function));
    *cells++ = lull_cell_text(LULL_CELL_STRING, object);
    cells = source_cells(report, function, cells);
    *cells++ = number(row->calls);
    cells = put_counters(report, row, cells);
    *cells++ = has_times ? duration(row->total_ns) : unknown;
    *cells++ = has_times ? duration(row->times.self_ns) : unknown;
    *cells++ =
        has_times && row->has_states ? duration(row->times.self_ns - row->times.off_ns) : unknown;
    *cells++ = has_times && row->has_states ? duration(row->waiting_ns) : unknown;
    if (row->min_ns == INT64_MAX) {
        *cells++ = unknown;
        *cells++ = unknown;
        *cells = unknown;
        return;
    }
    *cells++ = duration(row->min_ns);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, (double)row->sum_ns / (double)row->calls);
    *cells = duration(row->max_ns);
}

/* ---- tasks ---- */

static const struct lull_result_column task_columns[] = {
    HOST,
    TASK,
    COUNT("Calls that had not returned at the end", "OPEN", "open", "calls"),
    COUNT("Calls that ended without a return, when their callers returned", "UNWOUND", "unwound",
          "calls"),
    COUNT("Returns from functions whose calls were not recorded", "ORPHANS", "orphans", "returns"),
    TIME("Time in which it is not certain what was called, since events were lost", "UNCERTAIN",
         "uncertain_ns"),
    {0},
};
static const struct lull_result_class task_class = {
    .name = "tasks", .title = "Tasks that called them", .columns = task_columns, .is_own = true};

static struct lull_cell task_cell(const struct calls_report *report, uint32_t line)
{
    return lull_cell_task(report->reading.model, lull_calls_line(report->reading.calls, line)->task,
                          report->reading.end_ns, true);
}

static void task_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    const uint32_t number_of_line = report->lines.items[at];
    const struct lull_calls_line *line = lull_calls_line(report->reading.calls, number_of_line);
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, line->host)->name);
    *cells++ = task_cell(report, number_of_line);
    *cells++ = number(line->n_open);
    *cells++ = number(line->unwound);
    *cells++ = number(line->orphans);
    *cells = duration(line->uncertain_ns);
}

/* ---- the log ---- */

static const struct lull_result_column log_columns[] = {
    HOST,
    TASK,
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, LULL_USE_OWN},
    TIME("Duration", "DURATION", "duration_ns"),
    TIME("Of that: its task was blocked", "BLOCKED", "blocked_ns"),
    COUNT("Calls that it is within", "DEPTH", "depth", "calls"),
    FUNCTION,
    KIND,
    {"How it ended, if not by a return: unwound, cut, open; inherited from the parent process; "
     "uncertain",
     "HOW", "how", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {0},
};
static const struct lull_result_class log_class = {.name = "log",
                                                   .title = "Calls",
                                                   .columns = log_columns,
                                                   .kind = LULL_TABLE_LOG,
                                                   .is_own = true};

static void append_flags(GString *text, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {{LULL_CALL_UNWOUND, "unwound"},     {LULL_CALL_CUT, "cut"},
                 {LULL_CALL_OPEN, "open"},           {LULL_CALL_INHERITED, "inherited"},
                 {LULL_CALL_UNCERTAIN, "uncertain"}, {LULL_CALL_EARLY, "early"}};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        if (flags & names[i].flag) {
            g_string_append_printf(text, "%s%s", text->len ? " " : "", names[i].name);
        }
    }
}

/* One text holds the name and how the call ended. */
static void log_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    const struct lull_call *call = &report->log.items[at];
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_line *line = lull_calls_line(calls, call->line);
    const struct lull_calls_function *function =
        lull_calls_function(calls, lull_calls_node(calls, call->node)->function);
    g_string_truncate(report->text, 0);
    append_flags(report->text, call->flags);
    const gsize end_of_flags = report->text->len;
    g_string_append_c(report->text, '\0');
    lull_calls_append_name(report->text, report->reading.model, report->question->others, function);
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, line->host)->name);
    *cells++ = task_cell(report, call->line);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, call->start_ns);
    (cells++)->end = call->end_ns;
    *cells++ = duration(call->end_ns - call->start_ns);
    *cells++ = line->has_states ? duration(call->waiting_ns) : unknown;
    *cells++ = number(call->depth);
    *cells++ = lull_cell_text(LULL_CELL_STRING, report->text->str + end_of_flags + 1);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_calls_kind(function));
    *cells = end_of_flags > 0 ? lull_cell_text(LULL_CELL_STRING, report->text->str)
                              : (struct lull_cell){.class = LULL_CELL_EMPTY};
}

/* ---- who called a function, and what it called ---- */

#define NEAR_COLUMNS(who, key, what)                                                               \
    {HOST,                                                                                         \
     {"Function", #who, key, LULL_CELL_STRING, NULL, LULL_USE_OWN},                                \
     KIND,                                                                                         \
     COUNT("Calls", "CALLS", "calls", "calls"),                                                    \
     TIME(what, "TIME", "time_ns"),                                                                \
     TIME("Of that: on a CPU", "ON CPU", "cpu_ns"),                                                \
     TIME("Of that: its task was blocked", "BLOCKED", "blocked_ns"),                               \
     {"Function that was asked about", "OF", "of", LULL_CELL_STRING, NULL, LULL_USE_OWN},          \
     {0}}

static const struct lull_result_column caller_columns[] =
    NEAR_COLUMNS(CALLER, "function",
                 "Time of the function that was asked about, when this one had called it; of a "
                 "function that calls itself, when this one had called the outermost");
static const struct lull_result_class caller_class = {.name = "callers",
                                                      .title = "Who called it",
                                                      .columns = caller_columns,
                                                      .kind = LULL_TABLE_OPEN,
                                                      .is_own = true};

static const struct lull_result_column callee_columns[] =
    NEAR_COLUMNS(CALLEE, "function",
                 "Time in it and in what it called, until the function that was asked about was "
                 "called again");
static const struct lull_result_class callee_class = {.name = "callees",
                                                      .title = "What it called",
                                                      .columns = callee_columns,
                                                      .kind = LULL_TABLE_OPEN,
                                                      .is_own = true};
enum { BEFORE_TIME = 4 }; /* columns */

static void near_row(const struct calls_report *report, const struct calls_near_row *row,
                     struct lull_cell *cells)
{
    const struct lull_model *model = report->reading.model;
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_function *of = lull_calls_function(calls, row->of);
    const struct lull_calls_function *function =
        row->function == LULL_NONE ? NULL : lull_calls_function(calls, row->function);
    const struct lull_calls_line *line = lull_calls_line(calls, of->line);
    g_string_truncate(report->text, 0);
    lull_calls_append_name(report->text, model, report->question->others, of);
    const gsize end_of_name = report->text->len;
    g_string_append_c(report->text, '\0');
    if (function) {
        lull_calls_append_name(report->text, model, report->question->others, function);
    }
    const char *name = function ? report->text->str + end_of_name + 1 : NULL;
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, line->host)->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, function ? lull_calls_kind(function) : NULL);
    *cells++ = number(row->calls);
    if (report->n_counters > 0) {
        const char *counter = lull_counter_name(model, report->counter);
        *cells++ =
            lull_cell_integer(lull_counter_class(counter), (int64_t)MIN(row->counted, INT64_MAX));
    }
    *cells++ = duration(row->times.self_ns);
    *cells++ = line->has_states ? duration(row->times.self_ns - row->times.off_ns) : unknown;
    *cells++ = line->has_states ? duration(row->times.blocked_ns) : unknown;
    *cells = lull_cell_text(LULL_CELL_STRING, report->text->str);
}

static void caller_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    near_row(report, &report->callers.rows.items[at], cells);
}

static void callee_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    near_row(report, &report->callees.rows.items[at], cells);
}

/* ---- the stacks at a time ---- */

static const struct lull_result_column stack_columns[] = {
    HOST,
    TASK,
    COUNT("Calls that it is within", "DEPTH", "depth", "calls"),
    FUNCTION,
    KIND,
    {"File that it is in", "OBJECT", "object", LULL_CELL_STRING, NULL,
     LULL_USE_OWN | LULL_USE_NOT_TEXT},
    SOURCE,
    {"Time range of the call", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL,
     LULL_USE_OWN},
    TIME("How long ago it was called", "SINCE", "since_ns"),
    {0},
};
static const struct lull_result_class stack_class = {
    .name = "stacks", .title = "Stacks at that time", .columns = stack_columns, .is_own = true};

static void stack_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    const struct lull_call *call = &report->log.items[at];
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_line *line = lull_calls_line(calls, call->line);
    const struct lull_calls_function *function =
        lull_calls_function(calls, lull_calls_node(calls, call->node)->function);
    g_string_truncate(report->text, 0);
    lull_calls_append_name(report->text, report->reading.model, report->question->others, function);
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, line->host)->name);
    *cells++ = task_cell(report, call->line);
    *cells++ = number(call->depth);
    *cells++ = lull_cell_text(LULL_CELL_STRING, report->text->str);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_calls_kind(function));
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_calls_object(report->reading.model, function));
    cells = source_cells(report, function, cells);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, call->start_ns);
    (cells++)->end = call->end_ns;
    *cells = duration(report->question->at_ns - call->start_ns);
}

/* ---- counters ---- */

static const struct lull_result_column counter_columns[] = {
    HOST,
    {"Counter", "COUNTER", "counter", LULL_CELL_STRING, NULL, LULL_USE_OWN},
    {"Unit", "UNIT", "unit", LULL_CELL_STRING, NULL, LULL_USE_OWN | LULL_USE_NOT_TEXT},
    COUNT("From the first read to the last", "COUNTED", "counted", NULL),
    COUNT("In calls", "IN CALLS", "in_calls", NULL),
    COUNT("By tasks that were in no call, or are not shown", "NOT IN CALLS", "not_in_calls", NULL),
    COUNT("While idle", "IDLE", "idle", NULL),
    COUNT("In interrupts", "INTERRUPTS", "interrupts", NULL),
    COUNT("By whom is not known", "UNKNOWN", "unknown", NULL),
    {0},
};
static const struct lull_result_class counter_class = {
    .name = "counters", .title = "Counters", .columns = counter_columns, .is_own = true};

static void counter_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct calls_report *report = user;
    const struct calls_counter_row *row = &report->counters.items[at];
    const char *name = lull_counter_name(report->reading.model, row->sums.counter);
    *cells++ =
        lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, row->sums.host)->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, name);
    if (lull_counter_is_clock(name)) {
        *cells = lull_cell_text(LULL_CELL_STRING, "ns");
    }
    cells++;
    *cells++ = number(row->sums.counted);
    *cells++ = number(row->in_calls);
    *cells++ = number(row->sums.by[LULL_COUNTED_TASK] - row->in_calls);
    *cells++ = number(row->sums.by[LULL_COUNTED_IDLE]);
    *cells++ = number(row->sums.by[LULL_COUNTED_INTERRUPT]);
    *cells = number(row->sums.by[LULL_COUNTED_UNKNOWN]);
}

/* ---- the whole ---- */

static void emit_table(const struct lull_result_class *class,
                       const struct lull_result_column *columns, size_t n,
                       void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                       const void *user, uint64_t limit, struct lull_sink *sink)
{
    const uint64_t shown = limit > 0 ? MIN(limit, n) : n;
    if (n > 0) {
        sink->table(sink, &(struct lull_result_table){.class = class,
                                                      .columns = columns,
                                                      .n_rows = shown,
                                                      .n_left_out = n - shown,
                                                      .row = row,
                                                      .user = user});
    }
}

void calls_emit_table(const struct lull_result_class *class, size_t n,
                      void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                      const void *user, uint64_t limit, struct lull_sink *sink)
{
    emit_table(class, class->columns, n, row, user, limit, sink);
}

/* With a counter as the weight, calls by their lengths are too much for a terminal. */
static const struct lull_result_column *columns_of_functions(struct calls_report *report)
{
    struct lull_result_column columns[G_N_ELEMENTS(function_columns)];
    memcpy(columns, function_columns, sizeof columns);
    for (size_t i = BEFORE_TIMES + 2; columns[i].title && report->n_counters > 0; i++) {
        columns[i].use |= LULL_USE_NOT_TEXT;
    }
    return report->n_counters > 0 ? calls_add_counters(report, columns, BEFORE_TIMES, true)
                                  : function_columns;
}

static void emit_near(struct calls_report *report, const struct lull_result_class *class,
                      const struct calls_near *near,
                      void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                      struct lull_sink *sink)
{
    emit_table(class, calls_add_counters(report, class->columns, BEFORE_TIME, false),
               near->rows.count, row, report, report->question->params->limit, sink);
}

void calls_emit(struct calls_report *report, struct lull_sink *sink)
{
    const struct lull_calls_question *question = report->question;
    const struct lull_question_params *params = question->params;
    if (question->callers) {
        emit_near(report, &caller_class, &report->callers, caller_row, sink);
    }
    if (question->callees) {
        emit_near(report, &callee_class, &report->callees, callee_row, sink);
    }
    if (question->at_ns != INT64_MIN) {
        calls_emit_table(&stack_class, report->log.count, stack_row, report, params->list_limit,
                         sink);
        return;
    }
    if (params->sections & LULL_SECTION_TOP && !question->callers && !question->callees) {
        emit_table(&function_class, columns_of_functions(report), report->rows.count, function_row,
                   report, params->limit, sink);
        calls_emit_table(&counter_class, report->counters.count, counter_row, report, 0, sink);
        calls_emit_table(&task_class, report->lines.count, task_row, report, params->limit, sink);
    }
    if (params->sections & LULL_SECTION_LOG) {
        calls_emit_table(&log_class, report->log.count, log_row, report, params->list_limit, sink);
    }
}

const struct lull_analysis_class lull_analysis_calls = {
    .name = "calls",
    .title = "Calls of functions",
    .description = "How often functions were called, how long they took, and what they waited",
    .tags = (const char *const[]){"calls", "functions", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&function_class, &task_class, &log_class,
                                                        &caller_class, &callee_class, &stack_class,
                                                        &counter_class, NULL},
};
