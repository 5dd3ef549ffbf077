/* SPDX-License-Identifier: MIT */
/* The verbs that show periods themselves: lull period*. */
#include <stddef.h>

#include "cmd/analysis_verb.h"

static const char *const orders[] = {"time", "hierarchy", NULL};

static const struct lull_option period_options[] = {
    LULL_OPTIONS_PERIOD("show this period"),
    {.name = "select",
     .kind = LULL_OPTION_TEXT,
     .argument = "NAMES",
     .help = "only these periods (NAME,NAME,…; a name or a path such as request/send)"},
    {.name = "aggregate-by",
     .kind = LULL_OPTION_TEXT,
     .argument = "NAME",
     .help = "set the periods against this ancestor; with --select, the log has a line for each "
             "instance of it and each selected period in it"},
    {.name = "group-by",
     .kind = LULL_OPTION_TEXT,
     .argument = "CAPTURES",
     .help = "repeat the tables for each combination of these captures (NAME.CAPTURE,…)"},
    {.name = "order-by",
     .kind = LULL_OPTION_CHOICE,
     .argument = "ORDER",
     .help = "sort the log by start, or show each root followed by its children",
     .choices = orders},
    {.name = "min-duration",
     .kind = LULL_OPTION_TEXT,
     .argument = "D",
     .help = "leave out periods that took less than D: a number is microseconds, else with unit "
             "(3ms)"},
    {.name = "max-duration",
     .kind = LULL_OPTION_TEXT,
     .argument = "D",
     .help = "leave out periods that took more than D"},
    LULL_OPTION_LOG,
    LULL_OPTION_TOP,
    LULL_OPTION_STATS,
    LULL_OPTION_FREQ,
    LULL_OPTION_LIMIT_ROWS,
    {.name = "min",
     .kind = LULL_OPTION_TEXT,
     .argument = "D",
     .help = "histograms of durations start at D; shorter ones are left out"},
    {.name = "max",
     .kind = LULL_OPTION_TEXT,
     .argument = "D",
     .help = "histograms of durations end at D"},
    LULL_OPTIONS_BINS,
    {.name = "freq-series",
     .kind = LULL_OPTION_FLAG,
     .help = "the same as --freq-uniform: there is no table of all histograms here"},
    LULL_OPTION_FREQ_LOG,
    LULL_OPTIONS_OLD_PERIOD,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_PEER,
    {.name = NULL},
};

#define PERIOD_DESCRIPTION                                                                         \
    "A period is an interval that one event opens and another closes, such as a request; "         \
    "--period defines one, 'lull help periods' describes the language. Periods can lie in one "    \
    "another. Those whose end was not seen are not counted; the log lists them apart. --tid, "     \
    "--pid, --comm and --cpu choose those that such a task, or something on such a CPU, opened.\n" \
    "\n"                                                                                           \
    "Every event of the trace can open and close, of the kernel and of user space. Events "        \
    "outside of --begin and --end do neither."

#define PERIOD_VERB(verb_name, section_, summary_, first, examples_)                               \
    const struct lull_verb lull_verb_##verb_name = {                                               \
        .name = #verb_name,                                                                        \
        .summary = summary_,                                                                       \
        .usage = "TRACE…",                                                                         \
        .description = first "\n\n" PERIOD_DESCRIPTION,                                            \
        .options = period_options,                                                                 \
        .common = lull_analysis_common,                                                            \
        .examples = examples_,                                                                     \
        .run = lull_analysis_verb_run,                                                             \
        .analysis = &(const struct lull_verb_analysis){&lull_analysis_periods, section_},          \
    }

#define READ                                                                                       \
    "'read : $evt.$name == \"syscall_entry_read\" : "                                              \
    "$evt.$name == \"syscall_exit_read\" && $evt.$tid == $begin.$evt.$tid'"

static const struct lull_example periodlog_examples[] = {
    {"lull periodlog --period " READ " my-trace", "Every read call, from its entry to its exit."},
    {"lull periodlog --period " READ " --period-captures 'read : fd = $evt.fd : $evt.ret' my-trace",
     "With descriptor and result."},
    {NULL, NULL},
};
PERIOD_VERB(periodlog, LULL_SECTION_LOG, "list the instances of periods you define",
            "Lists each instance of the periods, in order of time.", periodlog_examples);

static const struct lull_example periodtop_examples[] = {
    {"lull periodtop --limit 3 --period " READ " my-trace", "The three longest read calls."},
    {NULL, NULL},
};
PERIOD_VERB(periodtop, LULL_SECTION_TOP, "list the longest instances of periods you define",
            "Lists the instances that took longest.", periodtop_examples);

static const struct lull_example periodstats_examples[] = {
    {"lull periodstats --period " READ " my-trace", "How many, how long."},
    {"lull periodstats --period " READ
     " --period-captures 'read : fd = $evt.fd' --group-by read.fd my-trace",
     "The same, and by descriptor."},
    {NULL, NULL},
};
PERIOD_VERB(periodstats, LULL_SECTION_STATS,
            "show statistics of periods you define, and of those inside them",
            "Shows how many instances there were and how long they took, and for periods that lie "
            "in others how many, how long and which share of them.",
            periodstats_examples);

static const struct lull_example periodfreq_examples[] = {
    {"lull periodfreq --period " READ " my-trace", "How often a read call took how long."},
    {"lull periodfreq --freq-log --period " READ " my-trace", "With bins that double."},
    {NULL, NULL},
};
PERIOD_VERB(periodfreq, LULL_SECTION_FREQ, "show histograms of periods you define",
            "Shows how often the periods took how long, and for periods that lie in others how "
            "many there were and which share they had.",
            periodfreq_examples);
