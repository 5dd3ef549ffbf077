/* SPDX-License-Identifier: MIT */
/* A question to an analysis: its settings, the reading for it, and its tables as the public API hands
 * them out. */
#include "answers/query.h"

#include <string.h>

#include "analysis/period_windows.h"
#include "analysis/stolen.h"
#include "answers/states_query.h"
#include "answers/tasks.h"
#include "base/sized.h"
#include "kernel/vocabulary.h"

/* More slices than this, or far more of them than the traces have events, are a slip in the
 * duration, or in the times of a damaged trace. A slice of many analyses is as long as many. */
#define MAX_SLICES 1000000
#define MAX_FREE_SLICES 10000
#define LEAST_SLICE_BYTES 64

const struct lull_setting lull_settings[] = {
    {"aggregate-by", LULL_SETTING_TEXT},
    {"all-tasks", LULL_SETTING_FLAG},
    {"asleep", LULL_SETTING_FLAG},
    {"by", LULL_SETTING_TEXT},
    {"by-order", LULL_SETTING_FLAG},
    {"comm", LULL_SETTING_TEXT},
    {"container", LULL_SETTING_TEXT},
    {"cpu", LULL_SETTING_TEXT},
    {"freq", LULL_SETTING_FLAG},
    {"freq-log", LULL_SETTING_FLAG},
    {"freq-resolution", LULL_SETTING_NUMBER},
    {"freq-series", LULL_SETTING_FLAG},
    {"freq-uniform", LULL_SETTING_FLAG},
    {"group", LULL_SETTING_TEXT},
    {"group-by", LULL_SETTING_TEXT},
    {"irq", LULL_SETTING_TEXT},
    {"kernel", LULL_SETTING_FLAG},
    {"limit", LULL_SETTING_TEXT},
    {"log", LULL_SETTING_FLAG},
    {"max", LULL_SETTING_TEXT},
    {"max-duration", LULL_SETTING_TEXT},
    {"maxsize", LULL_SETTING_TEXT},
    {"min", LULL_SETTING_TEXT},
    {"min-duration", LULL_SETTING_TEXT},
    {"minsize", LULL_SETTING_TEXT},
    {"order-by", LULL_SETTING_TEXT},
    {"partial", LULL_SETTING_FLAG},
    {"pid", LULL_SETTING_TEXT},
    {"per-prio", LULL_SETTING_FLAG},
    {"per-tid", LULL_SETTING_FLAG},
    {"period", LULL_SETTING_TEXTS},
    {"period-begin", LULL_SETTING_TEXT},
    {"period-begin-key", LULL_SETTING_TEXT},
    {"period-captures", LULL_SETTING_TEXTS},
    {"period-end", LULL_SETTING_TEXT},
    {"period-end-key", LULL_SETTING_TEXT},
    {"period-key-value", LULL_SETTING_TEXT},
    {"procname", LULL_SETTING_TEXT},
    {"refresh", LULL_SETTING_TEXT},
    {"row", LULL_SETTING_TEXT},
    {"select", LULL_SETTING_TEXT},
    {"softirq", LULL_SETTING_TEXT},
    {"stacks", LULL_SETTING_FLAG},
    {"state", LULL_SETTING_TEXT},
    {"states", LULL_SETTING_TEXT},
    {"stats", LULL_SETTING_FLAG},
    {"tid", LULL_SETTING_TEXT},
    {"top", LULL_SETTING_FLAG},
    {"total", LULL_SETTING_FLAG},
    {"usage", LULL_SETTING_FLAG},
    {NULL, 0},
};

struct lull_query *lull_query_new(const char *analysis, GError **error)
{
    const struct lull_analysis_class *class = NULL;
    if (analysis && strcmp(analysis, lull_analysis_states.name) == 0) {
        class = &lull_analysis_states;
    } else if (analysis && !(class = lull_analysis_find(analysis))) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "there is no analysis “%s”", analysis);
        return NULL;
    }
    struct lull_query *query = g_new0(struct lull_query, 1);
    query->analysis = class;
    query->texts = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    query->definitions = g_ptr_array_new_with_free_func(g_free);
    query->captures = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_add(query->definitions, NULL);
    g_ptr_array_add(query->captures, NULL);
    lull_query_limit(query, -1, INT64_MIN, INT64_MAX);
    return query;
}

/* So that it can be parsed again. */
static void forget_parsed(struct lull_query *query)
{
    g_clear_pointer(&query->question, lull_periods_question_free);
    g_clear_pointer(&query->periods, lull_periods_free);
    g_clear_pointer(&query->translated, g_free);
    g_clear_pointer(&query->comms, g_free);
    for (uint32_t i = 0; i < G_N_ELEMENTS(query->numbers); i++) {
        g_clear_pointer(&query->numbers[i], g_array_unref);
    }
    query->params = (struct lull_question_params){0};
    query->slice_ns = 0;
}

void lull_query_free(struct lull_query *query)
{
    if (!query) {
        return;
    }
    forget_parsed(query);
    g_hash_table_unref(query->texts);
    g_ptr_array_unref(query->definitions);
    g_ptr_array_unref(query->captures);
    g_free(query);
}

bool lull_query_set(struct lull_query *query, const char *name, const char *value, GError **error)
{
    const struct lull_setting *setting = lull_settings;
    while (setting->name && strcmp(setting->name, name) != 0) {
        setting++;
    }
    if (!setting->name || (setting->kind != LULL_SETTING_FLAG) != (value != NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    !setting->name ? "there is no setting “%s” of analyses"
                    : !value       ? "the setting “%s” needs a value"
                                   : "the setting “%s” takes no value",
                    name);
        return false;
    }
    if (setting->kind == LULL_SETTING_TEXTS) {
        GPtrArray *list = strcmp(name, "period") == 0 ? query->definitions : query->captures;
        g_ptr_array_insert(list, (gint)list->len - 1, g_strdup(value));
    } else {
        g_hash_table_insert(query->texts, (gpointer)setting->name, g_strdup(value ? value : ""));
    }
    return true;
}

void lull_query_limit(struct lull_query *query, int32_t host, int64_t start_ns, int64_t end_ns)
{
    query->host = host;
    query->start_ns = start_ns;
    query->end_ns = end_ns;
}

/* ---- reading ---- */

/* Who follows the periods: one of them, or none. */
struct followed {
    struct lull_period_windows *windows;
    struct lull_period_tracker *tracker;
};

static void set_periods(const struct lull_query *query, struct lull_session *session,
                        struct lull_runner *runner, struct followed *followed)
{
    const int64_t behind_ns = query->end_ns + (query->is_end_within && query->end_ns < INT64_MAX);
    if (!query->question) {
        followed->windows =
            lull_period_windows_new(runner, session, query->periods, query->start_ns, behind_ns);
        return;
    }
    followed->tracker = lull_period_tracker_new(query->periods, session, NULL, NULL);
    lull_period_tracker_limit(followed->tracker, query->start_ns, behind_ns);
    query->question->tracker = followed->tracker;
    lull_runner_range(runner, query->start_ns, query->end_ns, 0);
}

static bool check_slices(const struct lull_query *query, const struct lull_session *session,
                         const struct lull_runner *runner, uint32_t n_analyses, GError **error)
{
    int64_t first_ns, last_ns;
    uint64_t bytes = 0;
    if (query->slice_ns <= 0 || !lull_runner_coverage(runner, &first_ns, &last_ns)) {
        return true;
    }
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        bytes += lull_session_trace(session, i)->size_bytes;
    }
    const int64_t most =
        (int64_t)CLAMP(bytes / LEAST_SLICE_BYTES, MAX_FREE_SLICES, MAX_SLICES) / MAX(n_analyses, 1);
    const int64_t count =
        (MIN(query->end_ns, last_ns) - MAX(query->start_ns, first_ns)) / query->slice_ns;
    if (count < most) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "refresh: that would be %" G_GINT64_FORMAT
                " slices of the time range; for traces of this size it may be %" G_GINT64_FORMAT
                ", so give a longer duration or a shorter time range",
                count + 1, most);
    return false;
}

/* Which windows there are: the time range of the query, whole or in slices, or periods. */
static bool set_windows(const struct lull_query *query, struct lull_session *session,
                        struct lull_runner *runner, uint32_t n_analyses, struct followed *followed,
                        GError **error)
{
    if (!check_slices(query, session, runner, n_analyses, error)) {
        return false;
    }
    if (query->is_end_within && query->end_ns < INT64_MAX) {
        lull_runner_include_end(runner);
    }
    if (query->periods) {
        set_periods(query, session, runner, followed);
    } else {
        lull_runner_range(runner, query->start_ns, query->end_ns, query->slice_ns);
    }
    return true;
}

/* A name or number that no task or CPU had is a slip, not an empty result. Programs that read
 * lttng-analyses expect the latter. */
struct names_check {
    const struct lull_query *query;
    const struct lull_session *session;
    GError *error; /* what is wrong */
    bool is_done;  /* they are known to be right */
};

static bool check_names(void *user, const struct lull_model *model)
{
    struct names_check *check = user;
    const struct lull_query *query = check->query;
    return !check->error && (check->is_done || query->params.is_lami || query->may_lack_periods ||
                             (lull_check_tasks(model, query->host, &query->params, &check->error) &&
                              lull_check_cpus(check->session, model, query->host,
                                              &query->params.cpus, &check->error)));
}

/* What the results do not say. */
static void take_followed(struct lull_query *query, const struct followed *followed)
{
    const struct lull_period_tracker *tracker =
        followed->windows ? lull_period_windows_tracker(followed->windows) : followed->tracker;
    query->has_followed = tracker != NULL;
    query->n_instances = tracker ? lull_period_instance_count(tracker) : 0;
    query->n_refused = tracker ? lull_period_refused(tracker) : 0;
}

static bool is_hidden(const struct lull_query *query, struct lull_session *session)
{
    const struct lull_selection selection = lull_params_selection(query->host, &query->params);
    return lull_is_hidden(session, &selection, &query->params.cpus);
}

static bool read_once(struct lull_query *query, struct lull_session *session,
                      const struct lull_analysis_class *const *classes,
                      const struct lull_question_params *params, uint32_t n, struct lull_sink *sink,
                      void (*progress)(void *user), void *user, struct names_check *check,
                      bool *is_reported, GError **error)
{
    struct lull_runner *runner = lull_runner_new(session, classes, params, n, sink);
    struct followed followed = {0};
    bool is_done = set_windows(query, session, runner, n, &followed, error);
    if (is_done) {
        if (n > 0) {
            lull_runner_may_report(runner, check_names, check);
        }
        lull_runner_run(runner, progress, user);
        lull_session_unsubscribe_all(session); /* the model's */
        take_followed(query, &followed);
        *is_reported = !check->error;
        is_done = n == 0 || check_names(check, lull_runner_model(runner));
    }
    lull_period_windows_free(followed.windows);
    lull_period_tracker_free(followed.tracker);
    lull_runner_free(runner);
    return is_done;
}

bool lull_query_read(struct lull_query *query, struct lull_session *session,
                     const struct lull_analysis_class *const *classes,
                     const struct lull_question_params *params, uint32_t n, struct lull_sink *sink,
                     void (*progress)(void *user), void *user, GError **error)
{
    struct names_check check = {query, session, NULL, false};
    bool is_reported = false;
    bool is_done = read_once(query, session, classes, params, n, sink, progress, user, &check,
                             &is_reported, error);
    if (check.error && is_hidden(query, session)) {
        g_clear_error(&check.error);
        check.is_done = is_done = true;
        if (!is_reported) {
            lull_session_limit(session, INT64_MIN, INT64_MAX);
            is_done = read_once(query, session, classes, params, n, sink, progress, user, &check,
                                &is_reported, error);
        }
    }
    if (check.error) {
        g_propagate_error(error, check.error);
    }
    return is_done;
}

/* ---- tables for others ---- */

struct lull_rows {
    const struct lull_result_table *table;
    const struct lull_result_column *columns;
    uint32_t *shown; /* numbers of those that are not LAMI's alone */
    uint32_t n_shown, n_columns;
    struct lull_cell *cells; /* of the row that was requested last */
    uint64_t row;
    bool has_row;
};

const char *lull_rows_name(const struct lull_rows *rows)
{
    return rows->table->class->name;
}

const char *lull_rows_title(const struct lull_rows *rows)
{
    return rows->table->class->title;
}

const char *lull_rows_subtitle(const struct lull_rows *rows)
{
    return rows->table->subtitle;
}

uint32_t lull_rows_column_count(const struct lull_rows *rows)
{
    return rows->n_shown;
}

const struct lull_result_column *lull_rows_column(const struct lull_rows *rows, uint32_t column)
{
    g_return_val_if_fail(column < rows->n_shown, NULL);
    return &rows->columns[rows->shown[column]];
}

uint64_t lull_rows_count(const struct lull_rows *rows)
{
    return rows->table->n_rows;
}

const struct lull_cell *lull_rows_cell(struct lull_rows *rows, uint64_t row, uint32_t column)
{
    g_return_val_if_fail(row < rows->table->n_rows && column < rows->n_shown, NULL);
    if (!rows->has_row || rows->row != row) {
        memset(rows->cells, 0, rows->n_columns * sizeof *rows->cells);
        rows->table->row(rows->table->user, row, rows->cells);
        rows->row = row;
        rows->has_row = true;
    }
    return &rows->cells[rows->shown[column]];
}

/* A sink that hands on to a visitor. */
struct visiting {
    struct lull_sink sink;
    unsigned hidden; /* columns of these uses */
    const struct lull_result_visitor *visitor;
    void *user;
    GString *warnings; /* lines that are notes of the first window; or NULL */
};

static struct visiting *visiting_of(struct lull_sink *sink)
{
    return (struct visiting *)sink;
}

static void visit_start(struct lull_sink *sink, const char *analysis,
                        const struct lull_window *window)
{
    const struct visiting *visiting = visiting_of(sink);
    if (visiting->visitor->window) {
        visiting->visitor->window(visiting->user, window);
    }
    g_auto(GStrv) lines = g_strsplit(visiting->warnings ? visiting->warnings->str : "", "\n", -1);
    for (uint32_t i = 0; window->number == 0 && lines[i]; i++) {
        /* Not the place in the file, which is below a warning. */
        if (*lines[i] && *lines[i] != ' ' && visiting->visitor->note) {
            visiting->visitor->note(visiting->user, lines[i]);
        }
    }
}

static void visit_note(struct lull_sink *sink, const char *note)
{
    const struct visiting *visiting = visiting_of(sink);
    if (visiting->visitor->note) {
        visiting->visitor->note(visiting->user, note);
    }
}

static void visit_table(struct lull_sink *sink, const struct lull_result_table *table)
{
    const struct visiting *visiting = visiting_of(sink);
    struct lull_rows rows = {.table = table,
                             .columns = table->columns ? table->columns : table->class->columns};
    while (rows.columns[rows.n_columns].title) {
        rows.n_columns++;
    }
    rows.shown = g_new(uint32_t, rows.n_columns + 1);
    rows.cells = g_new0(struct lull_cell, rows.n_columns + 1);
    for (uint32_t i = 0; i < rows.n_columns; i++) {
        if (!(rows.columns[i].use & visiting->hidden)) {
            rows.shown[rows.n_shown++] = i;
        }
    }
    if (visiting->visitor->table) {
        visiting->visitor->table(visiting->user, &rows);
    }
    g_free(rows.shown);
    g_free(rows.cells);
}

static void visit_end(struct lull_sink *sink)
{
    const struct visiting *visiting = visiting_of(sink);
    if (visiting->visitor->end) {
        visiting->visitor->end(visiting->user);
    }
}

bool lull_query_run_sized(struct lull_query *query, struct lull_session *session,
                          const struct lull_result_visitor *visitor, size_t size, void *user,
                          GError **error)
{
    struct lull_result_visitor known;
    struct visiting visiting = {
        .sink = {visit_start, visit_note, visit_table, visit_end},
        .visitor = lull_sized(&known, sizeof known, visitor, size),
        .user = user,
        .hidden = LULL_USE_LAMI,
    };
    forget_parsed(query);
    if (query->analysis == &lull_analysis_states) {
        g_autoptr(GString) warnings = visiting.warnings = g_string_new(NULL);
        lull_session_select(session, query->host, -1);
        return lull_states_query_run(query, session, &visiting.sink, warnings,
                                     visiting.visitor->progress, user, error);
    }
    if (!lull_query_parse_periods(query, error) || !lull_query_parse(query, error)) {
        return false;
    }
    /* What nobody chose: all but what is long. */
    if (query->params.sections == 0) {
        query->params.sections = LULL_SECTION_USAGE | LULL_SECTION_STATS | LULL_SECTION_TOP;
    }
    lull_session_unsubscribe_all(session);
    lull_session_limit(session, INT64_MIN, INT64_MAX);
    lull_session_select(session, query->host, -1);
    visiting.hidden |= lull_stolen_is_known(session, query->host) ? 0 : LULL_USE_GUEST;
    return lull_query_read(query, session, &query->analysis, &query->params, 1, &visiting.sink,
                           visiting.visitor->progress, user, error);
}
