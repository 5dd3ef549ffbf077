/* SPDX-License-Identifier: MIT */
/* The question about periods, from the texts of the options to numbers of definitions. */
#include <lull/error.h>
#include <string.h>

#include "analysis/periods/periods.h"

static bool complain(GError **error, const char *setting, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static bool complain(GError **error, const char *setting, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *reason = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s: %s", setting, reason);
    return false;
}

static bool find_period(const struct lull_periods *periods, const char *setting, const char *text,
                        size_t length, uint32_t *number, GError **error)
{
    *number = lull_periods_find(periods, text, length);
    return *number != LULL_NO_PERIOD ||
           complain(error, setting, "there is no period “%.*s”", (int)length, text);
}

static bool read_selection(struct lull_periods_question *question, const char *select,
                           GError **error)
{
    const uint32_t n = lull_periods_count(question->periods);
    question->is_selected = g_new(bool, MAX(n, 1));
    question->has_selection = select != NULL;
    for (uint32_t i = 0; i < n; i++) {
        question->is_selected[i] = !select;
    }
    if (!select) {
        return true;
    }
    g_auto(GStrv) items = g_strsplit(select, ",", -1);
    for (char **item = items; *item; item++) {
        uint32_t number;
        const char *name = g_strstrip(*item);
        if (!find_period(question->periods, "select", name, strlen(name), &number, error)) {
            return false;
        }
        question->is_selected[number] = true;
    }
    return true;
}

/* ---- groups ---- */

static bool find_capture(const struct lull_period *period, const char *name, uint32_t *capture)
{
    const uint32_t n = period->n_start_captures + period->n_end_captures;
    for (*capture = 0; *capture < n; ++*capture) {
        bool at_end = *capture >= period->n_start_captures;
        const char *own = at_end ? period->end_captures[*capture - period->n_start_captures]
                                 : period->start_captures[*capture];
        if (strcmp(own, name) == 0) {
            return true;
        }
    }
    return false;
}

/* PERIOD.CAPTURE, where the capture's name may have points. */
static bool read_grouping(const struct lull_periods *periods, const char *item,
                          struct lull_period_grouping *grouping, GError **error)
{
    const char *setting = "group-by";
    const char *point = strchr(item, '.');
    if (!point) {
        return complain(error, setting, "“%s” is not PERIOD.CAPTURE", item);
    }
    if (!find_period(periods, setting, item, (size_t)(point - item), &grouping->period, error)) {
        return false;
    }
    const struct lull_period *period = lull_periods_at(periods, grouping->period);
    if (!find_capture(period, point + 1, &grouping->capture)) {
        return complain(error, setting, "the period “%s” has no capture “%s”", period->name,
                        point + 1);
    }
    grouping->name = g_strconcat(period->name, ".", point + 1, NULL);
    return true;
}

static bool is_above(const struct lull_periods *periods, uint32_t above, uint32_t below)
{
    while (below != above && below != LULL_NO_PERIOD) {
        below = lull_periods_at(periods, below)->parent;
    }
    return below == above;
}

static int by_name(const void *left, const void *right)
{
    const struct lull_period_grouping *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static bool read_groups(struct lull_periods_question *question, const char *group_by,
                        GError **error)
{
    const struct lull_periods *periods = question->periods;
    if (!group_by) {
        return true;
    }
    g_auto(GStrv) items = g_strsplit(group_by, ",", -1);
    question->groupings = g_new0(struct lull_period_grouping, g_strv_length(items) + 1);
    for (char **item = items; *item; item++) {
        struct lull_period_grouping *grouping = &question->groupings[question->n_groupings];
        if (!read_grouping(periods, g_strstrip(*item), grouping, error)) {
            return false;
        }
        question->n_groupings++;
        uint32_t deepest = question->group_period;
        if (deepest == LULL_NO_PERIOD || is_above(periods, deepest, grouping->period)) {
            question->group_period = grouping->period;
        } else if (!is_above(periods, grouping->period, deepest)) {
            return complain(error, "group-by",
                            "the periods “%s” and “%s” do not lie in one another, so no instance "
                            "belongs to both",
                            lull_periods_at(periods, deepest)->name,
                            lull_periods_at(periods, grouping->period)->name);
        }
    }
    qsort(question->groupings, question->n_groupings, sizeof *question->groupings, by_name);
    return true;
}

static bool read_rest(struct lull_periods_question *question, const char *aggregate_by,
                      const char *order_by, GError **error)
{
    if (order_by && strcmp(order_by, "time") != 0 && strcmp(order_by, "hierarchy") != 0) {
        return complain(error, "order-by", "it is time or hierarchy, not “%s”", order_by);
    }
    question->by_hierarchy = order_by && strcmp(order_by, "hierarchy") == 0;
    return !aggregate_by || find_period(question->periods, "aggregate-by", aggregate_by,
                                        strlen(aggregate_by), &question->ancestor, error);
}

struct lull_periods_question *lull_periods_question_new(const struct lull_periods *periods,
                                                        const char *select,
                                                        const char *aggregate_by,
                                                        const char *group_by, const char *order_by,
                                                        GError **error)
{
    struct lull_periods_question *question = g_new0(struct lull_periods_question, 1);
    question->periods = periods;
    question->ancestor = question->group_period = LULL_NO_PERIOD;
    question->min_duration_ns = INT64_MIN;
    question->max_duration_ns = INT64_MAX;
    if (read_selection(question, select, error) && read_groups(question, group_by, error) &&
        read_rest(question, aggregate_by, order_by, error)) {
        return question;
    }
    lull_periods_question_free(question);
    return NULL;
}

void lull_periods_question_free(struct lull_periods_question *question)
{
    if (!question) {
        return;
    }
    for (uint32_t i = 0; i < question->n_groupings; i++) {
        g_free((gpointer)question->groupings[i].name);
    }
    g_free(question->groupings);
    g_free(question->is_selected);
    g_free(question);
}
