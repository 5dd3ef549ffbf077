/* SPDX-License-Identifier: MIT */
/* Conditions in the language of filters, about values that are given by name rather than read from an
 * event: what `lull track` knows of a wait. */
#ifndef LULL_FILTER_GIVEN_H
#define LULL_FILTER_GIVEN_H

#include "filter/parser.h"

struct lull_given_name {
    const char *name; /* NULL ends a table */
    enum lull_value_kind kind;
};

/* For lull_parser.parse_name: the operand is the value of that name, whose number in the table is its
 * index. */
bool lull_given_parse(struct lull_parser *p, const struct lull_given_name *names,
                      struct lull_operand *operand);
/* Whether the condition holds for these values; they are in the order of the table, and of kind NONE
 * where they are not known. */
bool lull_given_holds(const struct lull_node *node, const struct lull_value *values);

#endif
