/* SPDX-License-Identifier: MIT */
/* Parses the options that analyses share: lists, durations, sizes, sections. A verb has some of
 * them; those it lacks were not given. */
#include "cmd/analysis_args.h"

#include <math.h>
#include <string.h>

#include "base/time.h"
#include "cmd/options.h"

enum { DEFAULT_LIMIT = 10, DEFAULT_BINS = 20, MAX_BINS = 100000 };

static bool flag(const struct lull_args *args, const char *name)
{
    return lull_args_takes(args, name) && lull_args_flag(args, name);
}

static const char *text(const struct lull_args *args, const char *name)
{
    return lull_args_takes(args, name) ? lull_args_text(args, name) : NULL;
}

/* "3,7,12" */
static bool parse_list(const struct lull_args *args, const char *name, GArray **kept,
                       struct lull_numbers *numbers, GError **error)
{
    const char *given = text(args, name);
    if (!given) {
        return true;
    }
    g_auto(GStrv) words = g_strsplit(given, ",", -1);
    *kept = g_array_new(FALSE, FALSE, sizeof(int64_t));
    for (uint32_t i = 0; words[i]; i++) {
        gint64 number;
        if (!g_ascii_string_to_signed(g_strstrip(words[i]), 10, 0, INT32_MAX, &number, NULL)) {
            g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--%s takes numbers with commas between, not “%s”", name, given);
            return false;
        }
        g_array_append_val(*kept, number);
    }
    *numbers = (struct lull_numbers){(const int64_t *)(void *)(*kept)->data, (*kept)->len};
    return true;
}

/* Names with commas between, as they are: a name may begin with a blank. --comm and --procname add
 * up. */
static void parse_comms(const struct lull_args *args, struct lull_analysis_question *question)
{
    const char *comm = text(args, "comm"), *procname = text(args, "procname");
    if (!comm && !procname) {
        return;
    }
    g_autofree char *all = g_strjoin(",", comm ? comm : procname, comm ? procname : NULL, NULL);
    question->comms = g_strsplit(all, ",", -1);
    question->params.comms = (const char *const *)question->comms;
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

bool lull_args_duration(const struct lull_args *args, const char *name, double bare_unit_ns,
                        int64_t *value_ns, GError **error)
{
    const char *given = text(args, name);
    if (!given || parse_real(given, bare_unit_ns, value_ns)) {
        return true;
    }
    g_auto(GStrv) parts = g_strsplit(given, " ", 2);
    g_autofree char *joined = g_strjoinv("", parts);
    if (lull_duration_parse(joined, value_ns, error)) {
        return true;
    }
    g_prefix_error(error, "--%s: ", name);
    return false;
}

static bool parse_size(const struct lull_args *args, const char *name, int64_t *value,
                       GError **error)
{
    const char *given = text(args, name);
    if (!given || parse_real(given, 1, value)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE, "--%s takes a number of bytes, not “%s”", name,
                given);
    return false;
}

/* Programs that read lttng-analyses expect a log to be whole. */
static bool parse_limit(const struct lull_args *args, struct lull_question_params *params,
                        GError **error)
{
    const char *given = text(args, "limit");
    guint64 number;
    params->limit = DEFAULT_LIMIT;
    if (!given) {
        return true;
    }
    if (strcmp(given, "unlimited") == 0) {
        params->limit = 0;
        return true;
    }
    if (!g_ascii_string_to_unsigned(given, 10, 0, UINT32_MAX, &number, NULL)) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--limit takes a whole number from 0, or unlimited, not “%s”", given);
        return false;
    }
    params->limit = (uint32_t)number;
    params->list_limit = params->is_lami || lull_args_is_dropin(args) ? 0 : params->limit;
    return true;
}

static void parse_sections(const struct lull_args *args, struct lull_question_params *params)
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
    params->sections = lull_args_verb(args)->ask->sections;
    for (uint32_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        params->sections |= flag(args, sections[i].name) ? sections[i].section : 0;
    }
    for (uint32_t i = 0; i < G_N_ELEMENTS(groupings); i++) {
        params->groupings |= flag(args, groupings[i].name) ? groupings[i].grouping : 0;
    }
}

static bool parse_freq(const struct lull_args *args, struct lull_question_params *params,
                       GError **error)
{
    const int64_t bins =
        lull_args_takes(args, "freq-resolution") ? lull_args_number(args, "freq-resolution") : -1;
    if (bins == 0 || bins > MAX_BINS) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--freq-resolution takes a number from 1 to %d", MAX_BINS);
        return false;
    }
    params->freq_resolution = bins < 0 ? DEFAULT_BINS : (uint32_t)bins;
    params->freq_series = flag(args, "freq-series");
    params->freq_uniform = params->freq_series || flag(args, "freq-uniform");
    params->freq_logarithmic = flag(args, "freq-log");
    return true;
}

bool lull_analysis_question_parse(struct lull_analysis_question *question,
                                  const struct lull_args *args, const struct lull_session *session,
                                  GError **error)
{
    struct lull_question_params *params = &question->params;
    params->min_ns = params->min_bytes = INT64_MIN;
    params->max_ns = params->max_bytes = INT64_MAX;
    params->by_order = flag(args, "by-order");
    params->is_lami = flag(args, "lami") || lull_args_verb(args)->is_mi;
    parse_sections(args, params);
    parse_comms(args, question);
    if (!lull_args_host(args, session, &params->host, error) ||
        !parse_list(args, "tid", &question->numbers[0], &params->tids, error) ||
        !parse_list(args, "cpu", &question->numbers[1], &params->cpus, error) ||
        !parse_list(args, "irq", &question->numbers[2], &params->irqs, error) ||
        !parse_list(args, "softirq", &question->numbers[3], &params->softirqs, error) ||
        !lull_args_duration(args, "min", 1e3, &params->min_ns, error) ||
        !lull_args_duration(args, "max", 1e3, &params->max_ns, error) ||
        !lull_args_duration(args, "refresh", 1e9, &question->slice_ns, error) ||
        !parse_size(args, "minsize", &params->min_bytes, error) ||
        !parse_size(args, "maxsize", &params->max_bytes, error) ||
        !parse_limit(args, params, error) || !parse_freq(args, params, error)) {
        return false;
    }
    if (text(args, "refresh") && question->slice_ns == 0) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--refresh takes a duration longer than 0");
        return false;
    }
    params->is_joint_irq_choice = params->irqs.count && params->softirqs.count;
    params->has_windows = question->slice_ns > 0 || (question->periods && !question->query);
    params->periods = question->query;
    return true;
}

void lull_analysis_question_clear(struct lull_analysis_question *question)
{
    lull_periods_question_free(question->query);
    lull_periods_free(question->periods);
    for (uint32_t i = 0; i < G_N_ELEMENTS(question->numbers); i++) {
        g_clear_pointer(&question->numbers[i], g_array_unref);
    }
    g_clear_pointer(&question->comms, g_strfreev);
}
