/* SPDX-License-Identifier: MIT */
/* lull why: what the slow instances of a period, or the slow requests, do that the typical ones do
 * not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lull/error.h>

#include "base/time.h"
#include "cmd/calls_args.h"
#include "cmd/instance_query.h"
#include "cmd/program_out.h"
#include "cmd/progress.h"
#include "cmd/say.h"
#include "cmd/slowest_args.h"
#include "view/why/why.h"

/* What --limit 0 comes to. */
#define MOST_SENTENCES 1000

/* ---- options ---- */

static bool complain(GError **error, const char *what)
{
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE, what);
    return false;
}

static bool parse_rule(const struct lull_args *args, struct lull_why_rule *rule, GError **error)
{
    struct lull_slowest slowest;
    const char *end, *slower = lull_args_text(args, "slower-than");
    const char *typical = lull_args_text(args, "typical");
    const int64_t limit = lull_args_number(args, "limit");
    if (limit >= 0) {
        rule->limit = limit ? (uint32_t)MIN(limit, MOST_SENTENCES) : MOST_SENTENCES;
    }
    if (!lull_args_slowest(args, &slowest, error)) {
        return false;
    }
    rule->slowest = slowest.percent;
    rule->n_slowest = slowest.count;
    if (lull_args_text(args, "slowest") && slower) {
        return complain(error, "choose one of --slowest and --slower-than");
    }
    if (slower && !lull_duration_parse(slower, &rule->slower_than_ns, error)) {
        g_prefix_error(error, "--slower-than: ");
        return false;
    }
    if (typical && (!lull_parse_percent(typical, &rule->typical[0], &end) || *end != '-' ||
                    !lull_parse_percent(end + 1, &rule->typical[1], &end) || *end ||
                    rule->typical[0] >= rule->typical[1])) {
        return complain(error, "--typical takes two percentiles, as in 25-75");
    }
    if (lull_args_text(args, "group-by") && !lull_args_texts(args, "period")) {
        return complain(error, "--group-by needs a --period and --period-captures");
    }
    if (lull_args_number(args, "port") >= 0 && lull_args_texts(args, "period")) {
        return complain(error, "--port is for requests: leave it out with --period");
    }
    return true;
}

static void append_option(GString *out, const char *name, const char *value)
{
    g_autofree char *quoted = g_shell_quote(value);
    g_string_append_printf(out, " --%s %s", name, quoted);
}

static void append_texts(GString *out, const struct lull_args *args, const char *name)
{
    for (const char *const *text = lull_args_texts(args, name); text && *text; text++) {
        append_option(out, name, *text);
    }
}

static bool is_plain(const char *word)
{
    for (; *word; word++) {
        if (!g_ascii_isalnum(*word) && !strchr("/._-+:,@%", *word)) {
            return false;
        }
    }
    return true;
}

/* The command that shows one of the instances; its number is to follow. Numbers depend on what
 * else was requested, so that question is put again. */
static char *make_command(const struct lull_args *args)
{
    static const char *const flags[] = {"no-sync", "intersection", "local"};
    static const char *const texts[] = {"filter", "begin", "end", "timerange", "select"};
    const bool has_period = lull_args_texts(args, "period");
    uint32_t count;
    const char *const *traces = lull_args_rest(args, &count);
    GString *out = g_string_new("lull critpath");
    for (uint32_t i = 0; i < count; i++) {
        g_autofree char *quoted =
            is_plain(traces[i]) ? g_strdup(traces[i]) : g_shell_quote(traces[i]);
        g_string_append_printf(out, " %s", quoted);
    }
    append_texts(out, args, "period");
    append_texts(out, args, "period-captures");
    for (size_t i = 0; i < G_N_ELEMENTS(flags); i++) {
        if (lull_args_flag(args, flags[i])) {
            g_string_append_printf(out, " --%s", flags[i]);
        }
    }
    for (size_t i = 0; i < (has_period ? G_N_ELEMENTS(texts) : 1); i++) {
        if (lull_args_text(args, texts[i])) {
            append_option(out, texts[i], lull_args_text(args, texts[i]));
        }
    }
    g_string_append(out, has_period ? " --instance" : " --request");
    return g_string_free(out, FALSE);
}

/* ---- the answer ---- */

/* --calls; NULL without it. */
static struct lull_why_calls *read_calls(const struct lull_instance_query *query,
                                         const struct lull_why *why)
{
    struct lull_progress progress;
    if (!lull_args_flag(query->args, "calls")) {
        return NULL;
    }
    lull_progress_start(&progress, query->args, query->session, "reading calls", false);
    struct lull_why_calls *calls =
        lull_why_calls_read(why, query->session, lull_args_progress, &progress);
    lull_progress_end(&progress);
    if (!lull_why_calls_are_any(calls)) {
        lull_say("lull: no call of a function was recorded for tasks that were compared; "
                 "docs/CALLS.md says how to record them\n");
    }
    return calls;
}

static bool show(const struct lull_instance_query *query, const struct lull_why *why,
                 const struct lull_why_calls *calls, GError **error)
{
    const struct lull_args *args = query->args;
    g_autofree char *command = make_command(args);
    const struct lull_why_shown shown = {
        .paths = lull_instance_paths_of(query->instances, NULL),
        .why = why,
        .command = command,
        .calls = calls,
    };
    if (lull_program_out_is_wanted(args)) {
        struct lull_program_out out;
        lull_program_out_start(&out, args);
        return lull_program_out_end(&out, lull_view_why_json(&shown, out.file, error), error);
    }
    struct lull_view_style style;
    lull_view_style_init(&style, stdout, lull_args_text(args, "color"));
    style.local_time = lull_args_flag(args, "local");
    return lull_view_why_text(&shown, stdout, &style, error);
}

static int run(const struct lull_args *args, GError **error)
{
    struct lull_instance_query query;
    struct lull_why_rule rule = LULL_WHY_DEFAULT;
    int status = 2;
    if (!lull_program_out_check(args, NULL, error) || !parse_rule(args, &rule, error)) {
        return status;
    }
    if (lull_instance_query_read(&query, args, &status, error)) {
        struct lull_why *why = lull_why_compare(query.instances, &query.selection, &rule);
        if (lull_instances_count(query.instances) == 0 && !lull_args_texts(args, "period")) {
            lull_args_warn_requests(args, query.session);
        }
        struct lull_why_calls *calls = read_calls(&query, why);
        status = show(&query, why, calls, error) ? 0 : 1;
        lull_why_calls_free(calls);
        status |= lull_args_report_damage(query.session);
        lull_why_free(why);
    }
    lull_instance_query_clear(&query);
    return status;
}

static const struct lull_option options[] = {
    LULL_OPTIONS_INSTANCES,
    {.name = "group-by",
     .kind = LULL_OPTION_TEXT,
     .argument = "CAPTURES",
     .help = "compare only instances that captured the same under these names (commas between)"},
    {.name = "port",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "without --period: only requests to this port of the server"},
    LULL_OPTION_SLOWEST("the slow ones are the N of each kind that took longest (default: 10%, or "
                        "those of them that lie clearly apart)"),
    {.name = "slower-than",
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "the slow ones are those that took longer than T, as in 200ms"},
    {.name = "typical",
     .kind = LULL_OPTION_TEXT,
     .argument = "A-B",
     .help = "the typical ones lie between these percentiles of the duration (default: 25-75)"},
    {.name = "calls",
     .kind = LULL_OPTION_FLAG,
     .help = "also in which functions the slow ones spent the difference, if calls of functions "
             "were recorded ('lull calls')"},
    LULL_OPTION_SYMBOLS_DIRECTORY,
    {.name = NULL},
};

static const char *const common[] = {"intersection",
                                     "begin",
                                     "end",
                                     "timerange",
                                     "local",
                                     "host",
                                     "pid",
                                     "tid",
                                     "comm",
                                     "container",
                                     "filter",
                                     "limit",
                                     "no-sync",
                                     LULL_PROGRAM_OUT_COMMON,
                                     NULL};

static const struct lull_example examples[] = {
    {"lull why client httpd db", "Why some requests between these machines take longer."},
    {"lull why --port 80 --slowest 5% client httpd db",
     "The slowest 5 % of those to a web server against typical ones."},
    {"lull why --calls my-trace",
     "With the functions in which it happens, of a recording of calls."},
    {"lull why --period 'request : $evt.$name == \"request_begin\" : $evt.$name == "
     "\"request_end\" && $evt.id == $begin.$evt.id' --period-captures 'request : uri = $evt.uri' "
     "--group-by uri my-trace",
     "Requests as the application's own events show them, each URI separately."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_why = {
    .name = "why",
    .summary = "explain what makes slow requests slow",
    .usage = "TRACE… [--period DEF]",
    .description =
        "Compares the critical paths of slow instances with those of typical ones. Ranked "
        "sentences say what the slow ones wait for or do more, how much of the difference that "
        "explains, where it happens, and how certain it is.\n"
        "\n"
        "Without --period the instances are the requests that 'lull requests' finds; requests "
        "of the same client program and host to the same server are compared with each other. "
        "With --period they are the instances of that period ('lull help periods'). Use "
        "--group-by and captures to separate instances that cannot be compared, such as GET and "
        "POST.\n"
        "\n"
        "Slow means the slowest 10 %, at least one; if some of them are far from the rest "
        "(beyond the third quartile by 1.5 times the interquartile range), only those. Typical "
        "means the middle half, from the 25th to the 75th percentile of the duration. "
        "--slowest, --slower-than and --typical change this. Fewer than 4 instances are not "
        "compared. If the slow ones take less than 10 % longer, there is nothing to explain.\n"
        "\n"
        "The steps of a critical path cover the instance exactly, so the mean differences of "
        "all steps add up to the difference of the durations, and each has its share of it. "
        "Steps count as the same if host, task name, state, cause and detail (peer, waker, "
        "system call) are equal. Preemption by any task is one thing, and so are interrupts and "
        "disk waits. A wait for a lock (futex, flock, semop, …) is one thing with all that "
        "happens meanwhile; a futex may also be a condition variable, which the kernel does not "
        "distinguish.\n"
        "\n"
        "A sentence needs a difference that is unlikely to be chance. Either one slow instance "
        "has far more of it than any typical one, or the 95 % interval (from a bootstrap that "
        "is the same each time) is above 0; with fewer than 5 slow instances, one of them must "
        "also have more of it than any typical one. Anything below 5 % of the difference is "
        "left out. At most 5 sentences are printed for each kind, or N with --limit N. The "
        "output says what was lost or cannot be known.\n"
        "\n"
        "With --calls, of a trace that also has calls of functions, it adds in which functions, and in "
        "which state, the paths of the slow ones spent more time: 5 at most, and nothing below 5 % of the "
        "difference. A system call counts to the function that made it. The differences of all functions, "
        "and of what was in none, add up to that of the durations.",
    .output =
        "With --json:\n"
        "\n"
        " {\"version\":1,\"without_path\",\"not_joined\":[HOST],\n"
        "  \"kinds\":[{\"kind\",\"verdict\",\"instances\",\n"
        "   \"slow\":[{\"number\",\"begin_ns\",\"duration_ns\",\"host\",\"tid\",\"comm\",\n"
        "            \"captures\"}], \"typical\":[the same],\n"
        "   \"slow_ns\",\"typical_ns\",\"difference_ns\",\"less_ns\",\"unknown_ns\",\n"
        "   \"lost_events\",\"lost_packets\",\n"
        "   \"contributions\":[{\"sentence\",\"host\",\"comm\",\"state\",\"cause\",\"detail\",\n"
        "     \"tid\",\"other_tid\",\"lock\":{\"host\",\"comm\",\"call\",\"holder\",\n"
        "     \"holder_tid\",\"is_worker\",\"is_kernel\"},\"details\":[{…,\"tid\",\"inside\",\"difference_ns\"}],\n"
        "     \"through\",\n"
        "     \"started_by\",\"command_line\",\n"
        "     \"difference_ns\",\"share\",\"low_ns\",\"high_ns\",\"slow_ns\",\"typical_ns\",\n"
        "     \"outstanding\",\"waited_ns\",\"idle_ns\",\"most\"}],\n"
        "   \"functions\":[{\"function\",\"kind\",\"state\",\"cause\",\"slow_ns\",\n"
        "     \"typical_ns\",\"difference_ns\"}]}]}\n"
        "\n"
        "verdict is explained, unclear, alike, none-slow, no-typical or too-few. slow_ns and "
        "typical_ns are means; low_ns and high_ns the 95 % interval of difference_ns; outstanding "
        "is how many slow ones have more of it than any typical one, most the number of the slow "
        "one that has most of it; if the sentence is about being preempted, waited_ns is how long it took there in waits "
        "of half a millisecond and more, and idle_ns for how long of that another CPU was idle. started_by lists who started the task that the "
        "sentence is about, oldest first: the one that had the CPU or the lock, if that is it. A "
        "tid is null where several tasks are meant. functions is there with --calls, and has all; "
        "function is null for what was in no call that was recorded. not_joined has the "
        "hosts whose clocks could not be joined with the others ('lull sync'): no path leads from "
        "one to another of them.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
