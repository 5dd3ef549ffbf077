/* SPDX-License-Identifier: MIT */
/* Definitions of periods as the parser leaves them and the tracker takes them. */
#ifndef LULL_PERIOD_DEFINITION_H
#define LULL_PERIOD_DEFINITION_H

#include "filter/who.h"
#include "period/period.h"
#include "states/states.h"

/* Periods nested deeper are refused. */
#define LULL_PERIOD_MOST_DEEP 60

/* Groups of given values (LULL_OPERAND_GIVEN): what is so now, then what the opening events of the
 * instance itself, of its parent, its grandparent … held. */
enum lull_period_group { LULL_PERIOD_NOW, LULL_PERIOD_OWN, LULL_PERIOD_PARENT };

/* Values of group LULL_PERIOD_NOW. */
enum lull_period_now {
    LULL_NOW_TID = LULL_WHO_TID,
    LULL_NOW_COMM = LULL_WHO_COMM,
    LULL_NOW_CONTAINER = LULL_WHO_CONTAINER,
    LULL_NOW_CGROUP = LULL_WHO_CGROUP,
    LULL_NOW_POD = LULL_WHO_POD,
    LULL_NOW_CPU = LULL_WHO_VALUES,
    LULL_NOW_COUNT,
};

struct lull_period_capture {
    const char *name;
    struct lull_operand operand;
};

struct lull_period_definition {
    struct lull_period public;
    const struct lull_node *start, *end; /* end is never NULL; of a state, both are */
    uint32_t group, state;               /* of `states` of the list, if it has one */
    GArray *kept; /* struct lull_operand: what of the opening event is needed later */
    struct lull_period_capture *captures[2]; /* at start and at end */
};

struct lull_periods {
    struct lull_terms terms;
    GPtrArray *definitions; /* struct lull_period_definition */
    bool asks_places;       /* some operand is $container, $cgroup or $pod */
    /* If they are states of a file, all are, and of the same. */
    struct lull_states *states;
    const char *states_path;
    GString *states_warnings;
};

static inline struct lull_period_definition *
lull_period_definition(const struct lull_periods *periods, uint32_t number)
{
    return periods->definitions->pdata[number];
}

/* Whether the text is FILE.states:GROUP.STATE; the length of FILE.states, or 0. */
size_t lull_period_is_state(const char *text);
bool lull_period_parse_state(struct lull_periods *periods, const char *text, GError **error);

/* Parse one text; false and an error. */
bool lull_period_parse(struct lull_periods *periods, const char *text, GError **error);
bool lull_period_parse_captures(struct lull_periods *periods, const char *text, GError **error);

#endif
