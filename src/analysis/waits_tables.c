/* SPDX-License-Identifier: MIT */
/* The tables of `lull waits`: by cause, the waits themselves, by task. */
#include "analysis/quotas.h"
#include "analysis/waits_private.h"

#include <stdlib.h>
#include <string.h>

#define HOST {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST}
#define SUMS(share_use)                                                                            \
    {"Total time", "TOTAL", "total_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},                   \
        {"Share of all waits", "SHARE", "share", LULL_CELL_RATIO, NULL, share_use},                \
        {"Count", "COUNT", "count", LULL_CELL_NUMBER, "waits", LULL_USE_DETAIL},                   \
        {"Mean", "MEAN", "mean_ns", LULL_CELL_DURATION, NULL, LULL_USE_NOT_TEXT},                  \
    {                                                                                              \
        "Longest", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, LULL_USE_DETAIL              \
    }

static const struct lull_result_column cause_columns[] = {
    {"State, as ps shows it", "STATE", "state", LULL_CELL_STRING, NULL, 0},
    {"Cause", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},
    SUMS(0),
    {0},
};
const struct lull_result_class lull_waits_causes = {
    .name = "waits-by-cause", .title = "Waits by cause", .columns = cause_columns, .is_own = true};

#define WAIT_COLUMNS                                                                               \
    HOST, {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, 0},                                    \
        {"State, as ps shows it", "STATE", "state", LULL_CELL_STRING, NULL, LULL_USE_DETAIL},      \
        {"Cause", "CAUSE", "cause", LULL_CELL_STRING, NULL, 0},                                    \
        {"System call", "CALL", "call", LULL_CELL_SYSCALL, NULL, 0},                               \
        {"What it waited for", "OBJECT", "object", LULL_CELL_STRING, NULL, 0},                     \
        {"Who ended the wait, or could end it, or had the CPU longest meanwhile",                  \
         "BY",                                                                                     \
         "by",                                                                                     \
         LULL_CELL_PROCESS,                                                                        \
         NULL,                                                                                     \
         LULL_USE_DETAIL},                                                                         \
        SUMS(LULL_USE_NOT_TEXT),                                                                   \
        {"Start of the longest", "AT", "longest_at_ns", LULL_CELL_TIMESTAMP, NULL, 0}

#define STACK(use)                                                                                 \
    {"Calls that led into it, innermost first", "STACK", "stack", LULL_CELL_STRING, NULL, use}

static const struct lull_result_column wait_columns[] = {
    WAIT_COLUMNS, STACK(LULL_USE_NOT_TEXT), {0}};
static const struct lull_result_column stack_columns[] = {WAIT_COLUMNS, STACK(0), {0}};
const struct lull_result_class lull_waits_all = {
    .name = "waits", .title = "Longest waits in all", .columns = wait_columns, .is_own = true};

static const struct lull_result_column task_columns[] = {
    HOST,
    {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, 0},
    {"Time blocked", "BLOCKED", "blocked_ns", LULL_CELL_DURATION, NULL, LULL_USE_BAR},
    {"of that uninterruptible", "OF THAT D", "uninterruptible_ns", LULL_CELL_DURATION, NULL, 0},
    {"Time ready to run without a CPU", "RUNNABLE", "runnable_ns", LULL_CELL_DURATION, NULL, 0},
    {"Time on a CPU", "RUNNING", "running_ns", LULL_CELL_DURATION, NULL, 0},
    {"Count of waits", "COUNT", "count", LULL_CELL_NUMBER, "waits", 0},
    {"Longest wait", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, 0},
    {0},
};
const struct lull_result_class lull_waits_tasks = {
    .name = "waits-by-task", .title = "Waits by task", .columns = task_columns, .is_own = true};

static struct lull_cell letter_cell(char letter)
{
    static const char letters[] = "R\0S\0D\0I\0T\0t\0P";
    for (size_t i = 0; i < sizeof letters; i += 2) {
        if (letters[i] == letter) {
            return lull_cell_text(LULL_CELL_STRING, &letters[i]);
        }
    }
    return lull_cell_integer(LULL_CELL_UNKNOWN, 0);
}

const char *lull_waits_cause(uint8_t cause)
{
    static const char *const names[LULL_WAITS_CAUSES] = {[LULL_WAITS_NOT_ENDED] = "not ended",
                                                         [LULL_WAITS_DIRTY] = "dirty pages",
                                                         [LULL_WAITS_LOCK] = "kernel lock",
                                                         [LULL_WAITS_PREEMPTED] = "preempted",
                                                         [LULL_WAITS_WOKEN] = "woken"};
    return names[cause] ? names[cause] : lull_cause_name(cause);
}

const struct lull_wait_sum *lull_waits_sums(const struct lull_analysis *analysis, size_t *count)
{
    const struct waits *waits = (const struct waits *)analysis;
    *count = waits->waits.count;
    return waits->waits.items;
}

const char *lull_waits_object(const struct lull_analysis *analysis, uint32_t object)
{
    return object == LULL_NONE ? NULL : ((const struct waits *)analysis)->objects->pdata[object];
}

static struct lull_cell *sum_cells(const struct waits *waits, int64_t total_ns, uint64_t count,
                                   int64_t longest_ns, struct lull_cell *cells)
{
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, total_ns);
    *cells++ = lull_cell_real(LULL_CELL_RATIO, (double)total_ns / (double)MAX(waits->total_ns, 1));
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)count);
    *cells++ = lull_cell_real(LULL_CELL_DURATION, (double)total_ns / (double)MAX(count, 1));
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, longest_ns);
    return cells;
}

struct cause_rows {
    const struct waits *waits;
    uint32_t count;
    struct cause_row {
        uint8_t cause;
        char letter;
        struct cause sum;
    } rows[LULL_WAITS_CAUSES * 8];
};

static void cause_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct cause_rows *rows = user;
    const struct cause_row *one = &rows->rows[row];
    *cells++ = letter_cell(one->letter);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_waits_cause(one->cause));
    sum_cells(rows->waits, one->sum.total_ns, one->sum.count, one->sum.longest_ns, cells);
}

static int compare_causes(const void *a, const void *b)
{
    const struct cause_row *left = a, *right = b;
    if (left->sum.total_ns != right->sum.total_ns) {
        return left->sum.total_ns > right->sum.total_ns ? -1 : 1;
    }
    return left->cause != right->cause ? left->cause - right->cause : left->letter - right->letter;
}

static void emit_causes(const struct waits *waits, struct lull_sink *sink)
{
    struct cause_rows rows = {.waits = waits};
    for (uint32_t cause = 0; cause < LULL_WAITS_CAUSES; cause++) {
        for (uint32_t letter = 0; letter < LETTERS; letter++) {
            const struct cause *sum = &waits->causes[cause][letter];
            if (sum->count && rows.count < G_N_ELEMENTS(rows.rows)) {
                rows.rows[rows.count++] = (struct cause_row){(uint8_t)cause, (char)letter, *sum};
            }
        }
    }
    qsort(rows.rows, rows.count, sizeof *rows.rows, compare_causes);
    sink->table(sink, &(struct lull_result_table){.class = &lull_waits_causes,
                                                  .n_rows = rows.count,
                                                  .row = cause_row,
                                                  .user = &rows});
}

void lull_waits_append_stack(GString *text, const struct lull_model *model, uint32_t chain)
{
    uint32_t n;
    const struct lull_frame *frames = lull_model_frames(model, chain, &n);
    for (uint32_t i = 0; i < n; i++) {
        const char *object = frames[i].symbol ? frames[i].symbol : frames[i].object;
        const char *slash = object && !frames[i].symbol ? strrchr(object, '/') : NULL;
        g_string_append_printf(text, "%s%s%s0x%" G_GINT64_MODIFIER "x", i ? " < " : "",
                               slash && slash[1] ? slash + 1
                               : object          ? object
                                                 : "",
                               object ? "+" : "",
                               frames[i].symbol ? frames[i].symbol_offset : frames[i].offset);
    }
}

static struct lull_cell stack_cell(const struct waits *waits, uint32_t chain)
{
    g_string_truncate(waits->text, 0);
    lull_waits_append_stack(waits->text, waits->head.model, chain);
    return waits->text->len ? lull_cell_text(LULL_CELL_STRING, waits->text->str)
                            : (struct lull_cell){.class = LULL_CELL_EMPTY, .pid = -1, .tid = -1};
}

static void wait_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct waits *waits = user;
    const struct lull_wait_sum *wait = &waits->waits.items[row];
    const struct lull_wait_key *key = &wait->key;
    const struct lull_model *model = waits->head.model;
    const int64_t end_ns = wait->longest_at_ns + wait->longest_ns;
    *cells++ = lull_cell_host_of(&waits->head, lull_model_task(model, key->task)->host);
    *cells++ = lull_cell_task(model, key->task, wait->longest_at_ns, true);
    *cells++ = letter_cell(key->letter);
    *cells++ = lull_cell_text(LULL_CELL_STRING, lull_waits_cause(key->cause));
    if (key->call != LULL_NONE) {
        *cells = lull_cell_text(LULL_CELL_SYSCALL, lull_model_label(model, key->call));
    }
    cells++;
    if (key->object != LULL_NONE) {
        *cells = lull_cell_text(LULL_CELL_STRING, waits->objects->pdata[key->object]);
    }
    cells++;
    if (key->by != LULL_NONE) {
        *cells = lull_cell_task(model, key->by, end_ns, true);
    }
    cells++;
    cells = sum_cells(waits, wait->total_ns, wait->count, wait->longest_ns, cells);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, wait->longest_at_ns);
    if (waits->head.params->by_stack) {
        *cells = stack_cell(waits, key->chain);
    }
}

static int compare_waits(const void *a, const void *b)
{
    const struct lull_wait_sum *left = a, *right = b;
    if (left->total_ns != right->total_ns) {
        return left->total_ns > right->total_ns ? -1 : 1;
    }
    return memcmp(&left->key, &right->key, sizeof left->key);
}

static int compare_tasks(const void *a, const void *b)
{
    const struct task_sum *left = a, *right = b;
    const int64_t left_ns = left->blocked_ns + left->runnable_ns;
    const int64_t right_ns = right->blocked_ns + right->runnable_ns;
    return left_ns != right_ns ? (left_ns > right_ns ? -1 : 1)
                               : (left->task > right->task) - (left->task < right->task);
}

static void task_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    const struct waits *waits = user;
    const struct task_sum *task = &waits->tasks.items[row];
    const struct lull_model *model = waits->head.model;
    *cells++ = lull_cell_host_of(&waits->head, lull_model_task(model, task->task)->host);
    *cells++ = lull_cell_task(model, task->task, INT64_MAX, true);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->blocked_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->uninterruptible_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->runnable_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, task->running_ns);
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)task->count);
    *cells = lull_cell_integer(LULL_CELL_DURATION, task->longest_ns);
}

static uint64_t limited(const struct lull_question_params *params, size_t n)
{
    return params->limit ? MIN(n, params->limit) : n;
}

void waits_emit(struct lull_analysis *analysis, const struct lull_window *window,
                struct lull_sink *sink)
{
    struct waits *waits = (struct waits *)analysis;
    const struct lull_question_params *params = analysis->params;
    if (waits->waits.count) {
        qsort(waits->waits.items, waits->waits.count, sizeof *waits->waits.items, compare_waits);
    }
    if (waits->tasks.count) {
        qsort(waits->tasks.items, waits->tasks.count, sizeof *waits->tasks.items, compare_tasks);
    }
    if (waits->family.pid != 0) {
        g_string_printf(waits->text,
                        "only tasks of the recorded command, %s, and of what it started are shown; "
                        "--all-tasks shows all",
                        waits->family.command);
        sink->note(sink, waits->text->str);
    }
    if (waits->n_asleep) {
        g_string_printf(waits->text,
                        "%" G_GUINT64_FORMAT " task%s slept all the time and %s left out; --asleep "
                        "shows them",
                        waits->n_asleep, waits->n_asleep == 1 ? "" : "s",
                        waits->n_asleep == 1 ? "is" : "are");
        sink->note(sink, waits->text->str);
    }
    lull_quotas_note(analysis, sink);
    emit_causes(waits, sink);
    sink->table(sink,
                &(struct lull_result_table){.class = &lull_waits_all,
                                            .columns = params->by_stack ? stack_columns : NULL,
                                            .n_rows = limited(params, waits->waits.count),
                                            .row = wait_row,
                                            .user = waits});
    sink->table(sink, &(struct lull_result_table){
                          .class = &lull_waits_tasks,
                          .n_rows = waits->waits.count ? limited(params, waits->tasks.count) : 0,
                          .row = task_row,
                          .user = waits});
}
