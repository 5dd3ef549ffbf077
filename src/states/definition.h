/* SPDX-License-Identifier: MIT */
/* A file of states as the parser leaves it. Everything lies in the arena of its terms. */
#ifndef LULL_STATES_DEFINITION_H
#define LULL_STATES_DEFINITION_H

#include "filter/who.h"

enum {
    LULL_STATES_MOST_GROUPS = 64,
    LULL_STATES_MOST_STATES = 254,
    LULL_STATES_MOST_NAMES = 64, /* parts of a key, kept ones and numbers of a group */
    LULL_STATES_MOST_RULES = 1000,
    LULL_STATES_MOST_COUNTS = 64,   /* of a group */
    LULL_STATES_MOST_OTHERS = 1000, /* rows of other groups that one group asks for */
    LULL_STATES_MOST_NESTED = 8,    /* of them, that one is found by another */
    LULL_STATES_MOST_BLOCKS = 1000,
    LULL_STATES_MOST_DEEP = 1000,
};

/* Groups of given values: what is so now, the row, other rows. */
enum lull_states_given { LULL_STATES_NOW, LULL_STATES_ROW, LULL_STATES_OTHERS, LULL_STATES_GIVEN };

struct lull_states_state {
    const char *name, *label, *colour; /* label: the name, if none is given; colour NULL: none */
    bool is_used;
    size_t at; /* where it was written */
};

/* Part of a key, kept variable or number: value `1 + index` of a row. */
struct lull_states_name {
    enum { LULL_STATES_KEY, LULL_STATES_KEPT, LULL_STATES_NUMBER } kind;
    const char *name, *label, *unit, *colour;
    struct lull_operand operand; /* KEY */
    uint32_t number;             /* NUMBER: of the group's */
};

/* A series: how many rows of the group are in a state. */
struct lull_states_count {
    uint16_t state;
    const char *label; /* that of the state, if none is given */
    const char *colour;
};

/* GROUP[operand, …].NAME, or ?.NAME */
struct lull_states_other {
    uint32_t group;
    const struct lull_operand *keys; /* as many as the other group has */
    uint32_t n_keys;
    const char *name;
    uint32_t value;   /* of the other row */
    bool is_optional; /* without such a row it is unknown, and the rule may apply */
    size_t at;        /* where it was written */
};

struct lull_states_action {
    enum lull_states_act {
        LULL_STATES_ENTER,
        LULL_STATES_PUSH,
        LULL_STATES_POP,
        LULL_STATES_SET,
        LULL_STATES_ADD,
        LULL_STATES_SUBTRACT,
    } kind;
    uint16_t state; /* ENTER, PUSH */
    bool is_fresh;  /* ENTER: a new interval even if it is in that state */
    uint32_t value; /* of the row: SET, ADD, SUBTRACT */
    struct lull_operand operand;
};

struct lull_states_rule {
    bool is_also, is_each;
    const struct lull_node *on, *condition; /* condition may be NULL */
    const struct lull_operand *at;          /* as many as the key has; NULL: the row's own */
    const struct lull_states_action *actions;
    uint32_t n_actions;
    uint32_t first_other, n_others; /* of the group's, that the rule asks for */
    uint32_t n_at_others;           /* the first of them, which `at` asks for */
    size_t start, end;              /* of its text up to the actions */
    size_t line;
};

/* What happens when a row has been in a state for so long. */
struct lull_states_after {
    int64_t after_ns; /* 0: nothing */
    const struct lull_states_action *actions;
    uint32_t n_actions;
};

struct lull_states_group {
    const char *name, *label; /* label: the name, if none is given */
    const char *title;        /* template of rows, or NULL */
    struct lull_states_state *states;
    uint32_t n_states;
    struct lull_states_name *names;
    uint32_t n_names, n_keys, n_numbers; /* keys come first */
    uint32_t n_rules;                    /* in all its blocks */
    struct lull_states_other *others;
    uint32_t n_others;
    struct lull_states_count *counts;
    uint32_t n_counts;
    struct lull_states_after *after;    /* by state */
    uint16_t start;                     /* state before the first rule, or LULL_ROW_UNKNOWN */
    bool has_task, keeps_lost, has_cpu; /* has_cpu: a part of the key is the CPU */
    uint32_t cpu_key;
    struct lull_operand task;
    int32_t task_key; /* the part of the key that is the task, if has_task is not; -1: none */
};

/* Rules that see the rows as they were before the first of them was applied: those within `group`, and those within
 * each `more`. */
struct lull_states_rules {
    uint32_t group;
    struct lull_states_rule *rules;
    uint32_t n_rules, first_rule; /* number of the first among those of the file */
};

struct lull_states {
    struct lull_terms terms;
    struct lull_states_group *groups;
    struct lull_states_rules *blocks; /* in the order of the file */
    uint32_t n_groups, n_blocks, n_rules;
    bool asks_running;  /* some operand is $tid, $comm, or one of the following */
    bool asks_places;   /* some operand is $container, $cgroup or $pod */
    uint8_t digest[32]; /* of the text that they were parsed from (SHA-256) */
};

#endif
