/* SPDX-License-Identifier: MIT */
/* Periods one by one: the log by time or by hierarchy, the longest, and those without an end. */
#include "analysis/period_windows.h"
#include "analysis/periods/private.h"

#define TIMES(start, end)                                                                          \
    {"Period begin timestamp", start, "begin_ns", LULL_CELL_TIMESTAMP, NULL, 0},                   \
        {"Period end timestamp", end, "end_ns", LULL_CELL_TIMESTAMP, NULL, 0},                     \
        {"Period duration", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, 0}

static const struct lull_result_column columns[] = {
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST | LULL_USE_OWN},
    TIMES("BEGIN", "END"),
    {"Period name", "PERIOD", "period", LULL_CELL_STRING, NULL, 0},
    {"Begin captures", "AT BEGIN", "begin_captures", LULL_CELL_STRING, NULL, 0},
    {"End captures", "AT END", "end_captures", LULL_CELL_STRING, NULL, 0},
    {"Task", "TASK", "task", LULL_CELL_PROCESS, NULL, LULL_USE_OWN},
    {"CPU", "CPU", "cpu", LULL_CELL_CPU, NULL, LULL_USE_OWN | LULL_USE_DETAIL},
    {0},
};

const struct lull_result_class period_log_class = {
    .name = "log", .title = "Period log", .columns = columns, .kind = LULL_TABLE_LOG};
const struct lull_result_class period_top_class = {
    .name = "top", .title = "Period top", .columns = columns};
const struct lull_result_class period_open_class = {.name = "incomplete",
                                                    .title = "Periods not seen to end",
                                                    .columns = columns,
                                                    .kind = LULL_TABLE_LOG,
                                                    .is_own = true};

/* Rows, and the texts of the row that was made last. */
struct rows {
    const struct period_report *report;
    const uint32_t *instances;
    char *texts[2];
    char unnamed[LULL_PERIOD_UNNAMED];
    bool has_bare_names;
};

static void make_captures(struct rows *rows, uint32_t instance)
{
    const struct period_report *report = rows->report;
    for (int side = 0; side < 2; side++) {
        g_free(rows->texts[side]);
        rows->texts[side] =
            report->params->is_lami
                ? lull_period_captures_json(report->periods, report->tracker, instance, side)
                : lull_period_captures_side(report->periods, report->tracker, instance, side);
    }
}

static struct lull_cell task_cell(const struct lull_period_instance *instance)
{
    struct lull_cell cell = lull_cell_text(LULL_CELL_PROCESS, instance->start_comm);
    if (instance->start_tid < 0 && !instance->start_comm) {
        return cell;
    }
    cell.class = LULL_CELL_PROCESS;
    cell.tid = instance->start_tid >= 0 && instance->start_tid <= INT32_MAX
                   ? (int32_t)instance->start_tid
                   : -1;
    return cell;
}

static void make_row(const void *user, uint64_t row, struct lull_cell *cells)
{
    struct rows *rows = (struct rows *)user;
    const struct period_report *report = rows->report;
    const uint32_t number = rows->instances[row];
    const struct lull_period_instance *instance = period_instance(report, number);
    const struct lull_period *period = period_definition(report, instance->period);
    const char *name = rows->has_bare_names && period->name
                           ? period->name
                           : period_path(report, instance->period, rows->unnamed);
    make_captures(rows, number);
    *cells++ = lull_cell_text(LULL_CELL_HOST, period_host(report, instance->host));
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, instance->start_ns);
    *cells++ = lull_cell_integer(LULL_CELL_TIMESTAMP, instance->end_ns);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, period_duration(instance));
    *cells++ = lull_cell_text(LULL_CELL_STRING, name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, rows->texts[0]);
    *cells++ = instance->is_complete || report->params->is_lami
                   ? lull_cell_text(LULL_CELL_STRING, rows->texts[1])
                   : (struct lull_cell){.class = LULL_CELL_EMPTY};
    *cells++ = task_cell(instance);
    *cells++ = instance->start_cpu >= 0 ? lull_cell_integer(LULL_CELL_CPU, instance->start_cpu)
                                        : (struct lull_cell){.class = LULL_CELL_UNKNOWN};
}

static void emit(const struct period_report *report, const struct lull_result_class *class,
                 const uint32_t *instances, uint32_t n)
{
    struct rows rows = {
        .report = report, .instances = instances, .has_bare_names = class == &period_top_class};
    report->sink->table(
        report->sink,
        &(struct lull_result_table){.class = class, .n_rows = n, .row = make_row, .user = &rows});
    g_free(rows.texts[0]);
    g_free(rows.texts[1]);
}

/* ---- which ---- */

/* In order of start, as instances are numbered. */
static uint32_t choose_by_time(const struct period_report *report, uint32_t *chosen)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n_counted; i++) {
        if (report->question->is_selected[period_instance(report, report->all[i])->period]) {
            chosen[n++] = report->all[i];
        }
    }
    return n;
}

/* The position of an instance: after its parent, siblings in order of their ends. */
struct position {
    uint32_t instance, parent;
    int64_t end_ns;
};

static int by_end(const void *left, const void *right)
{
    const struct position *a = left, *b = right;
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

/* Roots in order of start, each followed by what lies in it; children in order of end. What lies in
 * an instance that is not counted is left out with it. */
static uint32_t choose_by_hierarchy(const struct period_report *report, uint32_t *chosen)
{
    const uint32_t none = LULL_NO_PERIOD;
    uint32_t n = 0, n_positions = 0;
    g_autofree struct position *positions = g_new(struct position, MAX(report->n_counted, 1));
    g_autofree uint32_t *first = g_new(uint32_t, MAX(report->n_instances, 1));
    g_autofree uint32_t *next = g_new(uint32_t, MAX(report->n_instances, 1));
    g_autofree uint32_t *stack = g_new(uint32_t, MAX(report->n_counted, 1));
    for (uint32_t i = 0; i < report->n_instances; i++) {
        first[i] = next[i] = none;
    }
    for (uint32_t i = 0; i < report->n_counted; i++) {
        const struct lull_period_instance *at = period_instance(report, report->all[i]);
        if (at->parent != LULL_NO_PERIOD && report->is_whole[at->parent]) {
            positions[n_positions++] = (struct position){
                .instance = report->all[i], .parent = at->parent, .end_ns = at->end_ns};
        }
    }
    qsort(positions, n_positions, sizeof *positions, by_end);
    for (uint32_t i = n_positions; i-- > 0;) { /* the first to end comes first */
        next[positions[i].instance] = first[positions[i].parent];
        first[positions[i].parent] = positions[i].instance;
    }
    for (uint32_t i = 0; i < report->n_counted; i++) {
        if (period_instance(report, report->all[i])->parent != LULL_NO_PERIOD) {
            continue;
        }
        uint32_t depth = 0, at = report->all[i];
        chosen[n++] = at;
        for (at = first[at]; at != none || depth > 0;) {
            if (at == none) {
                at = next[stack[--depth]];
                continue;
            }
            chosen[n++] = at;
            stack[depth++] = at;
            at = first[at];
        }
    }
    return n;
}

void period_report_log(const struct period_report *report)
{
    g_autofree uint32_t *chosen = g_new(uint32_t, MAX(report->n_counted, 1));
    uint32_t n = report->question->by_hierarchy ? choose_by_hierarchy(report, chosen)
                                                : choose_by_time(report, chosen);
    emit(report, &period_log_class, chosen, n);
}

static int by_duration(const void *left, const void *right, void *user)
{
    const struct period_report *report = user;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const int64_t long_a = period_duration(period_instance(report, a));
    const int64_t long_b = period_duration(period_instance(report, b));
    if (long_a != long_b) {
        return long_a > long_b ? -1 : 1;
    }
    return a < b ? -1 : a > b;
}

void period_report_top(const struct period_report *report)
{
    g_autofree uint32_t *chosen = g_new(uint32_t, MAX(report->n_counted, 1));
    uint32_t n = choose_by_time(report, chosen);
    g_qsort_with_data(chosen, (gint)n, sizeof *chosen, by_duration, (gpointer)report);
    if (report->params->limit > 0) {
        n = MIN(n, report->params->limit);
    }
    emit(report, &period_top_class, chosen, n);
}

void period_report_incomplete(const struct period_report *report)
{
    g_autofree uint32_t *chosen = g_new(uint32_t, MAX(report->n_incomplete, 1));
    uint32_t n = 0;
    for (uint32_t i = 0; i < report->n_instances; i++) {
        const struct lull_period_instance *at = period_instance(report, i);
        if (report->is_open[i] && report->question->is_selected[at->period]) {
            chosen[n++] = i;
        }
    }
    if (n > 0) {
        emit(report, &period_open_class, chosen, n);
    }
}
