/* SPDX-License-Identifier: MIT */
/* A parsed condition of a filter or a period: a tree of conditions over operands. Immutable but for
 * the times, which are known when reading starts; everything lies in one arena. */
#ifndef LULL_FILTER_AST_H
#define LULL_FILTER_AST_H

#include "base/arena.h"
#include "filter/filter.h"
#include "filter/glob.h"
#include "source/session/event_filter.h"

/* ---- values ---- */

enum lull_value_kind { LULL_VALUE_NONE, LULL_VALUE_INT, LULL_VALUE_REAL, LULL_VALUE_TEXT };

struct lull_value {
    enum lull_value_kind kind;
    bool is_signed;
    union {
        uint64_t bits; /* INT */
        double real;   /* REAL */
    };
    struct lull_text text; /* also of an integer with a label: the label; data NULL: none */
};

enum lull_relation {
    LULL_RELATION_EQ,
    LULL_RELATION_NE,
    LULL_RELATION_LT,
    LULL_RELATION_LE,
    LULL_RELATION_GT,
    LULL_RELATION_GE,
};

/* False for values that cannot be compared: absent, text with number, not a number. */
bool lull_value_compare(const struct lull_value *left, enum lull_relation relation,
                        const struct lull_value *right);

static inline struct lull_value lull_value_int(int64_t value)
{
    return (struct lull_value){.kind = LULL_VALUE_INT, .is_signed = true, .bits = (uint64_t)value};
}

static inline struct lull_value lull_value_text(const char *text, size_t length)
{
    return (struct lull_value){.kind = LULL_VALUE_TEXT, .text = {text, (uint32_t)length}};
}

/* ---- fields ---- */

enum lull_field_scope { LULL_IN_ANY, LULL_IN_PAYLOAD, LULL_IN_CONTEXT };

/* One step of a field's path: a member's name, or an index if it is NULL. */
struct lull_filter_step {
    const char *name;
    uint64_t index;
};

/* More fields than this in one filter are refused: they are as many as one event can bind. */
#define LULL_FILTER_FIELDS 64
/* Steps of a path; fields are not nested deeper. */
#define LULL_FILTER_STEPS 64

struct lull_field_path {
    enum lull_field_scope scope;
    const struct lull_filter_step *steps;
    uint32_t n_steps;
};

/* ---- conditions ---- */

enum lull_operand_kind {
    LULL_OPERAND_VALUE, /* written in the expression */
    LULL_OPERAND_NAME,  /* or that of the call whose number is field `index` */
    LULL_OPERAND_HOST,
    LULL_OPERAND_CPU,
    LULL_OPERAND_TIME,  /* of the event */
    LULL_OPERAND_POINT, /* a point in time written in the expression */
    LULL_OPERAND_FIELD,
    LULL_OPERAND_RUNNING, /* of the task that runs: a field if there is one, else given */
    LULL_OPERAND_GIVEN,   /* by the program's caller, such as what an earlier event held */
};

struct lull_operand {
    enum lull_operand_kind kind;
    struct lull_value value;
    uint32_t index;    /* of the field, of the first of `n_fields` fields (RUNNING), of the point in
                          time; GIVEN: of the value in its group */
    uint32_t n_fields; /* RUNNING: the first that the class has is taken */
    uint32_t group;    /* GIVEN; RUNNING: value `given` of group 0 */
    uint32_t given;
};

enum lull_node_kind {
    LULL_NODE_CONSTANT,
    LULL_NODE_COMPARE,
    LULL_NODE_MATCH,  /* `left` with `glob`; inverted if relation is NE */
    LULL_NODE_IN,     /* `left` equals one of `list` */
    LULL_NODE_EXISTS, /* `left` is a field */
    LULL_NODE_AND,
    LULL_NODE_OR,
    LULL_NODE_NOT,
};

struct lull_node {
    enum lull_node_kind kind;
    bool constant;
    enum lull_relation relation;
    struct lull_operand left, right;
    const struct lull_glob *glob;
    const struct lull_operand *list;
    const struct lull_node *const *children; /* AND, OR, NOT */
    uint32_t n;                              /* of list or children */
};

/* A point in time, as it was written; what it means depends on the traces. */
struct lull_time_point {
    const char *text;
    int64_t time_ns;
};

/* What conditions refer to. */
struct lull_terms {
    struct lull_arena *arena;
    struct lull_field_path fields[LULL_FILTER_FIELDS];
    uint32_t n_fields;
    uint32_t n_reserved; /* of them, not from the text */
    GArray *points;      /* struct lull_time_point; NULL: there are none */
};

/* The number of the field; each path has one. False if there is no room. */
bool lull_terms_add(struct lull_terms *terms, const struct lull_field_path *path, uint32_t *index);

struct lull_filter {
    struct lull_event_filter base;
    struct lull_terms terms;
    const struct lull_node *root;
    bool is_local;
    bool uses_host;
    struct lull_arena *programs; /* of the classes; forgotten together */
};

/* When events can pass: start_ns <= time < end_ns. Times must be known. */
void lull_filter_range(const struct lull_filter *filter, int64_t *start_ns, int64_t *end_ns);

/* What lull_filter.base does (program.c). */
extern const struct lull_event_filter_ops lull_filter_ops;

#endif
