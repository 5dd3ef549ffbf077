/* SPDX-License-Identifier: MIT */
/* Parses the options of periods of the verbs that ask for their instances. */
#include "cmd/period_args.h"

static bool complain(GError **error, const char *what)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, what);
    return false;
}

bool lull_args_periods(const struct lull_args *args, struct lull_periods **periods, GError **error)
{
    const char *const *definitions = lull_args_texts(args, "period");
    const char *const *captures = lull_args_texts(args, "period-captures");
    *periods = NULL;
    if (!definitions) {
        return !captures || complain(error, "--period-captures needs a --period");
    }
    *periods = lull_periods_parse(definitions, captures, error);
    return *periods;
}
