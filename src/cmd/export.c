/* SPDX-License-Identifier: MIT */
/* lull export: what was selected, as a new trace. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lull/error.h>

#include "cmd/event_args.h"
#include "cmd/interrupt.h"
#include "cmd/join_args.h"
#include "cmd/say.h"
#include "kernel/running_filter.h"
#include "source/export/export.h"

static bool write_events(struct lull_export *export, struct lull_session *session,
                         struct lull_running_filter *filter, const struct lull_args *args,
                         GError **error)
{
    const struct lull_event *event;
    struct lull_progress progress;
    lull_progress_start(&progress, args, session, "exporting", false);
    bool is_written = true, has_events = false;
    while (is_written && (event = lull_session_read(session))) {
        lull_progress_tick(&progress);
        if (lull_running_filter_passes(filter, event)) {
            is_written = lull_export_event(export, event, error);
            has_events = true;
        }
    }
    lull_progress_end(&progress);
    return is_written &&
           ((has_events && lull_running_filter_saw_all(filter)) ||
            lull_args_explain_nothing(args, session, !has_events, error)) &&
           lull_export_finish(export, error);
}

static void remove_part(void *path)
{
    lull_export_remove_part(path);
}

/* A program that is broken off leaves nothing half-written either. */
static bool write_traces(struct lull_session *session, struct lull_running_filter *filter,
                         const struct lull_args *args, GError **error)
{
    struct lull_interrupt interrupt;
    const char *path = lull_args_text(args, "ctf2");
    bool is_written = false;
    lull_interrupt_start(&interrupt);
    struct lull_export *export = lull_export_new(session, path, error);
    if (export) {
        lull_interrupt_watch(&interrupt, remove_part, (void *)path);
        is_written = write_events(export, session, filter, args, error);
        lull_export_free(export);
    }
    lull_interrupt_end(&interrupt);
    return is_written;
}

/* What was damaged is not in the new traces; they say so. */
static int report(struct lull_session *session, bool is_written)
{
    const int status = lull_args_report_problems(session);
    if (is_written && status != 0) {
        lull_say("lull: what could not be read is not in the new traces; they count it as lost "
                 "packets\n");
    }
    return is_written ? status : 1;
}

static int export_session(const struct lull_args *args, struct lull_session *session,
                          char *const *names, GError **error)
{
    struct lull_running_filter *filter = lull_args_select_events(args, session, names, error);
    if (!filter) {
        return 1;
    }
    int status = report(session, write_traces(session, filter, args, error));
    lull_running_filter_free(filter);
    return status;
}

static int run(const struct lull_args *args, GError **error)
{
    if (!lull_args_text(args, "ctf2")) {
        g_set_error_literal(error, LULL_ERROR, LULL_ERROR_USAGE,
                            "--ctf2 DIR is needed: where the new traces go");
        return 2;
    }
    /* All that is printed are messages: that nobody reads them breaks nothing off. */
    signal(SIGPIPE, SIG_IGN);
    g_auto(GStrv) names = lull_args_event_names(args, error);
    if (!names) {
        return 2;
    }
    struct lull_session *session = lull_args_open_traces(args, error);
    if (!session) {
        return 1;
    }
    /* What can be known to be wrong before the work of joining the clocks is said before it. */
    int32_t host;
    int status = 1;
    if (lull_args_host(args, session, &host, error) &&
        lull_args_check_event_names(session, names, error)) {
        if (lull_session_host_count(session) > 1) {
            lull_args_join(args, session);
        }
        status = export_session(args, session, names, error);
    }
    lull_session_free(session);
    return status;
}

static const struct lull_option options[] = {
    {.name = "ctf2",
     .kind = LULL_OPTION_FILE,
     .argument = "DIR",
     .help = "write CTF 2 traces into the new directory DIR"},
    {.name = "events",
     .kind = LULL_OPTION_LIST,
     .argument = "LIST",
     .help = "only events of these names, separated by commas; a '*' at the end of a name "
             "matches any ending, and syscall_entry_NAME is that call of every tracer"},
    {.name = NULL},
};

static const char *const common[] = {"intersection", "begin",  "end",     "timerange", "local",
                                     "host",         "cpu",    "tid",     "pid",       "comm",
                                     "container",    "filter", "no-sync", NULL};

static const struct lull_example examples[] = {
    {"lull export --ctf2 short --timerange +1s,+1.5s my-trace",
     "Half a second of a trace, as a trace of its own."},
    {"lull export --ctf2 net --events 'net*' client httpd db",
     "The network events of three machines, on one clock."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_export = {
    .name = "export",
    .summary = "write selected events as new traces",
    .usage = "--ctf2 DIR TRACE…",
    .description =
        "Writes the selected events as traces in the Common Trace Format, version 2 "
        "(CTF2-SPEC-2.0): DIR/HOST for each machine, or DIR/HOST/DOMAIN if a machine has "
        "several traces. Each data stream of the input becomes one file with the same name. "
        "Fields, contexts, environment and clocks are those of the input; losses of the tracer "
        "within the selected time are kept too.\n"
        "\n"
        "Recordings of ftrace and perf become CTF as well, so that other programs can read "
        "them: each CPU is a data stream, fields that all events have are contexts, and event "
        "classes without a recorded event are not declared. The length of an array of variable "
        "size is a field '_NAME_length' before it.\n"
        "\n"
        "Clock values stay as they were recorded. If the clock of a machine was joined to "
        "others (see 'lull sync'), the joined times are written, in nanoseconds; the traces "
        "record that they are joined, and are not joined again when they are read together. "
        "With --no-sync each machine keeps its own clock.\n"
        "\n"
        "DIR must not exist. It is called DIR.part until it is complete; DIR.part is removed if "
        "something fails, or if you interrupt the export. Damaged parts of the input are left "
        "out, and counted as lost packets in the new trace.\n"
        "\n"
        "--tid and --comm keep the events that happened while such a task ran on the CPU, as in "
        "'lull print'.",
    .output = NULL,
    .options = options,
    .common = common,
    .examples = examples,
    .run = run,
};
