/* SPDX-License-Identifier: MIT */
/* lull critpath: what a task or a request waited for. */
#include <stdio.h>
#include <string.h>

#include <lull/recording.h>

#include "answers/nearby.h"
#include "base/output.h"
#include "base/time.h"
#include "cmd/calls_args.h"
#include "cmd/critpath_calls.h"
#include "cmd/critpath_counts.h"
#include "cmd/critpath_period.h"
#include "cmd/instance_query.h"
#include "cmd/program_out.h"
#include "cmd/say.h"
#include "cmd/slowest_args.h"
#include "cmd/whom_args.h"
#include "view/view.h"

/* Of several tasks that fit what was asked for, which one it is; others: how many more there are. */
static void report_choice(const struct lull_args *args, const struct lull_session *session,
                          const struct lull_waits *waits, const struct lull_path *path,
                          uint32_t others)
{
    int64_t start_ns, end_ns;
    if (others == 0) {
        return;
    }
    g_autofree char *options = lull_args_whom_text(args);
    const uint32_t number = lull_path_task(path);
    const struct lull_task *task = lull_waits_task(waits, number);
    const bool has_hosts = lull_session_host_count(session) > 1;
    lull_say("lull: %u other task%s %s as well; this is the one that %s longest%s, %s, "
             "tid %d%s%s (choose another with --tid)\n",
             others, others == 1 ? " fits" : "s fit", options,
             lull_args_text(args, "comm") ? "had that name" : "lived",
             lull_waits_read_range(waits, &start_ns, &end_ns) ? " around that time" : "",
             lull_waits_comm(waits, number, INT64_MAX), task->tid, has_hosts ? " of host " : "",
             has_hosts ? lull_session_host(session, task->host)->name : "");
}

/* What is known from events that were not read is not known. */
static void report_range(const struct lull_args *args, const struct lull_waits *waits)
{
    int64_t start_ns, end_ns;
    if (!lull_waits_read_range(waits, &start_ns, &end_ns) || start_ns == INT64_MIN) {
        return;
    }
    char start[LULL_TIME_TEXT_SIZE];
    lull_time_format_iso(start_ns, lull_args_flag(args, "local"), start);
    lull_say("lull: read from %s on: files that were opened before have no names here "
             "(--read-all reads everything)\n",
             start);
}

static struct lull_path *find_path(const struct lull_args *args, struct lull_session *session,
                                   const struct lull_waits *waits, uint32_t *others, GError **error)
{
    int64_t start_ns, end_ns;
    const enum lull_path_kind kind =
        lull_args_flag(args, "unbounded") ? LULL_PATH_UNBOUNDED : LULL_PATH_BOUNDED;
    const int64_t request = lull_args_number(args, "request");
    struct lull_selection whom = lull_args_whom(args);
    if (request >= 0) {
        return lull_waits_request_path(waits, request, kind, error);
    }
    if (!lull_args_host(args, session, &whom.host, error) ||
        !lull_args_range(args, session, &start_ns, &end_ns, error)) {
        return NULL;
    }
    if (lull_args_whom_given(args) == 0) {
        return lull_waits_command_path(waits, whom.host, start_ns, end_ns, kind, error);
    }
    const uint32_t task = lull_waits_find_task(waits, &whom, others, error);
    return task == LULL_NONE ? NULL
           : whom.comm ? lull_waits_comm_path(waits, task, whom.comm, start_ns, end_ns, kind, error)
                       : lull_waits_task_path(waits, task, start_ns, end_ns, kind, error);
}

static bool write_file(const char *name, lull_write_path *view, const struct lull_path *path,
                       const struct lull_view_style *style, GError **error)
{
    struct lull_output *output = lull_output_new(name, error);
    if (!output) {
        return false;
    }
    if (view(path, lull_output_file(output), style, error)) {
        return lull_output_finish(output, error);
    }
    lull_output_discard(output);
    return false;
}

static const struct {
    const char *option;
    lull_write_path *view;
} files[] = {{"svg", lull_view_path_svg},
             {"html", lull_view_path_html},
             {"perfetto", lull_view_path_perfetto}};

const char *lull_critpath_file_option(const struct lull_args *args)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        if (lull_args_text(args, files[i].option)) {
            return files[i].option;
        }
    }
    return NULL;
}

bool lull_critpath_write_files(const struct lull_args *args, const struct lull_path *path,
                               const struct lull_view_style *style, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        const char *name = lull_args_text(args, files[i].option);
        if (name && !write_file(name, files[i].view, path, style, error)) {
            return false;
        }
    }
    return true;
}

uint32_t lull_critpath_files_on_stdout(const struct lull_args *args)
{
    uint32_t n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
        n += g_strcmp0(lull_args_text(args, files[i].option), "-") == 0;
    }
    return n;
}

/* Of more steps than a person reads at once, the longest are shown; --limit 0
 * shows all. */
#define DEFAULT_LIMIT 40

void lull_critpath_style(const struct lull_args *args, uint32_t most, struct lull_view_style *style)
{
    lull_view_style_init(style, stdout, lull_args_text(args, "color"));
    style->local_time = lull_args_flag(args, "local");
    style->full = lull_args_flag(args, "full");
    style->by_tid = lull_args_flag(args, "by-tid");
    style->stacks = lull_args_flag(args, "stacks");
    int64_t limit = lull_args_number(args, "limit");
    style->limit = limit >= 0 ? MIN(limit, UINT32_MAX) : style->full ? 0 : most;
}

static bool show(const struct lull_args *args, const struct lull_path *path,
                 const struct lull_path_calls *calls, const struct lull_path_counts *counts,
                 GError **error)
{
    struct lull_view_style style;
    lull_critpath_style(args, DEFAULT_LIMIT, &style);
    style.calls = calls;
    style.counts = counts;
    if (!lull_critpath_write_files(args, path, &style, error)) {
        return false;
    }
    if (lull_critpath_files_on_stdout(args) > 0) {
        return true;
    }
    if (lull_program_out_is_wanted(args)) {
        struct lull_program_out out;
        lull_program_out_start(&out, args);
        return lull_program_out_end(&out, lull_view_path_json(path, out.file, &style, error),
                                    error);
    }
    lull_write_path *view =
        lull_args_flag(args, "folded") ? lull_view_path_folded : lull_view_path_text;
    return view(path, stdout, &style, error);
}

bool lull_critpath_check_forms(const struct lull_args *args, GError **error)
{
    const uint32_t n_files = lull_critpath_files_on_stdout(args);
    if (n_files > 1 ||
        (n_files == 1 && (lull_program_out_is_wanted(args) || lull_args_flag(args, "folded")))) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "only one of --svg, --html, --perfetto, --json, --csv, --tsv and --folded can "
                    "go to standard output");
        return false;
    }
    return lull_program_out_check(args, lull_args_flag(args, "folded") ? "folded" : NULL, error);
}

static bool check_usage(const struct lull_args *args, GError **error)
{
    if (!lull_critpath_check_forms(args, error)) {
        return false;
    }
    struct lull_periods *none; /* there is no --period here */
    if (!lull_instance_query_periods(args, &none, error)) {
        return false;
    }
    if (lull_args_number(args, "request") < 0 || lull_args_whom_given(args) == 0) {
        return true;
    }
    g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                        "--request is a path of its own: leave out --tid, --pid, --comm and "
                        "--container");
    return false;
}

/* Whether it can be known whose path is meant, before all is read for it. */
static bool check_question(const struct lull_args *args, const struct lull_session *session,
                           GError **error)
{
    int32_t host;
    if (lull_args_number(args, "request") >= 0 || lull_args_whom_given(args) > 0) {
        return true;
    }
    if (!lull_args_host(args, session, &host, error)) {
        return false;
    }
    if (lull_session_command(session, host, NULL)) {
        return true;
    }
    g_set_error_literal(
        error, LULL_ERROR, LULL_ERROR_USAGE,
        "say whose path it is: a task's with --comm NAME, --tid N, --pid N or --container NAME, "
        "that of a request which 'lull requests' lists with --request ID, those of a period with "
        "--period DEF; of several recordings of commands, choose one with --host NAME");
    return false;
}

/* The path of a short time does not need what was recorded long before and after. */
static bool limit_reading(const struct lull_args *args, struct lull_session *session,
                          struct lull_waits *waits, bool has_request, GError **error)
{
    int64_t start_ns, end_ns;
    if (has_request || lull_args_flag(args, "read-all")) {
        return true;
    }
    if (!lull_args_range(args, session, &start_ns, &end_ns, error)) {
        return false;
    }
    lull_waits_near(waits, start_ns, end_ns, 0);
    return true;
}

/* The path, read again with more as long as it may depend on that. */
static struct lull_path *read_path(const struct lull_args *args, struct lull_session *session,
                                   struct lull_waits *waits, uint32_t *others, GError **error)
{
    for (;;) {
        g_autoptr(GError) why = NULL;
        *others = 0;
        lull_args_read(args, session, waits);
        struct lull_path *path = find_path(args, session, waits, others, &why);
        if (lull_waits_widen(waits, path)) {
            lull_path_free(path);
            continue;
        }
        if (why) {
            g_propagate_error(error, g_steal_pointer(&why));
        }
        return path;
    }
}

static bool answer(const struct lull_args *args, struct lull_session *session, GError **error)
{
    if (!check_question(args, session, error)) {
        return false;
    }
    lull_args_join(args, session);
    const bool has_request = lull_args_number(args, "request") >= 0;
    struct lull_waits *waits =
        lull_waits_new(session, LULL_WANT_PATHS | (has_request ? LULL_WANT_REQUESTS : 0), error);
    if (!waits) {
        return false;
    }
    if (!limit_reading(args, session, waits, has_request, error)) {
        lull_waits_free(waits);
        return false;
    }
    uint32_t others;
    struct lull_path *path = read_path(args, session, waits, &others, error);
    if (path) {
        report_choice(args, session, waits, path, others);
        report_range(args, waits);
    }
    struct lull_paths_calls *calls =
        path ? lull_args_path_calls(args, session, (const struct lull_path *const *)&path, 1)
             : NULL;
    struct lull_path_counts *counts = path ? lull_args_path_counts(args, session, path) : NULL;
    const bool done =
        path && show(args, path, calls ? lull_paths_calls_of(calls, 0) : NULL, counts, error);
    lull_path_counts_free(counts);
    lull_paths_calls_free(calls);
    lull_path_free(path);
    lull_waits_free(waits);
    return done;
}

static int run(const struct lull_args *args, GError **error)
{
    const bool is_of_many = lull_args_flag(args, "each") || lull_args_flag(args, "aggregate") ||
                            lull_args_text(args, "slowest") ||
                            lull_args_number(args, "instance") >= 0;
    if (lull_args_flag(args, "counters") && (lull_args_texts(args, "period") || is_of_many)) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--counters is about one path: choose it with --request, --tid, --pid, "
                            "--comm, --begin and --end");
        return 2;
    }
    if (lull_args_texts(args, "period") || is_of_many) {
        return lull_critpath_period_run(args, error);
    }
    if (!check_usage(args, error)) {
        return 2;
    }
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    const bool done = answer(args, session, error);
    /* Also when there is no answer: damage may be why. */
    const int status = lull_args_report_damage(session) | !done;
    lull_session_free(session);
    return status;
}

static const struct lull_option options[] = {
    {.name = "request",
     .letter = 'r',
     .kind = LULL_OPTION_NUMBER,
     .argument = "ID",
     .help = "the path of a request, by its id in 'lull requests'"},
    LULL_OPTIONS_INSTANCES,
    LULL_OPTION_SLOWEST(
        "the paths of the N instances of --period or, without it, of the requests that "
        "'lull requests' lists that took longest"),
    {.name = "each", .kind = LULL_OPTION_FLAG, .help = "the path of every instance, or request"},
    {.name = "instance",
     .kind = LULL_OPTION_NUMBER,
     .argument = "N",
     .help = "the path of the instance, or request, of this number"},
    {.name = "aggregate",
     .kind = LULL_OPTION_FLAG,
     .help = "only the sum of the paths of all instances, or requests"},
    {.name = "unbounded",
     .kind = LULL_OPTION_FLAG,
     .help = "follow the last cause all the way back, beyond the start of each wait: what "
             "determined when a task such as a batch job finished"},
    {.name = "read-all",
     .kind = LULL_OPTION_FLAG,
     .help = "with --begin or --end: read all of the traces, for names of what was opened long "
             "before"},
    {.name = "full",
     .kind = LULL_OPTION_FLAG,
     .help = "one line for every segment, nothing grouped, and all of the summary"},
    {.name = "by-tid",
     .kind = LULL_OPTION_FLAG,
     .help = "in the summary a line for every task, not for every program"},
    {.name = "stacks",
     .kind = LULL_OPTION_FLAG,
     .help = "below each wait the calls that started it, if they were recorded; for several "
             "waits in one line, those of the longest"},
    LULL_OPTION_PATH_CALLS,
    LULL_OPTION_PATH_COUNTS,
    LULL_OPTION_SYMBOLS_DIRECTORY,
    {.name = "svg",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "also draw the path as SVG; '-': to standard output, in place of the text"},
    {.name = "html",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help =
         "also write a page for the browser in which the path can be zoomed; '-' as with --svg"},
    {.name = "perfetto",
     .kind = LULL_OPTION_FILE,
     .argument = "FILE",
     .help = "also write a trace that ui.perfetto.dev opens; '-' as with --svg"},
    {.name = "folded",
     .kind = LULL_OPTION_FLAG,
     .help = "print stacks for flame graph tools instead"},
    {.name = NULL},
};

static const char *const common[] = {"intersection",
                                     "host",
                                     "pid",
                                     "tid",
                                     "comm",
                                     "container",
                                     "begin",
                                     "end",
                                     "timerange",
                                     "local",
                                     "filter",
                                     "limit",
                                     "no-sync",
                                     LULL_PROGRAM_OUT_COMMON,
                                     NULL};

static const struct lull_example examples[] = {
    {"lull critpath", "What the command of the last recording waited for."},
    {"lull critpath --request 17 client httpd db",
     "What a request waited for, across three machines."},
    {"lull critpath --comm postgres --host db client httpd db",
     "The whole life of the longest-lived task named postgres."},
    {"lull critpath --tid 4711 --begin +1.5s --end +2s my-trace", "Half a second of one task."},
    {"lull critpath --request 17 --svg path.svg client httpd db", "The same with a picture."},
    {"lull critpath --request 17 --html path.html client httpd db",
     "With a page that can be sent to others: it needs neither Lull nor a network."},
    {"lull critpath --calls --comm server my-trace",
     "In which functions the path of a task ran and waited, of a recording of calls."},
    {"lull critpath my-trace --period 'read : $evt.$name == \"syscall_entry_read\" : $evt.$name == "
     "\"syscall_exit_read\" && $evt.$tid == $begin.$evt.$tid'",
     "What every read() in the trace waited for, and all of them together."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_critpath = {
    .name = "critpath",
    .summary = "show what a task or a request waited for",
    .usage = "TRACE… [--request ID | [--host H] (--tid LIST | --comm LIST) | --period DEF]",
    .description =
        "Follows a task backwards. Where the task was blocked, the path goes on with the task "
        "that woke it, into that task's past: through processes, interrupts, disks, and packets "
        "to other machines, but never further back than the start of the wait. Of a server that "
        "waits for one of several descriptors, in epoll_wait, poll or select, it follows what the server "
        "had asked for, not what it did for others meanwhile. The steps cover "
        "the time in question exactly, without gap or overlap; if one of them were shorter, the "
        "whole would be shorter.\n"
        "With --unbounded the path does not return to the task that waited: it follows the last "
        "cause back to the start of the time in question.\n"
        "\n"
        "Each step has one state. running: on a CPU. interrupted: on a CPU, while an interrupt "
        "handler ran there. preempted: ready to run, while another task (it is named) had the "
        "CPU. blocked: waiting, with a cause: task (woken by another task that acted before "
        "this wait started), timer, disk (with device and request), network (a packet on its "
        "way, or from a machine that was not traced), user-input, ipi, irq, unknown. For a "
        "softirq, the path says who raised it, if the trace has that (irq:softirq_raise, as with "
        "'lull record --for all'); if a task did, the path goes on there. throttled: "
        "ready to run, but a CPU quota did not let it. That is known if the task left its CPU and the CPU was "
        "idle then, unless 'lull record' saw all quotas of the machine and none was used up; "
        "or from a recording of 'lull record', if the kernel counted such times of its control "
        "group, the group had used up its quota, and none of its tasks ran until the next period. "
        "The summary is followed by what the kernel counted. Where the "
        "path goes into a wait, a line before says what was waited for and who ended it: the "
        "system call with its file, futex or child. A task of a virtual machine also waits for its virtual "
        "CPU, a thread of the host, if both are recorded and their clocks joined ('lull sync').\n"
        "\n"
        "For a recording of 'lull record', the path is that of the recorded command, from its "
        "exec to its exit, unless options say otherwise. For any other trace, without --begin "
        "and --end, it covers the task's whole life in the trace; with --comm, that of the program: from "
        "its exec, if the task had another name before. --pid takes the "
        "thread that the process started with. Of several tasks that fit a list, a name, a pattern or a "
        "container it takes the one that lived longest, or with --comm had such a name longest, "
        "and says how many others there are; --tid, --pid, "
        "--comm and --container together leave those that fit all of them. "
        "With --begin or --end, no more of a large trace is read than the path needs: what was "
        "recorded shortly before and after, and the state dump. So --comm takes the task that "
        "had the name longest around that time; files that were opened before, and arguments of calls "
        "that had started, are not known then. --read-all reads everything. The "
        "summary comes first: by cause, that is which program was in which state for which "
        "reason, how often, how long at most, and who waited for it; then by state and by "
        "program. What runs is its own code (user mode; page faults count to it, because no event reports "
        "their end), a system call, memory reclaim (the kernel frees memory for it), memory compaction (the kernel moves memory, to have some in one piece), its core dump "
        "(after a signal that ends it so), or a thread of the kernel, as far as that was recorded. Then the path. If it has "
        "more than 40 steps (or N with --limit N), steps that repeat at least three times "
        "become one line with their number, and the longest are shown, as many as it takes to "
        "cover 99 % of the time; what is left out is "
        "counted in its place, with what it was. Where no step stands out, and those shown would not cover 90 %, what repeats is listed instead: how often which program did what. "
        "--limit 0 shows all steps. --full shows each segment. --json, --csv and --tsv have all segments, "
        "whatever the limit.\n"
        "\n"
        "With --period there is a path for each instance of a period ('lull help periods'): "
        "that of the task that ran the closing event or, if that is unknown, the opening one. "
        "By default, the output is a table of the instances, with the largest part of each, and "
        "the sum of their paths by host, task name, state, cause and the part of the detail "
        "that is the same each time. --slowest, --each and --instance show paths in full before "
        "the sum; --svg, --html and --perfetto draw one. --begin and --end choose the instances between "
        "them; --host, --tid and --comm choose the instances of such tasks. Instances without "
        "an end are listed separately. Without --period, these options are for the requests that "
        "'lull requests' finds.\n"
        "\n"
        "With --counters, of a trace with counters ('lull counters'), a table says what was counted in each "
        "task of the path while the path was with it; standard error says what of the path is not "
        "known, and what was shared out by time.\n"
        "\n"
        "With --calls, of a trace that also has calls of functions ('lull calls'), the summary ends "
        "with the functions in which the path was, and in which state. A system call, and what the "
        "kernel does, counts to the function that made it. Below each step are the stacks on which "
        "most of it was spent, the innermost call first. --folded then has the calls between task and "
        "state.\n"
        "\n"
        "--filter hides events from the path as if they had not been recorded. Without "
        "sched_switch no task ever waits; without wake-ups no wait has a cause.",
    .output =
        "With --json:\n"
        "\n"
        " {\"version\":1,\n"
        "  \"query\":{\"host\",\"tid\",\"comm\",\"begin_ns\",\"end_ns\",\n"
        "           \"asked_begin_ns\",\"asked_end_ns\",\"started_by\",\"command\",\n"
        "           \"command_line\"},\n"
        "  \"segments\":[{\"host\",\"tid\",\"pid\",\"comm\",\"begin_ns\",\"end_ns\",\n"
        "               \"state\",\"cause\",\"cpu\",\"detail\",\"object\",\"operation\",\n"
        "               \"by\":{\"tid\",\"comm\",\"call\"},\n"
        "               \"reason\":{\"kind\",\"call\",\"object\",\"fd\",\"address\",\"timed_out\"},\n"
        "               \"wait\",\"tcp\":{\"kind\",\"first_ns\",\"last_ns\",\"times\",\n"
        "               \"nagle\"},\"mostly\",\"mostly_ns\"}],\n"
        "  \"waits\":[{\"within\",\"host\",\"tid\",\"comm\",\"begin_ns\",\"end_ns\",\"detail\",\n"
        "            \"by\":{as above},\"reason\":{as above}}],\n"
        "  \"summary\":{\"by_state\":[{\"state\",\"cause\",\"duration_ns\",\"share\"}],\n"
        "             \"by_mode\":[{\"mode\",\"duration_ns\",\"share\"}],\n"
        "             \"by_cause\":[{\"host\",\"program\",\"state\",\"cause\",\"detail\",\"mode\",\n"
        "                          \"duration_ns\",\"share\",\"count\",\"longest_ns\",\n"
        "                          \"waiter\",\"waiter_kind\",\"waiter_call\",\n"
        "                          \"waiter_object\",\"object\",\"object_ns\"}],\n"
        "             \"by_task\":[{\"host\",\"tid\",\"comm\",\"started_by\",\"container\",\n"
        "                         \"command_line\",\"duration_ns\",\"share\"}],\n"
        "             \"by_host\":[{\"host\",\"duration_ns\",\"share\"}],\n"
        "             \"by_container\":[{\"host\",\"name\",\"duration_ns\",\"share\"}],\n"
        "             \"by_function\":[{\"function\",\"kind\",\"object\",\"state\",\n"
        "                             \"cause\",\"duration_ns\",\"share\"}]},\n"
        "  \"sync\":[{\"host\",\"offset_ns\",\"drift_ppm\",\"bound_ns\"}],\n"
        "  \"kills\":[{\"host\",\"tid\",\"comm\",\"time_ns\",\"by\",\"limit\",\n"
        "            \"resident_bytes\",\"asker_tid\",\"asker_comm\"}],\n"
        "  \"idle_elsewhere\":[{\"host\",\"tid\",\"comm\",\"cpu\",\"waited_ns\",\"idle_ns\"}],\n"
        "  \"cpu_quotas\":[{\"cgroup\",\"quota_us\",\"period_us\",\"periods\",\n"
        "                 \"throttled_periods\",\"throttled_ns\",\"gone\"}],\n"
        "  \"calls\":{\"nodes\":[{\"parent\",\"function\",\"kind\",\"object\"}],\n"
        "           \"parts\":[{\"segment\",\"begin_ns\",\"end_ns\",\"node\",\n"
        "                     \"uncertain\"}]},\n"
        "  \"lost\":{\"events\",\"packets\"}}\n"
        "\n"
        "With --period:\n"
        "\n"
        " {\"version\":1,\"period\",\n"
        "  \"instances\":[{\"number\",\"begin_ns\",\"duration_ns\",\"host\",\"tid\",\"comm\",\n"
        "    \"captures\":{\"begin\":{…},\"end\":{…}},\"most\":{\"host\",\"comm\",\"state\",\n"
        "    \"cause\",\"detail\",\"duration_ns\",\"share\"},\"lost_events\",\"lost_packets\"}],\n"
        "  \"without_path\":[the same without most],\n"
        "  \"sum\":[{\"host\",\"comm\",\"state\",\"cause\",\"detail\",\"duration_ns\",\"share\",\n"
        "    \"instances\",\"mean_ns\",\"min_ns\",\"max_ns\"}],\n"
        "  \"paths\":[{\"number\",\"path\":{as above}}]}\n"
        "\n"
        "Times are integers in nanoseconds since 1970 on the joined clock; each segment "
        "starts where the "
        "one before ends. Its \"wait\" is the number of the wait in \"waits\" that it explains, or "
        "null; "
        "a wait lies \"within\" another in the same way. \"by\" is the task that ended the wait, that "
        "sent "
        "the packet, that had the CPU longest, or, where another thread of the process than the first executed a program, that thread; \"reason\" is the system call in which the task "
        "waited "
        "and what that call is about. \"tcp\" is there only if the headers of packets show that TCP "
        "itself waited: \"kind\" is sent-again, syn-again, delayed-ack or zero-window. \"mode\" is what runs: user, call (\"detail\" names it), kernel, reclaim, compaction, dump, or "
        "null if system calls were not recorded; \"by_mode\" sums to the time that is running. A "
        "segment that runs says what \"mostly\", if that is known, and for how long. A negative tid is the interrupt context of CPU -1-tid. Where call "
        "chains were "
        "recorded ('perf record -g'), a blocked segment also has "
        "\"stack\":[{\"object\",\"offset\"}], the "
        "calls that started the wait, innermost first; a call at an address where no file is known "
        "has "
        "\"object\":null and \"address\". Where the name of the function is known, \"symbol\" is that "
        "name, and \"symbol_offset\" the place in it. \"counters\" of segments, \"by_state\" and \"by_task\" are there with --counters, where something was "
        "counted: the number by the name of each. \"calls\" and \"by_function\" are there with --calls: "
        "a part of a segment was spent in one call, which \"nodes\" names with its callers, from \"parent\" to "
        "\"parent\"; both are named by their place in the list. by_function sums up to the whole path, and has "
        "null for what was in no call that was recorded. \"kills\" are the processes of the path that the kernel killed meanwhile, "
        "\"by\" the OOM killer (oom: \"limit\" is cgroup or machine, whichever had no memory left, and \"asker_tid\" "
        "who needed some) or for a reason that is not recorded (kernel). \"idle_elsewhere\" are tasks of the path that waited for their CPU (null: for several) "
        "for half a millisecond or more at a time, and for how long of that another CPU of the host was idle. \"cpu_quotas\" are those that kept tasks off the CPU, in the "
        "whole recording, in control groups to which tasks of the path belong; \"throttled_ns\" is "
        "summed over CPUs.",
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
