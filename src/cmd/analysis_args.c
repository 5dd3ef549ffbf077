/* SPDX-License-Identifier: MIT */
/* Hands the options that analyses share to the query that parses them. A verb has some of them; those
 * it lacks were not given. */
#include "cmd/analysis_args.h"

#include <stdio.h>

#include "cmd/options.h"
#include "cmd/say.h"

static void set(struct lull_query *query, const char *name, const char *value)
{
    if (value) {
        lull_query_set(query, name, value, NULL);
    }
}

/* Sets what was given of one option, which the verb has. */
static void set_option(const struct lull_args *args, const struct lull_setting *setting,
                       struct lull_query *query)
{
    const char *name = setting->name;
    switch (setting->kind) {
    case LULL_SETTING_FLAG:
        if (lull_args_flag(args, name)) {
            lull_query_set(query, name, NULL, NULL);
        }
        break;
    case LULL_SETTING_TEXT:
        set(query, name, lull_args_text(args, name));
        break;
    case LULL_SETTING_NUMBER: {
        g_autofree char *digits =
            g_strdup_printf("%" G_GINT64_FORMAT, lull_args_number(args, name));
        set(query, name, lull_args_number(args, name) >= 0 ? digits : NULL);
        break;
    }
    case LULL_SETTING_TEXTS: {
        const char *const *texts = lull_args_texts(args, name);
        for (; texts && *texts; texts++) {
            set(query, name, *texts);
        }
        break;
    }
    }
}

/* NULL: it is about none, or about many. */
static const struct lull_analysis_class *class_of(const struct lull_args *args)
{
    const struct lull_verb_analysis *analysis = lull_args_verb(args)->analysis;
    return analysis ? analysis->class : NULL;
}

/* The programs of lttng-analyses take these for periods too, and do nothing with them. */
static bool is_unused(const struct lull_args *args, const char *name)
{
    static const char *const whom[] = {"tid", "pid", "comm", "procname", "container", "cpu", NULL};
    const struct lull_analysis_class *class = class_of(args);
    return lull_args_is_dropin(args) && class && class->needs_periods &&
           g_strv_contains(whom, name);
}

struct lull_query *lull_args_query(const struct lull_args *args)
{
    const struct lull_verb *verb = lull_args_verb(args);
    const struct lull_analysis_class *class = class_of(args);
    /* An analysis that reads the session itself is in no table. */
    const bool is_run = class && lull_analysis_find(class->name);
    struct lull_query *query = lull_query_new(is_run ? class->name : NULL, NULL);
    const bool is_lami =
        (lull_args_takes(args, "lami") && lull_args_flag(args, "lami")) || verb->is_mi;
    for (const struct lull_setting *setting = lull_settings; setting->name; setting++) {
        if (lull_args_takes(args, setting->name) && !is_unused(args, setting->name)) {
            set_option(args, setting, query);
        }
    }
    query->sections = verb->analysis ? verb->analysis->sections : 0;
    query->params.is_lami = is_lami;
    query->has_whole_lists = is_lami || lull_args_is_dropin(args);
    query->may_lack_periods = query->is_end_within = lull_args_is_dropin(args);
    return query;
}

bool lull_args_query_periods(const struct lull_args *args, struct lull_query *query, GError **error)
{
    const bool done = lull_query_parse_periods(query, error);
    if (query->translated) {
        lull_say("lull: --period-begin and its like are deprecated; the same is --period '%s'\n",
                 query->translated);
    }
    return done;
}

bool lull_args_query_rest(const struct lull_args *args, struct lull_query *query,
                          struct lull_session *session, GError **error)
{
    int32_t host;
    int64_t start_ns, end_ns;
    if (!lull_args_host(args, session, &host, error) ||
        !lull_args_check_periods(args, session, query->periods, error)) {
        return false;
    }
    lull_query_limit(query, host, INT64_MIN, INT64_MAX);
    if (!lull_query_parse(query, error)) {
        return false;
    }
    lull_session_select(session, host, -1);
    if (!lull_args_range(args, session, &start_ns, &end_ns, error)) {
        return false;
    }
    lull_query_limit(query, host, start_ns, end_ns);
    return true;
}

bool lull_args_duration(const struct lull_args *args, const char *name, double bare_unit_ns,
                        int64_t *value_ns, GError **error)
{
    const char *given = lull_args_takes(args, name) ? lull_args_text(args, name) : NULL;
    return lull_duration_setting(name, given, bare_unit_ns, value_ns, error);
}
