/* SPDX-License-Identifier: MIT */
/* System calls by task and name: how many, how long, what they returned; and the calls that had not
 * returned when the window closed. A call counts where it ends. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/histogram.h"
#include "analysis/spread.h"
#include "base/map.h"
#include "base/slots.h"
#include "kernel/errnos.h"
#include "kernel/vocabulary.h"

/* What a call returned, in order of first occurrence. */
struct outcome {
    int64_t code; /* errno; 0: success; NOT_TOLD: the event has no return value */
    uint64_t count;
};

#define NOT_TOLD INT64_MIN

/* The calls of one name by one task; in a report, by all tasks of a host, as it shows no others. */
struct call_row {
    struct lull_distribution durations;
    LULL_VEC(struct outcome) outcomes; /* not in a report */
    uint64_t errors;
    uint32_t host, name;
};

/* A task makes few different calls: their rows are mostly found without the map. */
enum { RECENT_ROWS = 8 };

/* The calls of one task. */
struct caller {
    uint32_t task;
    int64_t last_ns; /* end of its last call: the time of the name it is shown with */
    uint64_t count, errors;
    unsigned __int128 sum_ns;
    LULL_VEC(uint32_t) rows; /* indices of its rows; not in a report */
    struct {
        uint32_t name, row; /* row + 1; 0: none */
    } recent[RECENT_ROWS];  /* by name */
};

struct open_call {
    uint32_t task, name;
    int64_t start_ns, end_ns;
};

struct syscallstats {
    struct lull_analysis head;
    bool is_filtered;
    int64_t end_ns;        /* of the window */
    uint64_t n_unmeasured; /* calls whose start was not seen */
    uint64_t n_unended;    /* calls that ended without being seen to */
    struct lull_slots callers_by_task;
    struct lull_map row_numbers;     /* caller, in a report host; label of a name → row */
    struct lull_map codes;           /* of rows with many outcomes: code → its number */
    struct lull_map outcome_numbers; /* of the same: row, number of the code → outcome */
    LULL_VEC(struct caller) callers;
    LULL_VEC(struct call_row) rows;
    LULL_VEC(struct open_call) open;
    GString *text; /* of the cell made last */
};

static void syscallstats_open(struct lull_analysis *analysis)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    const struct lull_question_params *params = analysis->params;
    stats->is_filtered = params->host >= 0 || params->tids.count || params->pids.count ||
                         params->comms || params->cpus.count || params->min_ns != INT64_MIN ||
                         params->max_ns != INT64_MAX;
    stats->text = g_string_new(NULL);
}

static void syscallstats_free(struct lull_analysis *analysis)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    for (size_t i = 0; i < stats->callers.count; i++) {
        lull_vec_free(&stats->callers.items[i].rows);
    }
    for (size_t i = 0; i < stats->rows.count; i++) {
        lull_distribution_clear(&stats->rows.items[i].durations);
        lull_vec_free(&stats->rows.items[i].outcomes);
    }
    lull_vec_free(&stats->callers);
    lull_vec_free(&stats->rows);
    lull_vec_free(&stats->open);
    lull_slots_free(&stats->callers_by_task);
    lull_map_free(&stats->row_numbers);
    lull_map_free(&stats->codes);
    lull_map_free(&stats->outcome_numbers);
    g_string_free(stats->text, TRUE);
}

static bool is_wanted(const struct syscallstats *stats, const struct lull_syscall_fact *fact)
{
    const struct lull_question_params *params = stats->head.params;
    const struct lull_model *model = stats->head.model;
    return lull_params_want_task(params, model, fact->task, fact->end_ns) &&
           lull_params_want_cpu(params, lull_model_task(model, fact->task)->host, fact->cpu) &&
           (fact->start_ns == INT64_MIN ||
            lull_params_want_duration(params, fact->end_ns - fact->start_ns));
}

static struct caller *caller_of(struct syscallstats *stats, uint32_t task)
{
    task = lull_params_row(stats->head.params, stats->head.model, task);
    uint32_t *slot = lull_slots_at(&stats->callers_by_task, task);
    if (*slot == 0) {
        lull_vec_push(&stats->callers, (struct caller){.task = task});
        *slot = (uint32_t)stats->callers.count;
    }
    return &stats->callers.items[*slot - 1];
}

static __attribute__((noinline)) uint32_t find_row(struct syscallstats *stats,
                                                   struct caller *caller, uint32_t name)
{
    const bool is_report = stats->head.params->is_report;
    const uint32_t host = lull_model_task(stats->head.model, caller->task)->host;
    const uint64_t whose = is_report ? host : (uint64_t)(caller - stats->callers.items);
    uint32_t number = lull_map_find(&stats->row_numbers, whose << 32 | name);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)stats->rows.count;
        lull_vec_push(&stats->rows, (struct call_row){.host = host, .name = name});
        lull_map_insert(&stats->row_numbers, whose << 32 | name, number);
        if (!is_report) {
            lull_vec_push(&caller->rows, number);
        }
    }
    caller->recent[name % RECENT_ROWS].name = name;
    caller->recent[name % RECENT_ROWS].row = number + 1;
    return number;
}

static inline struct call_row *row_of(struct syscallstats *stats, struct caller *caller,
                                      uint32_t name)
{
    const uint32_t slot = name % RECENT_ROWS;
    const bool is_recent = caller->recent[slot].name == name && caller->recent[slot].row;
    const uint32_t number =
        G_LIKELY(is_recent) ? caller->recent[slot].row - 1 : find_row(stats, caller, name);
    return &stats->rows.items[number];
}

static int64_t code_of(const struct lull_syscall_fact *fact)
{
    return fact->has_ret ? fact->error : NOT_TOLD;
}

/* Calls return a few different numbers; what does not end with those is found by its number. */
enum { FEW_OUTCOMES = 16 };

static uint64_t outcome_key(struct syscallstats *stats, const struct call_row *row, int64_t code)
{
    uint32_t number = lull_map_find(&stats->codes, (uint64_t)code);
    if (number == LULL_MAP_NONE) {
        number = (uint32_t)stats->codes.count;
        lull_map_insert(&stats->codes, (uint64_t)code, number);
    }
    return (uint64_t)(row - stats->rows.items) << 32 | number;
}

static void count_outcome(struct syscallstats *stats, struct call_row *row, int64_t code)
{
    for (size_t i = 0; i < MIN(row->outcomes.count, FEW_OUTCOMES); i++) {
        if (row->outcomes.items[i].code == code) {
            row->outcomes.items[i].count++;
            return;
        }
    }
    if (row->outcomes.count >= FEW_OUTCOMES) {
        const uint64_t key = outcome_key(stats, row, code);
        const uint32_t known = lull_map_find(&stats->outcome_numbers, key);
        if (known != LULL_MAP_NONE) {
            row->outcomes.items[known].count++;
            return;
        }
        lull_map_insert(&stats->outcome_numbers, key, (uint32_t)row->outcomes.count);
    }
    lull_vec_push(&row->outcomes, (struct outcome){code, 1});
    if (row->outcomes.count == 1) {
        lull_vec_trim(&row->outcomes); /* most calls of a task all end alike, and rows are many */
    }
}

static void syscallstats_syscall(void *user, const struct lull_syscall_fact *fact)
{
    struct syscallstats *stats = user;
    if (stats->is_filtered && !is_wanted(stats, fact)) {
        return;
    }
    if (fact->is_open) {
        stats->n_unended += fact->end_ns == fact->start_ns;
        return;
    }
    if (fact->start_ns == INT64_MIN) {
        stats->n_unmeasured++;
        return;
    }
    struct caller *caller = caller_of(stats, fact->task);
    caller->count++;
    caller->last_ns = fact->end_ns;
    struct call_row *row = row_of(stats, caller, fact->name);
    const int64_t duration_ns = fact->end_ns - fact->start_ns, code = code_of(fact);
    caller->sum_ns += (uint64_t)MAX(duration_ns, 0);
    caller->errors += code > 0;
    row->errors += code > 0;
    lull_spread_add(&row->durations, duration_ns);
    if (!stats->head.params->is_report) {
        count_outcome(stats, row, code);
    }
}

static int compare_callers(const void *a, const void *b)
{
    const struct caller *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct syscallstats *stats = user;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t x_count = stats->rows.items[x].durations.count;
    uint64_t y_count = stats->rows.items[y].durations.count;
    if (x_count != y_count) {
        return x_count > y_count ? -1 : 1;
    }
    return (x > y) - (x < y);
}

/* In a report: most time first. */
static int compare_totals(const void *a, const void *b)
{
    const struct call_row *x = a, *y = b;
    if (x->durations.sum != y->durations.sum) {
        return x->durations.sum > y->durations.sum ? -1 : 1;
    }
    return x->host != y->host ? (x->host > y->host) - (x->host < y->host)
                              : (x->name > y->name) - (x->name < y->name);
}

static int compare_open(const void *a, const void *b)
{
    const struct open_call *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x->task > y->task) - (x->task < y->task);
}

static void add_open(void *user, const struct lull_syscall_fact *fact)
{
    struct syscallstats *stats = user;
    if (lull_model_task(stats->head.model, fact->task)->is_dead || !is_wanted(stats, fact) ||
        !lull_params_want_open(stats->head.params, fact)) {
        return;
    }
    lull_vec_push(&stats->open,
                  (struct open_call){fact->task, fact->name, fact->start_ns, fact->end_ns});
}

/* Rows are shown by count, equal ones as they came. */
static void syscallstats_close(struct lull_analysis *analysis, int64_t end_ns)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    stats->end_ns = end_ns;
    for (size_t i = 0; i < stats->callers.count; i++) {
        struct caller *caller = &stats->callers.items[i];
        g_qsort_with_data(caller->rows.items, (int)caller->rows.count, sizeof *caller->rows.items,
                          compare_rows, stats);
    }
    if (stats->callers.count) {
        qsort(stats->callers.items, stats->callers.count, sizeof *stats->callers.items,
              compare_callers);
    }
    lull_slots_free(&stats->callers_by_task); /* its indices are those of before */
    if (analysis->params->is_report && stats->rows.count) {
        qsort(stats->rows.items, stats->rows.count, sizeof *stats->rows.items, compare_totals);
    }
    lull_model_each_syscall(analysis->model, end_ns, add_open, stats);
    if (stats->open.count) {
        qsort(stats->open.items, stats->open.count, sizeof *stats->open.items, compare_open);
    }
}

/* success 2883, ENOENT 2; in LAMI as Python writes it: {'success': 2883, 'ENOENT': 2}. */
static const char *outcomes_text(GString *text, const struct call_row *row, bool is_lami)
{
    const char *quote = is_lami ? "'" : "";
    g_string_assign(text, is_lami ? "{" : "");
    for (size_t i = 0; i < row->outcomes.count; i++) {
        const struct outcome *outcome = &row->outcomes.items[i];
        const char *name = outcome->code == 0          ? "success"
                           : outcome->code == NOT_TOLD ? "unknown"
                                                       : lull_errno_name(outcome->code);
        g_string_append_printf(text, "%s%s", i ? ", " : "", quote);
        if (name) {
            g_string_append(text, name);
        } else {
            g_string_append_printf(text, "-%" G_GINT64_FORMAT, outcome->code);
        }
        g_string_append_printf(text, "%s%s %" G_GUINT64_FORMAT, quote, is_lami ? ":" : "",
                               outcome->count);
    }
    g_string_append(text, is_lami ? "}" : "");
    return text->str;
}

static struct lull_cell total_cell(unsigned __int128 sum)
{
    return lull_cell_integer(LULL_CELL_DURATION, (int64_t)MIN(sum, (unsigned __int128)INT64_MAX));
}

static const struct lull_result_column per_tid_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"System call", "SYSCALL", "syscall", LULL_CELL_SYSCALL, NULL, 0},
    {"Call count", "COUNT", "count", LULL_CELL_NUMBER, "calls", 0},
    LULL_SPREAD_COLUMNS("call duration", "Call duration"),
    LULL_SPREAD_PERCENTILES,
    {"Total call duration", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Failed calls", "ERRORS", "errors", LULL_CELL_NUMBER, "calls", LULL_USE_OWN},
    {"Return values count", "RETURNED", "return_values", LULL_CELL_STRING, NULL, 0},
    {0},
};

static const struct lull_result_class per_tid_class = {
    .name = "per-tid", .title = "System call statistics", .columns = per_tid_columns};

struct caller_table {
    const struct syscallstats *stats;
    const struct caller *caller;
};

static void per_tid_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct caller_table *table = user;
    const struct syscallstats *stats = table->stats;
    const struct call_row *row = &stats->rows.items[table->caller->rows.items[index]];
    const struct lull_model *model = stats->head.model;
    *cells++ = lull_cell_host_of(&stats->head, lull_model_task(model, table->caller->task)->host);
    *cells++ = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(model, row->name));
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)row->durations.count);
    cells = lull_spread_cells(&row->durations, cells);
    cells = lull_spread_percentiles(&row->durations, cells);
    *cells++ = total_cell(row->durations.sum);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)row->errors);
    *cells = lull_cell_text(LULL_CELL_STRING,
                            outcomes_text(stats->text, row, stats->head.params->is_lami));
}

static const struct lull_result_column total_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Total system call count", "CALLS", "calls", LULL_CELL_NUMBER, "calls", LULL_USE_BAR},
    {"Total call duration", "TIME", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_OWN},
    {"Failed calls", "ERRORS", "errors", LULL_CELL_NUMBER, "calls", LULL_USE_OWN},
    {0},
};

static const struct lull_result_class total_class = {
    .name = "total", .title = "Per-TID system call statistics", .columns = total_columns};

static void total_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct syscallstats *stats = user;
    const struct caller *caller = &stats->callers.items[index];
    const struct lull_model *model = stats->head.model;
    *cells++ = lull_cell_host_of(&stats->head, lull_model_task(model, caller->task)->host);
    *cells++ = lull_cell_task(model, caller->task, caller->last_ns, true);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)caller->count);
    *cells++ = total_cell(caller->sum_ns);
    *cells = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)caller->errors);
}

/* LAMI shows one row for each window and task, if there are several windows. */
static const struct lull_result_column summary_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"Total system call count", "CALLS", "calls", LULL_CELL_NUMBER, "calls", 0},
    {0},
};

static const struct lull_result_class summary_class = {.name = "summary",
                                                       .title = "System call statistics - summary",
                                                       .columns = summary_columns,
                                                       .is_summary = true};

static void summary_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct syscallstats *stats = user;
    const struct caller *caller = &stats->callers.items[index];
    const struct lull_model *model = stats->head.model;
    *cells++ = lull_cell_host_of(&stats->head, lull_model_task(model, caller->task)->host);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, stats->head.start_ns);
    cells++->end = stats->end_ns;
    *cells++ = lull_cell_task(model, caller->task, caller->last_ns, true);
    *cells = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)caller->count);
}

static const struct lull_result_column open_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"Process", "PROCESS", "process", LULL_CELL_PROCESS, NULL, 0},
    {"System call", "SYSCALL", "syscall", LULL_CELL_SYSCALL, NULL, 0},
    {"Call begin", "SINCE", "begin_ns", LULL_CELL_TIMESTAMP, NULL, 0},
    {"Duration so far", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, 0},
    {0},
};

static const struct lull_result_class open_class = {.name = "open",
                                                    .title = "System calls that have not returned",
                                                    .columns = open_columns,
                                                    .is_own = true};

static void open_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct syscallstats *stats = user;
    const struct open_call *call = &stats->open.items[index];
    const struct lull_model *model = stats->head.model;
    *cells++ = lull_cell_host_of(&stats->head, lull_model_task(model, call->task)->host);
    *cells++ = lull_cell_task(model, call->task, call->end_ns, true);
    *cells++ = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(model, call->name));
    if (call->start_ns == INT64_MIN) {
        cells[0].class = cells[1].class = LULL_CELL_UNKNOWN;
        return;
    }
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, call->start_ns);
    *cells = lull_cell_integer(LULL_CELL_DURATION, call->end_ns - call->start_ns);
}

/* ---- by call, over all tasks: what a report shows instead of a table for each task ---- */

static const struct lull_result_column per_call_columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},
    {"System call", "SYSCALL", "syscall", LULL_CELL_SYSCALL, NULL, 0},
    {"Total call duration", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},
    {"Call count", "COUNT", "count", LULL_CELL_NUMBER, "calls", 0},
    {"Failed calls", "ERRORS", "errors", LULL_CELL_NUMBER, "calls", 0},
    LULL_SPREAD_COLUMNS("call duration", "Call duration"),
    LULL_SPREAD_PERCENTILES,
    {0},
};

static const struct lull_result_class per_call_class = {.name = "per-call",
                                                        .title = "System calls of all tasks",
                                                        .columns = per_call_columns,
                                                        .is_own = true};

static const struct lull_result_column freq_columns[] = {
    LULL_HISTOGRAM_COLUMNS("Duration", "_ns", LULL_CELL_DURATION, NULL, "Call count", "calls"),
    {0},
};

static const struct lull_result_class freq_class = {.name = "freq",
                                                    .title = "System call duration frequency "
                                                             "distribution",
                                                    .columns = freq_columns,
                                                    .kind = LULL_TABLE_HISTOGRAM,
                                                    .is_own = true};

static void per_call_row(const void *user, uint64_t index, struct lull_cell *cells)
{
    const struct syscallstats *stats = user;
    const struct call_row *row = &stats->rows.items[index];
    *cells++ = lull_cell_host_of(&stats->head, row->host);
    *cells++ = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(stats->head.model, row->name));
    *cells++ = total_cell(row->durations.sum);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)row->durations.count);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)row->errors);
    cells = lull_spread_cells(&row->durations, cells);
    lull_spread_percentiles(&row->durations, cells);
}

static uint64_t limited(const struct syscallstats *stats, uint64_t n)
{
    const struct lull_question_params *params = stats->head.params;
    return params->is_report && params->limit ? MIN(n, params->limit) : n;
}

static void emit_totals(const struct syscallstats *stats, struct lull_sink *sink)
{
    const struct lull_question_params *params = stats->head.params;
    sink->table(sink, &(struct lull_result_table){.class = &per_call_class,
                                                  .n_rows = limited(stats, stats->rows.count),
                                                  .row = per_call_row,
                                                  .user = stats});
    if (params->sections & LULL_SECTION_FREQ) {
        struct lull_distribution all = {.has_buckets = true};
        struct lull_histograms list = {0};
        for (size_t i = 0; i < stats->rows.count; i++) {
            lull_distribution_merge(&all, &stats->rows.items[i].durations);
        }
        lull_histograms_add(&list, NULL, &all);
        lull_histograms_emit(&list, params, &freq_class, NULL, sink);
        lull_histograms_clear(&list);
        lull_distribution_clear(&all);
    }
}

static void emit_caller(const struct syscallstats *stats, const struct caller *caller,
                        struct lull_sink *sink)
{
    const struct lull_model *model = stats->head.model;
    const struct lull_task *task = lull_model_task(model, caller->task);
    const struct caller_table table = {stats, caller};
    const char *comm = lull_model_comm(model, caller->task, caller->last_ns);
    g_autofree char *subtitle =
        stats->head.params->by != LULL_BY_TASK ? g_strdup(comm)
        : task->pid >= 0 ? g_strdup_printf("%s (%d, TID: %d)", comm, task->pid, task->tid)
                         : g_strdup_printf("%s (?, TID: %d)", comm, task->tid);
    sink->table(sink, &(struct lull_result_table){.class = &per_tid_class,
                                                  .subtitle = subtitle,
                                                  .n_rows = caller->rows.count,
                                                  .row = per_tid_row,
                                                  .user = &table});
}

static void syscallstats_emit(struct lull_analysis *analysis, const struct lull_window *window,
                              struct lull_sink *sink)
{
    struct syscallstats *stats = (struct syscallstats *)analysis;
    (void)window;
    lull_note_count(
        sink, stats->n_unmeasured,
        "call is not counted, as its start was not seen: how long it took is not known",
        "calls are not counted, as their start was not seen: how long they took is not known");
    lull_note_count(
        sink, stats->n_unended,
        "call is not counted, as its end was not recorded (LTTng records none of rt_sigreturn)",
        "calls are not counted, as their end was not recorded (LTTng records none of "
        "rt_sigreturn)");
    const bool is_report = analysis->params->is_report;
    const uint64_t n_callers =
        is_report ? limited(stats, stats->callers.count)
                  : lull_params_listed(analysis->params, stats->callers.count, "tasks", sink);
    if (is_report) {
        emit_totals(stats, sink);
    }
    for (size_t i = 0; !is_report && i < n_callers; i++) {
        emit_caller(stats, &stats->callers.items[i], sink);
    }
    sink->table(sink,
                &(struct lull_result_table){
                    .class = &total_class, .n_rows = n_callers, .row = total_row, .user = stats});
    if (analysis->params->is_lami && analysis->params->has_windows) {
        sink->table(sink, &(struct lull_result_table){.class = &summary_class,
                                                      .n_rows = stats->callers.count,
                                                      .row = summary_row,
                                                      .user = stats});
    }
    sink->table(sink, &(struct lull_result_table){.class = &open_class,
                                                  .n_rows = limited(stats, stats->open.count),
                                                  .row = open_row,
                                                  .user = stats});
}

static const char *const tags[] = {"syscall", "stats", NULL};
static const struct lull_result_class *const tables[] = {
    &per_tid_class, &total_class, &summary_class, &open_class, &per_call_class, &freq_class, NULL};

const struct lull_analysis_class lull_analysis_syscallstats = {
    .name = "syscallstats",
    .title = "System call statistics",
    .description = "Per-TID and global system call statistics",
    .tags = tags,
    .tables = tables,
    .question = "syscalls",
    .groups = LULL_GROUP_SCHED | LULL_GROUP_STATE | LULL_GROUP_SYSCALL,
    .is_by_host = true,
    .size = sizeof(struct syscallstats),
    .facts = {.syscall = syscallstats_syscall},
    .open = syscallstats_open,
    .close = syscallstats_close,
    .emit = syscallstats_emit,
    .free = syscallstats_free,
};
