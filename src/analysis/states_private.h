/* SPDX-License-Identifier: MIT */
/* What the parts of the report on declared states share: adding up (states.c), tables
 * (states_tables.c), values over time (states_series.c), what tasks did in each state
 * (states_kernel.c). */
#ifndef LULL_ANALYSIS_STATES_PRIVATE_H
#define LULL_ANALYSIS_STATES_PRIVATE_H

#include "analysis/states.h"
#include "base/vec.h"

typedef __int128 states_wide __attribute__((aligned(8)));

/* What a number of a row was in one state, within the window. */
struct states_number {
    int64_t known_ns;
    states_wide whole; /* value × ns of integers */
    double real;       /* and of real numbers */
    double min, max;
};

/* What a row did in one state. */
struct states_cell {
    int64_t ns, longest_ns;
    uint64_t count;
    struct states_number numbers[]; /* of the group */
};

/* In the room of a row; then come its cells, by state, then of unknown and none. */
struct states_sums {
    int64_t accounted_ns;
    bool is_accounted; /* up to there */
};

/* For pictures: a number of a row had this value. */
struct states_value {
    uint32_t row, number;
    struct lull_states_step step;
};

struct states_interval {
    uint32_t row;
    uint16_t state;
    bool is_open;
    int64_t start_ns, end_ns, tid;
};

struct states_report {
    const struct lull_states_question *question;
    struct lull_session *session;
    struct lull_sink *sink;
    struct lull_states_engine *engine;
    int64_t *starts_ns, *ends_ns; /* by host */
    int64_t start_ns, end_ns;     /* of the window, and of the range */
    uint32_t n_windows;
    LULL_VEC(struct states_interval) log; /* for the table of it, pictures, and counts */
    LULL_VEC(struct states_value) values; /* for pictures */
    uint64_t n_not_logged;
    struct states_kernel *kernel; /* NULL: not wanted */
    uint32_t *rows;               /* those to show, in order */
    uint32_t n_rows;
    bool *is_shown; /* by row of the engine: whether it is one of these */
};

static inline const struct lull_states_group *states_group_of(const struct states_report *report,
                                                              const struct lull_states_row *row)
{
    return &report->question->states->groups[row->group];
}

/* The place of a state among the cells of a row: states, then unknown and none. */
static inline uint32_t states_cell_of(const struct lull_states_group *group, uint16_t state)
{
    return state < group->n_states ? state : group->n_states + (state == LULL_ROW_NONE);
}

static inline size_t states_cell_size(const struct lull_states_group *group)
{
    return sizeof(struct states_cell) + group->n_numbers * sizeof(struct states_number);
}

static inline struct states_cell *states_cell_at(const struct states_report *report,
                                                 const struct lull_states_row *row, uint32_t cell)
{
    struct states_sums *sums = lull_states_row_room(report->engine, row);
    return (struct states_cell *)((char *)(sums + 1) +
                                  cell * states_cell_size(states_group_of(report, row)));
}

/* A line of a table: of a row, by state and maybe by number. */
struct states_line {
    uint32_t row, cell, number;
};

struct states_table {
    struct states_report *report;
    const struct lull_states_group *group;
    LULL_VEC(struct states_line) lines;
    char *title; /* of the row that was shown last */
};

/* Columns of every table. */
#define STATES_ROW                                                                                 \
    {"Host", "HOST", "host", LULL_CELL_HOST, NULL, LULL_USE_HOST},                                 \
        {"Row", "ROW", "row", LULL_CELL_STRING, NULL, 0},                                          \
        {"State; unknown before the first rule and after a loss",                                  \
         "STATE",                                                                                  \
         "state",                                                                                  \
         LULL_CELL_STRING,                                                                         \
         NULL,                                                                                     \
         0}

/* Fills them, and returns the next cell. */
struct lull_cell *states_show_row(struct states_table *table, uint32_t number, uint32_t cell,
                                  struct lull_cell *cells);
/* All rows that are shown, of one group: sums by state, numbers; and the log. */
void states_show_sums(struct states_table *table, uint32_t group, struct lull_sink *sink);
/* The lines; `lines` is empty after it. */
void states_emit(struct states_table *table, const struct lull_result_class *class,
                 void (*row)(const void *user, uint64_t row, struct lull_cell *cells),
                 struct lull_sink *sink);
void states_show_log(struct states_table *table, uint32_t group, struct lull_sink *sink);
void states_show_counts(struct states_table *table, uint32_t group, int64_t end_ns,
                        struct lull_sink *sink);
/* Gives question->picture what it shows; after the log was sorted. */
void states_picture(struct states_report *report, const struct lull_window *window);

extern const struct lull_result_class states_count_class;

#endif
