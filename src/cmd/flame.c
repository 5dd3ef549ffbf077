/* SPDX-License-Identifier: MIT */
/* lull flame: where the time went, by stacks, for flame graphs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/counter_names.h"
#include "answers/tasks.h"
#include "base/output.h"
#include "cmd/analysis_args.h"
#include "cmd/calls_args.h"
#include "cmd/join_args.h"
#include "cmd/options.h"
#include "cmd/progress.h"
#include "cmd/say.h"
#include "view/flame/flame.h"

static const char *const sources[] = {"calls", "samples", NULL};

static const struct lull_option options[] = {
    {.name = "svg",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "draw the flame graph as SVG; '-': to standard output"},
    {.name = "speedscope",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help =
         "write a profile that www.speedscope.app opens: each call over time, else (samples, --off-cpu, --weight, --diff, --heap) stacks and what they weigh"},
    {.name = "perfetto",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "write each call over time as a trace that ui.perfetto.dev opens"},
    {.name = "pprof",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "write a profile that pprof reads, packed by gzip"},
    {.name = "heap",
     .kind = LULL_OPTION_CHOICE,
     .argument = "WHAT",
     .choices = lull_heap_weights,
     .help = "memory instead of time, by what allocated it, as 'lull heap' has it: bytes that are "
             "live, at the peak, or allocated; allocations, or temporary ones"},
    {.name = "off-cpu",
     .kind = LULL_OPTION_FLAG,
     .help = "only the time for which tasks were blocked, by cause"},
    {.name = "from",
     .kind = LULL_OPTION_CHOICE,
     .argument = "WHAT",
     .help = "from calls and returns, or from samples of stacks (if not given: from calls, if the "
             "trace has some)",
     .choices = sources},
    LULL_OPTION_CALLS_WEIGHT,
    {.name = "diff",
     .kind = LULL_OPTION_FILE,
     .argument = "TRACE",
     .help = "compare with another trace: stacks with what they weighed there, then here"},
    LULL_OPTIONS_TASKS,
    LULL_OPTION_SYMBOLS,
    LULL_OPTION_INLINES,
    {.name = NULL},
};

/* What is asked of each trace. */
struct question {
    const struct lull_args *args;
    const struct lull_symbol_table *others;
    struct lull_query *query;
    struct lull_calls_reading reading;
    LULL_VEC(struct lull_call) log;
    uint32_t counter; /* that is the weight */
    bool wants_log;
    bool is_other; /* what is compared with: has tasks of its own */
};

static bool wants(void *user, uint32_t task)
{
    const struct question *question = user;
    return lull_params_want_task(&question->query->params, question->reading.model, task,
                                 question->reading.end_ns);
}

static void keep_call(void *user, const struct lull_call *call)
{
    struct question *question = user;
    lull_vec_push(&question->log, *call);
}

/* ---- a trace ---- */

static bool read_session(struct question *question, struct lull_session *session, GError **error)
{
    struct lull_progress progress;
    if (!lull_args_query_rest(question->args, question->query, session, error)) {
        return false;
    }
    const struct lull_query *query = question->query;
    question->reading.wants_heap = lull_args_text(question->args, "heap") != NULL;
    question->reading.wants_samples = !question->reading.wants_heap;
    question->reading.wants_containers = query->params.containers != NULL;
    question->reading.wants_counters =
        lull_calls_weight_is_counter(lull_args_text(question->args, "weight"));
    lull_progress_start(&progress, question->args, session, "reading", false);
    const bool has_events = lull_calls_read(
        &question->reading, session, query->host, query->start_ns, query->end_ns,
        question->wants_log ? keep_call : NULL, question, lull_args_progress, &progress);
    lull_progress_end(&progress);
    if (has_events && question->reading.wants_counters &&
        !lull_counter_find(question->reading.model, lull_args_text(question->args, "weight"),
                           &question->counter, error)) {
        return false;
    }
    const struct lull_selection whom = lull_params_selection(query->host, &query->params);
    return question->is_other ||
           lull_check_left_tasks(session, question->reading.model, &whom, error);
}

static bool use_samples(const struct question *question)
{
    const char *from =
        lull_args_text(question->args, "weight") ? "calls" : lull_args_text(question->args, "from");
    return from ? g_str_equal(from, "samples")
                : lull_calls_line_count(question->reading.calls) == 0;
}

static enum lull_flame_weight weight_of(const struct question *question)
{
    return question->reading.counts                                          ? LULL_FLAME_COUNTED
           : g_strcmp0(lull_args_text(question->args, "weight"), "cpu") == 0 ? LULL_FLAME_ON
           : lull_args_flag(question->args, "off-cpu")                       ? LULL_FLAME_OFF
                                                                             : LULL_FLAME_ALL;
}

static const char *unit_of(const struct question *question)
{
    const char *name = question->reading.counts
                           ? lull_counter_name(question->reading.model, question->counter)
                           : NULL;
    return name && !lull_counter_is_clock(name) ? name : "ns";
}

/* The flame of what was read, not finished. */
static struct lull_flame *grow(struct question *question, const struct lull_session *session)
{
    const enum lull_flame_weight weight = weight_of(question);
    const struct lull_flame_choice choice = {
        .wants = wants,
        .user = question,
        .is_by_name = lull_args_text(question->args, "diff") != NULL,
        .has_hosts = lull_session_host_count(session) > 1 && question->query->host < 0,
        .others = question->others,
        .wants_sources = lull_args_text(question->args, "speedscope") ||
                         lull_args_text(question->args, "pprof") ||
                         lull_args_flag(question->args, "json"),
        .wants_columns = lull_args_text(question->args, "pprof") != NULL,
        .counts = question->reading.counts,
        .counter = question->counter};
    struct lull_flame *flame = lull_flame_new(unit_of(question));
    if (!question->reading.calls) {
        return flame;
    }
    if (question->reading.heap) {
        lull_flame_add_heap(flame, question->reading.heap, question->reading.calls,
                            question->reading.model, lull_args_heap_weight(question->args, "heap"),
                            &choice);
    } else if (use_samples(question)) {
        lull_flame_add_samples(flame, question->reading.samples, weight, &choice);
    } else {
        lull_flame_add_calls(flame, question->reading.calls, question->reading.model, weight,
                             &choice);
    }
    return flame;
}

/* Stacks that were recorded as they lay in memory, and could not be unwound to the end. */
static void report_ends(const struct lull_stack_ends *ends)
{
    if (ends->n_short) {
        lull_say("lull: %" PRIu64 " of %" PRIu64
                 " stacks lack their outer calls: more of the stack must be "
                 "recorded (--call-graph dwarf,32768)\n",
                 ends->n_short, ends->n);
    }
    if (ends->n_unknown) {
        lull_say("lull: %" PRIu64 " of %" PRIu64
                 " stacks lack calls: nothing says how functions call in %s; "
                 "--symbols names a directory with its file (or perf record --buildid-all)\n",
                 ends->n_unknown, ends->n, ends->file);
    }
}

/* What the stacks do not say. */
static void report(const struct question *question, const struct lull_flame *flame)
{
    if (flame->n_nodes == 1) {
        lull_say("lull: nothing was found: there are %s; docs/CALLS.md says how to record "
                 "that\n",
                 question->reading.wants_heap ? "no allocations that count"
                 : lull_args_flag(question->args, "off-cpu")
                     ? "no stacks with which tasks fell asleep"
                     : "neither calls of functions nor samples of stacks");
    }
    const struct lull_stack_ends ends = lull_model_stack_ends(question->reading.model);
    report_ends(&ends);
    if (flame->n_broken && ends.n == 0) {
        lull_say(
            "lull: %" PRIu64 " stack%s calls: code without frame pointers "
            "(-fno-omit-frame-pointer keeps them; --call-graph=dwarf records what does without)\n",
            flame->n_broken, flame->n_broken == 1 ? " lacks" : "s lack");
    }
    if (flame->n_ignored) {
        lull_say("lull: only samples of %s are shown; the trace has others\n", flame->event);
    }
}

/* ---- files ---- */

static const struct {
    const char *option;
    /* NULL: needs the calls */
    bool (*view)(const struct lull_flame *flame, FILE *file, GError **error);
    /* Of calls over time; NULL: cannot show them. */
    bool (*view_calls)(const struct lull_calls *calls, const struct lull_model *model,
                       const struct lull_symbol_table *others, const struct lull_call *log,
                       size_t n, FILE *file, GError **error);
} files[] = {{"svg", lull_view_flame_svg, NULL},
             {"speedscope", lull_view_flame_speedscope, lull_view_calls_speedscope},
             {"pprof", lull_view_flame_pprof, NULL},
             {"perfetto", NULL, lull_view_calls_perfetto}};

/* Calls over time say more than what stacks weigh, where that is the time itself. */
static bool wants_calls_of_speedscope(const struct lull_args *args)
{
    return lull_args_text(args, "speedscope") && !lull_args_text(args, "heap") &&
           !lull_args_text(args, "weight") && !lull_args_text(args, "diff") &&
           !lull_args_flag(args, "off-cpu");
}

/* Leaves out the calls of tasks that are not wanted. */
static void choose_calls(struct question *question)
{
    size_t n = 0;
    for (size_t i = 0; i < question->log.count; i++) {
        const struct lull_call *call = &question->log.items[i];
        if (wants(question, lull_calls_line(question->reading.calls, call->line)->task)) {
            question->log.items[n++] = *call;
        }
    }
    question->log.count = n;
}

static bool write_file(struct question *question, const struct lull_flame *flame, size_t form,
                       const char *name, GError **error)
{
    struct lull_output *output = lull_output_new(name, error);
    if (!output) {
        return false;
    }
    FILE *file = lull_output_file(output);
    const bool is_over_time =
        !files[form].view || (files[form].view_calls && wants_calls_of_speedscope(question->args) &&
                              question->reading.calls && !use_samples(question));
    const bool is_done =
        is_over_time ? files[form].view_calls(question->reading.calls, question->reading.model,
                                              question->others, question->log.items,
                                              question->log.count, file, error)
                     : files[form].view(flame, file, error);
    if (is_done) {
        return lull_output_finish(output, error);
    }
    lull_output_discard(output);
    return false;
}

static bool write_all(struct question *question, const struct lull_flame *flame, GError **error)
{
    bool has_file = false;
    choose_calls(question);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        const char *name = lull_args_text(question->args, files[i].option);
        if (name && (files[i].view || question->reading.calls)) {
            has_file = true;
            if (!write_file(question, flame, i, name, error)) {
                return false;
            }
        }
    }
    if (lull_args_flag(question->args, "json")) {
        return lull_view_flame_json(flame, stdout, error);
    }
    return has_file || lull_view_flame_folded(flame, stdout, error);
}

/* ---- the whole ---- */

static void clear(struct question *question)
{
    lull_calls_reading_clear(&question->reading);
    lull_vec_free(&question->log);
    lull_query_free(question->query);
}

/* Adds the trace that is compared with. */
static bool compare(const struct question *question, struct lull_flame *flame, GError **error)
{
    struct question other = {.args = question->args,
                             .others = question->others,
                             .query = lull_args_query(question->args),
                             .is_other = true};
    struct lull_session *session = lull_args_new_session(question->args, error);
    bool is_done = false;
    if (session && lull_session_add(session, lull_args_text(question->args, "diff"), error) &&
        read_session(&other, session, error)) {
        struct lull_flame *before = grow(&other, session);
        lull_flame_compare(flame, before);
        lull_flame_free(before);
        is_done = true;
    }
    clear(&other);
    lull_session_free(session);
    return is_done;
}

static int show(struct question *question, struct lull_session *session, GError **error)
{
    if (!read_session(question, session, error)) {
        return 1;
    }
    struct lull_flame *flame = grow(question, session);
    bool is_done = !lull_args_text(question->args, "diff") || compare(question, flame, error);
    if (is_done) {
        lull_flame_finish(flame);
        report(question, flame);
        is_done = write_all(question, flame, error);
    }
    lull_flame_free(flame);
    return lull_args_report_damage(session) | !is_done;
}

/* Only one thing goes to standard output. */
static bool check_usage(const struct lull_args *args, GError **error)
{
    uint32_t n = lull_args_flag(args, "json");
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        n += g_strcmp0(lull_args_text(args, files[i].option), "-") == 0;
    }
    if (lull_args_text(args, "weight") &&
        (lull_args_flag(args, "off-cpu") || lull_args_text(args, "heap") ||
         lull_args_text(args, "perfetto") ||
         g_strcmp0(lull_args_text(args, "from"), "samples") == 0)) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--weight is about calls and returns: leave out --off-cpu, --heap, "
                            "--perfetto and --from samples");
        return false;
    }
    if (lull_args_text(args, "heap") &&
        (lull_args_flag(args, "off-cpu") || lull_args_text(args, "from") ||
         lull_args_text(args, "perfetto"))) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--heap is about memory; --off-cpu, --from and --perfetto are about "
                            "time");
        return false;
    }
    if (n > 1) {
        g_set_error_literal(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            "only one of --svg, --speedscope, --pprof, --perfetto and --json can go "
            "to standard output");
    }
    return n <= 1;
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_symbol_table *others;
    if (!check_usage(args, error)) {
        return 2;
    }
    if (!lull_args_symbols(args, &others, error)) {
        return 1;
    }
    struct question question = {.args = args,
                                .others = others,
                                .query = lull_args_query(args),
                                .wants_log = lull_args_text(args, "perfetto") ||
                                             wants_calls_of_speedscope(args)};
    struct lull_session *session = lull_args_open_traces(args, error);
    int status = 1;
    if (session) {
        lull_args_join(args, session);
        status = show(&question, session, error);
    }
    clear(&question);
    lull_session_free(session);
    lull_symbol_table_free(others);
    return status;
}

static const struct lull_example examples[] = {
    {"lull flame --svg flame.svg my-trace", "A picture of where the time went."},
    {"lull flame --off-cpu --svg waits.svg my-trace", "The same of waits."},
    {"lull flame --diff my-trace my-trace", "Each stack with its time in two traces."},
    {"lull flame --weight page-faults my-trace", "Where the page faults came from."},
    {"lull flame --heap live --svg leaks.svg my-trace",
     "A picture of what allocated the memory that was never freed."},
    {"lull flame --tid 4021 --perfetto calls.json my-trace",
     "Each call of one thread, over time, for ui.perfetto.dev."},
    {NULL, NULL},
};

static const char *const common[] = {"intersection", "begin",  "end",     "timerange", "local",
                                     "host",         "filter", "no-sync", "json",      NULL};

const struct lull_verb lull_verb_flame = {
    .name = "flame",
    .summary = "show where the time went, by call stacks, as a flame graph",
    .usage = "TRACE…",
    .description =
        "Prints a line for each stack: the task, the functions from the outermost to the innermost, "
        "semicolons between them, and the nanoseconds that were spent there. Tools that draw flame "
        "graphs read this; --svg draws one at once: callers below, what they called above, each as wide "
        "as its time.\n"
        "\n"
        "Stacks come from calls and returns, as 'lull calls' has them, or from samples: those of 'perf "
        "record --call-graph' (cpu-clock, cycles, instructions; other events are left out), and with "
        "--off-cpu those with which tasks fell asleep (sched_switch, likewise). Times of calls "
        "and of samples are never mixed.\n"
        "\n"
        "A frame in brackets is a system call, as [read], an interrupt, as [softirq NET_RX], or what a task waited for, as [disk] or [task]; "
        "[preempted] is time without a CPU, [blocked] a wait of unknown cause.\n"
        "\n"
        "With --weight cpu stacks weigh the time that they were on a CPU, with --weight and the name of a counter what was "
        "counted in them, as 'lull calls' has it.\n"
        "\n"
        "With --diff, two numbers follow each stack: what it weighed in the other trace, and in this; tasks of "
        "one name are one. "
        "--svg then draws this one, red where it weighs more than before, blue where less.",
    .output =
        "Text: FRAME;FRAME;… WEIGHT. With --json:\n"
        "\n"
        " {\"version\":1,\"unit\",\"broken\",\"frames\":[{\"name\",\"file\",\"line\"},…],\n"
        "  \"nodes\":[{\"parent\",\"frame\",\"self\",\"total\",\"other_self\",\"other_total\"},…]}\n"
        "\n"
        "The first node is the root; parents come before their children, and are named by their place in "
        "the list. file and line say where the source of a function starts, if that is known. other_self and other_total are "
        "those of --diff. \"unit\" is \"ns\", or the event that was sampled or the counter; with --heap \"bytes\" or "
        "\"allocations\".",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
