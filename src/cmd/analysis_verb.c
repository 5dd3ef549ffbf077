/* SPDX-License-Identifier: MIT */
/* Runs the verb of an analysis: opens the traces, puts the question to the runner, and has the
 * results shown as text, JSON or LAMI. */
#include "cmd/analysis_verb.h"

#include <inttypes.h>
#include <string.h>

#include "analysis/period_windows.h"
#include "analysis/questions.h"
#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/join_args.h"
#include "cmd/lami_args.h"
#include "cmd/options.h"
#include "view/result/view.h"

/* More slices than this, or far more of them than the traces have events, are a slip in the
 * duration, or in the times of a damaged trace. */
#define MAX_SLICES 1000000
#define MAX_FREE_SLICES 10000
#define LEAST_SLICE_BYTES 64

const char *const lull_analysis_common[] = {"intersection", "begin", "end",    "timerange",
                                            "local",        "host",  "filter", "no-sync",
                                            "json",         NULL};

static struct lull_result_view *open_view(const struct lull_args *args,
                                          const struct lull_session *session,
                                          const struct lull_question_params *params)
{
    struct lull_result_options options = {
        .file = stdout,
        .is_held = lull_lami_wants_progress(args),
        .has_hosts = lull_session_host_count(session) > 1 && params->host < 0,
        .analysis = lull_args_verb(args)->ask->analysis,
    };
    lull_view_style_init(&options.style, stdout, lull_lami_color(args));
    options.style.local_time = lull_args_flag(args, "local");
    if (params->is_lami) {
        return lull_result_lami_new(&options);
    }
    return lull_args_flag(args, "json") ? lull_result_json_new(&options)
                                        : lull_result_text_new(&options);
}

/* Who follows the periods: one of them, or none. */
struct followed {
    struct lull_period_windows *windows;
    struct lull_period_tracker *tracker;
};

static void set_periods(const struct lull_analysis_question *question, struct lull_session *session,
                        struct lull_runner *runner, int64_t start_ns, int64_t end_ns,
                        bool is_end_within, struct followed *followed)
{
    const int64_t behind_ns = end_ns + is_end_within;
    if (!question->query) {
        followed->windows =
            lull_period_windows_new(runner, session, question->periods, start_ns, behind_ns);
        return;
    }
    followed->tracker = lull_period_tracker_new(question->periods, session, NULL, NULL);
    lull_period_tracker_limit(followed->tracker, start_ns, behind_ns);
    question->query->tracker = followed->tracker;
    lull_runner_range(runner, start_ns, end_ns, 0);
}

static bool check_slices(const struct lull_session *session,
                         const struct lull_analysis_question *question,
                         const struct lull_runner *runner, int64_t start_ns, int64_t end_ns,
                         GError **error)
{
    int64_t first_ns, last_ns;
    uint64_t bytes = 0;
    if (question->slice_ns <= 0 || !lull_runner_coverage(runner, &first_ns, &last_ns)) {
        return true;
    }
    for (uint32_t i = 0; i < lull_session_trace_count(session); i++) {
        bytes += lull_session_trace(session, i)->size_bytes;
    }
    const int64_t most = (int64_t)CLAMP(bytes / LEAST_SLICE_BYTES, MAX_FREE_SLICES, MAX_SLICES);
    const int64_t count = (MIN(end_ns, last_ns) - MAX(start_ns, first_ns)) / question->slice_ns;
    if (count < most) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_QUESTION,
                "--refresh: that would be %" PRIi64 " slices of the time range; for traces of this "
                "size it may be %" PRIi64 ", so give a longer duration or a shorter time range",
                count + 1, most);
    return false;
}

/* Which windows there are: the time range of the options, whole or in slices, or periods. */
static bool set_windows(const struct lull_args *args, struct lull_session *session,
                        const struct lull_analysis_question *question, struct lull_runner *runner,
                        struct followed *followed, GError **error)
{
    int64_t start_ns, end_ns;
    if (!lull_args_range(args, session, &start_ns, &end_ns, error) ||
        !check_slices(session, question, runner, start_ns, end_ns, error)) {
        return false;
    }
    /* The end of lttng-analyses is within the range. */
    const bool is_end_within = lull_args_is_dropin(args) && end_ns < INT64_MAX;
    if (is_end_within) {
        lull_runner_include_end(runner);
    }
    if (question->periods) {
        set_periods(question, session, runner, start_ns, end_ns, is_end_within, followed);
    } else {
        lull_runner_range(runner, start_ns, end_ns, question->slice_ns);
    }
    return true;
}

/* What the results do not say; those of the verbs of periods have a note, but not in LAMI. */
static void report_periods(const struct followed *followed, bool is_lami)
{
    const struct lull_period_tracker *tracker = followed->tracker;
    if (followed->windows) {
        tracker = lull_period_windows_tracker(followed->windows);
    }
    if (!tracker || (followed->tracker && !is_lami)) {
        return;
    }
    fflush(stdout);
    if (lull_period_instance_count(tracker) == 0) {
        fputs("lull: no event opened a period\n", stderr);
    }
    if (lull_period_refused(tracker)) {
        fprintf(stderr,
                "lull: too many periods: %" PRIu64 " more were not followed; an end condition that "
                "is never true opens more and more\n",
                lull_period_refused(tracker));
    }
}

static void read_traces(const struct lull_args *args, struct lull_session *session,
                        struct lull_runner *runner)
{
    if (lull_lami_wants_progress(args)) {
        struct lull_lami_progress lines;
        lull_lami_progress_start(&lines, session);
        lull_runner_run(runner, lull_lami_progress_update, &lines);
        lull_lami_progress_end(&lines);
        return;
    }
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "reading", false);
    lull_runner_run(runner, lull_args_progress, &progress);
    lull_progress_end(&progress);
}

int lull_analysis_answer(const struct lull_args *args, struct lull_session *session,
                         const struct lull_analysis_question *question,
                         const struct lull_analysis_class *const *classes,
                         const struct lull_question_params *params, uint32_t n,
                         struct lull_result_view *view, GError **error)
{
    struct lull_runner *runner =
        lull_runner_new(session, classes, params, n, lull_result_sink(view));
    struct followed followed = {0};
    bool is_done = set_windows(args, session, question, runner, &followed, error);
    if (is_done) {
        read_traces(args, session, runner);
        is_done = lull_result_finish(view, error);
        report_periods(&followed, question->params.is_lami);
    } else {
        lull_result_drop(view);
    }
    lull_period_windows_free(followed.windows);
    lull_period_tracker_free(followed.tracker);
    lull_runner_free(runner);
    const int status = lull_args_report_damage(session);
    return question->params.is_lami ? !is_done : status | !is_done;
}

static int answer(const struct lull_args *args, struct lull_session *session,
                  const struct lull_analysis_question *question, GError **error)
{
    return lull_analysis_answer(args, session, question, &lull_args_verb(args)->ask->analysis,
                                &question->params, 1, open_view(args, session, &question->params),
                                error);
}

static int run_session(const struct lull_args *args, struct lull_session *session,
                       struct lull_analysis_question *question, GError **error)
{
    if (!lull_analysis_question_parse(question, args, session, error)) {
        return 1;
    }
    lull_session_select(session, question->params.host, -1);
    return lull_lami_wants_test(args)
               ? !lull_lami_test(lull_args_verb(args)->ask->analysis, session, error)
               : answer(args, session, question, error);
}

static int open_and_run(const struct lull_args *args, struct lull_analysis_question *question,
                        GError **error)
{
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return lull_args_is_dropin(args) ? LULL_DROPIN_NOT_OPENED : 1;
    }
    lull_args_join(args, session);
    const int status = run_session(args, session, question, error);
    lull_session_free(session);
    return status;
}

int lull_analysis_verb_run(const struct lull_args *args, GError **error)
{
    if (lull_lami_answers(args)) {
        return !lull_lami_answer(args, error);
    }
    struct lull_analysis_question question = {0};
    const int status = lull_analysis_question_periods(&question, args, error)
                           ? open_and_run(args, &question, error)
                           : 1;
    lull_analysis_question_clear(&question);
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

char *lull_analysis_verb_output(const struct lull_analysis_ask *ask)
{
    GString *text = g_string_new(
        "For each window of time (one, unless there is a --refresh or a --period) a line says what "
        "it covers and "
        "what was lost in it, notes what the trace lacks for this; then come the tables. ? "
        "means that the trace does not say. With --json:\n"
        "\n"
        " {\"version\":1,\"analysis\",\"windows\":[{\"begin_ns\",\"end_ns\",\"number\",\n"
        "  \"period\",\"captures\",\"is_complete\",\"lost_events\",\"lost_packets\",\n"
        "  \"notes\":[…],\"tables\":{NAME:[{KEY:VALUE,…},…],…}}]}\n"
        "\n"
        "Of several tables of one name, such as histograms, the rows are in one array and say "
        "under \"of\" which they belong to. What is not known is null. Processes are "
        "{\"comm\",\"tid\"}, interrupts {\"hard\",\"number\",\"name\"}, times and durations are in "
        "ns, sizes in bytes, shares from 0 to 1. The tables this analysis can give (heading, key, "
        "meaning; host only if there are several):");
    for (uint32_t i = 0; ask->analysis->tables[i]; i++) {
        describe_table(text, ask->analysis->tables[i]);
    }
    return g_string_free(text, FALSE);
}
