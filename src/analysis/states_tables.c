/* SPDX-License-Identifier: MIT */
/* The tables of declared states: time and numbers by state, and the log. */
#include <string.h>

#include "analysis/states_kernel.h"
#include "base/sums.h"

/* ---- columns and cells ---- */

static const struct lull_result_column state_columns[] = {
    STATES_ROW,
    {"Time", "TIME", "ns", LULL_CELL_DURATION, NULL, 0},
    {"Share of the life of the row", "SHARE", "share", LULL_CELL_RATIO, NULL, LULL_USE_BAR},
    {"Times", "TIMES", "times", LULL_CELL_NUMBER, "times", 0},
    {"Longest", "LONGEST", "longest_ns", LULL_CELL_DURATION, NULL, 0},
    {0}};
static const struct lull_result_column number_columns[] = {
    STATES_ROW,
    {"Number", "NUMBER", "number", LULL_CELL_STRING, NULL, 0},
    {"Unit", "UNIT", "unit", LULL_CELL_STRING, NULL, 0},
    {"Time in which it is known", "TIME", "known_ns", LULL_CELL_DURATION, NULL, 0},
    {"Minimum", "MIN", "min", LULL_CELL_NUMBER, NULL, 0},
    {"Average over that time", "AVG", "avg", LULL_CELL_NUMBER, NULL, 0},
    {"Maximum", "MAX", "max", LULL_CELL_NUMBER, NULL, 0},
    {"Cycles, of a frequency", "CYCLES", "cycles", LULL_CELL_NUMBER, "cycles", 0},
    {0}};
static const struct lull_result_column log_columns[] = {
    STATES_ROW,
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

static struct lull_cell state_cell(const struct lull_states_group *group, uint32_t cell)
{
    return lull_cell_text(LULL_CELL_STRING, cell < group->n_states   ? group->states[cell].label
                                            : cell > group->n_states ? "none"
                                                                     : NULL);
}

struct lull_cell *states_show_row(struct states_table *table, uint32_t number, uint32_t cell,
                                  struct lull_cell *cells)
{
    const struct states_report *report = table->report;
    const struct lull_states_row *row = lull_states_row(report->engine, number);
    const struct lull_states_group *group = states_group_of(report, row);
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
    struct states_table *table = (struct states_table *)user;
    const struct states_line *line = &table->lines.items[at];
    const struct states_report *report = table->report;
    const struct lull_states_row *row = lull_states_row(report->engine, line->row);
    const struct states_cell *cell = states_cell_at(report, row, line->cell);
    int64_t life_ns = 0;
    for (uint32_t i = 0; i < table->group->n_states + 2; i++) {
        lull_add(&life_ns, states_cell_at(report, row, i)->ns);
    }
    cells = states_show_row(table, line->row, line->cell, cells);
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
    struct states_table *table = (struct states_table *)user;
    const struct lull_states_group *group = table->group;
    const struct states_line *line = &table->lines.items[at];
    const struct lull_states_name *name = &group->names[group->n_keys + line->number];
    const struct states_number *cell =
        &states_cell_at(table->report, lull_states_row(table->report->engine, line->row),
                        line->cell)
             ->numbers[name->number];
    const double total = (double)cell->whole + cell->real, hertz = hertz_of(name->unit);
    cells = states_show_row(table, line->row, line->cell, cells);
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
    struct states_table *table = (struct states_table *)user;
    const struct states_report *report = table->report;
    const struct states_interval *interval = &report->log.items[table->lines.items[at].row];
    cells =
        states_show_row(table, interval->row, states_cell_of(table->group, interval->state), cells);
    *cells = lull_cell_integer(LULL_CELL_TIME_RANGE, interval->start_ns);
    (cells++)->end = interval->end_ns;
    *cells++ = lull_cell_integer(LULL_CELL_DURATION, interval->end_ns - interval->start_ns);
    *cells++ =
        lull_cell_integer(interval->tid >= 0 ? LULL_CELL_NUMBER : LULL_CELL_UNKNOWN, interval->tid);
    *cells = lull_cell_integer(LULL_CELL_BOOL, interval->is_open);
}

void states_emit(struct states_table *table, const struct lull_result_class *class,
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

/* ---- a group ---- */

/* By number, then by state. */
static void add_number_lines(struct states_table *table, uint32_t group, uint32_t number)
{
    const struct lull_states_group *of = table->group;
    const struct lull_states_row *row = lull_states_row(table->report->engine, number);
    for (uint32_t i = of->n_keys; row->group == group && i < of->n_names; i++) {
        for (uint32_t c = 0; of->names[i].kind == LULL_STATES_NUMBER && c < of->n_states + 2; c++) {
            if (states_cell_at(table->report, row, c)->numbers[of->names[i].number].known_ns > 0) {
                lull_vec_push(&table->lines, (struct states_line){number, c, i - of->n_keys});
            }
        }
    }
}

void states_show_sums(struct states_table *table, uint32_t group, struct lull_sink *sink)
{
    const struct states_report *report = table->report;
    const uint32_t n_cells = table->group->n_states + 2;
    for (uint32_t i = 0; i < report->n_rows; i++) {
        const struct lull_states_row *row = lull_states_row(report->engine, report->rows[i]);
        for (uint32_t c = 0; row->group == group && c < n_cells; c++) {
            if (states_cell_at(report, row, c)->ns > 0) {
                lull_vec_push(&table->lines, (struct states_line){report->rows[i], c, 0});
            }
        }
    }
    states_emit(table, &state_class, state_row, sink);
    for (uint32_t i = 0; i < report->n_rows && table->group->n_numbers; i++) {
        add_number_lines(table, group, report->rows[i]);
    }
    states_emit(table, &number_class, number_row, sink);
}

void states_show_log(struct states_table *table, uint32_t group, struct lull_sink *sink)
{
    const struct states_report *report = table->report;
    for (size_t i = 0; i < report->log.count; i++) {
        const uint32_t row = report->log.items[i].row;
        if (report->is_shown[row] && lull_states_row(report->engine, row)->group == group) {
            lull_vec_push(&table->lines, (struct states_line){(uint32_t)i, 0, 0});
        }
    }
    states_emit(table, &log_class, log_row, sink);
}

const struct lull_analysis_class lull_analysis_states = {
    .name = "states",
    .title = "Declared states",
    .description = "Time of each row in each state of a file of states",
    .tags = (const char *const[]){"states", NULL},
    .tables =
        (const struct lull_result_class *const[]){&state_class, &number_class, &states_count_class,
                                                  &states_kernel_class, &log_class, NULL},
};
