/* SPDX-License-Identifier: MIT */
/* Groups of periods by captured values. An instance of the deepest period of --group-by, with its
 * ancestors, says what the group is called; to the group belong that instance, its ancestors, and
 * what lies in it. So an ancestor belongs to as many groups as instances in it say, and counts in
 * each only what belongs to it too. */
#include "analysis/period_windows.h"
#include "analysis/periods/private.h"

struct groups {
    const struct period_report *report;
    GHashTable *numbers; /* title to number + 1 */
    GPtrArray *titles;
    uint32_t *of; /* by instance: group of what is at or below the deepest period; or none */
};

static const struct lull_value *value_of(const struct period_report *report, uint32_t instance,
                                         const struct lull_period_grouping *grouping)
{
    const struct lull_period *period = period_definition(report, grouping->period);
    bool at_end = grouping->capture >= period->n_start_captures;
    return lull_period_value(report->tracker, instance, at_end,
                             grouping->capture - (at_end ? period->n_start_captures : 0));
}

/* "a.fd = 0, req.who = w0": the captures of the instance and its ancestors. */
static char *title_of(const struct period_report *report, uint32_t instance)
{
    const struct lull_periods_question *question = report->question;
    GString *title = g_string_new(NULL);
    for (uint32_t i = 0; i < question->n_groupings; i++) {
        const struct lull_period_grouping *grouping = &question->groupings[i];
        uint32_t at = instance;
        while (period_instance(report, at)->period != grouping->period) {
            at = period_instance(report, at)->parent;
        }
        g_string_append_printf(title, "%s%s = ", i > 0 ? ", " : "", grouping->name);
        lull_period_append_value(title, value_of(report, at, grouping));
    }
    return g_string_free(title, FALSE);
}

static uint32_t number_of(struct groups *groups, char *title)
{
    uint32_t number = GPOINTER_TO_UINT(g_hash_table_lookup(groups->numbers, title));
    if (number > 0) {
        g_free(title);
        return number - 1;
    }
    g_ptr_array_add(groups->titles, title);
    g_hash_table_insert(groups->numbers, title, GUINT_TO_POINTER(groups->titles->len));
    return groups->titles->len - 1;
}

/* Gives instances at and below the deepest period their group. Parents come before children. */
static void find_groups(struct groups *groups)
{
    const struct period_report *report = groups->report;
    for (uint32_t i = 0; i < report->n_instances; i++) {
        groups->of[i] = LULL_NO_PERIOD;
    }
    for (uint32_t i = 0; i < report->n_counted; i++) {
        const uint32_t number = report->all[i];
        const struct lull_period_instance *at = period_instance(report, number);
        if (at->period == report->question->group_period) {
            if (report->is_whole[number]) {
                groups->of[number] = number_of(groups, title_of(report, number));
            }
        } else if (at->parent != LULL_NO_PERIOD && report->is_counted[at->parent]) {
            groups->of[number] = groups->of[at->parent];
        }
    }
}

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Adds the instance, and its ancestors unless they are there (places[] says so). */
static void add_member(const struct period_report *report, GArray *members, uint32_t number)
{
    while (number != LULL_NO_PERIOD && report->positions[number] == SIZE_MAX) {
        report->positions[number] = 0;
        g_array_append_val(members, number);
        number = period_instance(report, number)->parent;
    }
}

/* Instances by group: where each group's start, and then the instances. */
static uint32_t *sort_by_group(const struct groups *groups, uint32_t *starts)
{
    const struct period_report *report = groups->report;
    const uint32_t n = groups->titles->len;
    uint32_t *sorted = g_new(uint32_t, MAX(report->n_counted, 1));
    for (uint32_t i = 0; i < report->n_counted; i++) {
        if (groups->of[report->all[i]] != LULL_NO_PERIOD) {
            starts[groups->of[report->all[i]] + 1]++;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        starts[i + 1] += starts[i];
    }
    g_autofree uint32_t *at = g_memdup2(starts, (n + 1) * sizeof *starts);
    for (uint32_t i = 0; i < report->n_counted; i++) {
        if (groups->of[report->all[i]] != LULL_NO_PERIOD) {
            sorted[at[groups->of[report->all[i]]]++] = report->all[i];
        }
    }
    return sorted;
}

static void report_groups(const struct groups *groups,
                          void (*emit)(const struct period_report *report,
                                       const struct period_set *set))
{
    const struct period_report *report = groups->report;
    g_autofree uint32_t *starts = g_new0(uint32_t, groups->titles->len + 1);
    g_autofree uint32_t *sorted = sort_by_group(groups, starts);
    g_autoptr(GArray) members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t group = 0; group < groups->titles->len; group++) {
        g_array_set_size(members, 0);
        for (uint32_t i = starts[group]; i < starts[group + 1]; i++) {
            add_member(report, members, sorted[i]);
        }
        g_array_sort(members, by_number);
        for (uint32_t i = 0; i < members->len; i++) {
            report->positions[g_array_index(members, uint32_t, i)] = SIZE_MAX;
        }
        emit(report, &(struct period_set){.title = groups->titles->pdata[group],
                                          .members = (const uint32_t *)(void *)members->data,
                                          .n = members->len});
    }
}

void period_each_group(const struct period_report *report,
                       void (*emit)(const struct period_report *report,
                                    const struct period_set *set))
{
    if (report->question->n_groupings == 0) {
        return;
    }
    struct groups groups = {.report = report};
    groups.numbers = g_hash_table_new(g_str_hash, g_str_equal);
    groups.titles = g_ptr_array_new_with_free_func(g_free);
    groups.of = g_new(uint32_t, MAX(report->n_instances, 1));
    find_groups(&groups);
    report_groups(&groups, emit);
    g_hash_table_unref(groups.numbers);
    g_ptr_array_unref(groups.titles);
    g_free(groups.of);
}
