/* SPDX-License-Identifier: MIT */
/* How long each row of a file of states was in which state, what its numbers were then, and the log of
 * its intervals. */
#include "analysis/states.h"

#include <string.h>

#include "analysis/limit.h"
#include "base/sums.h"

/* More intervals are not kept for the log. */
enum { MOST_LOGGED = 10000000 };

/* What a row did in one state, within the window. */
struct cell {
    int64_t ns, longest_ns;
    uint64_t count;
};

/* What a number of it was in one state. */
struct number_cell {
    int64_t known_ns;
    __int128 whole; /* value × ns of integers */
    double real;    /* and of real numbers */
    double min, max;
};

struct row_sums {
    int64_t accounted_ns;
    struct cell *cells;          /* by state, then unknown and none */
    struct number_cell *numbers; /* by number, then by state as well; NULL: the group has none */
};

struct interval {
    uint32_t row;
    uint16_t state;
    bool is_open;
    int64_t start_ns, end_ns, tid;
};

struct report {
    const struct lull_states_question *question;
    struct lull_session *session;
    struct lull_sink *sink;
    struct lull_states_engine *engine;
    int64_t *starts_ns, *ends_ns; /* by host */
    int64_t start_ns, end_ns;     /* of the window, and of the range */
    uint32_t n_windows;
    struct lull_arena *arena;
    LULL_VEC(struct row_sums) sums;
    LULL_VEC(struct interval) log;
    uint64_t n_not_logged;
    uint32_t *rows; /* those to show, in order */
    uint32_t n_rows;
};

static const struct lull_states_group *group_of(const struct report *report,
                                                const struct lull_states_row *row)
{
    return &report->question->states->groups[row->group];
}

/* ---- adding up ---- */

static uint32_t cell_of(const struct lull_states_group *group, uint16_t state)
{
    return state < group->n_states ? state : group->n_states + (state == LULL_ROW_NONE);
}

static struct row_sums *sums_of(struct report *report, uint32_t number)
{
    while (report->sums.count <= number) {
        const struct lull_states_row *row =
            lull_states_row(report->engine, (uint32_t)report->sums.count);
        const struct lull_states_group *group = group_of(report, row);
        const size_t n = group->n_states + 2;
        struct row_sums new = {.accounted_ns = INT64_MIN,
                               .cells = lull_arena_alloc_n(report->arena, n, sizeof *new.cells)};
        if (group->n_names > group->n_keys) {
            new.numbers = lull_arena_alloc_n(report->arena, n * (group->n_names - group->n_keys),
                                             sizeof *new.numbers);
        }
        lull_vec_push(&report->sums, new);
    }
    return &report->sums.items[number];
}

static void add_number(struct number_cell *cell, const struct lull_value *value, int64_t ns)
{
    const bool is_real = value->kind == LULL_VALUE_REAL;
    if (!is_real && value->kind != LULL_VALUE_INT) {
        return;
    }
    const __int128 whole =
        value->is_signed ? (__int128)(int64_t)value->bits : (__int128)value->bits;
    const double now = is_real ? value->real : (double)whole;
    cell->min = cell->known_ns ? MIN(cell->min, now) : now;
    cell->max = cell->known_ns ? MAX(cell->max, now) : now;
    lull_add(&cell->known_ns, ns);
    if (is_real) {
        cell->real += now * (double)ns;
    } else {
        cell->whole += whole * ns;
    }
}

/* What lies within the window, of the time before time_ns that was not accounted yet. */
static void account(struct report *report, uint32_t number, int64_t time_ns)
{
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const struct lull_states_group *group = group_of(report, row);
    struct row_sums *sums = sums_of(report, number);
    const int64_t from_ns = MAX(MAX(sums->accounted_ns, row->since_ns), report->start_ns);
    if (time_ns <= from_ns) {
        return;
    }
    sums->accounted_ns = time_ns;
    if (row->state == LULL_ROW_ENDED) {
        return;
    }
    const uint32_t cell = cell_of(group, row->state);
    lull_add(&sums->cells[cell].ns, time_ns - from_ns);
    for (uint32_t i = group->n_keys; i < group->n_names; i++) {
        if (group->names[i].kind == LULL_STATES_NUMBER) {
            add_number(&sums->numbers[(i - group->n_keys) * (group->n_states + 2) + cell],
                       &row->values[i + 1], time_ns - from_ns);
        }
    }
}

static void add_interval(struct report *report, uint32_t number, int64_t time_ns, bool is_open)
{
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const int64_t from_ns = MAX(row->since_ns, report->start_ns);
    if (row->state == LULL_ROW_ENDED || time_ns <= from_ns) {
        return;
    }
    struct cell *cell = &sums_of(report, number)->cells[cell_of(group_of(report, row), row->state)];
    cell->count++;
    cell->longest_ns = MAX(cell->longest_ns, time_ns - from_ns);
    if (!report->question->has_log || row->state == LULL_ROW_NONE) {
        return;
    }
    if (report->log.count == MOST_LOGGED) {
        report->n_not_logged++;
        return;
    }
    lull_vec_push(&report->log,
                  (struct interval){number, row->state, is_open, from_ns, time_ns, row->tid});
}

static void on_change(void *user, uint32_t row, int64_t time_ns)
{
    account(user, row, time_ns);
}

static void on_end(void *user, uint32_t row, int64_t time_ns)
{
    add_interval(user, row, time_ns, false);
}

/* ---- tables ---- */

#define ROW                                                                                        \
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},                                 \
        {"Row", "ROW", "row", LULL_CELL_STRING, NULL, 0},                                          \
        {"State; unknown before the first rule and after a loss",                                  \
         "STATE",                                                                                  \
         "state",                                                                                  \
         LULL_CELL_STRING,                                                                         \
         NULL,                                                                                     \
         0}

static const struct lull_result_column state_columns[] = {
    ROW,
    {"Time", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Share of the life of the row", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_BAR},
    {"Times", "TIMES", "times", LULL_CELL_NUMBER, "times", 0},
    {"Longest", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, 0},
    {0}};
static const struct lull_result_column number_columns[] = {
    ROW,
    {"Number", "NUMBER", "number", LULL_CELL_STRING, NULL, 0},
    {"Unit", "UNIT", "unit", LULL_CELL_STRING, NULL, 0},
    {"Time in which it is known", "TIME", "known_ns", LULL_CELL_DURATION, NULL, 0},
    {"Minimum", "MIN", "min", LULL_CELL_NUMBER, NULL, 0},
    {"Average over that time", "AVG", "avg", LULL_CELL_NUMBER, NULL, 0},
    {"Maximum", "MAX", "max", LULL_CELL_NUMBER, NULL, 0},
    {"Cycles, of a frequency", "CYCLES", "cycles", LULL_CELL_NUMBER, "cycles", 0},
    {0}};
static const struct lull_result_column log_columns[] = {
    ROW,
    {"Time range", "TIME RANGE", "time_range", LULL_CELL_TIME_RANGE, NULL, 0},
    {"Duration", "DURATION", "duration_ns", LULL_CELL_DURATION, NULL, 0},
    {"Thread that the row is about", "TID", "tid", LULL_CELL_NUMBER, NULL, 0},
    {"Whether it lasts longer than what is shown", "OPEN", "is_open", LULL_CELL_BOOL, NULL, 0},
    {0}};
static const struct lull_result_class state_class = {
    .name = "states", .title = "States", .columns = state_columns, .is_own = true};
static const struct lull_result_class number_class = {
    .name = "numbers", .title = "Numbers by state", .columns = number_columns, .is_own = true};
static const struct lull_result_class log_class = {.name = "log",
                                                   .title = "States over time",
                                                   .columns = log_columns,
                                                   .kind = LULL_TABLE_LOG,
                                                   .is_own = true};

/* A line of a table: of a row, by state and maybe by number. */
struct line {
    uint32_t row, cell, number;
};

struct table {
    struct report *report;
    const struct lull_states_group *group;
    LULL_VEC(struct line) lines;
    char *title; /* of the row that was shown last */
};

static struct lull_cell state_cell(const struct lull_states_group *group, uint32_t cell)
{
    return lull_cell_text(LULL_CELL_STRING, cell < group->n_states   ? group->states[cell].label
                                            : cell > group->n_states ? "none"
                                                                     : NULL);
}

static struct lull_cell *show_row(struct table *table, uint32_t number, uint32_t cell,
                                  struct lull_cell *cells)
{
    const struct report *report = table->report;
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const struct lull_states_group *group = group_of(report, row);
    GString *title = g_string_new(NULL);
    lull_states_append_title(title, group, row);
    g_free(table->title);
    table->title = g_string_free(title, FALSE);
    *cells++ = lull_cell_text(LULL_CELL_HOST, lull_session_host(report->session, row->host)->name);
    *cells++ = lull_cell_text(LULL_CELL_STRING, table->title);
    *cells++ = state_cell(group, cell);
    return cells;
}

static void state_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    struct table *table = (struct table *)user;
    const struct line *line = &table->lines.items[at];
    const struct cell *all = table->report->sums.items[line->row].cells;
    const struct cell *cell = &all[line->cell];
    int64_t life_ns = 0;
    for (uint32_t i = 0; i < table->group->n_states + 2; i++) {
        lull_add(&life_ns, all[i].ns);
    }
    cells = show_row(table, line->row, line->cell, cells);
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, cell->ns);
    *cells++ = lull_cell_real(LULL_CELL_RATIO, (double)cell->ns / (double)MAX(life_ns, 1));
    *cells++ = lull_cell_integer(LULL_CELL_NUMBER, (int64_t)cell->count);
    *cells = lull_cell_integer(LULL_CELL_DURATION, cell->longest_ns);
}

/* Cycles in a second of one unit; 0: it is no frequency. */
static double hertz_of(const char *unit)
{
    static const struct {
        const char *name;
        double hertz;
    } units[] = {{"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}, {"GHz", 1e9}};
    for (size_t i = 0; unit && i < G_N_ELEMENTS(units); i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return units[i].hertz;
        }
    }
    return 0;
}

static void number_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    struct table *table = (struct table *)user;
    const struct lull_states_group *group = table->group;
    const struct line *line = &table->lines.items[at];
    const struct lull_states_name *name = &group->names[group->n_keys + line->number];
    const struct number_cell *cell =
        &table->report->sums.items[line->row]
             .numbers[line->number * (group->n_states + 2) + line->cell];
    const double total = (double)cell->whole + cell->real, hertz = hertz_of(name->unit);
    cells = show_row(table, line->row, line->cell, cells);
    *cells++ = lull_cell_text(LULL_CELL_STRING, name->label);
    *cells++ = name->unit ? lull_cell_text(LULL_CELL_STRING, name->unit)
                          : (struct lull_cell){.class = LULL_CELL_EMPTY};
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, cell->known_ns);
    *cells++ = lull_cell_real(LULL_CELL_NUMBER, cell->min);
    *cells++ = lull_cell_real(LULL_CELL_NUMBER, total / (double)cell->known_ns);
    *cells++ = lull_cell_real(LULL_CELL_NUMBER, cell->max);
    *cells = hertz > 0 ? lull_cell_integer(LULL_CELL_NUMBER, (int64_t)(total * hertz / 1e9 + 0.5))
                       : (struct lull_cell){.class = LULL_CELL_EMPTY};
}

static void log_row(const void *user, uint64_t at, struct lull_cell *cells)
{
    struct table *table = (struct table *)user;
    const struct report *report = table->report;
    const struct interval *interval = &report->log.items[table->lines.items[at].row];
    cells = show_row(table, interval->row, cell_of(table->group, interval->state), cells);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, interval->start_ns);
    (cells++)->end = interval->end_ns;
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, interval->end_ns - interval->start_ns);
    *cells++ =
        lull_cell_integer(interval->tid >= 0 ? LULL_CELL_NUMBER : LULL_CELL_UNKNOWN, interval->tid);
    *cells = lull_cell_integer(LULL_CELL_BOOL, interval->is_open);
}

static void emit(struct table *table, const struct lull_result_class *class,
                 void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                 struct lull_sink *sink)
{
    if (table->lines.count) {
        sink->table(sink, &(struct lull_result_table){.class = class,
                                                      .subtitle = table->group->label,
                                                      .n_rows = table->lines.count,
                                                      .row = row,
                                                      .user = table});
    }
    table->lines.count = 0;
}

/* ---- which rows ---- */

static int compare_rows(const void *a, const void *b, void *user)
{
    const struct report *report = user;
    const struct lull_states_row *x = lull_states_row(report->engine, *(const uint32_t *)a);
    const struct lull_states_row *y = lull_states_row(report->engine, *(const uint32_t *)b);
    if (x->group != y->group) {
        return x->group < y->group ? -1 : 1;
    }
    if (x->host != y->host) {
        return x->host < y->host ? -1 : 1;
    }
    return lull_states_compare_keys(group_of(report, x), x, y);
}

static bool is_wanted(const struct report *report, const struct lull_states_row *row)
{
    const struct lull_states_question *question = report->question;
    if ((question->host >= 0 && row->host != (uint32_t)question->host) ||
        (question->group && strcmp(group_of(report, row)->name, question->group) != 0)) {
        return false;
    }
    g_autoptr(GString) title = g_string_new(NULL);
    lull_states_append_title(title, group_of(report, row), row);
    return !question->row || g_pattern_match_simple(question->row, title->str);
}

static void choose_rows(struct report *report)
{
    const uint32_t n = lull_states_row_count(report->engine);
    report->rows = g_renew(uint32_t, report->rows, MAX(n, 1));
    report->n_rows = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (is_wanted(report, lull_states_row(report->engine, i))) {
            report->rows[report->n_rows++] = i;
        }
    }
    g_qsort_with_data(report->rows, (gint)report->n_rows, sizeof *report->rows, compare_rows,
                      report);
}

/* ---- a window ---- */

static void show_sums(struct table *table, uint32_t group, struct lull_sink *sink)
{
    const struct report *report = table->report;
    const uint32_t n_cells = table->group->n_states + 2;
    const uint32_t n_others = table->group->n_names - table->group->n_keys;
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const uint32_t row = report->rows[i];
        const bool is_here = lull_states_row(report->engine, row)->group == group;
        for (uint32_t c = 0; is_here && c < n_cells; c++) {
            if (report->sums.items[row].cells[c].ns > 0) {
                lull_vec_push(&table->lines, (struct line){row, c, 0});
            }
        }
    }
    emit(table, &state_class, state_row, sink);
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const uint32_t row = report->rows[i];
        const bool is_here = lull_states_row(report->engine, row)->group == group;
        for (uint32_t k = 0; is_here && k < n_others * n_cells; k++) {
            if (report->sums.items[row].numbers[k].known_ns > 0) {
                lull_vec_push(&table->lines, (struct line){row, k % n_cells, k / n_cells});
            }
        }
    }
    emit(table, &number_class, number_row, sink);
}

static int compare_intervals(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    if (x->row != y->row) {
        return x->row < y->row ? -1 : 1;
    }
    return 0;
}

static void show_log(struct table *table, uint32_t group, struct lull_sink *sink)
{
    const struct report *report = table->report;
    for (size_t i = 0; i < report->log.count; i++) {
        const struct lull_states_row *row =
            lull_states_row(report->engine, report->log.items[i].row);
        if (row->group == group && is_wanted(report, row)) {
            lull_vec_push(&table->lines, (struct line){(uint32_t)i, 0, 0});
        }
    }
    emit(table, &log_class, log_row, sink);
}

static void note_rules(const struct report *report, const struct lull_states_counts *counts)
{
    const struct lull_states *states = report->question->states;
    for (uint32_t g = 0; g < states->n_groups; g++) {
        const struct lull_states_group *group = &states->groups[g];
        for (uint32_t r = 0; r < group->n_rules; r++) {
            const uint64_t unmet = counts->unmet[group->first_rule + r];
            if (unmet) {
                g_autofree char *note =
                    g_strdup_printf("the rule in line %zu was not applied to %" G_GUINT64_FORMAT
                                    " event%s: no key, or no such row of another group",
                                    group->rules[r].line, unmet, unmet == 1 ? "" : "s");
                report->sink->note(report->sink, note);
            }
        }
    }
}

static void note_counts(const struct report *report)
{
    struct lull_states_counts counts;
    uint32_t n_assumed = 0;
    lull_states_engine_counts(report->engine, &counts);
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, report->rows[i]);
        n_assumed += group_of(report, row)->start != LULL_ROW_UNKNOWN;
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
    lull_note_count(report->sink, report->n_not_logged, "interval is not in the log: too many",
                    "intervals are not in the log: too many");
}

static void show_window(struct report *report, int64_t end_ns)
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
    for (uint32_t g = 0; g < report->question->states->n_groups; g++) {
        struct table table = {.report = report, .group = &report->question->states->groups[g]};
        show_sums(&table, g, sink);
        show_log(&table, g, sink);
        g_free(table.title);
        lull_vec_free(&table.lines);
    }
    report->sink->end(report->sink);
}

static void clear_sums(struct report *report)
{
    for (uint32_t i = 0; i < report->sums.count; i++) {
        const struct lull_states_group *group =
            group_of(report, lull_states_row(report->engine, i));
        const size_t n = group->n_states + 2;
        memset(report->sums.items[i].cells, 0, n * sizeof(struct cell));
        if (report->sums.items[i].numbers) {
            memset(report->sums.items[i].numbers, 0,
                   n * (group->n_names - group->n_keys) * sizeof(struct number_cell));
        }
    }
    report->log.count = 0;
}

static void end_window(struct report *report, int64_t end_ns)
{
    for (uint32_t i = 0; i < lull_states_row_count(report->engine); i++) {
        const int64_t until_ns =
            MIN(end_ns, report->ends_ns[lull_states_row(report->engine, i)->host]);
        account(report, i, until_ns);
        sums_of(report, i);
        add_interval(report, i, until_ns, true);
    }
    show_window(report, end_ns);
    clear_sums(report);
}

/* The first edge is the start of the range, where the window opens. */
static int64_t on_edge(void *user, int64_t edge_ns)
{
    struct report *report = user;
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
static bool find_range(struct report *report)
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

static void read_all(struct report *report, void (*progress)(void *user), void *user)
{
    const struct lull_states_callbacks callbacks = {.changes = on_change,
                                                    .ends = on_end,
                                                    .edge = on_edge,
                                                    .progress = progress,
                                                    .progress_user = user};
    report->arena = lull_arena_new();
    report->engine =
        lull_states_engine_new(report->question->states, report->session, report->starts_ns,
                               report->ends_ns, &callbacks, report, report->start_ns);
    lull_session_unsubscribe_all(report->session);
    lull_session_limit(report->session, INT64_MIN, report->question->end_ns);
    while (lull_session_read(report->session)) {
    }
    lull_states_engine_advance(report->engine, report->end_ns);
    end_window(report, report->end_ns);
    lull_states_engine_free(report->engine);
    lull_arena_free(report->arena);
}

void lull_states_report(const struct lull_states_question *question, struct lull_session *session,
                        struct lull_sink *sink, void (*progress)(void *user), void *user)
{
    struct report report = {.question = question, .session = session, .sink = sink};
    if (find_range(&report)) {
        read_all(&report, progress, user);
    }
    g_free(report.rows);
    g_free(report.starts_ns);
    g_free(report.ends_ns);
    lull_vec_free(&report.sums);
    lull_vec_free(&report.log);
}

const struct lull_analysis_class lull_analysis_states = {
    .name = "states",
    .title = "Declared states",
    .description = "Time of each row in each state of a file of states",
    .tags = (const char *const[]){"states", NULL},
    .tables =
        (const struct lull_result_class *const[]){&state_class, &number_class, &log_class, NULL},
};
