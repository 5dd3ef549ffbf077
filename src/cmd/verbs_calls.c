/* SPDX-License-Identifier: MIT */
/* The verbs of function calls: lull calls and lull calllog. */
#include <string.h>

#include "analysis/calls.h"
#include "answers/tasks.h"
#include "cmd/analysis_args.h"
#include "cmd/analysis_verb.h"
#include "cmd/calls_args.h"
#include "cmd/join_args.h"
#include "cmd/lami_args.h"
#include "cmd/options.h"
#include "cmd/program_out.h"
#include "cmd/progress.h"
#include "view/result/view.h"

static const struct lull_option calls_options[] = {
    LULL_OPTION_LOG,       LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_TASKS,
    LULL_OPTIONS_DURATION, LULL_OPTION_SYMBOLS,    {.name = NULL},
};
static const struct lull_option calllog_options[] = {
    LULL_OPTION_TOP,       LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_TASKS,
    LULL_OPTIONS_DURATION, LULL_OPTION_SYMBOLS,    {.name = NULL},
};

struct check {
    const struct lull_query *query;
    GError **error;
};

/* Whoever asks about a task that never was does not know it. */
static bool check_tasks(void *user, const struct lull_model *model)
{
    const struct check *check = user;
    return lull_check_tasks(model, check->query->host, &check->query->params, check->error);
}

static int show(const struct lull_args *args, struct lull_session *session,
                struct lull_query *query, struct lull_calls_question *question, GError **error)
{
    struct check check = {query, error};
    if (!lull_args_query_rest(args, query, session, error)) {
        return 1;
    }
    struct lull_result_options view_options = {
        .file = stdout,
        .has_hosts = lull_session_host_count(session) > 1 && query->params.host < 0,
        .analysis = &lull_analysis_calls,
    };
    lull_view_style_init(&view_options.style, stdout, lull_lami_color(args));
    struct lull_result_view *view = lull_analysis_open_view(args, &view_options);
    struct lull_progress progress;
    question->params = &query->params;
    question->check = check_tasks;
    question->check_user = &check;
    question->start_ns = query->start_ns;
    question->end_ns = query->end_ns;
    lull_progress_start(&progress, args, session, "reading", false);
    lull_calls_report(question, session, lull_result_sink(view), lull_args_progress, &progress);
    lull_progress_end(&progress);
    if (*error) {
        lull_result_drop(view);
        return 1;
    }
    const bool is_done = lull_result_finish(view, error);
    return lull_args_report_damage(session) | !is_done;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_calls_question question = {0};
    struct lull_symbol_table *others;
    if (!lull_program_out_check(args, NULL, error) || !lull_args_symbols(args, &others, error)) {
        return error && *error && (*error)->code != LULL_ERROR_USAGE ? 1 : 2;
    }
    question.others = others;
    struct lull_query *query = lull_args_query(args);
    struct lull_session *session = lull_args_open_traces(args, error);
    int status = 1;
    if (session) {
        lull_args_join(args, session);
        status = show(args, session, query, &question, error);
        lull_session_free(session);
    }
    lull_query_free(query);
    lull_symbol_table_free(others);
    return status;
}

static const struct lull_example calls_examples[] = {
    {"lull calls my-trace", "The functions that took most time of their own."},
    {"lull calls --comm worker --begin +2s --end +3s my-trace",
     "The same of some tasks, in one second."},
    {"lull calls --symbols names.txt my-trace",
     "With the names of a program that is no longer there, as nm printed them."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_calls = {
    .name = "calls",
    .summary = "show which functions were called, how often, and how long they took",
    .usage = "TRACE…",
    .description =
        "Needed is a recording of calls and returns: of LTTng's user-space tracer with GCC's "
        "-finstrument-functions (liblttng-ust-cyg-profile.so, or its short form), of Python (events "
        "python:call and python:return), or of ftrace's function tracers. docs/CALLS.md says how. "
        "From them come the call stacks of each task over time, exactly: a return ends all that "
        "the function called, also what longjmp jumped over.\n"
        "\n"
        "TOTAL is the time from calls to returns, SELF what of it was spent in the function itself. "
        "A function that calls itself counts once in TOTAL. If switches of tasks were recorded "
        "with the same clock, ON CPU and BLOCKED say what its tasks did meanwhile, and system calls "
        "are frames above the functions that made them.\n"
        "\n"
        "Calls from before --begin are on the stacks; only what lies within the time counts.\n"
        "\n"
        "Names come from the files of this machine that have the build-id that was recorded. Others "
        "are shown as file and address in it, or with --symbols named from a list.",
    .options = calls_options,
    .common = lull_analysis_common,
    .examples = calls_examples,
    .run = run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_calls, LULL_SECTION_TOP},
};

static const struct lull_example calllog_examples[] = {
    {"lull calllog --min 1ms my-trace", "Each call that took a millisecond or more."},
    {"lull calllog --tid 4021 --begin +2s --end +2.01s my-trace",
     "All that a thread called in a hundredth of a second."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_calllog = {
    .name = "calllog",
    .summary = "show each call of a function",
    .usage = "TRACE…",
    .description =
        "Calls come in order of their start; DEPTH is the number of calls that each is within. "
        "HOW says what is special: unwound: it did not return, but its caller did (longjmp, an "
        "error that skips callers, or a return that was not recorded). cut: it was of the kernel, "
        "and its task went on outside. open: it had not returned when its task, its program or the "
        "trace ended. inherited: it was called by the parent process, before the fork. uncertain: "
        "events were lost while it lasted. early: it started before --begin.\n"
        "\n"
        "'lull calls' has the sums, and says what must be recorded.",
    .options = calllog_options,
    .common = lull_analysis_common,
    .examples = calllog_examples,
    .run = run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_calls, LULL_SECTION_LOG},
};
