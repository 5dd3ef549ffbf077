/* SPDX-License-Identifier: MIT */
/* Looks for what definitions of periods name among what the traces declare. */
#include "filter/check.h"
#include "period/definition.h"

struct of_period {
    const struct lull_periods *periods;
    const struct lull_period_definition *definition;
};

/* What an operand was of the event that opened the instance, or one above it. */
static const struct lull_operand *kept_of(const void *user, const struct lull_operand *operand)
{
    const struct of_period *of = user;
    const struct lull_period_definition *definition = of->definition;
    if (operand->group == LULL_PERIOD_NOW) {
        return operand;
    }
    for (uint32_t up = operand->group - LULL_PERIOD_OWN; up > 0; up--) {
        definition = lull_period_definition(of->periods, definition->public.parent);
    }
    return &g_array_index(definition->kept, struct lull_operand, operand->index);
}

static bool check_definition(const struct lull_check *check,
                             const struct lull_period_definition *definition, GError **error)
{
    const struct lull_period *public = &definition->public;
    const uint32_t n_captures[] = {public->n_start_captures, public->n_end_captures};
    if (!lull_check_condition(check, definition->start, error)) {
        return false;
    }
    g_autoptr(GError) problem = NULL;
    if (!lull_check_condition(check, definition->end, &problem)) {
        /* Its parent, or the end of the trace, ends it. */
        g_string_append_printf(check->warnings, "%s\n", problem->message);
    }
    for (uint32_t at_end = 0; at_end < 2; at_end++) {
        for (uint32_t i = 0; i < n_captures[at_end]; i++) {
            lull_check_value(check, &definition->captures[at_end][i].operand);
        }
    }
    return true;
}

bool lull_periods_check(const struct lull_periods *periods, const struct lull_session *session,
                        GString *warnings, GError **error)
{
    bool is_right = true;
    if (periods->states) {
        g_string_append(warnings, periods->states_warnings->str);
        lull_states_check(periods->states, session, warnings);
        return true;
    }
    if (periods->asks_places) {
        lull_who_check_places(session, warnings);
    }
    for (uint32_t i = 0; i < lull_periods_count(periods) && is_right; i++) {
        const struct of_period of = {periods, lull_period_definition(periods, i)};
        const char *path = of.definition->public.path;
        g_autofree char *named =
            *path ? g_strdup_printf("the period “%s”", path) : g_strdup("the period");
        const struct lull_check check = {.terms = &periods->terms,
                                         .session = session,
                                         .of = named,
                                         .given = kept_of,
                                         .user = &of,
                                         .warnings = warnings};
        is_right = check_definition(&check, of.definition, error);
    }
    return is_right;
}
