/* SPDX-License-Identifier: MIT */
/* Parses the options of periods: --period and --period-captures, which every analysis takes, those
 * that lttng-analyses had before them, and what the verbs of periods ask besides. */
#include "cmd/period_args.h"

#include <stdio.h>

#include "cmd/analysis_args.h"
#include "cmd/options.h"

static const char *const old_options[] = {"period-begin", "period-end", "period-begin-key",
                                          "period-end-key", "period-key-value"};

static const char *text(const struct lull_args *args, const char *name)
{
    return lull_args_takes(args, name) ? lull_args_text(args, name) : NULL;
}

static bool has_old_options(const struct lull_args *args)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(old_options); i++) {
        if (text(args, old_options[i])) {
            return true;
        }
    }
    return false;
}

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

/* A period given by the options that lttng-analyses had before --period. */
static bool parse_old(struct lull_analysis_question *question, const struct lull_args *args,
                      GError **error)
{
    g_autofree char *definition = lull_periods_translate(
        text(args, "period-begin"), text(args, "period-end"), text(args, "period-begin-key"),
        text(args, "period-end-key"), text(args, "period-key-value"), error);
    if (!definition) {
        return false;
    }
    fprintf(stderr, "lull: --period-begin and its like are deprecated; the same is --period '%s'\n",
            definition);
    const char *const definitions[] = {definition, NULL};
    question->periods = lull_periods_parse(definitions, NULL, error);
    return question->periods;
}

/* Whether the verb shows periods themselves. */
static bool is_about_periods(const struct lull_args *args)
{
    const struct lull_analysis_class *analysis = lull_args_verb(args)->ask->analysis;
    return analysis && analysis->needs_periods;
}

static bool parse_periods(struct lull_analysis_question *question, const struct lull_args *args,
                          GError **error)
{
    static const char *const none[] = {NULL};
    if (has_old_options(args)) {
        return lull_args_texts(args, "period") || lull_args_texts(args, "period-captures")
                   ? complain(error, "--period-begin and its like do not go together with --period "
                                     "and --period-captures")
                   : parse_old(question, args, error);
    }
    if (!lull_args_periods(args, &question->periods, error)) {
        return false;
    }
    if (question->periods || !is_about_periods(args)) {
        return true;
    }
    if (!lull_args_is_dropin(args)) {
        return complain(error, "which periods? --period DEFINITION is needed; 'lull help periods' "
                               "describes the language");
    }
    /* A program of lttng-analyses without periods shows none. */
    question->periods = lull_periods_parse(none, NULL, error);
    return question->periods;
}

static bool parse_requested(struct lull_analysis_question *question, const struct lull_args *args,
                            GError **error)
{
    question->query = lull_periods_question_new(
        question->periods, lull_args_text(args, "select"), lull_args_text(args, "aggregate-by"),
        lull_args_text(args, "group-by"), lull_args_text(args, "order-by"), error);
    return question->query &&
           lull_args_duration(args, "min-duration", 1e3, &question->query->min_duration_ns,
                              error) &&
           lull_args_duration(args, "max-duration", 1e3, &question->query->max_duration_ns, error);
}

bool lull_analysis_question_periods(struct lull_analysis_question *question,
                                    const struct lull_args *args, GError **error)
{
    if (!parse_periods(question, args, error)) {
        return false;
    }
    if (question->periods && text(args, "refresh")) {
        return complain(error, "--refresh does not go together with --period: a result is for a "
                               "slice of time or for a period");
    }
    return !is_about_periods(args) || parse_requested(question, args, error);
}
