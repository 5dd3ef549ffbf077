/* SPDX-License-Identifier: MIT */
/* The verbs of function calls, and of what was allocated in them: lull calls, calllog and heap. */
#include <string.h>

#include "analysis/calls.h"
#include "analysis/heap.h"
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
    {.name = "callers",
     .kind = LULL_OPTION_TEXT,
     .argument = "FUNCTION",
     .help = "who called this function, in place of all functions; * and ? stand for others"},
    {.name = "callees",
     .kind = LULL_OPTION_TEXT,
     .argument = "FUNCTION",
     .help = "what this function called"},
    {.name = "at",
     .kind = LULL_OPTION_TEXT,
     .argument = "TIME",
     .help = "the stacks of tasks at that time (as --begin takes it), the innermost call first"},
    LULL_OPTION_CALLS_WEIGHT,
    LULL_OPTION_LOG,
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTIONS_TASKS,
    LULL_OPTIONS_DURATION,
    LULL_OPTION_SYMBOLS,
    {.name = NULL},
};
static const struct lull_option calllog_options[] = {
    LULL_OPTION_TOP,       LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_TASKS,
    LULL_OPTIONS_DURATION, LULL_OPTION_SYMBOLS,    {.name = NULL},
};

static const struct lull_option heap_options[] = {
    {.name = "weight",
     .kind = LULL_OPTION_CHOICE,
     .argument = "WHAT",
     .choices = lull_heap_weights,
     .help = "what has most comes first: live (if not given), peak, allocated, allocations, "
             "temporary"},
    {.name = "ignore",
     .kind = LULL_OPTION_TEXTS,
     .argument = "PATTERN",
     .help = "leave out what a function or a file of a matching name allocated, or called: "
             "'libpython*'"},
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTIONS_TASKS,
    LULL_OPTION_SYMBOLS,
    {.name = NULL},
};

struct check {
    const struct lull_query *query;
    struct lull_session *session;
    GError **error;
};

/* Whoever asks about a task that never was does not know it. */
static bool check_tasks(void *user, const struct lull_model *model)
{
    const struct check *check = user;
    const struct lull_selection whom =
        lull_params_selection(check->query->host, &check->query->params);
    return lull_check_left_tasks(check->session, model, &whom, check->error);
}

static bool report(const struct lull_args *args, const struct lull_calls_question *question,
                   struct lull_session *session, struct lull_sink *sink,
                   struct lull_progress *progress, GError **error)
{
    if (lull_args_verb(args)->analysis->class == &lull_analysis_heap) {
        const struct lull_heap_question heap = {.calls = *question,
                                                .order = lull_args_heap_weight(args, "weight"),
                                                .ignored = lull_args_texts(args, "ignore")};
        return lull_heap_report(&heap, session, sink, lull_args_progress, progress, error);
    }
    lull_calls_report(question, session, sink, lull_args_progress, progress);
    return true;
}

/* Only 'lull calls' has questions about one function or one time. */
static bool has_questions(const struct lull_args *args)
{
    return lull_args_takes(args, "at");
}

/* False: options that exclude each other. */
static bool check_usage(const struct lull_args *args, GError **error)
{
    static const char *const others[] = {"callers", "callees", "begin",  "end", "timerange",
                                         "min",     "max",     "weight", NULL};
    if (!has_questions(args) || !lull_args_text(args, "at")) {
        return true;
    }
    const char *other = lull_args_flag(args, "log") ? "log" : NULL;
    for (size_t i = 0; others[i]; i++) {
        other = lull_args_text(args, others[i]) ? others[i] : other;
    }
    if (other) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--at shows the stacks of one time: leave out --%s", other);
    }
    return !other;
}

static bool take_question(const struct lull_args *args, struct lull_session *session,
                          struct lull_calls_question *question, GError **error)
{
    question->at_ns = INT64_MIN;
    if (!has_questions(args)) {
        return true;
    }
    question->callers = lull_args_text(args, "callers");
    question->callees = lull_args_text(args, "callees");
    question->weight = lull_args_text(args, "weight");
    return lull_args_moment(args, "at", session, &question->at_ns, error);
}

static int show(const struct lull_args *args, struct lull_session *session,
                struct lull_query *query, struct lull_calls_question *question, GError **error)
{
    struct check check = {query, session, error};
    if (!lull_args_query_rest(args, query, session, error) ||
        !take_question(args, session, question, error)) {
        return 1;
    }
    struct lull_result_options view_options = {
        .file = stdout,
        .has_hosts = lull_session_host_count(session) > 1 && query->params.host < 0,
        .analysis = lull_args_verb(args)->analysis->class,
    };
    lull_view_style_init(&view_options.style, stdout, lull_lami_color(args));
    struct lull_result_view *view = lull_analysis_open_view(args, &view_options);
    struct lull_progress progress;
    question->params = &query->params;
    question->error = error;
    question->check = check_tasks;
    question->check_user = &check;
    question->start_ns = query->start_ns;
    question->end_ns = query->end_ns;
    lull_progress_start(&progress, args, session, "reading", false);
    const bool is_good = report(args, question, session, lull_result_sink(view), &progress, error);
    lull_progress_end(&progress);
    if (!is_good || *error) {
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
    if (!check_usage(args, error) || !lull_program_out_check(args, NULL, error) ||
        !lull_args_symbols(args, &others, error)) {
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
    {"lull calls --callers read_all my-trace",
     "Who called a function, and for how much of its time."},
    {"lull calls --callees 'main.py:*' my-trace",
     "What the functions of a program of Python called."},
    {"lull calls --at +1.5s --tid 4021 my-trace", "Where a thread was at a moment."},
    {"lull calls --weight page-faults my-trace", "The functions that touched most new memory."},
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
        "--callers and --callees show whose calls of a function its time belongs to, and what it called meanwhile. "
        "Where a function calls itself, each nanosecond still counts once: to who called the outermost "
        "call, and to what the innermost called.\n"
        "\n"
        "With --weight, counters that were recorded with the calls, or of the machine meanwhile ('lull record "
        "--functions --counters', lttng add-context -u -t perf:thread:NAME, perf's), say what was counted in each "
        "function: with what it called, and in its OWN code. What rose between two reads of a counter belongs to the "
        "calls between them; if they are several, by their time on a CPU. A second table says what of each counter was "
        "counted in calls, and where the rest was: together they are what it rose.\n"
        "\n"
        "Calls from before --begin are on the stacks; only what lies within the time counts.\n"
        "\n"
        "Names come from the files of this machine that have the build-id that was recorded. Others "
        "are shown as file and address in it, or with --symbols named from a list. LINE is where the source of the "
        "function starts, if it was compiled with debug information (gcc -g).",
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

static const struct lull_example heap_examples[] = {
    {"lull heap my-trace", "What was never freed, by the calls that allocated it."},
    {"lull heap --weight peak my-trace", "What there was when the process had most memory."},
    {"lull heap --weight temporary --ignore 'libstdc++*' my-trace",
     "What was allocated only to be freed at once."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_heap = {
    .name = "heap",
    .summary = "show what programs allocated, what they had at most, and what they never freed",
    .usage = "TRACE…",
    .description =
        "Needed is a recording of allocations: of 'lull record --heap', or of LTTng's user-space tracer "
        "(liblttng-ust-libc-wrapper.so, events lttng_ust_libc:*; docs/CALLS.md says how).\n"
        "\n"
        "The first table has a row for each path of calls that allocated memory: LIVE was not freed when "
        "the process ended or executed another program, or at the end of the trace; AT PEAK is what was there when "
        "its process had most; ALLOCATED is all together. Memory counts for the path that "
        "allocated it, whoever frees it. If calls of functions were recorded too (see 'lull "
        "calls'), PATH is the call stack, innermost "
        "first; else it is the function that called malloc. TEMPORARY counts what the same thread freed before "
        "it allocated again.\n"
        "\n"
        "A realloc frees the old block, and allocates a new one where it was called. What programs "
        "and libraries keep until they end is live too; --ignore leaves out what is not yours.\n"
        "\n"
        "Only what was allocated after --begin counts, and it is live if it was not freed before --end. "
        "A child process starts with copies of its parent's memory, if the kernel recorded the "
        "fork. They count in neither table, and freeing them is no mistake.",
    .options = heap_options,
    .common = lull_analysis_common,
    .examples = heap_examples,
    .run = run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_heap, LULL_SECTION_TOP},
};
