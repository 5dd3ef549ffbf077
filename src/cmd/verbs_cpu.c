/* SPDX-License-Identifier: MIT */
/* The verbs that show who used the CPUs and who waited, for them or for anything else: lull cputop,
 * lull counters, lull sched*, lull waits. */
#include <stddef.h>

#include "cmd/analysis_verb.h"
#include "cmd/calls_args.h"

/* ---- cputop ---- */

static const struct lull_option cputop_options[] = {
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTION_BY,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = "top",
     .kind = LULL_OPTION_FLAG,
     .help = "nothing: it is always printed (lttng-analyses has the option)"},
    {.name = NULL},
};

static const struct lull_example cputop_examples[] = {
    {"lull cputop my-trace", "Who used the CPUs."},
    {"lull cputop --refresh 1s --limit 3 my-trace", "The three that used most in each second."},
    {"lull cputop --begin +2s --end +2.5s my-trace", "Half a second of it."},
    {"lull cputop --by container my-trace", "Which container or service used them."},
    {"lull cputop --by vm my-host", "Which virtual machine did, with what runs it."},
    {"lull cputop --comm httpd,php-fpm --json my-trace", "Two programs only, for another program."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_cputop = {
    .name = "cputop",
    .summary = "show which tasks used the CPUs",
    .usage = "TRACE…",
    .description =
        "Time on a CPU by task, by CPU, and in all. What crosses an edge of the time range counts "
        "with its part inside, so the times of all tasks add up to the busy time of the CPUs, and "
        "busy, idle and unknown time of each CPU to the range. Unknown is what a CPU did "
        "while its events were lost, or before its recording began.\n"
        "\n"
        "CPU is the share of one CPU's time in the range. Time in interrupt handlers counts for "
        "the task they interrupt. MIGRATIONS is how often a task was moved to another CPU. "
        "PRIORITIES are those it had, as top and LTTng show them (20 is nice 0, real-time ones are "
        "negative), with how often each was reported.\n"
        "\n"
        "With --tid or --comm, busy is the time with those tasks alone.",
    .options = cputop_options,
    .common = lull_analysis_common,
    .examples = cputop_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_cputop, LULL_SECTION_TOP},
};

/* ---- counters ---- */

static const struct lull_option counters_options[] = {
    LULL_OPTION_LIMIT_ROWS, LULL_OPTION_BY, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN, {.name = NULL},
};

static const struct lull_example counters_examples[] = {
    {"lull counters my-trace", "Which tasks had most cycles, instructions, page faults."},
    {"lull counters --begin +2s --end +2.5s my-trace", "Half a second of it."},
    {"lull counters --by container my-trace", "The same of containers and services."},
    {"lull counters --comm httpd --json my-trace", "One program, for another program."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_counters = {
    .name = "counters",
    .summary = "show what counters of the CPUs and of the kernel counted, by task",
    .usage = "TRACE…",
    .description =
        "Counters that were read with events: cycles, instructions, cache misses, page faults, … "
        "'lull record --counters' records them, 'perf record -a -e "
        "\"{sched:sched_switch,cycles,instructions}:S\"', or LTTng with contexts (lttng "
        "add-context -k -t perf:cpu:cycles; perf:thread:… of programs).\n"
        "\n"
        "What a counter of a CPU rose between two reads belongs to the task that was on the CPU. "
        "If several were, each has a part by its time (SHARED). Interrupts count for the task that "
        "they interrupt, unless their start was read too. What is certain of nobody, as after lost "
        "events, is UNKNOWN; so COUNTED, what a counter rose from its first read to its last, is "
        "the sum of TASKS, IDLE, INTERRUPTS and UNKNOWN, exactly. What rose between two reads "
        "counts when it was read.\n"
        "\n"
        "Where counters took turns on too few registers, and the trace says for how long each "
        "counted, ≈ marks what it would have counted in all of the time; COUNTED stays what it did "
        "count. IPC is instructions per cycle.",
    .options = counters_options,
    .common = lull_analysis_common,
    .examples = counters_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_counters, LULL_SECTION_TOP},
};

/* ---- sched ---- */

static const struct lull_option sched_options[] = {
    LULL_OPTION_LOG,
    LULL_OPTION_TOP,
    LULL_OPTION_STATS,
    LULL_OPTION_FREQ,
    {.name = "total", .kind = LULL_OPTION_FLAG, .help = "statistics and histograms over all tasks"},
    {.name = "per-tid",
     .kind = LULL_OPTION_FLAG,
     .help = "statistics and histograms by task, as without --total and --per-prio"},
    {.name = "per-prio", .kind = LULL_OPTION_FLAG, .help = "statistics and histograms by priority"},
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTIONS_DURATION,
    LULL_OPTIONS_FREQ,
    LULL_OPTION_BY,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = NULL},
};

#define SCHED_DESCRIPTION                                                                          \
    "The scheduling latency of a task is the time from its wake-up (the first since it stopped "   \
    "running, sched_waking if that was recorded) to its switch onto a CPU. A task that was "       \
    "preempted was not woken, and has none. It counts at the switch, with its whole "              \
    "length.\n"                                                                                    \
    "\n"                                                                                           \
    "The waker is the task that ran where the wake-up happened; if that was in an interrupt, the " \
    "task was only interrupted. Priorities are shown as top and LTTng do: 20 is nice 0, "          \
    "real-time ones are negative. --tid and --comm choose the tasks that were woken.\n"            \
    "\n"                                                                                           \
    "If a virtual machine was recorded as well as its host, STOLEN is the part of a wait in "      \
    "which the virtual CPU had no CPU of the host."

#define SCHED_VERB(verb_name, section_, summary_, first, examples_)                                \
    const struct lull_verb lull_verb_##verb_name = {                                               \
        .name = #verb_name,                                                                        \
        .summary = summary_,                                                                       \
        .usage = "TRACE…",                                                                         \
        .description = first "\n\n" SCHED_DESCRIPTION,                                             \
        .options = sched_options,                                                                  \
        .common = lull_analysis_common,                                                            \
        .examples = examples_,                                                                     \
        .run = lull_analysis_verb_run,                                                             \
        .analysis = &(const struct lull_verb_analysis){&lull_analysis_sched, section_},            \
    }

static const struct lull_example schedlog_examples[] = {
    {"lull schedlog --comm httpd my-trace", "Every wait of a program for a CPU."},
    {"lull schedlog --min 500us my-trace", "Those of half a millisecond and more."},
    {NULL, NULL},
};
SCHED_VERB(schedlog, LULL_SECTION_LOG, "list every wait of a woken task for a CPU",
           "Lists each switch to a task that was woken, in order of time.", schedlog_examples);

static const struct lull_example schedtop_examples[] = {
    {"lull schedtop my-trace", "The ten longest waits for a CPU."},
    {"lull schedtop --limit 3 --stats --total my-trace",
     "The three longest, and statistics over all."},
    {NULL, NULL},
};
SCHED_VERB(schedtop, LULL_SECTION_TOP, "list the longest waits of woken tasks for a CPU",
           "Lists the longest waits for a CPU, the longest first.", schedtop_examples);

static const struct lull_example schedstats_examples[] = {
    {"lull schedstats my-trace", "Statistics for each task."},
    {"lull schedstats --total --per-prio my-trace", "Over all tasks, and by priority."},
    {NULL, NULL},
};
SCHED_VERB(schedstats, LULL_SECTION_STATS,
           "show statistics of how long woken tasks waited for a CPU",
           "Shows how many waits for a CPU there were and how long they took: extremes, average, "
           "standard deviation, percentiles.",
           schedstats_examples);

static const struct lull_example schedfreq_examples[] = {
    {"lull schedfreq --total my-trace", "One histogram of all waits for a CPU."},
    {"lull schedfreq --comm httpd --freq-log my-trace", "One for each task of a program."},
    {NULL, NULL},
};
SCHED_VERB(schedfreq, LULL_SECTION_FREQ, "show histograms of how long woken tasks waited for a CPU",
           "Shows how often a wait for a CPU took how long.", schedfreq_examples);

/* ---- waits ---- */

static const struct lull_option waits_options[] = {
    {.name = "state",
     .kind = LULL_OPTION_TEXT,
     .argument = "LETTERS",
     .help =
         "only waits in these states, as ps shows them: D (uninterruptible, mostly for disks), S "
         "(interruptible), I (idle kernel threads), T (stopped), t (traced), P (parked), R "
         "(ready to run, without a CPU)"},
    LULL_OPTION_STACKS,
    LULL_OPTION_SYMBOLS_DIRECTORY,
    {.name = "asleep",
     .kind = LULL_OPTION_FLAG,
     .help = "also tasks that were blocked all the time, and did nothing"},
    {.name = "all-tasks",
     .kind = LULL_OPTION_FLAG,
     .help = "all tasks of the machine, also where a command was recorded"},
    LULL_OPTION_LIMIT_ROWS,
    LULL_OPTIONS_DURATION,
    LULL_OPTION_BY,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = NULL},
};

static const struct lull_example waits_examples[] = {
    {"lull waits my-trace",
     "What all tasks of the machine waited for, or those of the recorded command."},
    {"lull waits --state D --min 10ms my-trace",
     "Waits that nothing could interrupt, of 10 ms and more: disks, as a rule."},
    {"lull waits --state R my-trace", "Who was kept from a CPU, and by whom."},
    {"lull waits --comm 'postgres*' --stacks my-trace",
     "One program, with the calls that led into each wait."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_waits = {
    .name = "waits",
    .summary = "show what all tasks waited for: how long, in which call, and who ended it",
    .usage = "TRACE…",
    .description =
        "Adds up, for the whole machine or for a recorded command, the time in which tasks were blocked, and that in which "
        "they were ready to run and had no CPU: by cause, and by task, system call, object and who "
        "ended the wait. What 'lull critpath' says of one task, this says of all, without "
        "following the wake-ups further back.\n"
        "\n"
        "STATE is that of ps: D is uninterruptible, S interruptible, R ready to run. CAUSE of a "
        "blocked task is what woke it: task, timer, disk, network, user-input, ipi, irq or "
        "unknown; of a task that was ready to run, preempted (it ran before) or woken, or unknown if it was woken, and not seen to get its CPU, which was free meanwhile. OBJECT is "
        "what it waited for, as far as that was recorded: the file, pipe, socket or futex of its "
        "call; without a call the page that it used, or what stopped it; else the device, or the interrupt that ended the wait. BY is the task that woke it, or that could end the wait if that has not ended and the recorder saw who; "
        "of one that was ready to run, the task that had the CPU longest meanwhile.\n"
        "\n"
        "Each wait counts with its part in the time range, also those that last at its end, whose "
        "cause is 'not ended'; what a task did before its first event is not known and not "
        "counted. --min and --max choose waits by that part. Tasks that were blocked all the time "
        "are left out, unless --asleep is given; daemons that wake up now and then are not: use --state D and --state R to leave sleep out.\n"
        "\n"
        "Of a recording of 'lull record -- COMMAND' the tasks of the command count, and those of all that it started, unless "
        "--all-tasks, or an option that chooses or groups tasks, is given.\n"
        "\n"
        "It is what offcputime and offwaketime of the BPF tools show of a running machine, from a "
        "recording.",
    .options = waits_options,
    .common = lull_analysis_common,
    .examples = waits_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_waits, LULL_SECTION_TOP},
};
