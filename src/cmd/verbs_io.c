/* SPDX-License-Identifier: MIT */
/* The verbs of system calls: lull syscallstats, lull io*, lull futex. */
#include <stddef.h>

#include "cmd/analysis_verb.h"

/* ---- syscallstats ---- */

static const struct lull_option syscallstats_options[] = {
    LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_DURATION, LULL_OPTION_BY,
    LULL_OPTIONS_WHOM,      LULL_OPTIONS_WHEN,     {.name = NULL}};

static const struct lull_example syscallstats_examples[] = {
    {"lull syscallstats my-trace", "Every system call of every task."},
    {"lull syscallstats --comm postgres --min 10ms my-trace",
     "The slow ones of one program: what took 10 ms and more."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_syscallstats = {
    .name = "syscallstats",
    .summary = "show how often tasks made which system calls, how long and with what result",
    .usage = "TRACE…",
    .description =
        "For each task: which system calls it made, how many, how long they took, and what they "
        "returned. A call counts where it ends, with its whole duration, also if it began before "
        "the time range. A call whose start was not seen counts without a duration; one that has "
        "not ended is listed separately.",
    .options = syscallstats_options,
    .common = lull_analysis_common,
    .examples = syscallstats_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_syscallstats, LULL_SECTION_STATS},
};

/* ---- io ---- */

static const struct lull_option io_options[] = {
    LULL_OPTION_USAGE, LULL_OPTION_STATS,      LULL_OPTION_TOP,   LULL_OPTION_FREQ,
    LULL_OPTION_LOG,   LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_SIZE, LULL_OPTIONS_DURATION,
    LULL_OPTIONS_FREQ, LULL_OPTION_BY,         LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN,
    {.name = NULL},
};

#define IO_DESCRIPTION                                                                             \
    "Calls are grouped by what they do: open (also socket, accept, pipe, dup), read, write, "      \
    "copy from one descriptor to another (splice, sendfile), sync. Sizes are the bytes moved. "    \
    "Files are followed from the state dump and from the calls that made descriptors, also "       \
    "through dup and fork; a descriptor without any such event is unknown. The time of a disk "    \
    "request is from its issue to the device to its completion.\n"                                 \
    "\n"                                                                                           \
    "--min, --max, --minsize and --maxsize choose calls by duration and by size; a call without "  \
    "a size always passes the latter two. They do not change the usage."

#define IO_VERB(verb_name, section_, summary_, first, examples_)                                   \
    const struct lull_verb lull_verb_##verb_name = {                                               \
        .name = #verb_name,                                                                        \
        .summary = summary_,                                                                       \
        .usage = "TRACE…",                                                                         \
        .description = first "\n\n" IO_DESCRIPTION,                                                \
        .options = io_options,                                                                     \
        .common = lull_analysis_common,                                                            \
        .examples = examples_,                                                                     \
        .run = lull_analysis_verb_run,                                                             \
        .analysis = &(const struct lull_verb_analysis){&lull_analysis_io, section_},               \
    }

static const struct lull_example iousagetop_examples[] = {
    {"lull iousagetop my-trace", "Who read and wrote most, which files, disks and networks."},
    {"lull iousagetop --limit 0 --comm postgres my-trace", "All files of one program."},
    {NULL, NULL},
};
IO_VERB(iousagetop, LULL_SECTION_USAGE, "show which tasks, files, disks and networks moved most",
        "Shows what moved most bytes: tasks by reading and writing, files, block requests, disks, "
        "network interfaces.",
        iousagetop_examples);

static const struct lull_example iolatencytop_examples[] = {
    {"lull iolatencytop my-trace", "The ten slowest calls of each kind."},
    {"lull iolatencytop --minsize 4096 --limit 3 my-trace",
     "The three slowest that moved a page or more."},
    {NULL, NULL},
};
IO_VERB(iolatencytop, LULL_SECTION_TOP, "list the slowest input and output calls",
        "Lists the calls that took longest, by kind.", iolatencytop_examples);

static const struct lull_example iolatencystats_examples[] = {
    {"lull iolatencystats my-trace", "Statistics by kind of call and by disk."},
    {"lull iolatencystats --refresh 1s my-trace", "The same for each second."},
    {NULL, NULL},
};
IO_VERB(iolatencystats, LULL_SECTION_STATS,
        "show statistics of how long input and output took, by kind and by disk",
        "Shows how many calls and disk requests there were and how long they took.",
        iolatencystats_examples);

static const struct lull_example iolatencyfreq_examples[] = {
    {"lull iolatencyfreq my-trace", "Histograms by kind of call and by disk."},
    {"lull iolatencyfreq --freq-log my-trace", "With bins that double."},
    {NULL, NULL},
};
IO_VERB(iolatencyfreq, LULL_SECTION_FREQ,
        "show histograms of how long input and output took, by kind and by disk",
        "Shows how often calls and disk requests took how long.", iolatencyfreq_examples);

static const struct lull_example iolog_examples[] = {
    {"lull iolog --tid 4711 my-trace", "All input and output of one thread."},
    {"lull iolog --min 10ms my-trace", "Everything that took 10 ms and more."},
    {NULL, NULL},
};
IO_VERB(iolog, LULL_SECTION_LOG, "list all input and output calls",
        "Lists every call that uses a descriptor, in order of their start.", iolog_examples);

/* ---- futex ---- */

static const struct lull_option futex_options[] = {LULL_OPTION_LIMIT_ROWS, LULL_OPTIONS_DURATION,
                                                   LULL_OPTION_BY,         LULL_OPTIONS_WHOM,
                                                   LULL_OPTIONS_WHEN,      {.name = NULL}};

static const struct lull_example futex_examples[] = {
    {"lull futex my-trace", "The locks that were waited for longest."},
    {"lull futex --comm mysqld --min 1ms my-trace", "Waits of a millisecond and more."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_futex = {
    .name = "futex",
    .summary = "show which futexes (locks of user space) were waited for, and who ended the waits",
    .usage = "TRACE…",
    .description =
        "Locks, condition variables and barriers of user space wait in the kernel by futexes. "
        "Shown are the addresses that tasks waited on, how often and how long, who waited, and "
        "whose calls ended the waits. A futex call that returns at once did not wait and is left "
        "out. An address belongs to one process, unless the futex is shared. With --by, who waited and "
        "who ended the waits are containers.",
    .options = futex_options,
    .common = lull_analysis_common,
    .examples = futex_examples,
    .run = lull_analysis_verb_run,
    .analysis = &(const struct lull_verb_analysis){&lull_analysis_futex, LULL_SECTION_TOP},
};
