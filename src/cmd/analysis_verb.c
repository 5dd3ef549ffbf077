/* SPDX-License-Identifier: MIT */
/* Runs the verb of an analysis: opens the traces, puts the question to the runner, and has the
 * results shown as text, JSON or LAMI. */
#include "cmd/analysis_verb.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/questions.h"
#include "analysis/stolen.h"
#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/join_args.h"
#include "cmd/lami_args.h"
#include "cmd/options.h"
#include "cmd/program_out.h"
#include "cmd/say.h"
#include "view/result/view.h"

const char *const lull_analysis_common[] = {
    "intersection", "begin", "end", "timerange", "local",      "host", "filter",
    "no-sync",      "json",  "csv", "tsv",       "json-times", NULL};

struct lull_result_view *lull_analysis_open_view(const struct lull_args *args,
                                                 struct lull_result_options *options)
{
    const bool is_csv = lull_args_flag(args, "csv"), is_tsv = lull_args_flag(args, "tsv");
    options->style.local_time = lull_args_flag(args, "local");
    options->has_iso_times = g_strcmp0(lull_args_text(args, "json-times"), "iso") == 0;
    options->separator = is_csv ? ',' : '\t';
    options->notes = stderr;
    return lull_args_flag(args, "json") ? lull_result_json_new(options)
           : is_csv || is_tsv           ? lull_result_csv_new(options)
                                        : lull_result_text_new(options);
}

static struct lull_result_view *open_view(const struct lull_args *args,
                                          const struct lull_session *session,
                                          const struct lull_question_params *params)
{
    struct lull_result_options options = {
        .file = stdout,
        .is_held = lull_lami_wants_progress(args),
        .has_hosts = lull_session_host_count(session) > 1 && params->host < 0,
        .has_guests = lull_stolen_is_known(session, params->host),
        .rows_of = lull_group_by_name(params->by),
        .analysis = lull_args_verb(args)->analysis->class,
    };
    lull_view_style_init(&options.style, stdout, lull_lami_color(args));
    return params->is_lami ? lull_result_lami_new(&options)
                           : lull_analysis_open_view(args, &options);
}

/* What the results do not say; those of the verbs of periods have a note, but not in LAMI. */
static void report_periods(const struct lull_query *query)
{
    if (!query->has_followed || (query->question && !query->params.is_lami)) {
        return;
    }
    fflush(stdout);
    if (query->n_instances == 0) {
        lull_say("lull: no event opened a period\n");
    }
    if (query->n_refused) {
        lull_say("lull: too many periods: %" PRIu64
                 " more were not followed; an end condition that "
                 "is never true opens more and more\n",
                 query->n_refused);
    }
}

/* Reads with the progress that the command line requests. */
static bool read_traces(const struct lull_args *args, struct lull_session *session,
                        struct lull_query *query, const struct lull_analysis_class *const *classes,
                        const struct lull_question_params *params, uint32_t n,
                        struct lull_sink *sink, GError **error)
{
    if (lull_lami_wants_progress(args)) {
        struct lull_lami_progress lines;
        lull_lami_progress_start(&lines, session);
        const bool done = lull_query_read(query, session, classes, params, n, sink,
                                          lull_lami_progress_update, &lines, error);
        lull_lami_progress_end(&lines);
        return done;
    }
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    const bool done = lull_query_read(query, session, classes, params, n, sink, lull_args_progress,
                                      &progress, error);
    lull_progress_end(&progress);
    return done;
}

int lull_analysis_answer(const struct lull_args *args, struct lull_session *session,
                         struct lull_query *query, const struct lull_analysis_class *const *classes,
                         const struct lull_question_params *params, uint32_t n,
                         struct lull_result_view *view, GError **error)
{
    bool is_done =
        read_traces(args, session, query, classes, params, n, lull_result_sink(view), error);
    if (is_done) {
        is_done = lull_result_finish(view, error);
        report_periods(query);
    } else {
        lull_result_drop(view);
    }
    const int status = lull_args_report_damage(session);
    return query->params.is_lami ? !is_done : status | !is_done;
}

static int run_session(const struct lull_args *args, struct lull_session *session,
                       struct lull_query *query, GError **error)
{
    if (!lull_args_query_rest(args, query, session, error)) {
        return 1;
    }
    return lull_lami_wants_test(args)
               ? !lull_lami_test(query->analysis, session, error)
               : lull_analysis_answer(args, session, query, &query->analysis, &query->params, 1,
                                      open_view(args, session, &query->params), error);
}

static int open_and_run(const struct lull_args *args, struct lull_query *query, GError **error)
{
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return lull_args_is_dropin(args) ? LULL_DROPIN_NOT_OPENED : 1;
    }
    lull_args_join(args, session);
    const int status = run_session(args, session, query, error);
    lull_session_free(session);
    return status;
}

int lull_analysis_verb_run(const struct lull_args *args, GError **error)
{
    if (!lull_program_out_check(args, NULL, error)) {
        return 2;
    }
    if (lull_lami_answers(args)) {
        return !lull_lami_answer(args, error);
    }
    struct lull_query *query = lull_args_query(args);
    const int status =
        lull_args_query_periods(args, query, error) ? open_and_run(args, query, error) : 1;
    lull_query_free(query);
    return status;
}

/* ---- what is printed, for the man page ---- */

static void describe_table(GString *text, const struct lull_result_class *class)
{
    g_string_append_printf(text, "\n\n%s (%s%s):\n\n", class->title, class->name,
                           class->is_own ? ", not in LAMI" : "");
    for (const struct lull_result_column *c = class->columns; c->title; c++) {
        if (!(c->use & LULL_USE_LAMI)) {
            g_string_append_printf(text, " %-16s %-16s %s\n", c->heading ? c->heading : "", c->key,
                                   c->title);
        }
    }
}

static bool takes(const struct lull_verb *verb, const char *name)
{
    uint32_t count, n_own;
    g_autofree const struct lull_option **options = lull_verb_options(verb, &count, &n_own);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(options[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

char *lull_analysis_verb_output(const struct lull_verb *verb)
{
    const struct lull_verb_analysis *analysis = verb->analysis;
    GString *text = g_string_new("For each window of time (one");
    if (takes(verb, "refresh")) {
        g_string_append_printf(text, ", unless there is a --refresh%s",
                               takes(verb, "period") ? " or a --period" : "");
    }
    g_string_append(
        text,
        ") a line says what it covers and "
        "what was lost in it, notes what the trace lacks for this; then come the tables. ? "
        "means that the trace does not say. With --json:\n"
        "\n"
        " {\"version\":1,\"analysis\",\"windows\":[{\"begin_ns\",\"end_ns\",\"number\",\n"
        "  \"period\",\"captures\",\"is_complete\",\"lost_events\",\"lost_packets\",\n"
        "  \"notes\":[…],\"tables\":{NAME:[{KEY:VALUE,…},…],…}}]}\n"
        "\n"
        "--csv and --tsv print the same tables: a line of headings, which are the keys of JSON, then a "
        "line for each row, each with analysis, table, of, begin_ns and end_ns of its window first "
        "(and period and captures, if it is a period's); a cell of several values is several fields, "
        "as task.comm, task.pid and task.tid; what is not known is empty. Notes are left out.\n"
        "\n"
        "A JSON Schema of this is installed as share/lull/schema/lull-VERB.schema.json.\n"
        "\n"
        "Of several tables of one name, such as histograms, the rows are in one array and say "
        "under \"of\" which they belong to. What is not known is null. Processes are "
        "{\"comm\",\"tid\"}, interrupts {\"hard\",\"number\",\"name\"}, times and durations are in "
        "ns, sizes in bytes, shares from 0 to 1. The tables this analysis can give (heading, key, "
        "meaning; host only if there are several):");
    for (uint32_t i = 0; analysis->class->tables[i]; i++) {
        describe_table(text, analysis->class->tables[i]);
    }
    return g_string_free(text, FALSE);
}
