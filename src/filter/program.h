/* SPDX-License-Identifier: MIT */
/* A filter compiled for one event class: tests in order, each of which says where to go on. What is
 * known of the class – its name, its host, which fields it has – has been decided already. */
#ifndef LULL_FILTER_PROGRAM_H
#define LULL_FILTER_PROGRAM_H

#include "filter/ast.h"

enum lull_load_kind {
    LULL_LOAD_VALUE,
    LULL_LOAD_CPU,
    LULL_LOAD_TIME,
    LULL_LOAD_POINT, /* a point in time */
    LULL_LOAD_GIVEN, /* value `index` of group `group` of those given to the run */
    LULL_LOAD_INT,   /* bound; the rest likewise, but for VISITED */
    LULL_LOAD_TEXT,
    LULL_LOAD_ELEMENT, /* of an array that is bound as bytes */
    LULL_LOAD_VISITED, /* by walking through the event */
};

/* Where a test's operand comes from. */
struct lull_load {
    enum lull_load_kind kind;
    uint32_t field;  /* INT and what follows: of the filter */
    uint32_t offset; /* after the filter's fields */
    uint64_t have;   /* bit of an optional field; 0: always there */
    uint64_t index;  /* of the element; of the value that is given */
    uint32_t group;
    uint8_t bytes; /* of an element */
    bool is_signed, is_big_endian;
    /* Of an enumeration, or of the names of calls; or NULL. */
    const void *labels;
    const char *(*label)(const void *labels, uint64_t value);
    uint32_t visited;                     /* number of the path in lull_program.visited */
    const struct lull_time_point *points; /* POINT: the filter's, at `index` */
    struct lull_value value;
};

#define LULL_ACCEPT (-1)
#define LULL_REJECT (-2)

struct lull_test {
    enum lull_node_kind kind; /* COMPARE, MATCH, IN, EXISTS */
    enum lull_relation relation;
    struct lull_load left, right;
    const struct lull_glob *glob;
    const struct lull_load *list;
    uint32_t n;
    int32_t yes, no; /* the next test, or LULL_ACCEPT or LULL_REJECT */
};

struct lull_program {
    const struct lull_test *tests;
    uint32_t n_tests;
    int32_t entry;
    const struct lull_field_path *const *visited; /* with scope payload or context */
    uint32_t n_visited;
};

/* A program at work on one event. Start with lull_run_start(); `given` may change between tests. */
struct lull_run {
    const struct lull_program *program;
    const struct lull_event *event;
    const uint8_t *fields;
    const struct lull_value *const *given; /* by group; NULL if the program needs none */
    bool is_visited;
    bool is_there[LULL_FILTER_FIELDS];
    struct lull_value visited[LULL_FILTER_FIELDS];
};

void lull_run_start(struct lull_run *run, const struct lull_program *program,
                    const struct lull_event *event, const uint8_t *fields,
                    const struct lull_value *const *given);
/* Whether the event passes the tests from `entry` on. */
bool lull_run_test(struct lull_run *run, int32_t entry);
/* Whether the single test `number` is true. */
bool lull_run_passes(struct lull_run *run, int32_t number);
/* What a load gives; texts are borrowed from the event. */
struct lull_value lull_run_value(struct lull_run *run, const struct lull_load *load);

/* lull_event_filter_ops.test */
bool lull_program_test(const void *program, const struct lull_event *event, const uint8_t *fields);

/* What the event has at the paths, as far as it can be read; `values` has one for each. A structure
 * or array is there, without a value, as `is_there` says. */
void lull_filter_visit(const struct lull_event *event, const struct lull_field_path *const *paths,
                       uint32_t n, struct lull_value *values, bool *is_there);

#endif
