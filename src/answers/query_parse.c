/* SPDX-License-Identifier: MIT */
/* Parses the settings of a question to an analysis: lists, durations, sizes, sections, periods. What
 * was not set has its default. */
#include "answers/query.h"

#include <math.h>
#include <string.h>

#include "base/time.h"

enum { DEFAULT_LIMIT = 10, DEFAULT_BINS = 20, MAX_BINS = 100000 };

static bool flag(const struct lull_query *query, const char *name)
{
    return g_hash_table_contains(query->texts, name);
}

static const char *text(const struct lull_query *query, const char *name)
{
    return g_hash_table_lookup(query->texts, name);
}

/* "3,7,12" */
static bool parse_list(const struct lull_query *query, const char *name, GArray **kept,
                       struct lull_numbers *numbers, GError **error)
{
    const char *given = text(query, name);
    if (!given) {
        return true;
    }
    *kept = g_array_new(FALSE, FALSE, sizeof(int64_t));
    if (!lull_numbers_parse(given, *kept)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "%s: expected numbers with commas between, not “%s”", name, given);
        return false;
    }
    *numbers = lull_numbers_of(*kept);
    return true;
}

/* Names with commas between, as they are: a name may start with a blank. --comm and --procname add
 * up. */
static void parse_comms(struct lull_query *query)
{
    const char *comm = text(query, "comm"), *procname = text(query, "procname");
    if (comm || procname) {
        query->comms = g_strjoin(",", comm ? comm : procname, comm ? procname : NULL, NULL);
        query->params.comms = query->comms;
    }
}

/* What tables of tasks have a row for. */
static bool parse_by(const struct lull_query *query, struct lull_question_params *params,
                     GError **error)
{
    static const char *const names[LULL_BY_COUNT] = {"task", "container", "pod", "cgroup", "vm"};
    const char *given = text(query, "by");
    for (int by = 0; by < LULL_BY_COUNT; by++) {
        if (!given || strcmp(given, names[by]) == 0) {
            params->by = (enum lull_group_by)by;
            return true;
        }
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "by: expected task, container, pod, cgroup or vm, not “%s”", given);
    return false;
}

/* A real number that is not negative, times `unit`; INT64_MAX if that is too large. */
static bool parse_real(const char *given, double unit, int64_t *value)
{
    char *end;
    const double number = g_ascii_strtod(given, &end);
    if (end == given || *end || !(number >= 0)) {
        return false;
    }
    *value = number * unit >= 9.2e18 ? INT64_MAX : llround(number * unit);
    return true;
}

bool lull_duration_setting(const char *name, const char *given, double bare_unit_ns,
                           int64_t *value_ns, GError **error)
{
    if (!given || parse_real(given, bare_unit_ns, value_ns)) {
        return true;
    }
    g_auto(GStrv) parts = g_strsplit(given, " ", 2);
    g_autofree char *joined = g_strjoinv("", parts);
    if (lull_duration_parse(joined, value_ns, error)) {
        return true;
    }
    g_prefix_error(error, "%s: ", name);
    return false;
}

static bool parse_duration(const struct lull_query *query, const char *name, double bare_unit_ns,
                           int64_t *value_ns, GError **error)
{
    return lull_duration_setting(name, text(query, name), bare_unit_ns, value_ns, error);
}

static bool parse_size(const struct lull_query *query, const char *name, int64_t *value,
                       GError **error)
{
    const char *given = text(query, name);
    if (!given || parse_real(given, 1, value)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "%s: expected a number of bytes, not “%s”",
                name, given);
    return false;
}

/* Programs that read lttng-analyses expect a log to be whole. */
static bool parse_limit(const struct lull_query *query, struct lull_question_params *params,
                        GError **error)
{
    const char *given = text(query, "limit");
    guint64 number;
    params->limit = DEFAULT_LIMIT;
    if (!given) {
        return true;
    }
    if (strcmp(given, "unlimited") == 0) {
        params->limit = 0;
        return true;
    }
    if (!g_ascii_string_to_unsigned(given, 10, 0, INT64_MAX, &number, NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "limit: expected a whole number from 0, or unlimited, not “%s”", given);
        return false;
    }
    params->limit = (uint32_t)MIN(number, UINT32_MAX);
    params->list_limit = query->has_whole_lists ? 0 : params->limit;
    return true;
}

static void parse_sections(const struct lull_query *query, struct lull_question_params *params)
{
    static const struct {
        const char *name;
        unsigned section;
    } sections[] = {
        {"usage", LULL_SECTION_USAGE}, {"stats", LULL_SECTION_STATS}, {"top", LULL_SECTION_TOP},
        {"freq", LULL_SECTION_FREQ},   {"log", LULL_SECTION_LOG},
    };
    static const struct {
        const char *name;
        unsigned grouping;
    } groupings[] = {
        {"total", LULL_GROUPING_TOTAL},
        {"per-tid", LULL_GROUPING_TID},
        {"per-prio", LULL_GROUPING_PRIO},
    };
    params->sections = query->sections;
    for (uint32_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        params->sections |= flag(query, sections[i].name) ? sections[i].section : 0;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(groupings); i++) {
        params->groupings |= flag(query, groupings[i].name) ? groupings[i].grouping : 0;
    }
}

static bool parse_freq(const struct lull_query *query, struct lull_question_params *params,
                       GError **error)
{
    const char *given = text(query, "freq-resolution");
    guint64 bins = DEFAULT_BINS;
    if (given && !g_ascii_string_to_unsigned(given, 10, 1, MAX_BINS, &bins, NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "freq-resolution: expected a number from 1 to %d", MAX_BINS);
        return false;
    }
    params->freq_resolution = (uint32_t)bins;
    params->freq_series = flag(query, "freq-series");
    params->freq_uniform = params->freq_series || flag(query, "freq-uniform");
    params->freq_logarithmic = flag(query, "freq-log");
    return true;
}

/* "D", "D,S" or "DS". */
static bool parse_states(const struct lull_query *query, struct lull_question_params *params,
                         GError **error)
{
    params->states = text(query, "state");
    if (!params->states ||
        (*params->states && !params->states[strspn(params->states, ",RSDITtP")])) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "--state takes letters of states: R, S, D, I, T, t and P, not “%s”",
                params->states);
    return false;
}

bool lull_query_parse(struct lull_query *query, GError **error)
{
    struct lull_question_params *params = &query->params;
    params->min_ns = params->min_bytes = INT64_MIN;
    params->max_ns = params->max_bytes = INT64_MAX;
    params->by_order = flag(query, "by-order");
    params->with_asleep = flag(query, "asleep");
    params->with_all_tasks = flag(query, "all-tasks");
    params->by_stack = flag(query, "stacks");
    params->host = query->host;
    parse_sections(query, params);
    parse_comms(query);
    params->containers = text(query, "container");
    if (!parse_by(query, params, error) ||
        !parse_list(query, "tid", &query->numbers[0], &params->tids, error) ||
        !parse_list(query, "cpu", &query->numbers[1], &params->cpus, error) ||
        !parse_list(query, "irq", &query->numbers[2], &params->irqs, error) ||
        !parse_list(query, "pid", &query->numbers[4], &params->pids, error) ||
        !parse_list(query, "softirq", &query->numbers[3], &params->softirqs, error) ||
        !parse_duration(query, "min", 1e3, &params->min_ns, error) ||
        !parse_duration(query, "max", 1e3, &params->max_ns, error) ||
        !parse_duration(query, "refresh", 1e9, &query->slice_ns, error) ||
        !parse_size(query, "minsize", &params->min_bytes, error) ||
        !parse_size(query, "maxsize", &params->max_bytes, error) ||
        !parse_states(query, params, error) || !parse_limit(query, params, error) ||
        !parse_freq(query, params, error)) {
        return false;
    }
    if (text(query, "refresh") && query->slice_ns == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "refresh: expected a duration longer than 0");
        return false;
    }
    params->is_joint_irq_choice = params->irqs.count && params->softirqs.count;
    params->has_windows = query->slice_ns > 0 || (query->periods && !query->question);
    params->periods = query->question;
    return true;
}

/* ---- periods ---- */

static const char *const old_options[] = {"period-begin", "period-end", "period-begin-key",
                                          "period-end-key", "period-key-value"};

static bool has_old_options(const struct lull_query *query)
{
    for (uint32_t i = 0; i < G_N_ELEMENTS(old_options); i++) {
        if (text(query, old_options[i])) {
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

static const char *const *texts(const GPtrArray *list)
{
    return list->len > 1 ? (const char *const *)list->pdata : NULL;
}

/* A period given by the options that lttng-analyses had before definitions. */
static bool parse_old(struct lull_query *query, GError **error)
{
    g_autofree char *definition = lull_periods_translate(
        text(query, "period-begin"), text(query, "period-end"), text(query, "period-begin-key"),
        text(query, "period-end-key"), text(query, "period-key-value"), error);
    if (!definition) {
        return false;
    }
    const char *const definitions[] = {definition, NULL};
    query->periods = lull_periods_parse(definitions, NULL, error);
    query->translated = g_steal_pointer(&definition);
    return query->periods;
}

/* Whether the question is about periods themselves. */
static bool is_about_periods(const struct lull_query *query)
{
    return query->analysis && query->analysis->needs_periods;
}

static bool parse_periods(struct lull_query *query, GError **error)
{
    static const char *const none[] = {NULL};
    if (has_old_options(query)) {
        return texts(query->definitions) || texts(query->captures)
                   ? complain(error, "period-begin: it and its like do not go together with "
                                     "definitions of periods")
                   : parse_old(query, error);
    }
    if (!lull_periods_parse_given(texts(query->definitions), texts(query->captures),
                                  &query->periods, error)) {
        return false;
    }
    if (query->periods || !is_about_periods(query)) {
        return true;
    }
    if (!query->may_lack_periods) {
        return complain(error, "period: a definition is needed");
    }
    /* A program of lttng-analyses without periods shows none. */
    query->periods = lull_periods_parse(none, NULL, error);
    return query->periods;
}

static bool parse_requested(struct lull_query *query, GError **error)
{
    query->question = lull_periods_question_new(
        query->periods, text(query, "select"), text(query, "aggregate-by"), text(query, "group-by"),
        text(query, "order-by"), error);
    return query->question &&
           parse_duration(query, "min-duration", 1e3, &query->question->min_duration_ns, error) &&
           parse_duration(query, "max-duration", 1e3, &query->question->max_duration_ns, error);
}

bool lull_query_parse_periods(struct lull_query *query, GError **error)
{
    if (!parse_periods(query, error)) {
        return false;
    }
    if (query->periods && text(query, "refresh")) {
        return complain(error, "refresh: it does not go together with periods: a result is for a "
                               "slice of time or for a period");
    }
    return !is_about_periods(query) || parse_requested(query, error);
}
