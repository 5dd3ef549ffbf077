/* SPDX-License-Identifier: MIT */
/* Sums of waits by function and by chain of calls, over all tasks. It reads the session itself: what
 * was called before the time that counts belongs to the stacks, too. */
#include "analysis/hot_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/function_shares.h"
#include "analysis/report.h"
#include "analysis/waits.h"
#include "base/map.h"
#include "base/sums.h"
#include "calls/names.h"
#include "kernel/vocabulary.h"
#include "source/session/streams.h"

enum { MOST_ROWS = 5 };

/* What rows are the same: in all bytes. */
struct key {
    struct lull_calls_identity where; /* of a function; of a chain `what` is its number */
    uint64_t cause;
};

struct row {
    uint32_t host, where; /* a function, or a chain */
    uint8_t cause;
    int64_t total_ns;
    uint32_t n_tasks, task; /* task: who waited longest, */
    int64_t task_ns;        /* and how long */
    uint32_t last_task;     /* that was added, */
    int64_t last_ns;        /* and for how long so far */
};

/* One of the tables. */
struct list {
    LULL_VEC(struct row) rows;
    GHashTable *by_key; /* → number + 1 */
    int64_t total_ns;
};

struct lull_hot_waits {
    struct lull_session *session;
    struct lull_calls_reading reading;
    const struct lull_question_params *params;
    struct list functions, stacks;
    GString *text; /* of the row that is shown */
};

/* ---- sums ---- */

static unsigned hash_key(const void *key)
{
    return lull_hash_words(key, sizeof(struct key));
}

static gboolean is_same_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct key)) == 0;
}

/* One of the waits; those of a task follow each other. */
static void add_wait(struct list *list, const struct key *key, const struct row *wait)
{
    if (!list->by_key) {
        list->by_key = g_hash_table_new_full(hash_key, is_same_key, g_free, NULL);
    }
    uint32_t at = GPOINTER_TO_UINT(g_hash_table_lookup(list->by_key, key));
    if (at == 0) {
        lull_vec_push(&list->rows, *wait);
        at = (uint32_t)list->rows.count;
        list->rows.items[at - 1].total_ns = list->rows.items[at - 1].task_ns = 0;
        list->rows.items[at - 1].last_task = LULL_NONE;
        g_hash_table_insert(list->by_key, g_memdup2(key, sizeof *key), GUINT_TO_POINTER(at));
    }
    struct row *row = &list->rows.items[at - 1];
    if (row->last_task != wait->task) {
        row->n_tasks++;
        row->last_task = wait->task;
        row->last_ns = 0;
    }
    lull_add(&row->last_ns, wait->total_ns);
    lull_add(&row->total_ns, wait->total_ns);
    lull_add(&list->total_ns, wait->total_ns);
    if (row->last_ns > row->task_ns) {
        row->task = wait->task;
        row->task_ns = row->last_ns;
    }
}

static bool is_wanted(const struct lull_hot_waits *hot, uint32_t task)
{
    return lull_params_want_task(hot->params, hot->reading.model, task, hot->reading.end_ns);
}

static const struct lull_calls_line *line_of(const struct lull_calls *calls,
                                             const struct lull_calls_wait *wait)
{
    const uint32_t function = lull_calls_node(calls, wait->node)->function;
    return lull_calls_line(calls, lull_calls_function(calls, function)->line);
}

static int compare_tasks(const void *a, const void *b, void *calls)
{
    const uint32_t x = line_of(calls, a)->task, y = line_of(calls, b)->task;
    return (x > y) - (x < y);
}

static void add_functions(struct lull_hot_waits *hot)
{
    const struct lull_calls *calls = hot->reading.calls;
    size_t n;
    const struct lull_calls_wait *found = lull_calls_waits(calls, &n);
    g_autofree struct lull_calls_wait *waits = g_memdup2(found, n * sizeof *found);
    if (n > 0) {
        g_qsort_with_data(waits, (int)n, sizeof *waits, compare_tasks, hot->reading.calls);
    }
    for (size_t i = 0; i < n; i++) {
        const struct lull_calls_line *line = line_of(calls, &waits[i]);
        const uint32_t function = lull_calls_own_function(calls, waits[i].node);
        if (waits[i].ns > 0 && is_wanted(hot, line->task)) {
            const struct key key = {
                lull_calls_identify(calls, lull_calls_function(calls, function)), waits[i].cause};
            add_wait(&hot->functions, &key,
                     &(struct row){.host = line->host,
                                   .where = function,
                                   .cause = waits[i].cause,
                                   .total_ns = waits[i].ns,
                                   .task = line->task});
        }
    }
}

static void add_stack(void *user, const struct lull_sample_sum *sum)
{
    struct lull_hot_waits *hot = user;
    const uint32_t host = lull_model_task(hot->reading.model, sum->task)->host;
    const struct key key = {{sum->chain, host, 0}, sum->what};
    if (is_wanted(hot, sum->task)) {
        add_wait(&hot->stacks, &key,
                 &(struct row){.host = host,
                               .where = sum->chain,
                               .cause = (uint8_t)sum->what,
                               .total_ns = sum->weight,
                               .task = sum->task});
    }
}

static int compare(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->total_ns != y->total_ns) {
        return x->total_ns > y->total_ns ? -1 : 1;
    }
    return x->where != y->where ? (x->where > y->where) - (x->where < y->where)
                                : (x->cause > y->cause) - (x->cause < y->cause);
}

static void sort(struct list *list)
{
    if (list->rows.count > 0) {
        qsort(list->rows.items, list->rows.count, sizeof *list->rows.items, compare);
    }
}

/* ---- reading ---- */

static void look_for_chains(void *user, const struct lull_field_info *field)
{
    bool *has_chains = user;
    *has_chains |= strcmp(field->path, "context.callchain") == 0;
}

static void visit_class(void *user, uint32_t trace, const struct lull_event_class *event_class)
{
    if (g_str_equal(lull_event_class_name(event_class), "sched_switch")) {
        lull_event_class_each_field(event_class, look_for_chains, user);
    }
}

static bool is_recorded(const struct lull_session *session)
{
    bool has_chains = false;
    lull_session_each_declared_class(session, visit_class, &has_chains);
    return has_chains || lull_calls_are_declared(session);
}

struct lull_hot_waits *lull_hot_waits_read(struct lull_session *session,
                                           const struct lull_question_params *params, int32_t host,
                                           int64_t start_ns, int64_t end_ns,
                                           void (*progress)(void *user), void *user)
{
    struct lull_hot_waits *hot = NULL;
    if (!is_recorded(session)) {
        return NULL;
    }
    hot = g_new0(struct lull_hot_waits, 1);
    hot->session = session;
    hot->params = params;
    hot->text = g_string_new(NULL);
    hot->reading.wants_samples = true;
    if (lull_calls_read(&hot->reading, session, host, start_ns, end_ns, NULL, NULL, progress,
                        user)) {
        add_functions(hot);
        lull_samples_each(hot->reading.samples, LULL_FLAME_OFF, add_stack, hot);
        sort(&hot->functions);
        sort(&hot->stacks);
    }
    if (hot->functions.rows.count + hot->stacks.rows.count == 0) {
        lull_hot_waits_free(hot);
        return NULL;
    }
    return hot;
}

static void clear(struct list *list)
{
    lull_vec_free(&list->rows);
    g_clear_pointer(&list->by_key, g_hash_table_unref);
}

void lull_hot_waits_free(struct lull_hot_waits *hot)
{
    if (hot) {
        lull_calls_reading_clear(&hot->reading);
        clear(&hot->functions);
        clear(&hot->stacks);
        g_string_free(hot->text, TRUE);
        g_free(hot);
    }
}

/* ---- tables ---- */

#define COLUMNS(where)                                                                             \
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},                                 \
        {"Total time", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},               \
        {"Share of all such waits", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_DETAIL},     \
        {"Cause", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},                                    \
        {"Task that waited longest", "TASK", "task", LULL_CELL_PROCESS, NULL, 0},                  \
        {"Tasks that waited there", "TASKS", "tasks", LULL_CELL_NUMBER, "tasks", LULL_USE_DETAIL}, \
        where{0}
#define FUNCTION {"Function of the program", "FUNCTION", "function", LULL_CELL_STRING, NULL, 0},
#define STACK                                                                                      \
    {"Calls that led into it, innermost first", "STACK", "stack", LULL_CELL_STRING, NULL, 0},

static const struct lull_result_column function_columns[] = {COLUMNS(FUNCTION)};
static const struct lull_result_class function_class = {.name = "waits-by-function",
                                                        .title = "Longest waits by function",
                                                        .columns = function_columns,
                                                        .is_own = true};
static const struct lull_result_column stack_columns[] = {COLUMNS(STACK)};
static const struct lull_result_class stack_class = {.name = "waits-by-stack",
                                                     .title = "Longest waits by stack",
                                                     .columns = stack_columns,
                                                     .is_own = true};

static struct lull_cell *put_row(const struct lull_hot_waits *hot, const struct list *list,
                                 const struct row *row, struct lull_cell *cells)
{
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(hot->session, row->host)->name);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, row->total_ns);
    *cells++ =
        lull_cell_real(LULL_CELL_RATIO, (double)row->total_ns / (double)MAX(list->total_ns, 1));
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_waits_cause(row->cause));
    *cells++ = lull_cell_task(hot->reading.model, row->task, hot->reading.end_ns, true);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, row->n_tasks);
    return cells;
}

static void function_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct lull_hot_waits *hot = user;
    const struct row *row = &hot->functions.rows.items[at];
    cells = put_row(hot, &hot->functions, row, cells);
    g_string_truncate(hot->text, 0);
    lull_calls_append_name(hot->text, hot->reading.model, NULL,
                           lull_calls_function(hot->reading.calls, row->where));
    *cells = lull_cell_text(LULL_CELL_STRING, hot->text->str);
}

static void stack_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    const struct lull_hot_waits *hot = user;
    const struct row *row = &hot->stacks.rows.items[at];
    cells = put_row(hot, &hot->stacks, row, cells);
    g_string_truncate(hot->text, 0);
    lull_waits_append_stack(hot->text, hot->reading.model, row->where);
    *cells = lull_cell_text(LULL_CELL_STRING, hot->text->str);
}

static void emit_list(const struct lull_hot_waits *hot, const struct list *list,
                      const struct lull_result_class *class,
                      void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                      struct lull_sink *sink)
{
    const uint32_t limit = hot->params->limit ? MIN(hot->params->limit, MOST_ROWS) : UINT32_MAX;
    const uint64_t n = MIN(list->rows.count, limit);
    if (n > 0) {
        sink->table(sink, &(struct lull_result_table){.class = class,
                                                      .n_rows = n,
                                                      .n_left_out = list->rows.count - n,
                                                      .row = row,
                                                      .user = hot});
    }
}

static void hot_waits_emit(struct lull_analysis *analysis, const struct lull_window *window,
                           struct lull_sink *sink)
{
    const struct lull_hot_waits *hot = analysis->params->hot_waits;
    if (!hot) {
        return;
    }
    g_autofree char *draw =
        lull_report_command(hot->session, LULL_NONE, "flame --off-cpu --svg waits.svg");
    g_autofree char *list = lull_report_command(hot->session, LULL_NONE, "waits --stacks");
    g_autofree char *note =
        g_strdup_printf("%s draws all of them%s%s%s", draw, hot->stacks.rows.count > 0 ? "; " : "",
                        hot->stacks.rows.count > 0 ? list : "",
                        hot->stacks.rows.count > 0 ? " lists them by task and object" : "");
    sink->note(sink, note);
    emit_list(hot, &hot->functions, &function_class, function_row, sink);
    emit_list(hot, &hot->stacks, &stack_class, stack_row, sink);
}

const struct lull_analysis_class lull_analysis_hot_waits = {
    .name = "hot-waits",
    .title = "Waits by function and stack",
    .description = "In which functions and stacks tasks waited longest",
    .tags = (const char *const[]){"sched", "waits", "calls", "top", NULL},
    .tables = (const struct lull_result_class *const[]){&function_class, &stack_class, NULL},
    .is_by_host = true,
    .size = sizeof(struct lull_analysis),
    .emit = hot_waits_emit,
};
