/* SPDX-License-Identifier: MIT */
/* How long each row of a file of states was in which state, what its numbers were then, and the log of
 * its intervals. */
#include "analysis/states_kernel.h"

#include <string.h>

#include "analysis/limit.h"
#include "base/sums.h"
#include "kernel/vocabulary.h"

/* More intervals, and values of numbers, are not kept. */
enum { MOST_LOGGED = 10000000 };

/* ---- adding up ---- */

static struct lull_states_room on_room(void *user, const struct lull_states_group *group)
{
    return (struct lull_states_room){sizeof(struct states_sums), states_cell_size(group)};
}

static double double_of(const struct lull_value *value)
{
    return value->kind == LULL_VALUE_REAL ? value->real
           : value->is_signed             ? (double)(int64_t)value->bits
                                          : (double)value->bits;
}

/* For a picture; what goes on is one step. */
static void keep_value(struct states_report *report, uint32_t row, uint32_t number, int64_t from_ns,
                       int64_t to_ns)
{
    const struct lull_states_row *of = lull_states_row(report->engine, row);
    const struct lull_value *value = &of->values[states_group_of(report, of)->n_keys + number + 1];
    if (value->kind != LULL_VALUE_REAL && value->kind != LULL_VALUE_INT) {
        return;
    }
    if (report->values.count == MOST_LOGGED) {
        report->n_not_logged++;
        return;
    }
    lull_vec_push(&report->values,
                  (struct states_value){row, number, {from_ns, to_ns, double_of(value)}});
}

static void add_number(struct states_number *cell, const struct lull_value *value, int64_t ns)
{
    const bool is_real = value->kind == LULL_VALUE_REAL;
    if (!is_real && value->kind != LULL_VALUE_INT) {
        return;
    }
    const double now = double_of(value);
    cell->min = cell->known_ns ? MIN(cell->min, now) : now;
    cell->max = cell->known_ns ? MAX(cell->max, now) : now;
    lull_add(&cell->known_ns, ns);
    if (is_real) {
        cell->real += now * (double)ns;
    } else {
        cell->whole +=
            (value->is_signed ? (__int128)(int64_t)value->bits : (__int128)value->bits) * ns;
    }
}

/* What lies within the window, of the time before time_ns that was not accounted yet. */
static void account(struct states_report *report, uint32_t number, int64_t time_ns)
{
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const struct lull_states_group *group = states_group_of(report, row);
    struct states_sums *sums = lull_states_row_room(report->engine, row);
    int64_t from_ns = MAX(row->since_ns, report->start_ns);
    if (sums->is_accounted) {
        from_ns = MAX(from_ns, sums->accounted_ns);
    }
    if (time_ns <= from_ns) {
        return;
    }
    *sums = (struct states_sums){time_ns, true};
    if (row->state == LULL_ROW_ENDED) {
        return;
    }
    struct states_cell *cell = states_cell_at(report, row, states_cell_of(group, row->state));
    lull_add(&cell->ns, time_ns - from_ns);
    for (uint32_t i = group->n_keys; group->n_numbers && i < group->n_names; i++) {
        if (group->names[i].kind == LULL_STATES_NUMBER) {
            add_number(&cell->numbers[group->names[i].number], &row->values[i + 1],
                       time_ns - from_ns);
            if (report->question->picture) {
                keep_value(report, number, i - group->n_keys, from_ns, time_ns);
            }
        }
    }
}

/* Whether the intervals of this state are kept. */
static bool is_kept(const struct states_report *report, const struct lull_states_group *group,
                    uint16_t state)
{
    if (state == LULL_ROW_NONE) {
        return false;
    }
    bool is_kept = report->question->has_log || report->question->picture;
    for (uint32_t i = 0; !is_kept && i < group->n_counts; i++) {
        is_kept = group->counts[i].state == state;
    }
    return is_kept;
}

static void add_interval(struct states_report *report, uint32_t number, int64_t time_ns,
                         bool is_open)
{
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const int64_t from_ns = MAX(row->since_ns, report->start_ns);
    if (row->state == LULL_ROW_ENDED || time_ns <= from_ns) {
        return;
    }
    struct states_cell *cell =
        states_cell_at(report, row, states_cell_of(states_group_of(report, row), row->state));
    cell->count++;
    cell->longest_ns = MAX(cell->longest_ns, time_ns - from_ns);
    const struct states_interval interval = {number,  row->state, is_open,
                                             from_ns, time_ns,    row->tid};
    if (report->kernel) {
        states_kernel_add(report->kernel, &interval);
    }
    if (!is_kept(report, states_group_of(report, row), row->state)) {
        return;
    }
    if (report->log.count == MOST_LOGGED) {
        report->n_not_logged++;
        return;
    }
    lull_vec_push(&report->log, interval);
}

static void on_change(void *user, uint32_t row, int64_t time_ns)
{
    account(user, row, time_ns);
}

static void on_end(void *user, uint32_t row, int64_t time_ns)
{
    add_interval(user, row, time_ns, false);
}

/* A row is about a thread as soon as a rule was applied. */
static void on_entered(void *user, const uint32_t *rows, size_t n,
                       const struct lull_states_moment *moment)
{
    const struct states_report *report = user;
    for (size_t i = 0; i < n; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, rows[i]);
        states_kernel_want(report->kernel, row->host, row->tid);
    }
}

/* ---- which rows ---- */

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct states_report *report = user;
    const struct lull_states_row *x = lull_states_row(report->engine, *(const uint32_t *)a);
    const struct lull_states_row *y = lull_states_row(report->engine, *(const uint32_t *)b);
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return lull_states_compare_keys(states_group_of(report, x), x, y);
}

static bool is_wanted(const struct states_report *report, const struct lull_states_row *row)
{
    const struct lull_states_question *question = report->question;
    const struct lull_states_group *group = states_group_of(report, row);
    const bool is_helper = !group->n_states && !group->n_numbers; /* it only keeps things */
    if ((question->host >= 0 && row->host != (uint32_t)question->host) ||
        (question->group ? strcmp(group->name, question->group) != 0 : is_helper)) {
        return false;
    }
    g_autoptr(GString) title = g_string_new(NULL);
    lull_states_append_title(title, group, row);
    return !question->row || g_pattern_match_simple(question->row, title->str);
}

static void choose_rows(struct states_report *report)
{
    const uint32_t n = lull_states_row_count(report->engine);
    report->rows = g_renew(uint32_t, report->rows, MAX(n, 1));
    report->is_shown = g_renew(bool, report->is_shown, MAX(n, 1));
    report->n_rows = 0;
    for (uint32_t i = 0; i < n; i++) {
        report->is_shown[i] = is_wanted(report, lull_states_row(report->engine, i));
        if (report->is_shown[i]) {
            report->rows[report->n_rows++] = i;
        }
    }
    g_qsort_with_data(report->rows, (gint)report->n_rows, sizeof *report->rows, compare_rows,
                      report);
}

/* ---- a window ---- */

static int compare_intervals(const void *a, const void *b)
{
    const struct states_interval *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return 0;
}

static void note_rules(const struct states_report *report, const struct lull_states_counts *counts)
{
    const struct lull_states *states = report->question->states;
    for (uint32_t b = 0; b < states->n_blocks; b++) {
        const struct lull_states_rules *block = &states->blocks[b];
        for (uint32_t r = 0; r < block->n_rules; r++) {
            const uint64_t unmet = counts->unmet[block->first_rule + r];
            if (unmet) {
                g_autofree char *note =
                    g_strdup_printf("the rule in line %zu was not applied to %" G_GUINT64_FORMAT
                                    " event%s: no key, or no such row of another group",
                                    block->rules[r].line, unmet, unmet == 1 ? "" : "s");
                report->sink->note(report->sink, note);
            }
        }
    }
}

static bool is_scheduling_recorded(const struct lull_session *session)
{
    bool is_recorded = false;
    for (uint32_t host = 0; host < lull_session_host_count(session); host++) {
        is_recorded |=
            lull_session_declares(session, host, lull_vocabulary_names(LULL_EVENT_sched_switch));
    }
    return is_recorded;
}

/* Why nothing is known of what tasks did. */
static void note_kernel(const struct states_report *report)
{
    const struct lull_states *states = report->question->states;
    if (!is_scheduling_recorded(report->session)) {
        report->sink->note(report->sink, "what tasks did in each state is not known: scheduling "
                                         "(sched_switch) was not recorded");
        return;
    }
    for (uint32_t g = 0; g < states->n_groups; g++) {
        const struct lull_states_group *group = &states->groups[g];
        if (!group->has_task && group->task_key < 0) {
            g_autofree char *note = g_strdup_printf("what tasks did in each state is not known of "
                                                    "the group %s: it has no task",
                                                    group->name);
            report->sink->note(report->sink, note);
        }
    }
}

static void note_counts(const struct states_report *report)
{
    struct lull_states_counts counts;
    uint32_t n_assumed = 0;
    lull_states_engine_counts(report->engine, &counts);
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, report->rows[i]);
        n_assumed += states_group_of(report, row)->start != LULL_ROW_UNKNOWN;
    }
    note_rules(report, &counts);
    lull_note_count(
        report->sink, n_assumed,
        "row was assumed to be in the state that start names until its first event",
        "rows were assumed to be in the state that start names until their first events");
    lull_note_count(report->sink, counts.empty_pops, "pop found nothing to return to",
                    "pops found nothing to return to");
    lull_note_count(report->sink, counts.deep_pushes, "push was too deep", "pushes were too deep");
    lull_note_count(report->sink, counts.refused_rows,
                    "event was of a row beyond the most there can be",
                    "events were of rows beyond the most there can be");
    lull_note_count(report->sink, counts.refused_timers, "after was not waited for: too many",
                    "after were not waited for: too many");
    if (report->kernel) {
        note_kernel(report);
        lull_note_count(report->sink, states_kernel_refused(report->kernel),
                        "interval is not in what the tasks did: too many",
                        "intervals are not in what the tasks did: too many");
    }
    lull_note_count(report->sink, report->n_not_logged,
                    "interval is not in the log, counts and pictures: too many",
                    "intervals are not in the log, counts and pictures: too many");
}

static void show_window(struct states_report *report, int64_t end_ns)
{
    struct lull_window window = {.start_ns = report->start_ns,
                                 .end_ns = end_ns,
                                 .number = report->n_windows++,
                                 .is_complete = true};
    struct lull_limit limit;
    for (uint32_t i = 0; i < lull_session_loss_count(report->session); i++) {
        const struct lull_loss *loss = lull_session_loss(report->session, i);
        if (loss->start_ns <= end_ns && loss->end_ns >= report->start_ns &&
            (report->question->host < 0 || loss->host == (uint32_t)report->question->host)) {
            window.lost_events += loss->events;
            window.lost_packets += loss->packets;
        }
    }
    report->sink->start(report->sink, lull_analysis_states.name, &window);
    choose_rows(report);
    note_counts(report);
    struct lull_sink *sink = lull_limit_rows(&limit, report->sink, report->question->limit);
    if (report->log.count) {
        qsort(report->log.items, report->log.count, sizeof *report->log.items, compare_intervals);
    }
    if (report->question->picture) {
        states_picture(report, &window);
    }
    for (uint32_t g = 0; g < report->question->states->n_groups; g++) {
        struct states_table table = {.report = report,
                                     .group = &report->question->states->groups[g]};
        states_show_sums(&table, g, sink);
        states_show_counts(&table, g, end_ns, sink);
        if (report->kernel) {
            states_kernel_show(report->kernel, &table, g, sink);
        }
        if (report->question->has_log) {
            states_show_log(&table, g, sink);
        }
        g_free(table.title);
        lull_vec_free(&table.lines);
    }
    report->sink->end(report->sink);
}

static void clear_sums(struct states_report *report)
{
    for (uint32_t i = 0; i < lull_states_row_count(report->engine); i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, i);
        const struct lull_states_group *group = states_group_of(report, row);
        memset(states_cell_at(report, row, 0), 0, (group->n_states + 2) * states_cell_size(group));
    }
    report->log.count = 0;
    report->values.count = 0;
}

static void end_window(struct states_report *report, int64_t end_ns)
{
    for (uint32_t i = 0; i < lull_states_row_count(report->engine); i++) {
        const int64_t until_ns =
            MIN(end_ns, report->ends_ns[lull_states_row(report->engine, i)->host]);
        account(report, i, until_ns);
        add_interval(report, i, until_ns, true);
    }
    show_window(report, end_ns);
    clear_sums(report);
}

/* The first edge is the start of the range, where the window opens. */
static int64_t on_edge(void *user, int64_t edge_ns)
{
    struct states_report *report = user;
    const int64_t slice_ns = report->question->slice_ns;
    int64_t next_ns;
    if (edge_ns > report->start_ns) {
        end_window(report, edge_ns);
        report->start_ns = edge_ns;
    }
    return slice_ns > 0 && !__builtin_add_overflow(edge_ns, slice_ns, &next_ns) &&
                   next_ns < report->end_ns
               ? next_ns
               : INT64_MAX;
}

/* ---- the whole ---- */

/* False if there is no event. */
static bool find_range(struct states_report *report)
{
    const struct lull_states_question *question = report->question;
    const uint32_t n = lull_session_host_count(report->session);
    g_autofree struct lull_coverage *coverage = lull_coverage_find(report->session, question->host);
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    report->starts_ns = g_new(int64_t, n + 1);
    report->ends_ns = g_new(int64_t, n + 1);
    for (uint32_t host = 0; host < n; host++) {
        report->starts_ns[host] = coverage[host].first_ns;
        report->ends_ns[host] = coverage[host].last_ns;
        first_ns = MIN(first_ns, coverage[host].first_ns);
        last_ns = MAX(last_ns, coverage[host].last_ns);
    }
    report->start_ns = MAX(question->start_ns, first_ns);
    report->end_ns = MIN(question->end_ns, last_ns);
    return first_ns <= last_ns && report->start_ns <= report->end_ns;
}

static void read_all(struct states_report *report, void (*progress)(void *user), void *user)
{
    const struct lull_states_callbacks callbacks = {
        .changes = on_change,
        .ends = on_end,
        .edge = on_edge,
        .room = on_room,
        .may_wait = !report->question->has_kernel,
        .progress = progress,
        .progress_user = user,
        .entered = report->question->has_kernel ? on_entered : NULL};
    report->engine =
        lull_states_engine_new(report->question->states, report->session, report->starts_ns,
                               report->ends_ns, &callbacks, report, report->start_ns);
    lull_session_unsubscribe_all(report->session);
    lull_session_limit(report->session, INT64_MIN, report->question->end_ns);
    if (report->question->has_kernel) {
        report->kernel = states_kernel_new(report->session);
        states_kernel_read(report->kernel, progress, user);
        lull_session_unsubscribe_all(report->session); /* the model's */
    }
    while (!report->kernel && lull_session_read(report->session)) {
    }
    lull_states_engine_advance(report->engine, report->end_ns);
    end_window(report, report->end_ns);
    lull_states_engine_free(report->engine);
    states_kernel_free(report->kernel);
}

void lull_states_report(const struct lull_states_question *question, struct lull_session *session,
                        struct lull_sink *sink, void (*progress)(void *user), void *user)
{
    struct states_report report = {.question = question, .session = session, .sink = sink};
    if (find_range(&report)) {
        read_all(&report, progress, user);
    }
    g_free(report.rows);
    g_free(report.is_shown);
    g_free(report.starts_ns);
    g_free(report.ends_ns);
    lull_vec_free(&report.log);
    lull_vec_free(&report.values);
}
