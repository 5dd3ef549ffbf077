/* SPDX-License-Identifier: MIT */
/* Which functions took how long, in which tasks, and each call of them. */
#include "analysis/calls.h"

#include <string.h>

#include "analysis/limit.h"
#include "base/map.h"
#include "base/sums.h"
#include "calls/names.h"

/* More calls are not kept for the log. */
enum { MOST_LOGGED = 10000000 };

/* ---- reading ---- */

bool lull_calls_read(struct lull_calls_reading *reading, struct lull_session *session, int32_t host,
                     int64_t start_ns, int64_t end_ns,
                     void (*ended)(void *user, const struct lull_call *call), void *ended_user,
                     void (*progress)(void *user), void *user)
{
    g_autofree struct lull_coverage *coverage = lull_coverage_find(session, host);
    const uint32_t n_hosts = lull_session_host_count(session);
    g_autofree int64_t *ends_ns = g_new(int64_t, n_hosts + 1);
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (uint32_t i = 0; i < n_hosts; i++) {
        ends_ns[i] = coverage[i].last_ns;
        first_ns = MIN(first_ns, coverage[i].first_ns);
        last_ns = MAX(last_ns, coverage[i].last_ns);
    }
    reading->start_ns = MAX(start_ns, first_ns);
    reading->end_ns = MIN(end_ns, last_ns);
    reading->model = lull_model_new(
        session, LULL_CALLS_GROUPS | (reading->wants_samples ? LULL_GROUP_SAMPLES : 0) |
                     (reading->wants_heap ? LULL_GROUP_HEAP : 0) |
                     (reading->wants_counters ? LULL_GROUP_COUNTERS : 0));
    if (first_ns > last_ns || reading->start_ns > reading->end_ns) {
        return false;
    }
    if (reading->wants_containers) {
        lull_model_read_containers(reading->model, first_ns);
    }
    lull_session_select(session, host, -1);
    lull_session_limit(session, INT64_MIN, end_ns);
    reading->calls = lull_calls_new(reading->model, start_ns, end_ns, ended, ended_user);
    if (reading->wants_counters) {
        reading->counts = lull_calls_counts_new(reading->calls, reading->model, start_ns);
    }
    if (reading->wants_samples) {
        reading->samples = lull_samples_new(reading->model, start_ns, end_ns);
    }
    if (reading->wants_heap) {
        reading->heap = lull_heap_new(reading->model, reading->calls, start_ns, end_ns);
    }
    if (reading->prepare) {
        reading->prepare(reading->prepare_user, reading);
    }
    lull_model_run(reading->model, progress, user);
    lull_calls_finish(reading->calls, ends_ns);
    return true;
}

void lull_calls_reading_clear(struct lull_calls_reading *reading)
{
    lull_samples_free(reading->samples);
    lull_heap_free(reading->heap);
    lull_calls_counts_free(reading->counts);
    lull_calls_free(reading->calls);
    lull_model_free(reading->model);
    *reading = (struct lull_calls_reading){0};
}

/* ---- sums ---- */

static unsigned hash_identity(const void *key)
{
    return lull_hash_words(key, sizeof(struct lull_calls_identity));
}

static gboolean is_same_identity(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct lull_calls_identity)) == 0;
}

bool calls_is_wanted(const struct calls_report *report, uint32_t line)
{
    return lull_params_want_task(report->question->params, report->reading.model,
                                 lull_calls_line(report->reading.calls, line)->task,
                                 report->reading.end_ns);
}

static void add_function(struct calls_row *row, const struct lull_calls_line *line,
                         const struct lull_calls_function *function)
{
    row->is_passed |= function->is_passed;
    row->has_states |= line->has_states;
    row->calls += function->calls;
    lull_add(&row->times.self_ns, function->times.self_ns);
    lull_add(&row->times.blocked_ns, function->times.blocked_ns);
    lull_add(&row->times.off_ns, function->times.off_ns);
    lull_add(&row->total_ns, function->total_ns);
    lull_add(&row->waiting_ns, function->waiting_ns);
    lull_add(&row->sum_ns, function->sum_ns);
    row->min_ns = MIN(row->min_ns, function->min_ns);
    row->max_ns = MAX(row->max_ns, function->max_ns);
}

static int compare_rows(const void *a, const void *b)
{
    const struct calls_row *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    if (x->times.self_ns != y->times.self_ns) {
        return x->times.self_ns > y->times.self_ns ? -1 : 1;
    }
    if (x->calls != y->calls) {
        return x->calls > y->calls ? -1 : 1;
    }
    const int by_name = strcmp(x->name, y->name);
    return by_name ? by_name : x->function < y->function ? -1 : 1;
}

/* Functions in which something was counted, also if none of their calls or time counts. */
static bool *find_counted(const struct calls_report *report)
{
    const struct lull_calls *calls = report->reading.calls;
    bool *counted = g_new0(bool, lull_calls_function_count(calls) + 1);
    for (uint32_t i = 0; i < lull_calls_node_count(calls) && report->n_counters > 0; i++) {
        const uint32_t function = lull_calls_node(calls, i)->function;
        for (uint32_t k = 0; k < report->n_counters && function != LULL_NONE; k++) {
            counted[function] |= lull_calls_counts_of(report->reading.counts, i, k) > 0;
        }
    }
    return counted;
}

/* The row of a function, or LULL_NONE; a new one if it needs one. */
static uint32_t find_row(struct calls_report *report, GHashTable *by_identity, uint32_t number,
                         bool is_counted)
{
    const struct lull_calls *calls = report->reading.calls;
    const struct lull_calls_function *function = lull_calls_function(calls, number);
    const struct lull_calls_identity identity = lull_calls_identify(calls, function);
    if ((function->calls == 0 && function->total_ns == 0 && !is_counted) ||
        !calls_is_wanted(report, function->line)) {
        return LULL_NONE;
    }
    uint32_t row = GPOINTER_TO_UINT(g_hash_table_lookup(by_identity, &identity));
    if (row == 0) {
        GString *name = g_string_new(NULL);
        lull_calls_append_name(name, report->reading.model, report->question->others, function);
        lull_vec_push(&report->rows, (struct calls_row){.function = number,
                                                        .name = g_string_free(name, FALSE),
                                                        .min_ns = INT64_MAX});
        row = (uint32_t)report->rows.count;
        g_hash_table_insert(by_identity, g_memdup2(&identity, sizeof identity),
                            GUINT_TO_POINTER(row));
    }
    return row - 1;
}

static void sum_up(struct calls_report *report)
{
    const struct lull_calls *calls = report->reading.calls;
    const uint32_t n = lull_calls_function_count(calls);
    g_autofree uint32_t *row_of = g_new(uint32_t, n + 1);
    g_autofree bool *counted = find_counted(report);
    g_autoptr(GHashTable) by_identity =
        g_hash_table_new_full(hash_identity, is_same_identity, g_free, NULL);
    for (uint32_t i = 0; i < lull_calls_line_count(calls); i++) {
        if (calls_is_wanted(report, i)) {
            lull_vec_push(&report->lines, i);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct lull_calls_function *function = lull_calls_function(calls, i);
        row_of[i] = find_row(report, by_identity, i, counted[i]);
        if (row_of[i] != LULL_NONE) {
            add_function(&report->rows.items[row_of[i]], lull_calls_line(calls, function->line),
                         function);
        }
    }
    if (report->n_counters > 0) {
        calls_sum_counts(report, row_of);
    }
    for (size_t i = 0; i < report->rows.count; i++) {
        struct calls_row *row = &report->rows.items[i];
        const uint64_t own = row->counted ? row->counted[2 * (size_t)report->counter] : 0;
        row->weight = calls_weigh(report, &row->times, own);
    }
    if (report->rows.count) {
        qsort(report->rows.items, report->rows.count, sizeof *report->rows.items, compare_rows);
    }
}

/* ---- the log ---- */

static void on_end(void *user, const struct lull_call *call)
{
    struct calls_report *report = user;
    const struct lull_calls_question *question = report->question;
    if (question->at_ns != INT64_MIN
            ? call->start_ns > question->at_ns || call->end_ns <= question->at_ns
            : !lull_params_want_duration(question->params, call->end_ns - call->start_ns)) {
        return;
    }
    if (report->log.count < MOST_LOGGED) {
        lull_vec_push(&report->log, *call);
    } else {
        report->n_not_logged++;
    }
}

/* By start; callers before those they call. */
static int compare_calls(const void *a, const void *b)
{
    const struct lull_call *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->line != y->line) {
        return x->line < y->line ? -1 : 1;
    }
    if (x->end_ns != y->end_ns && x->depth == y->depth) {
        return x->end_ns < y->end_ns ? -1 : 1;
    }
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* As stacks: by task, the innermost first. */
static int compare_frames(const void *a, const void *b)
{
    const struct lull_call *x = a, *y = b;
    return x->line != y->line ? (x->line > y->line) - (x->line < y->line)
                              : (x->depth < y->depth) - (x->depth > y->depth);
}

/* Those of tasks that are wanted, in order. */
static void sort_log(struct calls_report *report)
{
    const uint32_t n_lines = lull_calls_line_count(report->reading.calls);
    g_autofree bool *wanted = g_new0(bool, MAX(n_lines, 1));
    size_t n = 0;
    for (size_t i = 0; i < report->lines.count; i++) {
        wanted[report->lines.items[i]] = true;
    }
    for (size_t i = 0; i < report->log.count; i++) {
        if (wanted[report->log.items[i].line]) {
            report->log.items[n++] = report->log.items[i];
        }
    }
    report->log.count = n;
    if (n > 0) {
        qsort(report->log.items, n, sizeof *report->log.items,
              report->question->at_ns != INT64_MIN ? compare_frames : compare_calls);
    }
}

/* ---- the whole ---- */

static void note_counter(const struct calls_report *report, struct lull_sink *sink)
{
    const struct lull_calls_counts *counts = report->reading.counts;
    if (report->n_counters == 0) {
        return;
    }
    if (lull_calls_counts_have_shared(counts, report->counter)) {
        sink->note(sink,
                   "several calls were between two reads of the counter: each has a part by its "
                   "time on a CPU (≈), which misleads where the counter does not rise evenly");
    }
    if (lull_calls_counts_are_estimates(counts, report->counter)) {
        sink->note(sink, "counters took turns: ≈ is what would have been counted in all of the "
                         "time, as far as the part shows that was");
    }
}

/* Only the kernel says which process is a copy of another. */
static void note_forks(const struct calls_report *report, struct lull_sink *sink)
{
    const struct lull_calls_line *first = NULL;
    for (size_t i = 0; i < report->lines.count; i++) {
        const struct lull_calls_line *line =
            lull_calls_line(report->reading.calls, report->lines.items[i]);
        if (line->pid <= 0 ||
            lull_session_declares(report->session, line->host,
                                  lull_vocabulary_names(LULL_EVENT_sched_process_fork))) {
            continue;
        }
        if (first && first->host == line->host && first->pid != line->pid) {
            sink->note(sink,
                       "no forks of processes were recorded, which the kernel's events tell: a "
                       "process that another one forked starts with an empty stack");
            return;
        }
        first = first && first->host == line->host ? first : line;
    }
}

static void note_facts(struct calls_report *report, struct lull_sink *sink)
{
    uint64_t orphans = 0, unwound = 0, too_deep = 0;
    int64_t uncertain_ns = 0;
    for (size_t i = 0; i < report->lines.count; i++) {
        const struct lull_calls_line *line =
            lull_calls_line(report->reading.calls, report->lines.items[i]);
        orphans += line->orphans;
        unwound += line->unwound;
        too_deep += line->too_deep;
        lull_add(&uncertain_ns, line->uncertain_ns);
    }
    if (report->lines.count == 0) {
        sink->note(sink,
                   "no call of a function was recorded; docs/CALLS.md says how to record them");
    }
    if (report->question->at_ns != INT64_MIN && report->lines.count && report->log.count == 0) {
        sink->note(sink, "no call lasted at that time");
    }
    if (lull_calls_are_fast(report->reading.calls)) {
        sink->note(sink, "returns do not say from which function: after a longjmp or an error that "
                         "skips callers the stacks are wrong; liblttng-ust-cyg-profile.so records "
                         "it, and costs hardly more");
    }
    lull_note_count(sink, orphans, "return is from a function whose call was not recorded",
                    "returns are from functions whose calls were not recorded");
    lull_note_count(sink, unwound, "call ended without a return, when its caller returned",
                    "calls ended without a return, when their callers returned");
    lull_note_count(sink, too_deep, "call was too deep to be followed",
                    "calls were too deep to be followed");
    lull_note_count(sink, report->n_not_logged, "call is not in the log: too many",
                    "calls are not in the log: too many");
    if (uncertain_ns > 0) {
        sink->note(sink, "events were lost: what was called then is not certain");
    }
    note_forks(report, sink);
    note_counter(report, sink);
}

struct lull_window lull_calls_window(struct lull_session *session, int32_t host,
                                     const struct lull_calls_reading *reading)
{
    struct lull_window window = {
        .start_ns = reading->start_ns, .end_ns = reading->end_ns, .is_complete = true};
    for (uint32_t i = 0; i < lull_session_loss_count(session); i++) {
        const struct lull_loss *loss = lull_session_loss(session, i);
        if (loss->start_ns <= window.end_ns && loss->end_ns >= window.start_ns &&
            (host < 0 || loss->host == (uint32_t)host)) {
            window.lost_events += loss->events;
            window.lost_packets += loss->packets;
        }
    }
    return window;
}

static void show(struct calls_report *report, struct lull_sink *sink)
{
    const struct lull_window window =
        lull_calls_window(report->session, report->question->params->host, &report->reading);
    if (!calls_find_weight(report)) {
        return;
    }
    sum_up(report);
    if (!calls_find_near(report)) {
        return;
    }
    sink->start(sink, lull_analysis_calls.name, &window);
    sort_log(report);
    note_facts(report, sink);
    calls_emit(report, sink);
    sink->end(sink);
}

void lull_calls_report(const struct lull_calls_question *question, struct lull_session *session,
                       struct lull_sink *sink, void (*progress)(void *user), void *user)
{
    struct calls_report report = {
        .question = question,
        .session = session,
        .reading = {.wants_counters = lull_calls_weight_is_counter(question->weight),
                    .wants_containers = question->params->containers != NULL},
        .text = g_string_new(NULL),
        .where = g_string_new(NULL),
        .made = g_ptr_array_new_with_free_func(g_free)};
    const bool has_log =
        question->params->sections & LULL_SECTION_LOG || question->at_ns != INT64_MIN;
    const bool has_events =
        lull_calls_read(&report.reading, session, question->params->host, question->start_ns,
                        question->end_ns, has_log ? on_end : NULL, &report, progress, user);
    if ((!question->check || question->check(question->check_user, report.reading.model)) &&
        has_events) {
        show(&report, sink);
    }
    lull_calls_reading_clear(&report.reading);
    calls_clear_weights(&report);
    for (size_t i = 0; i < report.rows.count; i++) {
        g_free(report.rows.items[i].name);
    }
    lull_vec_free(&report.rows);
    calls_clear_near(&report);
    lull_vec_free(&report.lines);
    lull_vec_free(&report.log);
    g_string_free(report.text, TRUE);
    g_string_free(report.where, TRUE);
}
