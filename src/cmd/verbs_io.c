/* The verbs that tell of system calls: lull syscallstats, io*, futex. */
#include <stddef.h>

#include "cmd/analysis_verb.h"

/* ---- syscallstats ---- */

static const struct lull_option syscallstats_options[] = {
    LULL_OPTIONS_DURATION,
    LULL_OPTIONS_WHOM,
    LULL_OPTIONS_WHEN,
    {.name = NULL},
};

static const struct lull_example syscallstats_examples[] = {
    {"lull syscallstats my-trace", "All tasks."},
    {"lull syscallstats --comm httpd my-trace", "The tasks of one program."},
    {"lull syscallstats --min 10ms my-trace", "Only the calls that took ten milliseconds or more."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_syscallstats = {
    .name = "syscallstats",
    .summary = "show statistics of system calls by task",
    .usage = "TRACE…",
    .description =
        "For each task, how often it made which system call, how long the calls took, and what "
        "they "
        "returned; then the tasks with the number of their calls, and the calls that had not "
        "returned at the end of the range. A call counts where it ends, with its whole length. A "
        "task is shown under the name it had at the end of its last call; a thread id that was "
        "used "
        "again is another task.\n"
        "\n"
        "RETURNED counts calls that succeeded and those that failed, by the names of Linux's "
        "errors. Those from ERESTARTSYS on never reach a program: the kernel restarts the call.",
    .options = syscallstats_options,
    .common = lull_analysis_common,
    .examples = syscallstats_examples,
    .run = lull_analysis_verb_run,
    .ask = &(const struct lull_analysis_ask){&lull_analysis_syscallstats, 0},
};

/* ---- io ---- */

static const struct lull_option io_options[] = {
    LULL_OPTION_USAGE, LULL_OPTION_STATS, LULL_OPTION_TOP,       LULL_OPTION_FREQ,
    LULL_OPTION_LOG,   LULL_OPTION_LIMIT, LULL_OPTIONS_DURATION, LULL_OPTIONS_SIZE,
    LULL_OPTIONS_FREQ, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN,     {.name = NULL},
};

#define IO_DESCRIPTION                                                                             \
    "Calls are of one of these categories: open (all that make a descriptor: open, socket, pipe, " \
    "dup, epoll_create, …), read, write, sync, copy (from one descriptor to another: sendfile, " \
    "splice, copy_file_range, …) and accept, which waits for somebody to connect. A call or a "  \
    "request to a disk counts where it ends, with its whole length.\n"                             \
    "\n"                                                                                           \
    "--min, --max, --minsize and --maxsize choose calls and requests for statistics, tops, "       \
    "histograms and logs, not for the usage. Calls without a size pass the latter two. --tid and " \
    "--comm choose who called; a request to a disk is of the task that put it into the queue."

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
        .ask = &(const struct lull_analysis_ask){&lull_analysis_io, section_},                     \
    }

static const struct lull_example iousagetop_examples[] = {
    {"lull iousagetop my-trace", "Who read and wrote most, and which files."},
    {"lull iousagetop --refresh 1s --limit 3 my-trace", "The three that did most in each second."},
    {NULL, NULL},
};
IO_VERB(
    iousagetop, LULL_SECTION_USAGE, "show which tasks, files, disks and networks moved data",
    "Shows what tasks read and wrote by their system calls, through which files; what they read "
    "from disks and wrote there; and what disks and network devices did. In each direction, "
    "what the tasks moved is what went through the files and through descriptors of which "
    "nothing is known. DISK is what was opened by a path, NET a socket of an internet "
    "family.",
    iousagetop_examples);

static const struct lull_example iolatencystats_examples[] = {
    {"lull iolatencystats my-trace", "All tasks and disks."},
    {"lull iolatencystats --comm httpd my-trace", "One program."},
    {NULL, NULL},
};
IO_VERB(
    iolatencystats, LULL_SECTION_STATS, "show statistics of how long I/O calls and disks took",
    "Shows how long system calls that do I/O took, by category, and how long disks took for "
    "requests: from when a request was given to the device until it was done. QUEUE is how long "
    "it waited before that. Flushes of a disk's cache are apart, as they move no data.",
    iolatencystats_examples);

static const struct lull_example iolatencytop_examples[] = {
    {"lull iolatencytop my-trace", "The ten longest calls of each category."},
    {"lull iolatencytop --limit 3 --comm httpd my-trace", "The three longest of one program."},
    {NULL, NULL},
};
IO_VERB(iolatencytop, LULL_SECTION_TOP, "list the I/O calls that took longest",
        "Lists the longest system calls of each category of I/O, the longest first.",
        iolatencytop_examples);

static const struct lull_example iolatencyfreq_examples[] = {
    {"lull iolatencyfreq my-trace", "One histogram for each category and each disk."},
    {"lull iolatencyfreq --freq-log my-trace", "With bins that double in width."},
    {NULL, NULL},
};
IO_VERB(iolatencyfreq, LULL_SECTION_FREQ, "show histograms of how long I/O calls and disks took",
        "Shows how often a system call of each category of I/O, or a request to a disk, took how "
        "long.",
        iolatencyfreq_examples);

static const struct lull_example iolog_examples[] = {
    {"lull iolog --tid 440 my-trace", "What a thread read and wrote."},
    {"lull iolog --min 10ms my-trace", "Every call that took ten milliseconds or more."},
    {NULL, NULL},
};
IO_VERB(iolog, LULL_SECTION_LOG, "list every I/O call",
        "Lists system calls that do I/O, in order of their begins, with the file, what was moved, "
        "and the error. Calls that close descriptors are listed as well.",
        iolog_examples);

/* ---- futex ---- */

static const struct lull_option futex_options[] = {
    LULL_OPTION_LIMIT, LULL_OPTIONS_DURATION, LULL_OPTIONS_WHOM, LULL_OPTIONS_WHEN, {.name = NULL},
};

static const struct lull_example futex_examples[] = {
    {"lull futex my-trace", "The ten futexes that were waited on longest."},
    {"lull futex --comm httpd --limit 0 my-trace", "All that one program waited on."},
    {NULL, NULL},
};

const struct lull_verb lull_verb_futex = {
    .name = "futex",
    .summary = "show which locks tasks waited on, and who let them go on",
    .usage = "TRACE…",
    .description =
        "Locks, condition variables and thread joins of programs are futexes in the kernel, and "
        "only when somebody has to wait. Shown are the addresses that were waited on, with the "
        "waits, those who waited and those who woke them; then each task that waited with the task "
        "whose wake-up ended its waits; then the tasks that still waited at the end of the range. "
        "A "
        "wait counts where it ends, with its whole length.\n"
        "\n"
        "An address belongs to one process, unless the futex is shared; a shared one is known by "
        "its address alone, which two processes may map differently. EAGAIN counts calls that "
        "found the value changed and did not wait.",
    .options = futex_options,
    .common = lull_analysis_common,
    .examples = futex_examples,
    .run = lull_analysis_verb_run,
    .ask = &(const struct lull_analysis_ask){&lull_analysis_futex, 0},
};
