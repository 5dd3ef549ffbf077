/* SPDX-License-Identifier: MIT */
/* lull record: records this machine while a command runs, and says what came of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lull/error.h>

#include "base/bits.h"
#include "base/size.h"
#include "base/time.h"
#include "cmd/analysis_args.h"
#include "cmd/record_cut.h"
#include "cmd/say.h"
#include "cmd/status.h"
#include "cmd/verb.h"
#include "record/counters.h"
#include "record/hooks.h"
#include "record/recorder.h"
#include "view/words.h"

/* ---- the question ---- */

static bool read_pids(const struct lull_args *args, GArray *pids, GError **error)
{
    const struct lull_numbers given = lull_args_numbers(args, "pid");
    for (uint32_t i = 0; i < given.count; i++) {
        const pid_t pid = (pid_t)given.items[i];
        if (pid == 0) {
            g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                                "--pid: no process has the id 0, which is that of idle CPUs");
            return false;
        }
        g_array_append_val(pids, pid);
    }
    return true;
}

/* "64M": bytes, or with k, M, G of 1024. */
static bool parse_size(const char *text, uint64_t *bytes, GError **error)
{
    if (!text || lull_size_parse(text, bytes)) {
        return true;
    }
    g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                "--buffer takes a size from 1 to 1024G, such as 64M, not “%s”", text);
    return false;
}

/* Before anything is recorded. */
static bool check_counters(const char *list, GError **error)
{
    g_autoptr(GStringChunk) texts = g_string_chunk_new(64);
    bool is_default;
    g_autoptr(GArray) counters = list ? lull_counters_parse(list, texts, &is_default, error) : NULL;
    return !list || counters;
}

static bool parse_call_counters(const struct lull_args *args, struct lull_record_question *question,
                                GError **error)
{
    const char *list = lull_args_text(args, "call-counters");
    if (list && !question->hooks) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--call-counters reads counters with each call, and needs --python, "
                            "--python-c, --functions or --heap, which record calls");
        return false;
    }
    question->call_counters = list ? lull_hooks_parse_counters(list, error) : 0;
    return !list || question->call_counters;
}

/* The words of the command, with NULL at the end. */
static GPtrArray *copy_command(const struct lull_args *args)
{
    uint32_t n_words;
    const char *const *words = lull_args_rest(args, &n_words);
    GPtrArray *command = g_ptr_array_new();
    for (uint32_t i = 0; i < n_words; i++) {
        g_ptr_array_add(command, (void *)words[i]);
    }
    g_ptr_array_add(command, NULL);
    return command;
}

static const char *name_of_hook(const struct lull_record_question *question)
{
    return question->hooks & LULL_HOOK_PYTHON ? "python"
           : question->hooks & LULL_HOOK_HEAP ? "heap"
                                              : "functions";
}

static unsigned parse_hooks(const struct lull_args *args)
{
    return (lull_args_flag(args, "python") ? LULL_HOOK_PYTHON : 0) |
           (lull_args_flag(args, "python-c") ? LULL_HOOK_PYTHON | LULL_HOOK_PYTHON_C : 0) |
           (lull_args_flag(args, "functions") && !lull_args_text(args, "functions")
                ? LULL_HOOK_FUNCTIONS
                : 0) |
           (lull_args_flag(args, "heap") ? LULL_HOOK_HEAP | LULL_HOOK_FUNCTIONS : 0);
}

/* What --functions=kernel requests: patterns of names. */
static bool parse_functions(const struct lull_args *args, struct lull_record_question *question,
                            GError **error)
{
    const char *text = lull_args_text(args, "functions");
    if (!text) {
        return true;
    }
    question->kernel_functions = strcmp(text, "kernel") == 0         ? "*"
                                 : g_str_has_prefix(text, "kernel:") ? text + strlen("kernel:")
                                                                     : NULL;
    const char *patterns = question->kernel_functions;
    if (!patterns || *patterns == '\0' || strpbrk(patterns, " \t\n") || strstr(patterns, ",,") ||
        *patterns == ',' || g_str_has_suffix(patterns, ",")) {
        g_set_error(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            "--functions takes =kernel, or =kernel: with names and patterns of functions and "
            "commas between, such as =kernel:vfs_*, not “%s”",
            text);
        return false;
    }
    return true;
}

/* What --call-graph=FORM requests, as perf record spells it. */
static bool parse_call_graph(const struct lull_args *args, struct lull_record_question *question,
                             GError **error)
{
    enum { USUAL_BYTES = 8192 };
    const char *form = lull_args_text(args, "call-graph");
    uint64_t bytes = USUAL_BYTES;
    question->has_call_chains = lull_args_flag(args, "call-graph");
    if (!form || strcmp(form, "fp") == 0) {
        return true;
    }
    const bool is_dwarf = g_str_has_prefix(form, "dwarf") && (form[5] == '\0' || form[5] == ',');
    if (!is_dwarf || (form[5] && !lull_size_parse(form + 6, &bytes)) ||
        bytes > LULL_MOST_STACK_BYTES) {
        g_set_error(
            error, LULL_ERROR, LULL_ERROR_USAGE,
            "--call-graph takes =fp, =dwarf or =dwarf,SIZE with a size up to %u bytes, not “%s”",
            LULL_MOST_STACK_BYTES, form);
        return false;
    }
    question->stack_bytes = (uint32_t)lull_align_up(bytes, 8);
    return true;
}

static bool parse(const struct lull_args *args, GArray *pids, struct lull_record_question *question,
                  GError **error)
{
    const char *purpose = lull_args_text(args, "for");
    const char *tracer = lull_args_text(args, "tracer");
    if (purpose) {
        lull_purpose_of(purpose, &question->purpose); /* a choice of the table */
    }
    question->tracer = tracer && strcmp(tracer, "auto") != 0 ? tracer : NULL;
    question->output = lull_args_text(args, "output");
    question->only_command = lull_args_flag(args, "only");
    question->counters = lull_args_text(args, "counters");
    question->hooks = parse_hooks(args);
    const bool is_slower = lull_args_text(args, "if-slower") != NULL;
    question->is_snapshot = lull_args_flag(args, "snapshot") || is_slower;
    if ((question->only_command || is_slower || question->hooks) && !question->command) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--%s is about the command, and there is none",
                    is_slower         ? "if-slower"
                    : question->hooks ? name_of_hook(question)
                                      : "only");
        return false;
    }
    if (question->is_snapshot && question->hooks) {
        g_set_error(error, LULL_ERROR, LULL_ERROR_USAGE,
                    "--%s writes all calls to the recording, which a flight recorder does not have "
                    "while it records",
                    name_of_hook(question));
        return false;
    }
    if (question->is_snapshot && question->output) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--output names one recording, and there may be several snapshots; "
                            "'lull snapshot --output' names one of them");
        return false;
    }
    if (!lull_args_duration(args, "duration", (double)LULL_NS_PER_S, &question->duration_ns,
                            error) ||
        !lull_args_duration(args, "if-slower", (double)LULL_NS_PER_S, &question->if_slower_ns,
                            error) ||
        !parse_size(lull_args_text(args, "buffer"), &question->buffer_bytes, error) ||
        !parse_call_graph(args, question, error) || !parse_functions(args, question, error) ||
        !read_pids(args, pids, error) || !check_counters(question->counters, error) ||
        !parse_call_counters(args, question, error)) {
        return false;
    }
    question->pids = (const pid_t *)pids->data;
    question->n_pids = pids->len;
    return true;
}

/* ---- what is reported ---- */

static void report_lost(const struct lull_tracer_result *result)
{
    if (result->lost_events == 0) {
        return;
    }
    g_autofree char *share =
        result->has_events ? g_strdup_printf(" (%.1f %% of all)",
                                             100.0 * (double)result->lost_events /
                                                 (double)(result->events + result->lost_events))
                           : g_strdup("");
    lull_say("lull: %" PRIu64 " event%s lost%s, because the buffers were full: around the gaps "
             "waits have no cause, or the wrong length; a larger --buffer, or --for sched, loses "
             "fewer\n",
             result->lost_events, result->lost_events == 1 ? " was" : "s were", share);
}

static void report_result(const struct lull_recorder *recorder,
                          const struct lull_record_question *question)
{
    const struct lull_recording *recording = lull_recorder_result(recorder);
    const struct lull_tracer_result *result = &recording->result;
    char duration[LULL_TIME_TEXT_SIZE];
    lull_duration_format(recording->end_ns - recording->start_ns, duration);
    g_autoptr(GString) size = g_string_new(NULL);
    lull_bytes_append(size, (double)result->bytes);
    if (result->has_events) {
        lull_say("lull: recorded %" PRIu64 " event%s in %s (%s) to %s\n", result->events,
                 result->events == 1 ? "" : "s", duration, size->str, lull_recorder_path(recorder));
    } else {
        lull_say("lull: recorded %s (%s) to %s\n", duration, size->str,
                 lull_recorder_path(recorder));
    }
    report_lost(result);
    lull_record_report_cut(recorder, question);
    if (question->hooks && recording->hook_bytes == 0) {
        lull_say("lull: no program recorded its calls: %s\n",
                 question->hooks & LULL_HOOK_PYTHON
                     ? "--python needs CPython 3.9 or newer, run without -I, -E and -S"
                 : question->hooks & LULL_HOOK_HEAP
                     ? "--heap needs programs that are linked dynamically"
                     : "--functions needs programs that were compiled with -finstrument-functions");
    }
    lull_say("lull: next: %s\n", recording->hook_bytes > 0 && question->hooks & LULL_HOOK_HEAP
                                     ? "lull heap"
                                 : recording->hook_bytes > 0 ? "lull calls, or lull critpath"
                                 : recording->command        ? "lull critpath"
                                                             : "lull info, or lull stats");
}

/* ---- the flight recorder ---- */

static void report_snapshot(void *user, const struct lull_recorder *recorder)
{
    const struct lull_tracer_result *result = &lull_recorder_result(recorder)->result;
    g_autoptr(GString) size = g_string_new(NULL);
    lull_bytes_append(size, (double)result->bytes);
    if (result->has_events) {
        lull_say("lull: wrote the last %" PRIu64 " event%s (%s) to %s\n", result->events,
                 result->events == 1 ? "" : "s", size->str, lull_recorder_path(recorder));
    } else {
        lull_say("lull: wrote a snapshot (%s) to %s\n", size->str, lull_recorder_path(recorder));
    }
    report_lost(result);
}

static void report_failure(void *user, const GError *error)
{
    lull_say("lull: cannot write a snapshot: %s\n", error->message);
}

static void report_start(void *user, const struct lull_recorder *recorder)
{
    const bool *is_snapshot = user;
    lull_say("lull: recording with %s (%s)\n", lull_recorder_tracer(recorder),
             lull_recorder_reason(recorder));
    if (lull_recorder_remark(recorder)) {
        lull_say("lull: %s\n", lull_recorder_remark(recorder));
    }
    if (*is_snapshot) {
        lull_say("lull: keeping the latest events in memory; 'lull snapshot' (or kill -USR1 %d) "
                 "writes them\n",
                 (int)getpid());
    }
}

static void report_full(const struct lull_recorder *recorder)
{
    lull_say(
        "lull: the disk of %s is full: recording ended early, and what was complete until then "
        "is kept; delete something, or record elsewhere (--output)\n",
        lull_recorder_path(recorder));
}

/* Nothing was written; why not. */
static void report_nothing(const struct lull_recorder *recorder,
                           const struct lull_record_question *question)
{
    const struct lull_recording *recording = lull_recorder_result(recorder);
    char took[LULL_TIME_TEXT_SIZE], limit[LULL_TIME_TEXT_SIZE];
    lull_duration_format(recording->end_ns - recording->start_ns, took);
    lull_duration_format(question->if_slower_ns, limit);
    if (question->if_slower_ns) {
        lull_say("lull: it took %s, not longer than %s: nothing was written\n", took, limit);
    } else {
        lull_say("lull: no snapshot was requested: nothing was written\n");
    }
}

static void report_waiting(const struct lull_recorder *recorder)
{
    if (lull_recorder_has_command(recorder)) {
        lull_say("lull: the command still runs; waiting for its end\n");
    }
}

/* The status of the command, as a shell has it. */
static int finish_command(struct lull_recorder *recorder)
{
    const struct lull_recording *recording = lull_recorder_result(recorder);
    if (!recording->command) {
        return 0;
    }
    report_waiting(recorder);
    const int status = lull_recorder_wait(recorder);
    return lull_status_of_wait(status);
}

/* They are the user's to remove, who may want what they hold. */
static void report_left(const struct lull_recorder *recorder)
{
    const char *first;
    const uint64_t n = lull_recorder_left(recorder, &first);
    if (n == 1) {
        lull_say("lull: a recording that was killed left %s; it cannot be read: remove it\n",
                 first);
    } else if (n > 1) {
        lull_say("lull: %s and %" PRIu64
                 " other .part directories beside it were left by recordings "
                 "that were killed; they cannot be read: remove them\n",
                 first, n - 1);
    }
}

static int run_recorder(struct lull_recorder *recorder, const struct lull_record_question *question,
                        GError **error)
{
    const bool done = lull_recorder_run(recorder, error);
    const uint32_t cleaned = lull_recorder_cleaned(recorder);
    if (cleaned) {
        lull_say("lull: removed what %u killed recording%s had left behind\n", cleaned,
                 cleaned == 1 ? "" : "s");
    }
    report_left(recorder);
    const bool is_full = lull_recorder_result(recorder)->ended_by == LULL_RECORDING_ENDED_BY_DISK;
    if (done) {
        if (is_full) {
            report_full(recorder);
        }
        if (!question->is_snapshot) {
            report_result(recorder, question);
        } else if (lull_recorder_snapshots(recorder) == 0) {
            report_nothing(recorder, question);
        }
        const int status = finish_command(recorder);
        return is_full ? 1 : status;
    }
    const int why = lull_recorder_exec_errno(recorder);
    if (lull_recorder_has_command(recorder)) {
        lull_say("lull record: %s\n", (*error)->message); /* at once, not after the wait */
        g_clear_error(error);
        report_waiting(recorder);
        lull_recorder_wait(recorder);
    }
    return why ? lull_status_of_exec(why) : 1;
}

static int run(const struct lull_args *args, GError **error)
{
    g_autoptr(GPtrArray) command = copy_command(args);
    struct lull_record_question question = {
        .command = command->len > 1 ? (const char *const *)command->pdata : NULL,
        .chose = report_start,
        .wrote = report_snapshot,
        .failed = report_failure};
    g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
    if (!parse(args, pids, &question, error)) {
        return 2;
    }
    question.user = &question.is_snapshot;
    struct lull_recorder *recorder = lull_recorder_new(&question, error);
    if (!recorder) {
        return 1;
    }
    const int status = run_recorder(recorder, &question, error);
    lull_recorder_free(recorder);
    return status;
}

static const char *const purposes[] = {"critpath", "wait", "io", "sched", "vm", "all", NULL};
static const char *const tracers[] = {"auto", "lttng", "ftrace", "perf", NULL};

static const struct lull_option options[] = {
    {.name = "for",
     .kind = LULL_OPTION_CHOICE,
     .argument = "PURPOSE",
     .help =
         "record what this purpose needs: waits (critpath, the default), the same without system calls, "
         "which cost most (wait), with more about disks (io), scheduling only (sched), waits and when guests ran, on a host of virtual machines "
         "(vm), everything Lull understands (all)",
     .choices = purposes},
    {.name = "output",
     .letter = 'o',
     .kind = LULL_OPTION_FILE,
     .argument = "DIR",
     .help = "the new directory for the recording (default: ./lull-COMMAND-DATE-TIME)"},
    {.name = "duration",
     .letter = 'd',
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "stop after this time (500ms, 10s, …; a bare number is seconds; 0: no limit)"},
    {.name = "tracer",
     .kind = LULL_OPTION_CHOICE,
     .argument = "NAME",
     .help = "the tracer (default: auto, the first of the others that this machine has)",
     .choices = tracers},
    {.name = "pid",
     .letter = 'p',
     .kind = LULL_OPTION_NUMBERS,
     .argument = "LIST",
     .help = "only these processes (N,N,…) and their children, the command, and interrupts while "
             "CPUs idle"},
    {.name = "only",
     .kind = LULL_OPTION_FLAG,
     .help = "only the command and its children, and interrupts while CPUs idle"},
    {.name = "call-graph",
     .kind = LULL_OPTION_FLAG,
     .argument = "FORM",
     .help =
         "also record the call chain of each task where it stops running, in the kernel "
         "and, by frame pointers (fp), in the program; with =dwarf the top of its stack instead, "
         "8 KiB or =dwarf,SIZE, for code without frame pointers; only perf can"},
    {.name = "counters",
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help = "also read these counters where tasks stop running, for 'lull counters': cycles, "
             "instructions, cache-misses, branch-misses, task-clock, page-faults, … with commas "
             "between, or 'default'; perf and LTTng can"},
    {.name = "python",
     .kind = LULL_OPTION_FLAG,
     .help =
         "also record each call and return of functions in Python programs that the command is or "
         "starts, for 'lull calls' and 'lull flame' (CPython 3.9 or newer)"},
    {.name = "python-c",
     .kind = LULL_OPTION_FLAG,
     .help = "like --python, and record the functions of C that they call, such as time.sleep"},
    {.name = "functions",
     .kind = LULL_OPTION_FLAG,
     .argument = "OF",
     .help = "also record each call and return of functions that were compiled with "
             "-finstrument-functions; with =kernel those of the kernel, or =kernel:vfs_*,… some of "
             "them (only ftrace can)"},
    {.name = "heap",
     .kind = LULL_OPTION_FLAG,
     .help = "also record what programs that the command is or starts allocate and free, for 'lull "
             "heap', and what --functions records"},
    {.name = "call-counters",
     .kind = LULL_OPTION_TEXT,
     .argument = "LIST",
     .help =
         "with --python, --functions or --heap: also read these counters of the thread with each "
         "call and return, for 'lull calls --weight': task-clock, page-faults, minor-faults, "
         "major-faults, context-switches, with commas between; a call then takes some 1 to 2 us more"},
    {.name = "buffer",
     .kind = LULL_OPTION_TEXT,
     .argument = "SIZE",
     .help = "size of the kernel's buffer for each CPU, such as 64M"},
    {.name = "snapshot",
     .kind = LULL_OPTION_FLAG,
     .help = "keep only the latest events, in memory, and write them when 'lull snapshot' "
             "requests it"},
    {.name = "if-slower",
     .kind = LULL_OPTION_TEXT,
     .argument = "T",
     .help = "like --snapshot, and write it at the end if the command takes longer than T (as "
             "for --duration); else leave nothing"},
    {.name = NULL},
};

static const char *const common[] = {NULL};

static const struct lull_example examples[] = {
    {"sudo lull record ./slow-thing --fast", "Record a command; then: lull critpath"},
    {"sudo lull record --duration 10s --for all", "Ten seconds of the whole machine."},
    {"sudo lull record -o backup --pid 4711", "One process, until you type Ctrl-C."},
    {"sudo lull record --python -- python3 report.py",
     "With the calls of Python; then: lull calls"},
    {"sudo lull record --heap ./server", "With what it allocates; then: lull heap"},
    {"sudo lull record --snapshot", "A flight recorder; in another terminal: lull snapshot"},
    {"sudo lull record --if-slower 2s ./sometimes-slow", "Keep nothing of the runs that are fast."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_record = {
    .name = "record",
    .summary = "record a command, or the machine, for the other verbs",
    .usage = "[--] [COMMAND…]",
    .description =
        "Records what the kernel does until the command ends, the time of --duration is over, "
        "or you type Ctrl-C. Lull chooses the best tracer of this machine, and says which and "
        "why: LTTng, if its kernel modules and session daemon are installed; else ftrace, which "
        "needs only tracefs; else perf. Recording usually needs the rights of root: run it with "
        "sudo.\n"
        "\n"
        "The command starts at the first word that is not an option, or after --. It runs as "
        "the user who called sudo, with that user's home, and keeps its input and output. It "
        "starts after the recording has started. The exit status is that of the command; 128 "
        "plus the number of the signal if a signal ended it; 127 or 126 if the command cannot "
        "be found or executed; 1 if recording failed, or ended early because the disk was full; what "
        "was complete until then is kept. If the command outlives the recording, "
        "Lull waits for its end.\n"
        "\n"
        "Lull records the whole machine, because the cause of a wait may be anywhere. --only "
        "and --pid record chosen processes: there is less to read, but waits for other "
        "processes stay unexplained, and of the tasks that had a CPU meanwhile only the first "
        "is known. LTTng cannot follow a process to its children, so Lull then uses another "
        "tracer.\n"
        "\n"
        "--call-graph says by which calls tasks came to wait. Most programs that distributions build keep no frame "
        "pointers; then the part of the program is missing, and --call-graph=dwarf records what 'lull flame "
        "--off-cpu' unwinds: 8 KiB for each wait, and what it takes to unwind them elsewhere, some megabytes.\n"
        "\n"
        "--python also records each call and return of functions in Python programs that the command is "
        "or starts, for lull calls, calllog and flame. A call costs the program some 100 to 150 ns. "
        "CPython 3.9 or newer, run without -I, -E and -S, can be recorded (CALLS.md in the "
        "documentation says more). --functions does the same with functions that were compiled with "
        "-finstrument-functions, in C, C++ and Cython. --heap does that, and records what all programs that the "
        "command is or starts allocate and free, for lull heap; an allocation costs some 80 ns, and so does a free.\n"
        "\n"
        "The recording is one directory, which can be analysed on any machine and belongs to "
        "you (RECORDING.md in the documentation describes it). It is called DIR.part until it "
        "is complete. Verbs without a trace use the last recording; 'lull critpath' then shows "
        "the path of the command.\n"
        "\n"
        "With --snapshot, Lull is a flight recorder: the kernel's buffers (see --buffer) keep "
        "the latest events, and Lull writes them only when 'lull snapshot' in another terminal, "
        "or a SIGUSR1, requests it. Each snapshot is a complete recording, by default in the "
        "working directory of the recorder. It starts where the buffer of each CPU starts: "
        "events overwritten before do not count as lost. Recording pauses for some milliseconds "
        "while the buffers are read; with ftrace, which empties them, until the snapshot is "
        "written. With --if-slower, Lull writes such a snapshot at the end of the command or "
        "the recording, if it took longer than T.\n"
        "\n"
        "The first Ctrl-C, SIGTERM, SIGHUP or SIGQUIT ends the recording and keeps it; the "
        "command receives the signal too. A second one ends Lull at once and discards a "
        "recording that is not complete. Whatever ends Lull, tracing ends: after SIGKILL a "
        "helper process removes what was set up, and if that is killed too, the next 'lull "
        "record' does. Lull does not touch the tracing of others: it uses its own ftrace "
        "instance and its own LTTng session, whose names start with lull-. If no LTTng session "
        "daemon runs, lull starts one as root; it ends with the recording and unloads its "
        "modules.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .rest_is_command = true,
    .has_no_pager = true,
    .run = run,
};
