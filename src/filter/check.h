/* SPDX-License-Identifier: MIT */
/* Looks for what a condition names among what the traces declare: a misspelt field or event would
 * hide everything without a word. */
#ifndef LULL_FILTER_CHECK_H
#define LULL_FILTER_CHECK_H

#include "filter/ast.h"

struct lull_check {
    const struct lull_terms *terms;
    const struct lull_session *session; /* not live: what that declares is not known yet */
    const char *of;                     /* "the filter": what has the conditions */
    /* What a given operand was of the event that it is of; NULL: none is given. */
    const struct lull_operand *(*given)(const void *user, const struct lull_operand *operand);
    const void *user;
    GString *warnings; /* gets a line each */
};

/* False and LULL_ERROR_QUESTION, with what may be meant, if the condition cannot be true because no
 * trace declares something; what it can be true without is only a warning. */
bool lull_check_condition(const struct lull_check *check, const struct lull_node *node,
                          GError **error);
/* Only warns. */
void lull_check_value(const struct lull_check *check, const struct lull_operand *operand);

#endif
